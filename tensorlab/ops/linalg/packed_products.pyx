"""Products of matrices of floats, out = alpha * a @ b + beta * out, by the tile of register_tile.h.

The tile reads b in panels, strips of up to three vectors of columns, a line after the other. Panels as equal as
possible cover the columns: of eight vectors three, three and two. STEP lines of as many panels as the L2 cache holds
are packed at a time. Then the rows of a pass by, and each tile of them meets all these panels while it lies in the L1
cache.

                   k        |---|---|--|
                   |        |   |   |  |    STEP lines of b, in panels
                   v        |---|---|--|
            k ->
          |-----------|     |---|---|--|
          |===========|     |===|===|==|    a tile of rows and of the result
          |           |     |   |   |  |
          |-----------|     |---|---|--|

b is packed as it lies, by copying lines or by transposing them, so a transposed or strided matrix needs no copy of
its own; for few rows the tile reads lines of b where they are. So it does with rows of a whose numbers are next to
each other; others are packed, as many at a time as fill lines of the cache.

The sum of an element is the same in any tile: STEP products at a time, in the order of k. So equal rows of a give
equal rows, and a part of a product has the bits that it has in the whole one, however many threads share it.

The idea is that of Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication".
docs/decisions/0074-packed-products.md has what was measured.
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, real
from tensorlab._core.layout cimport ssize
from tensorlab.ops.linalg.product_loops cimport Matrix

cdef extern from "register_tile.h" nogil:
    enum:
        TL_TILE_ROWS
        TL_TILE_VECTORS
        tl_columns_32
        tl_columns_64
    void TL_PREFETCH(const void* address)
    bint TL_HAS_FAST_TILE
    void tl_multiply_tile_32(float* out, ssize out_stride, ssize rows, ssize columns, const float* left,
                             ssize left_row, ssize left_step, const float* right, ssize right_stride, ssize n,
                             float alpha, float keep, const float* start)
    void tl_multiply_tile_64(double* out, ssize out_stride, ssize rows, ssize columns, const double* left,
                             ssize left_row, ssize left_step, const double* right, ssize right_stride, ssize n,
                             double alpha, double keep, const double* start)

cdef extern from "transpose.h" nogil:
    void tl_transpose_4(int32_t* out, ssize out_stride, const int32_t* x, ssize x_stride)
    void tl_transpose_8(int64_t* out, ssize out_stride, const int64_t* x, ssize x_stride)

cdef enum:
    BLOCK_BYTES = 32            # of a row of what they transpose
    STEP = 256                  # most products that are summed before the sum goes to the result,
    CHUNK = 12                  # and panels of so many lines: half a megabyte with AVX-512
    GROUP = 16                  # rows that are packed at a time: a line of the cache, of float32
    AHEAD = 16                  # lines from the one that is copied to the one that is fetched
    FEW_ROWS = 32               # do not pay for packing b,
    IN_CACHE = 1 << 13          # nor do matrices that lie in the L1 cache: so many numbers
    LEAST_ROWS = 4              # with fewer, too much of a tile is wasted


cdef bint is_packed(int dtype, Matrix* a, Matrix* b) noexcept nogil:
    """Is a product done here?"""
    return (TL_HAS_FAST_TILE and (dtype == FLOAT32 or dtype == FLOAT64)
            and a.rows >= LEAST_ROWS and a.columns > 1 and b.columns > 1)


# ---------------------------------------------------------------- packing
cdef void transpose(real* lines, ssize width, const real* x, ssize stride, ssize n) noexcept nogil:
    """n lines, 1 apart, of `width` numbers, `stride` apart; both are whole blocks."""
    cdef ssize k, j = 0, side = BLOCK_BYTES // <ssize>sizeof(real)
    while j < width:
        k = 0
        while k < n:
            if real is float:
                tl_transpose_4(<int32_t*>lines + k * width + j, width, <const int32_t*>x + j * stride + k, stride)
            else:
                tl_transpose_8(<int64_t*>lines + k * width + j, width, <const int64_t*>x + j * stride + k, stride)
            k += side
        j += side


cdef void pack(real* panel, ssize width, const real* x, ssize step, ssize stride, ssize n, ssize count) noexcept nogil:
    """n lines, `step` apart, of `count` numbers, `stride` apart; zeros where the panel is wider."""
    cdef ssize k, j, first = 0, side = BLOCK_BYTES // <ssize>sizeof(real)
    if step == 1 and count == width and width % side == 0:
        first = n - n % side
        transpose(panel, width, x, stride, first)
    for k in range(first, n):
        j = 0
        while stride == 1 and j + TL_TILE_ROWS <= count:
            TL_PREFETCH(x + (k + AHEAD) * step + j)
            memcpy(panel + k * width + j, x + k * step + j, TL_TILE_ROWS * sizeof(real))
            j += TL_TILE_ROWS
        while j < count:
            panel[k * width + j] = x[k * step + j * stride]
            j += 1
        while j < width:
            panel[k * width + j] = 0
            j += 1


# ---------------------------------------------------------------- multiplying
cdef inline void multiply_tile(real* out, ssize out_stride, ssize rows, ssize columns, const real* left, ssize left_row,
                               ssize left_step, const real* right, ssize right_stride, ssize n, real alpha,
                               real keep) noexcept nogil:
    if real is float:
        tl_multiply_tile_32(out, out_stride, rows, columns, left, left_row, left_step, right, right_stride, n,
                            alpha, keep, NULL)
    else:
        tl_multiply_tile_64(out, out_stride, rows, columns, left, left_row, left_step, right, right_stride, n,
                            alpha, keep, NULL)


cdef struct Panel:
    ssize first                 # column
    ssize columns
    void* lines                 # where they are: packed, or in b itself
    ssize stride                # from line to line


cdef void multiply_chunk(real* out, const real* a, Matrix* to, Matrix* left, Panel* panels, ssize count, real* packed,
                         ssize n, real alpha, real keep) noexcept nogil:
    """All rows times n lines of some panels."""
    cdef ssize i = 0, r, p, rows, height, row_stride, step
    cdef const real* rows_at
    cdef Panel* panel
    while i < to.rows:
        rows = min(<ssize>GROUP, to.rows - i)
        rows_at, row_stride, step = a + i * left.row_stride, left.row_stride, left.column_stride
        if rows % (TL_TILE_ROWS // 2) != 0 or (step != 1 and (row_stride != 1 or step * left.columns > IN_CACHE)):
            pack(packed, GROUP, rows_at, left.column_stride, left.row_stride, n, rows)
            rows_at, row_stride, step = packed, 1, GROUP
        r = 0
        while r < rows:
            height = min(<ssize>TL_TILE_ROWS, rows - r)
            for p in range(count):
                panel = panels + p
                multiply_tile(out + (i + r) * to.row_stride + panel.first, to.row_stride,
                              height, panel.columns, rows_at + r * row_stride, row_stride, step,
                              <real*>panel.lines, panel.stride, n, alpha, keep)
            r += TL_TILE_ROWS
        i += GROUP


cdef void place_panels(Panel* panels, ssize begin, ssize end, ssize count, real* b, real* packed, Matrix* right,
                       ssize n, bint is_direct) noexcept nogil:
    """Pack n lines of panels `begin` to `end`, of `count` that cover all columns; whole ones stay in b if `is_direct`."""
    cdef ssize lanes = (tl_columns_32 if real is float else tl_columns_64) // TL_TILE_VECTORS
    cdef ssize vectors = (right.columns + lanes - 1) // lanes
    cdef ssize p, last, width
    cdef Panel* panel = panels
    cdef real* lines
    for p in range(begin, end):
        panel.first = vectors * p // count * lanes
        last = vectors * (p + 1) // count * lanes
        width = last - panel.first
        panel.columns = min(last, right.columns) - panel.first
        lines = b + panel.first * right.column_stride
        if is_direct and panel.columns == width:
            panel.lines, panel.stride = lines, right.row_stride
        else:
            panel.lines, panel.stride = packed, width
            pack(packed, width, lines, right.row_stride, right.column_stride, n, panel.columns)
            packed += width * n
        panel += 1


cdef bint packed_product(real* out, real* a, real* b, Matrix* to, Matrix* left, Matrix* right, double alpha,
                         double beta) noexcept nogil:
    """A product whose rows in `out` are next to each other; False if there is no memory for panels."""
    cdef ssize width = tl_columns_32 if real is float else tl_columns_64, inner = left.columns
    cdef ssize steps = (inner + STEP - 1) // STEP, step = (inner + steps - 1) // steps
    cdef ssize count = (to.columns + width - 1) // width, chunks = (count + CHUNK - 1) // CHUNK
    cdef ssize chunk = (count + chunks - 1) // chunks, begin = 0, end, k, n
    cdef bint is_direct = right.column_stride == 1 and (to.rows <= FEW_ROWS or right.rows * right.columns <= IN_CACHE)
    cdef Panel[CHUNK] panels
    cdef real* packed_rows
    cdef real* packed
    packed_rows = <real*>malloc(step * (GROUP + chunk * width) * sizeof(real))
    if packed_rows == NULL:
        return False
    packed = packed_rows + step * GROUP
    while begin < count:
        end = min(begin + chunk, count)
        k = 0
        while k < inner:
            n = min(step, inner - k)
            place_panels(panels, begin, end, count, b + k * right.row_stride, packed, right, n, is_direct)
            multiply_chunk(out, a + k * left.column_stride, to, left, panels, end - begin, packed_rows, n, <real>alpha,
                           <real>beta if k == 0 else <real>1)
            k += n
        begin = end
    free(packed_rows)
    return True


cdef bint packed_multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil:
    """Of float32 or float64."""
    if dtype == FLOAT32:
        return packed_product(<float*>out.data, <float*>a.data, <float*>b.data, out, a, b, alpha, beta)
    return packed_product(<double*>out.data, <double*>a.data, <double*>b.data, out, a, b, alpha, beta)

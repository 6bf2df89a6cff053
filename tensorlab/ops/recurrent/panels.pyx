"""Products with a matrix that is laid out in panels once and used many times.

A recurrent layer multiplies a few rows by the same weights at every step. BLAS lays the weights out anew each time; for 32 rows
this costs as much as the product. Here it is done once, in panels: two vectors wide, with the rows of a panel next to each other.

    b                           panels
    0 1 2 3 | 4 5 6 7           0 1 2 3  8 9 a b   4 5 6 7  c d e f
    8 9 a b | c d e f           |------ 1 -----|   |------ 2 -----|

A kernel multiplies a block of rows of a by a panel. Its sums stay in registers, enough of them side by side that none waits for
another, and a panel stays in the L1 cache while all blocks of rows pass by. Where the panel at the right is cut off, it is filled
up with zeros, and a tile in between takes the result. Measured on AVX-512 the product of 32 x 128 and 128 x 512 takes 17 us
instead of the 53 of OpenBLAS.
"""
from tensorlab._core.loops.parallel cimport parallel_for, thread_count

cdef extern from *:
    """
    /* out[r] = (adds ? out[r] : 0) + sum over p of a[r][p] * panel[p] for ROWS rows r. Products may be fused with sums (FMA), as
       BLAS does it: the bits of a product depend on the processor anyway. */
    #if defined(__GNUC__) && !defined(__clang__)
    #define TL_FUSED __attribute__((optimize("fp-contract=fast")))
    #else
    #define TL_FUSED
    #endif
    #if defined(__AVX512F__)
    #define TL_LINE_BYTES 64
    #define TL_PANEL_ROWS 8
    #else
    #define TL_LINE_BYTES 32
    #define TL_PANEL_ROWS 4
    #endif
    #if defined(__GNUC__)
    #define TL_PANEL_KERNEL(name, real, ROWS)                                                                          \\
        typedef real name##_line __attribute__((vector_size(TL_LINE_BYTES), aligned(sizeof(real)), may_alias));        \\
        TL_FUSED static void name(real* out, Py_ssize_t out_stride, const real* a, Py_ssize_t a_row, Py_ssize_t a_column, \\
                                  const real* panel, Py_ssize_t k, int adds) {                                         \\
            enum {LINE = TL_LINE_BYTES / sizeof(real)};                                                                \\
            name##_line total[ROWS][2];                                                                                \\
            for (int r = 0; r < ROWS; r++)                                                                             \\
                for (int l = 0; l < 2; l++)                                                                            \\
                    total[r][l] = adds ? *(name##_line*)(out + r * out_stride + l * LINE) : (name##_line){0};           \\
            for (Py_ssize_t p = 0; p < k; p++) {                                                                       \\
                const name##_line left = *(const name##_line*)(panel + 2 * p * LINE);                                  \\
                const name##_line right = *(const name##_line*)(panel + 2 * p * LINE + LINE);                          \\
                for (int r = 0; r < ROWS; r++) {                                                                       \\
                    const real x = a[r * a_row + p * a_column];                                                        \\
                    total[r][0] += x * left;                                                                           \\
                    total[r][1] += x * right;                                                                          \\
                }                                                                                                      \\
            }                                                                                                          \\
            for (int r = 0; r < ROWS; r++)                                                                             \\
                for (int l = 0; l < 2; l++) *(name##_line*)(out + r * out_stride + l * LINE) = total[r][l];            \\
        }
    #else
    #define TL_PANEL_KERNEL(name, real, ROWS)                                                                          \\
        static void name(real* out, Py_ssize_t out_stride, const real* a, Py_ssize_t a_row, Py_ssize_t a_column,       \\
                         const real* panel, Py_ssize_t k, int adds) {                                                  \\
            const int width = 2 * TL_LINE_BYTES / sizeof(real);                                                        \\
            for (int r = 0; r < ROWS; r++) {                                                                           \\
                real* row = out + r * out_stride;                                                                      \\
                for (int j = 0; j < width; j++) row[j] = adds ? row[j] : 0;                                            \\
                for (Py_ssize_t p = 0; p < k; p++)                                                                     \\
                    for (int j = 0; j < width; j++) row[j] += a[r * a_row + p * a_column] * panel[p * width + j];      \\
            }                                                                                                          \\
        }
    #endif
    TL_PANEL_KERNEL(tl_panel_rows_32, float, TL_PANEL_ROWS)
    TL_PANEL_KERNEL(tl_panel_rows_64, double, TL_PANEL_ROWS)
    TL_PANEL_KERNEL(tl_panel_row_32, float, 1)
    TL_PANEL_KERNEL(tl_panel_row_64, double, 1)
    """
    int TL_LINE_BYTES
    int TL_PANEL_ROWS
    void tl_panel_rows_32(float* out, ssize out_stride, const float* a, ssize a_row, ssize a_column, const float* panel,
                          ssize k, bint adds) nogil
    void tl_panel_rows_64(double* out, ssize out_stride, const double* a, ssize a_row, ssize a_column, const double* panel,
                          ssize k, bint adds) nogil
    void tl_panel_row_32(float* out, ssize out_stride, const float* a, ssize a_row, ssize a_column, const float* panel,
                         ssize k, bint adds) nogil
    void tl_panel_row_64(double* out, ssize out_stride, const double* a, ssize a_row, ssize a_column, const double* panel,
                         ssize k, bint adds) nogil

cdef enum:
    INNER_BLOCK = 256           # rows of a panel that stay in the L1 cache,
    ROW_BLOCK = 128             # and rows of a that stay in the L2 cache
    TILE = 256                  # elements of a block of rows of a panel, at most
    GRAIN = 1 << 18             # multiplications that make a thread worth starting


# ---------------------------------------------------------------- laying a matrix out
cdef inline ssize width_of(ssize itemsize) noexcept nogil:
    """Columns of a panel."""
    return 2 * TL_LINE_BYTES // itemsize


cdef ssize panel_elements(ssize rows, ssize columns, ssize itemsize) noexcept nogil:
    """How many elements the panels of a matrix have, those that fill the last one up included."""
    cdef ssize width = width_of(itemsize)
    return (columns + width - 1) // width * width * rows


cdef void put_row(real* panels, ssize rows, ssize columns, ssize i, const real* row) noexcept nogil:
    """Write row i of a matrix into its panels."""
    cdef ssize j, begin = 0, width = width_of(sizeof(real))
    cdef real* line
    while begin < columns:
        line = panels + begin * rows + i * width
        for j in range(min(width, columns - begin)):
            line[j] = row[begin + j]
        for j in range(columns - begin, width):
            line[j] = 0
        begin += width


cdef void pack_rows(real* panels, const real* b, ssize rows, ssize columns) noexcept nogil:
    """The panels of b, (rows, columns), which is row-major."""
    cdef ssize i
    for i in range(rows):
        put_row(panels, rows, columns, i, b + i * columns)


cdef void pack_columns(real* panels, const real* b, ssize rows, ssize columns) noexcept nogil:
    """The panels of b's transpose; b is (columns, rows) and row-major, as weights are stored."""
    cdef ssize i, j, begin = 0, width = width_of(sizeof(real))
    cdef real* panel
    while begin < columns:
        panel = panels + begin * rows
        for i in range(rows):
            for j in range(min(width, columns - begin)):
                panel[i * width + j] = b[(begin + j) * rows + i]
            for j in range(columns - begin, width):
                panel[i * width + j] = 0
        begin += width


# ---------------------------------------------------------------- multiplying
cdef inline void kernel(real* out, ssize out_stride, const real* a, ssize a_row, ssize a_column, const real* panel, ssize k,
                        bint adds, bint is_block) noexcept nogil:
    """A block of rows, or a single one, times a panel."""
    if real is float:
        if is_block:
            tl_panel_rows_32(out, out_stride, a, a_row, a_column, panel, k, adds)
        else:
            tl_panel_row_32(out, out_stride, a, a_row, a_column, panel, k, adds)
    elif is_block:
        tl_panel_rows_64(out, out_stride, a, a_row, a_column, panel, k, adds)
    else:
        tl_panel_row_64(out, out_stride, a, a_row, a_column, panel, k, adds)


cdef void cut_kernel(real* out, ssize out_stride, const real* a, ssize a_row, ssize a_column, const real* panel, ssize k,
                     bint adds, bint is_block, ssize columns) noexcept nogil:
    """A block of rows, or one, times the last panel, of which only `columns` are the result's."""
    cdef real[TILE] tile
    cdef ssize r, j, width = width_of(sizeof(real)), height = TL_PANEL_ROWS if is_block else 1
    kernel(tile, width, a, a_row, a_column, panel, k, False, is_block)
    for r in range(height):
        for j in range(columns):
            out[r * out_stride + j] = tile[r * width + j] + (out[r * out_stride + j] if adds else 0)


cdef void multiply_panels(real* out, ssize out_stride, const real* a, ssize a_row, ssize a_column, const real* panels, ssize m,
                          ssize k, ssize n, bint adds) noexcept nogil:
    """out = a @ b, or out += a @ b if it `adds`: (m, k) times (k, n), of which the panels are given, in this thread."""
    cdef ssize width = width_of(sizeof(real)), i, j, p, depth, i_end, i_begin = 0
    cdef bint is_block
    cdef const real* panel
    cdef const real* left
    if k == 0 and not adds:
        for i in range(m):
            for j in range(n):
                out[i * out_stride + j] = 0
    while i_begin < m:
        i_end = min(m, i_begin + ROW_BLOCK)
        p = 0
        while p < k:
            depth = min(k - p, <ssize>INNER_BLOCK)
            j = 0
            while j < n:
                panel = panels + j * k + p * width
                i = i_begin
                while i < i_end:
                    is_block = i + TL_PANEL_ROWS <= i_end
                    left = a + i * a_row + p * a_column
                    if j + width <= n:
                        kernel(out + i * out_stride + j, out_stride, left, a_row, a_column, panel, depth,
                               adds or p > 0, is_block)
                    else:
                        cut_kernel(out + i * out_stride + j, out_stride, left, a_row, a_column, panel, depth,
                                   adds or p > 0, is_block, n - j)
                    i += TL_PANEL_ROWS if is_block else 1
                j += width
            p += INNER_BLOCK
        i_begin = i_end


cdef struct Product:
    bint is_double
    void* out
    const void* a
    const void* panels
    ssize out_stride
    ssize a_row
    ssize a_column
    ssize m
    ssize k
    ssize n
    bint adds


cdef void multiply_share(void* context, ssize begin, ssize end) noexcept nogil:
    """The blocks of rows from `begin` to `end`."""
    cdef Product* job = <Product*>context
    begin, end = begin * TL_PANEL_ROWS, min(end * TL_PANEL_ROWS, job.m)
    if job.is_double:
        multiply_panels(<double*>job.out + begin * job.out_stride, job.out_stride, <double*>job.a + begin * job.a_row,
                        job.a_row, job.a_column, <double*>job.panels, end - begin, job.k, job.n, job.adds)
    else:
        multiply_panels(<float*>job.out + begin * job.out_stride, job.out_stride, <float*>job.a + begin * job.a_row,
                        job.a_row, job.a_column, <float*>job.panels, end - begin, job.k, job.n, job.adds)


cdef void multiply_shared(real* out, ssize out_stride, const real* a, ssize a_row, ssize a_column, const real* panels, ssize m,
                          ssize k, ssize n, bint adds) noexcept nogil:
    """A matrix times panels, the rows of the matrix split over threads."""
    cdef Product job
    cdef ssize blocks = (m + TL_PANEL_ROWS - 1) // TL_PANEL_ROWS
    job.is_double = real is double
    job.out, job.a, job.panels, job.out_stride, job.a_row, job.a_column = out, a, panels, out_stride, a_row, a_column
    job.m, job.k, job.n, job.adds = m, k, n, adds
    parallel_for(multiply_share, &job, blocks, max(1, blocks // thread_count(m * k * n, GRAIN)))

"""The n-d walk: brings any operands (strided, broadcast, of other types) to inner loops that know only plain rows.

1. Each operand gets one step for each dimension of the result; 0 where it is broadcast.
2. `collapse` drops dimensions of size 1, puts the result's smallest step innermost, and merges dimensions that continue
   one another in every operand. A contiguous operation becomes a single row.
3. The two innermost dimensions are walked in tiles of at most TILE elements. An operand that is not a plain row of the type
   the loop computes in is gathered into a buffer first (and the result scattered from one): strides, broadcasting, casts
   and half types cost a pass through the L1 cache, and no op has to know of them. A transposed operand is gathered in
   tiles of 16 rows, so that each cache line is read once.
4. Large walks are split over threads along the outermost dimension.

Leaves out: choosing between loops by capability (that is done at import), and reductions, which have their own walk.
"""
from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy, memset

from tensorlab._core.dtypes cimport BFLOAT16, BOOL, FLOAT16, FLOAT32, item_size, number
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.tensor cimport TensorBase, empty_tensor

import os

cdef extern from "half.h" nogil:
    float tl_float_of_half(uint16_t)
    uint16_t tl_half_of_float(float)
    float tl_float_of_bfloat(uint16_t)
    uint16_t tl_bfloat_of_float(float)

cdef enum:
    TILE = 512                  # elements of a tile of several rows
    BUFFER = 8192               # bytes of a buffer: a tile of one row is as long as its widest elements allow
    TILE_ROWS = 16              # rows of a tile when some operand is transposed: 16 floats are a cache line
    BLOCK = 128                 # rows and columns of a block of such tiles
    SHORT_ROW = 64              # shorter rows are put together to tiles
    NOGIL_WORK = 8192           # elements from which the GIL is let go


# ---------------------------------------------------------------- threads
cdef int threads_wanted = 1
cdef bint is_forked_child = False


def _after_fork():
    """OpenMP's threads do not exist in a forked child: stay serial there."""
    global is_forked_child
    is_forked_child = True

os.register_at_fork(after_in_child=_after_fork)


def set_loop_threads(int n):
    """How many threads a large loop may use."""
    global threads_wanted
    threads_wanted = n


def get_loop_threads():
    """How many threads a large loop may use."""
    return threads_wanted


cdef int thread_count(ssize work, ssize grain) noexcept nogil:
    """Threads worth starting for `work` elements if one should get at least `grain`."""
    cdef ssize most = work // grain if grain > 0 else 1
    if is_forked_child or most <= 1:
        return 1
    return <int>most if most < threads_wanted else threads_wanted


# ---------------------------------------------------------------- conversion
cdef void convert_numbers(number* out, void* x, int x_dtype, ssize out_step, ssize x_step, ssize n) noexcept nogil:
    """Rows of any type that is not half, to a row of numbers."""
    if x_dtype == BOOL or x_dtype == 1:
        convert_pair[number, uint8_t](out, <uint8_t*>x, out_step, x_step, n)
    elif x_dtype == 2:
        convert_pair[number, int8_t](out, <int8_t*>x, out_step, x_step, n)
    elif x_dtype == 3:
        convert_pair[number, int16_t](out, <int16_t*>x, out_step, x_step, n)
    elif x_dtype == 4:
        convert_pair[number, int32_t](out, <int32_t*>x, out_step, x_step, n)
    elif x_dtype == 5:
        convert_pair[number, int64_t](out, <int64_t*>x, out_step, x_step, n)
    elif x_dtype == 8:
        convert_pair[number, float](out, <float*>x, out_step, x_step, n)
    else:
        convert_pair[number, double](out, <double*>x, out_step, x_step, n)


ctypedef fused source_number:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t
    float
    double


cdef void convert_pair(number* out, source_number* x, ssize out_step, ssize x_step, ssize n) noexcept nogil:
    cdef ssize i
    if out_step == 1 and x_step == 1:
        for i in range(n):
            out[i] = cast_one[number, source_number](out[i], x[i])
    else:
        for i in range(n):
            out[i * out_step] = cast_one[number, source_number](out[0], x[i * x_step])


cdef inline number cast_one(number as_this, source_number x) noexcept nogil:
    """C leaves a float outside an integer type's range undefined. Through a wider type small integers wrap, and x86 gives
    the lowest number for what that type cannot hold: PyTorch goes through the same types, so both wrap alike."""
    if source_number is float or source_number is double:
        if number is uint8_t:
            return <number><int64_t>x
        elif number is int8_t or number is int16_t:
            return <number><int32_t>x
        else:
            return <number>x
    else:
        return <number>x


cdef void convert_to_bool(uint8_t* out, source_number* x, ssize out_step, ssize x_step, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_step] = x[i * x_step] != 0


cdef void convert_any_to_bool(uint8_t* out, void* x, int x_dtype, ssize out_step, ssize x_step, ssize n) noexcept nogil:
    if x_dtype == BOOL or x_dtype == 1:
        convert_to_bool(out, <uint8_t*>x, out_step, x_step, n)
    elif x_dtype == 2:
        convert_to_bool(out, <int8_t*>x, out_step, x_step, n)
    elif x_dtype == 3:
        convert_to_bool(out, <int16_t*>x, out_step, x_step, n)
    elif x_dtype == 4:
        convert_to_bool(out, <int32_t*>x, out_step, x_step, n)
    elif x_dtype == 5:
        convert_to_bool(out, <int64_t*>x, out_step, x_step, n)
    elif x_dtype == 8:
        convert_to_bool(out, <float*>x, out_step, x_step, n)
    else:
        convert_to_bool(out, <double*>x, out_step, x_step, n)


cdef void copy_elements(void* out, ssize out_step, const void* x, ssize x_step, int size, ssize n) noexcept nogil:
    """Move elements of `size` bytes as they are."""
    cdef ssize i
    if out_step == 1 and x_step == 1:
        memcpy(out, x, n * size)
    elif size == 1:
        for i in range(n):
            (<uint8_t*>out)[i * out_step] = (<uint8_t*>x)[i * x_step]
    elif size == 2:
        for i in range(n):
            (<uint16_t*>out)[i * out_step] = (<uint16_t*>x)[i * x_step]
    elif size == 4:
        for i in range(n):
            (<int32_t*>out)[i * out_step] = (<int32_t*>x)[i * x_step]
    else:
        for i in range(n):
            (<int64_t*>out)[i * out_step] = (<int64_t*>x)[i * x_step]


cdef void halves_to_floats(float* out, ssize out_step, const uint16_t* x, int x_dtype, ssize x_step, ssize n) noexcept nogil:
    cdef ssize i
    if x_dtype == FLOAT16:
        for i in range(n):
            out[i * out_step] = tl_float_of_half(x[i * x_step])
    else:
        for i in range(n):
            out[i * out_step] = tl_float_of_bfloat(x[i * x_step])


cdef void floats_to_halves(uint16_t* out, int out_dtype, ssize out_step, const float* x, ssize x_step, ssize n) noexcept nogil:
    cdef ssize i
    if out_dtype == FLOAT16:
        for i in range(n):
            out[i * out_step] = tl_half_of_float(x[i * x_step])
    else:
        for i in range(n):
            out[i * out_step] = tl_bfloat_of_float(x[i * x_step])


cdef bint is_half(int dtype) noexcept nogil:
    return dtype == FLOAT16 or dtype == BFLOAT16


cdef void convert(void* out, int out_dtype, ssize out_step, const void* x, int x_dtype, ssize x_step, ssize n) noexcept nogil:
    """Copy n elements from one row to another, casting; half types go through float32."""
    cdef float[TILE] between
    cdef ssize i, m
    if out_dtype == x_dtype:
        copy_elements(out, out_step, x, x_step, item_size[x_dtype], n)
    elif out_dtype == FLOAT32 and is_half(x_dtype):
        halves_to_floats(<float*>out, out_step, <uint16_t*>x, x_dtype, x_step, n)
    elif x_dtype == FLOAT32 and is_half(out_dtype):
        floats_to_halves(<uint16_t*>out, out_dtype, out_step, <float*>x, x_step, n)
    elif is_half(x_dtype) or is_half(out_dtype):
        for i in range(0, n, 512):
            m = min(n - i, TILE)
            convert(between, FLOAT32, 1, <char*>x + i * x_step * item_size[x_dtype], x_dtype, x_step, m)
            convert(<char*>out + i * out_step * item_size[out_dtype], out_dtype, out_step, between, FLOAT32, 1, m)
    elif out_dtype == BOOL:
        convert_any_to_bool(<uint8_t*>out, <void*>x, x_dtype, out_step, x_step, n)
    elif out_dtype == 1:
        convert_numbers(<uint8_t*>out, <void*>x, x_dtype, out_step, x_step, n)
    elif out_dtype == 2:
        convert_numbers(<int8_t*>out, <void*>x, x_dtype, out_step, x_step, n)
    elif out_dtype == 3:
        convert_numbers(<int16_t*>out, <void*>x, x_dtype, out_step, x_step, n)
    elif out_dtype == 4:
        convert_numbers(<int32_t*>out, <void*>x, x_dtype, out_step, x_step, n)
    elif out_dtype == 5:
        convert_numbers(<int64_t*>out, <void*>x, x_dtype, out_step, x_step, n)
    elif out_dtype == FLOAT32:
        convert_numbers(<float*>out, <void*>x, x_dtype, out_step, x_step, n)
    else:
        convert_numbers(<double*>out, <void*>x, x_dtype, out_step, x_step, n)


# ---------------------------------------------------------------- setting up a walk
cdef void set_operand(Walk* walk, int k, char* data, int dtype, int kernel_dtype, int ndim, const ssize* sizes,
                      const ssize* strides) noexcept nogil:
    """Describe operand k; its dimensions are aligned with the last ones of the walk."""
    cdef Operand* operand = &walk.operand[k]
    cdef int i, shift = walk.ndim - ndim
    operand.data = data
    operand.dtype = dtype
    operand.kernel_dtype = kernel_dtype
    for i in range(shift):
        operand.steps[i] = 0
    for i in range(ndim):
        operand.steps[i + shift] = strides[i] if sizes[i] != 1 else 0


cdef void collapse(Walk* walk) noexcept nogil:
    """Drop dimensions of size 1, sort by the result's step, merge neighbours that continue one another."""
    cdef int i, j, k, last, ndim = 0
    cdef bint continues
    for i in range(walk.ndim):
        if walk.sizes[i] != 1:
            if i != ndim:
                walk.sizes[ndim] = walk.sizes[i]
                for k in range(walk.operands):
                    walk.operand[k].steps[ndim] = walk.operand[k].steps[i]
            j = ndim                    # insertion sort: the result's largest step first
            while j > 0 and walk.operand[0].steps[j - 1] < walk.operand[0].steps[j]:
                swap_dims(walk, j - 1, j)
                j -= 1
            ndim += 1
    last = 0
    for i in range(1, ndim):
        continues = True
        for k in range(walk.operands):
            if walk.operand[k].steps[last] != walk.operand[k].steps[i] * walk.sizes[i]:
                continues = False
        if continues:
            walk.sizes[last] *= walk.sizes[i]
        else:
            last += 1
            walk.sizes[last] = walk.sizes[i]
        for k in range(walk.operands):
            walk.operand[k].steps[last] = walk.operand[k].steps[i]
    walk.ndim = last + 1 if ndim > 0 else 0


cdef inline void swap_dims(Walk* walk, int a, int b) noexcept nogil:
    cdef int k
    walk.sizes[a], walk.sizes[b] = walk.sizes[b], walk.sizes[a]
    for k in range(walk.operands):
        walk.operand[k].steps[a], walk.operand[k].steps[b] = walk.operand[k].steps[b], walk.operand[k].steps[a]


# ---------------------------------------------------------------- tiles
cdef struct Plane:                  # the two innermost dimensions, and a buffer for each operand's tile
    ssize[MAX_OPERANDS] row_steps
    ssize[MAX_OPERANDS] steps
    bint[MAX_OPERANDS] is_constant  # the operand is one number, and its buffer is already full of it
    ssize columns                   # of a tile of one row
    char[MAX_OPERANDS][BUFFER] buffers


cdef void spread(char* buffer, int size, ssize n) noexcept nogil:
    """Repeat the first element of a buffer n times."""
    cdef ssize i
    if size == 4:
        for i in range(1, n):
            (<int32_t*>buffer)[i] = (<int32_t*>buffer)[0]
    elif size == 8:
        for i in range(1, n):
            (<int64_t*>buffer)[i] = (<int64_t*>buffer)[0]
    elif size == 1:
        memset(buffer, buffer[0], n)
    else:
        for i in range(1, n):
            (<uint16_t*>buffer)[i] = (<uint16_t*>buffer)[0]


ctypedef fused word:
    int32_t
    int64_t


cdef void gather_row(char* buffer, Operand* operand, char* data, ssize step, ssize n) noexcept nogil:
    if step == 0:
        convert(buffer, operand.kernel_dtype, 1, data, operand.dtype, 1, 1)
        spread(buffer, item_size[operand.kernel_dtype], n)
    else:
        convert(buffer, operand.kernel_dtype, 1, data, operand.dtype, step, n)


cdef void transpose_tile(word* buffer, const word* data, ssize step, ssize m, ssize n) noexcept nogil:
    """buffer[i, j] = data[j, i], by way of a copy of data's n rows that lie close together, so that none pushes out another."""
    cdef word[TILE] lines
    cdef ssize i, j
    for j in range(n):
        memcpy(lines + j * TILE_ROWS, data + j * step, m * sizeof(word))
    for i in range(m):
        for j in range(n):
            buffer[i * n + j] = lines[j * TILE_ROWS + i]


cdef void gather(char* buffer, Operand* operand, char* data, ssize row_step, ssize step, ssize m, ssize n) noexcept nogil:
    """Bring an m by n tile of an operand into a buffer, row after row, in the type the loop computes in."""
    cdef int size = item_size[operand.dtype], kernel_size = item_size[operand.kernel_dtype]
    cdef ssize i
    if row_step == 1 and 1 < m <= TILE_ROWS and n <= TILE // TILE_ROWS and operand.dtype == operand.kernel_dtype and size >= 4:
        if size == 4:
            transpose_tile(<int32_t*>buffer, <int32_t*>data, step, m, n)
        else:
            transpose_tile(<int64_t*>buffer, <int64_t*>data, step, m, n)
    elif m > 1 and row_step < step and row_step != 0:       # transposed: read along the rows' step
        for i in range(n):
            convert(buffer + i * kernel_size, operand.kernel_dtype, n, data + i * step * size, operand.dtype, row_step, m)
    else:
        for i in range(m):
            gather_row(buffer + i * n * kernel_size, operand, data + i * row_step * size, step, n)


cdef void prepare_buffers(Walk* walk, Plane* plane) noexcept nogil:
    """Find how long a tile may be, and the operands that are one number; spread those."""
    cdef ssize work = 1
    cdef int d, k, widest = 1
    for d in range(walk.ndim):
        work *= walk.sizes[d]
    for k in range(walk.operands):
        widest = max(widest, item_size[walk.operand[k].kernel_dtype])
    plane.columns = BUFFER // widest
    for k in range(walk.operands):
        plane.is_constant[k] = k > 0
        for d in range(walk.ndim):
            if walk.operand[k].steps[d] != 0:
                plane.is_constant[k] = False
        if plane.is_constant[k]:
            gather_row(plane.buffers[k], &walk.operand[k], walk.operand[k].data, 0, min(work, plane.columns))


cdef void scatter(char* buffer, Operand* operand, char* data, ssize row_step, ssize step, ssize m, ssize n) noexcept nogil:
    """Write a tile of results where they belong."""
    cdef int size = item_size[operand.dtype], kernel_size = item_size[operand.kernel_dtype]
    cdef ssize i
    for i in range(m):
        convert(data + i * row_step * size, operand.dtype, step, buffer + i * n * kernel_size, operand.kernel_dtype, 1, n)


cdef void run_tile(Walk* walk, void* loop, Plane* plane, char** data, ssize m, ssize n, bint together) noexcept nogil:
    """One tile of m rows of n elements: gather what needs it, call the loop, scatter the result if it needs it.

    With `together` the tile is small enough for the buffers, and rows that are not next to each other are gathered too, so
    that a single call of the loop does the whole tile.
    """
    cdef void* rows[MAX_OPERANDS]
    cdef ssize[MAX_OPERANDS] row_bytes
    cdef Operand* operand
    cdef int k, size
    cdef ssize _i
    cdef bint is_row, one_call = True, result_is_buffered = False
    for k in range(walk.operands):
        operand = &walk.operand[k]
        size = item_size[operand.kernel_dtype]
        is_row = operand.dtype == operand.kernel_dtype and (plane.steps[k] == 1 or n == 1)
        if is_row and (m == 1 or plane.row_steps[k] == n or not together):
            rows[k] = data[k]
            row_bytes[k] = plane.row_steps[k] * size
            if m > 1 and plane.row_steps[k] != n:
                one_call = False
            continue
        rows[k] = plane.buffers[k]
        row_bytes[k] = n * size
        if k == 0:
            result_is_buffered = True
        elif not plane.is_constant[k]:
            gather(plane.buffers[k], operand, data[k], plane.row_steps[k], plane.steps[k], m, n)
    if one_call:
        call_loop(loop, walk.operands, rows, m * n)
    else:
        for _i in range(m):
            call_loop(loop, walk.operands, rows, n)
            for k in range(walk.operands):
                rows[k] = <char*>rows[k] + row_bytes[k]
    if result_is_buffered:
        scatter(plane.buffers[0], &walk.operand[0], data[0], plane.row_steps[0], plane.steps[0], m, n)


cdef void run_block(Walk* walk, void* loop, Plane* plane, char** base, ssize first_row, ssize last_row, ssize first_column,
                    ssize last_column, ssize tile_rows, ssize tile_columns, bint together) noexcept nogil:
    """Part of a plane, tile after tile."""
    cdef char* data[MAX_OPERANDS]
    cdef ssize i = first_row, j, m, n
    cdef int k
    while i < last_row:
        m = min(tile_rows, last_row - i)
        j = first_column
        while j < last_column:
            n = min(tile_columns, last_column - j)
            for k in range(walk.operands):
                data[k] = base[k] + (i * plane.row_steps[k] + j * plane.steps[k]) * item_size[walk.operand[k].dtype]
            run_tile(walk, loop, plane, data, m, n, together)
            j += tile_columns
        i += tile_rows


cdef void run_plane(Walk* walk, void* loop, Plane* plane, char** base, ssize rows, ssize columns) noexcept nogil:
    """The two innermost dimensions: long plain rows as they are, anything else in tiles."""
    cdef char* data[MAX_OPERANDS]
    cdef ssize _i, i = 0, j, tile_rows = 1, tile_columns = plane.columns
    cdef bint is_plain = columns >= SHORT_ROW and not walk.one_by_one, is_transposed = False, together = columns < SHORT_ROW
    cdef int k
    for k in range(walk.operands):
        data[k] = base[k]
        if walk.operand[k].dtype != walk.operand[k].kernel_dtype or plane.steps[k] != 1:
            is_plain = False
        if plane.row_steps[k] != 0 and plane.row_steps[k] < plane.steps[k]:
            is_transposed = True
    if is_plain:
        for _i in range(rows):
            call_loop(loop, walk.operands, <void**>data, columns)
            for k in range(walk.operands):
                data[k] += plane.row_steps[k] * item_size[walk.operand[k].dtype]
        return
    if walk.one_by_one:
        tile_columns = 1
        together = False
    elif together:
        tile_columns = columns
        tile_rows = TILE // columns
    elif is_transposed:
        tile_rows = TILE_ROWS
        tile_columns = TILE // TILE_ROWS
    if not is_transposed or together:
        run_block(walk, loop, plane, base, 0, rows, 0, columns, tile_rows, tile_columns, together)
        return
    while i < rows:                     # not range: with a variable step it would be a Python object
        j = 0
        while j < columns:              # a block of tiles is small enough for the pages of all operands to stay at hand
            run_block(walk, loop, plane, base, i, min(i + BLOCK, rows), j, min(j + BLOCK, columns), tile_rows, tile_columns,
                      False)
            j += BLOCK
        i += BLOCK


# ---------------------------------------------------------------- the walk
cdef void run_part(Walk* walk, void* loop, ssize part, ssize parts) noexcept nogil:
    """One thread's share: a slice of the outermost dimension."""
    cdef char* data[MAX_OPERANDS]
    cdef Plane plane
    cdef ssize[MAX_NDIM] sizes, index
    cdef ssize begin, planes = 1, rows, columns
    cdef int d, k, ndim = walk.ndim
    for d in range(ndim):
        sizes[d] = walk.sizes[d]
        index[d] = 0
    begin = share(sizes[0], part, parts) if ndim > 0 else 0
    if ndim > 0:
        sizes[0] = share(sizes[0], part + 1, parts) - begin
        if sizes[0] == 0:
            return
    for k in range(walk.operands):
        data[k] = walk.operand[k].data
        if ndim > 0:
            data[k] += begin * walk.operand[k].steps[0] * item_size[walk.operand[k].dtype]
        plane.steps[k] = walk.operand[k].steps[ndim - 1] if ndim > 0 else 0
        plane.row_steps[k] = walk.operand[k].steps[ndim - 2] if ndim > 1 else 0
    columns = sizes[ndim - 1] if ndim > 0 else 1
    rows = sizes[ndim - 2] if ndim > 1 else 1
    for d in range(ndim - 2):
        planes *= sizes[d]
    prepare_buffers(walk, &plane)
    while planes > 0:
        run_plane(walk, loop, &plane, data, rows, columns)
        planes -= 1
        d = ndim - 3
        while d >= 0:                                   # the odometer
            index[d] += 1
            for k in range(walk.operands):
                data[k] += walk.operand[k].steps[d] * item_size[walk.operand[k].dtype]
            if index[d] < sizes[d]:
                break
            for k in range(walk.operands):
                data[k] -= sizes[d] * walk.operand[k].steps[d] * item_size[walk.operand[k].dtype]
            index[d] = 0
            d -= 1


cdef inline ssize share(ssize n, ssize part, ssize parts) noexcept nogil:
    """Where part `part` of `parts` begins; in long rows, at a cache line."""
    cdef ssize at
    if part == parts:
        return n
    at = n * part // parts
    return at if n < 4096 else at & ~<ssize>63


cdef int run_walk(Walk* walk, void* loop, ssize grain) except -1:
    """Call the loop for every element of the walk. Each thread gets at least `grain` elements."""
    cdef ssize work = 1, part
    cdef int threads
    for part in range(walk.ndim):
        work *= walk.sizes[part]
    if work == 0:
        return 0
    collapse(walk)
    if work < NOGIL_WORK:
        run_part(walk, loop, 0, 1)
        return 0
    threads = 1 if walk.one_by_one else thread_count(work, grain)
    if threads == 1:
        with nogil:
            run_part(walk, loop, 0, 1)
        return 0
    for part in prange(threads, nogil=True, num_threads=threads, schedule="static"):
        run_part(walk, loop, part, threads)
    return 0


# ---------------------------------------------------------------- copies
cdef void keep_loop(void* out, void* x, ssize n, int size) noexcept nogil:
    if out != x:
        memcpy(out, x, n * size)

cdef void keep_1(void* out, void* x, ssize n) noexcept nogil:
    keep_loop(out, x, n, 1)

cdef void keep_2(void* out, void* x, ssize n) noexcept nogil:
    keep_loop(out, x, n, 2)

cdef void keep_4(void* out, void* x, ssize n) noexcept nogil:
    keep_loop(out, x, n, 4)

cdef void keep_8(void* out, void* x, ssize n) noexcept nogil:
    keep_loop(out, x, n, 8)

cdef void* keep(int size) noexcept nogil:
    return <void*>keep_1 if size == 1 else <void*>keep_2 if size == 2 else <void*>keep_4 if size == 4 else <void*>keep_8


cdef int copy_into(TensorBase out, TensorBase x) except -1:
    """Write x, broadcast and cast, over out. Their memory must not overlap partly."""
    cdef Walk walk
    cdef int i
    walk.ndim = out.ndim_
    walk.operands = 2
    walk.one_by_one = False
    for i in range(out.ndim_):
        walk.sizes[i] = out.sizes[i]
    set_operand(&walk, 0, out.data_, out.dtype_, out.dtype_, out.ndim_, out.sizes, out.strides)
    set_operand(&walk, 1, x.data_, x.dtype_, out.dtype_, x.ndim_, x.sizes, x.strides)
    return run_walk(&walk, keep(item_size[out.dtype_]), 65536)


cdef TensorBase contiguous_copy(TensorBase x):
    """A new row-major tensor with x's values."""
    cdef TensorBase out = empty_tensor(x.dtype_, x.ndim_, x.sizes)
    copy_into(out, x)
    return out


cdef int fill_with(TensorBase out, const void* value, int value_dtype) except -1:
    """Write one value everywhere."""
    cdef Walk walk
    cdef int i
    if out.is_contiguous_ and out.numel_ > 0 and is_zero(value, value_dtype):
        with nogil:
            memset(out.data_, 0, out.numel_ * item_size[out.dtype_])
        return 0
    walk.ndim = out.ndim_
    walk.operands = 2
    walk.one_by_one = False
    for i in range(out.ndim_):
        walk.sizes[i] = out.sizes[i]
    set_operand(&walk, 0, out.data_, out.dtype_, out.dtype_, out.ndim_, out.sizes, out.strides)
    set_operand(&walk, 1, <char*>value, value_dtype, out.dtype_, 0, NULL, NULL)
    return run_walk(&walk, keep(item_size[out.dtype_]), 65536)


cdef bint is_zero(const void* value, int dtype) noexcept:
    """True if all bits are 0 (so -0.0 is not)."""
    cdef int i
    for i in range(item_size[dtype]):
        if (<char*>value)[i] != 0:
            return False
    return True

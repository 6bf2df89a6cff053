"""The tensor iterator: brings any operands (strided, broadcast, of other types) to inner loops that know only contiguous rows.

1. Each operand gets one stride for each dimension of the result; 0 where it is broadcast.
2. `coalesce` drops dimensions of size 1, puts the result's smallest stride innermost, and merges dimensions that continue
   one another in every operand. A contiguous operation becomes a single row.
3. The two innermost dimensions are run row by row if all rows are contiguous. A number that is broadcast along a row is
   written to a short piece of a buffer, and the row is taken in pieces of that length.
4. Otherwise they are run in tiles of at most TILE elements. An operand that is not a contiguous row of the type the loop
   computes in is gathered into a buffer first (and the result scattered from one): strides, broadcasting, casts and half
   types cost a pass through the L1 cache, and no op has to know of them. A transposed operand is gathered in tiles of 16
   rows, so that each cache line is read once, and transposed block by block in registers. A copy writes tiles where they belong.
5. Large iterations are split over threads along the outermost dimension.

Leaves out: choosing between loops by capability (that is done at import), and reductions, which have an iterator of their own
(ops/reduction_iterator.pyx), as have ops that work along one dimension (ops/dim_iterator.pyx).
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy, memmove, memset

from tensorlab._core.dtypes cimport MAX_ITEMSIZE, item_size, kernel_dtype, two_words, word
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.conversion cimport check_convertible, convert
from tensorlab._core.loops.loop_nest cimport IndexCounter, coalesce, count_along, next_index, start_counter
from tensorlab._core.loops.parallel cimport share_work
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.tensor cimport TensorBase, empty_beside, is_meta, memory_of, staged, tensor_on, unstage

from tensorlab._core.state.devices import allocator_of, is_copying_later

cdef extern from "transpose.h" nogil:
    void tl_transpose_4(int32_t* out, ssize out_stride, const int32_t* x, ssize x_stride)
    void tl_transpose_8(int64_t* out, ssize out_stride, const int64_t* x, ssize x_stride)

cdef extern from "transposed_copy.h" nogil:
    void tl_copy_transposed(void* transpose, char* out, ssize out_row, const char* x, ssize x_row, ssize m, ssize n, ssize size,
                            bint is_large)

cdef enum:
    TILE = 512                  # elements of a tile of several rows
    BUFFER = 8192               # bytes of a buffer: a tile of one row is as long as its widest elements allow
    TILE_ROWS = 16              # rows of a tile when some operand is transposed: 16 floats are a cache line
    BLOCK = 512                 # rows and columns of a block of such tiles
    LARGE = 1 << 23             # bytes of a result that the caches would not keep
    LINE = 64                   # bytes of a cache line
    MEMORY = 41024              # LINE + MAX_OPERANDS * BUFFER
    SHORT_ROW = 64              # shorter rows are put together to tiles,
    SHORT_COPY = 2              # where there is more to do than to copy them


# ---------------------------------------------------------------- setting up
cdef void set_operand(TensorIterator* iter, int k, char* data, int dtype, int computed_in,
                      int ndim, const ssize* sizes, const ssize* strides) noexcept nogil:
    """Describe operand k; its dimensions are aligned with the last ones of the iterator."""
    cdef Operand* operand = &iter.operand[k]
    cdef int i, shift = iter.ndim - ndim
    operand.data = data
    operand.dtype = dtype
    operand.kernel_dtype = computed_in
    for i in range(shift):
        operand.strides[i] = 0
    for i in range(ndim):
        operand.strides[i + shift] = strides[i] if sizes[i] != 1 else 0


# ---------------------------------------------------------------- tiles
cdef struct Plane:                  # the two innermost dimensions, and a buffer for each operand's tile
    ssize[MAX_OPERANDS] row_strides
    ssize[MAX_OPERANDS] strides
    bint[MAX_OPERANDS] is_constant  # the operand is one number, and its buffer is already full of it
    bint is_copy                    # the loop only moves: what is gathered can go straight to where it belongs
    bint is_large                   # the result, with all its planes
    ssize columns                   # of a tile of one row
    char* buffers[MAX_OPERANDS]
    char[MEMORY] memory             # where they lie: the first one begins with a cache line


cdef void fill_words(word* buffer, const word* value, ssize n) noexcept nogil:
    cdef word one = value[0]
    cdef ssize i
    for i in range(n):
        buffer[i] = one

cdef void broadcast_value(char* buffer, const char* value, int size, ssize n) noexcept nogil:
    """Fill a buffer with n times one element."""
    fill_loops[size](buffer, <void*>value, n)


cdef void gather_row(char* buffer, Operand* operand, char* data, ssize stride, ssize n) noexcept nogil:
    if stride != 0:
        convert(buffer, operand.kernel_dtype, 1, data, operand.dtype, stride, n)
    elif operand.dtype == operand.kernel_dtype:
        broadcast_value(buffer, data, item_size[operand.dtype], n)
    else:
        convert(buffer, operand.kernel_dtype, 1, data, operand.dtype, 1, 1)
        broadcast_value(buffer, buffer, item_size[operand.kernel_dtype], n)


cdef void transpose_tile(word* buffer, const word* data, ssize stride, ssize m, ssize n) noexcept nogil:
    """buffer[i, j] = data[j, i], in blocks that fit in registers; what is left over number by number."""
    cdef ssize i, j, side = 8 if word is int32_t else 4 if word is int64_t else 1 << 30     # other sizes have no blocks
    cdef ssize m_whole = m - m % side, n_whole = n - n % side
    j = 0
    while j < n_whole:
        i = 0
        while i < m_whole:
            if word is int32_t:
                tl_transpose_4(buffer + i * n + j, n, data + j * stride + i, stride)
            elif word is int64_t:
                tl_transpose_8(buffer + i * n + j, n, data + j * stride + i, stride)
            i += side
        j += side
    for i in range(m):
        for j in range(n_whole if i < m_whole else 0, n):
            buffer[i * n + j] = data[j * stride + i]

ctypedef void (*transpose_loop)(void* buffer, const void* data, ssize stride, ssize m, ssize n) noexcept nogil
cdef transpose_loop[MAX_ITEMSIZE + 1] transpose_loops   # by the size of an element
cdef unary_loop[MAX_ITEMSIZE + 1] fill_loops
cdef void* copy_loops[MAX_ITEMSIZE + 1]

cdef void set_loops(const word* as_this) noexcept:
    transpose_loops[sizeof(word)] = <transpose_loop>transpose_tile[word]
    fill_loops[sizeof(word)] = <unary_loop>fill_words[word]
    copy_loops[sizeof(word)] = <void*>copy_words[word]

set_loops[uint8_t](NULL)
set_loops[uint16_t](NULL)
set_loops[int32_t](NULL)
set_loops[int64_t](NULL)
set_loops[two_words](NULL)


cdef void gather(char* buffer, Operand* operand, char* data, ssize row_stride, ssize stride, ssize m, ssize n) noexcept nogil:
    """Bring an m by n tile of an operand into a buffer, row after row, in the type the loop computes in."""
    cdef int size = item_size[operand.dtype], kernel_size = item_size[operand.kernel_dtype]
    cdef ssize i, row = n * kernel_size
    cdef char[BUFFER] column
    if row_stride == 1 and m > 1 and n > 1 and operand.dtype == operand.kernel_dtype:
        transpose_loops[size](buffer, data, stride, m, n)
    elif m > 1 and row_stride == 0:                         # the same row again and again
        gather_row(buffer, operand, data, stride, n)
        repeat(buffer, row, m * row)
    elif m > 1 and stride == 0:                             # one number for each row
        convert(column, operand.kernel_dtype, 1, data, operand.dtype, row_stride, m)
        for i in range(m):
            broadcast_value(buffer + i * row, column + i * kernel_size, kernel_size, n)
    elif m > 1 and row_stride < stride:                     # transposed: read along the rows' stride
        for i in range(n):
            convert(buffer + i * kernel_size, operand.kernel_dtype, n, data + i * stride * size, operand.dtype, row_stride, m)
    else:
        for i in range(m):
            gather_row(buffer + i * row, operand, data + i * row_stride * size, stride, n)


cdef void repeat(char* buffer, ssize filled, ssize nbytes) noexcept nogil:
    """Fill a buffer with copies of its first bytes, twice as many each time."""
    cdef ssize more
    while filled < nbytes:
        more = min(filled, nbytes - filled)
        memcpy(buffer + filled, buffer, more)
        filled += more


cdef void prepare_buffers(TensorIterator* iter, Plane* plane) noexcept nogil:
    """Find how long a tile may be, and the operands that are one number; fill their buffers."""
    cdef ssize work = 1
    cdef int d, k, widest = 1
    for d in range(iter.ndim):
        work *= iter.sizes[d]
    for k in range(iter.operands):
        widest = max(widest, item_size[iter.operand[k].kernel_dtype])
    plane.columns = BUFFER // widest
    plane.is_large = work * item_size[iter.operand[0].dtype] >= LARGE
    for k in range(iter.operands):
        plane.buffers[k] = plane.memory + (-<ssize>&plane.memory[0] & (LINE - 1)) + k * BUFFER
        plane.is_constant[k] = k > 0
        for d in range(iter.ndim):
            if iter.operand[k].strides[d] != 0:
                plane.is_constant[k] = False
        if plane.is_constant[k]:
            gather_row(plane.buffers[k], &iter.operand[k], iter.operand[k].data, 0, min(work, plane.columns))


cdef void scatter(char* buffer, Operand* operand, char* data, ssize row_stride, ssize stride, ssize m, ssize n) noexcept nogil:
    """Write a tile of results where they belong."""
    cdef int size = item_size[operand.dtype], kernel_size = item_size[operand.kernel_dtype]
    cdef ssize i
    for i in range(m):
        convert(data + i * row_stride * size, operand.dtype, stride, buffer + i * n * kernel_size, operand.kernel_dtype, 1, n)


cdef void run_tile(TensorIterator* iter, void* loop, Plane* plane, char** data, ssize m,
                   ssize n, bint together) noexcept nogil:
    """One tile of m rows of n elements: gather the inputs, call the loop, scatter the result.

    Contiguous rows of the loop's own type are used where they are. With `together` the tile
    fits into the buffers, and rows with gaps between them are gathered too, so that a single
    call of the loop does the whole tile.
    """
    cdef void* rows[MAX_OPERANDS]
    cdef ssize[MAX_OPERANDS] row_bytes
    cdef Operand* operand
    cdef int k, size, _i
    cdef bint is_row, one_call = True, result_is_buffered = False
    for k in range(iter.operands):
        operand = &iter.operand[k]
        size = item_size[operand.kernel_dtype]
        is_row = operand.dtype == operand.kernel_dtype and (plane.strides[k] == 1 or n == 1)
        if is_row and (m == 1 or plane.row_strides[k] == n or not together):
            rows[k] = data[k]
            row_bytes[k] = plane.row_strides[k] * size
            if m > 1 and plane.row_strides[k] != n:
                one_call = False
            continue
        rows[k] = plane.buffers[k]
        row_bytes[k] = n * size
        if k == 0:
            result_is_buffered = True
        elif not plane.is_constant[k]:
            if plane.is_copy and one_call and not result_is_buffered:
                rows[k] = rows[0]
            gather(<char*>rows[k], operand, data[k], plane.row_strides[k], plane.strides[k], m, n)
    if one_call:
        call_loop(loop, iter.operands, rows, m * n)
    else:
        for _i in range(m):
            call_loop(loop, iter.operands, rows, n)
            for k in range(iter.operands):
                rows[k] = <char*>rows[k] + row_bytes[k]
    if result_is_buffered:
        scatter(plane.buffers[0], &iter.operand[0], data[0], plane.row_strides[0],
                plane.strides[0], m, n)


cdef void run_block(TensorIterator* iter, void* loop, Plane* plane, char** base, ssize first_row, ssize last_row,
                    ssize first_column, ssize last_column, ssize tile_rows, ssize tile_columns,
                    bint together) noexcept nogil:
    """Part of a plane, tile after tile."""
    cdef char* data[MAX_OPERANDS]
    cdef ssize i = first_row, j, m, n
    cdef int k
    while i < last_row:
        m = min(tile_rows, last_row - i)
        j = first_column
        while j < last_column:
            n = min(tile_columns, last_column - j)
            for k in range(iter.operands):
                data[k] = base[k] + (i * plane.row_strides[k] + j * plane.strides[k]) * item_size[iter.operand[k].dtype]
            run_tile(iter, loop, plane, data, m, n, together)
            j += tile_columns
        i += tile_rows


cdef void run_rows(TensorIterator* iter, void* loop, Plane* plane, char** base, ssize rows, ssize columns) noexcept nogil:
    """A plane of contiguous rows, some operands perhaps one number for a whole row.

    Such a number fills an eighth of its buffer only, which then serves piece after piece of the row: to fill the
    buffer for every row would cost half as much as an addition of the rows.
    """
    cdef char* at[MAX_OPERANDS]             # where each operand's next piece begins
    cdef char* number_at[MAX_OPERANDS]
    cdef ssize[MAX_OPERANDS] piece_bytes, rest_bytes, number_bytes
    cdef int[MAX_OPERANDS] numbers          # the operands that are one number for a row
    cdef ssize _i, left, piece = columns
    cdef int j, k, size, count = 0
    for k in range(iter.operands):
        at[k] = base[k] if plane.strides[k] != 0 else plane.buffers[k]
        if plane.is_constant[k]:
            piece = min(piece, plane.columns)
        elif plane.strides[k] == 0:
            piece = min(piece, plane.columns // 8)
            number_at[count] = base[k]
            number_bytes[count] = plane.row_strides[k] * item_size[iter.operand[k].dtype]
            numbers[count] = k
            count += 1
    for k in range(iter.operands):
        size = item_size[iter.operand[k].dtype]
        piece_bytes[k] = piece * plane.strides[k] * size
        rest_bytes[k] = plane.row_strides[k] * size - (columns - 1) // piece * piece_bytes[k] if plane.strides[k] != 0 else 0
    if plane.is_copy and piece == columns and count == 0:       # rows of 64 numbers feel the calls that are saved here
        for _i in range(rows):
            memmove(at[0] + _i * rest_bytes[0], at[1] + _i * rest_bytes[1], piece_bytes[0])
        return
    for _i in range(rows):
        for j in range(count):
            k = numbers[j]
            gather_row(plane.buffers[k], &iter.operand[k], number_at[j], 0, piece)
            number_at[j] += number_bytes[j]
        left = columns
        while left > piece:
            call_loop(loop, iter.operands, <void**>at, piece)
            for k in range(iter.operands):
                at[k] += piece_bytes[k]
            left -= piece
        call_loop(loop, iter.operands, <void**>at, left)
        for k in range(iter.operands):
            at[k] += rest_bytes[k]


cdef void run_plane(TensorIterator* iter, void* loop, Plane* plane, char** base, ssize rows, ssize columns) noexcept nogil:
    """The two innermost dimensions: long contiguous rows as they are, anything else in tiles."""
    cdef ssize i = 0, j, tile_rows = 1, tile_columns = plane.columns, out_row, x_row
    cdef bint is_contiguous = not iter.one_by_one and columns >= (SHORT_COPY if plane.is_copy else SHORT_ROW)
    cdef bint is_transposed = False, together = columns < SHORT_ROW, moves
    cdef int k, size
    for k in range(iter.operands):
        if plane.strides[k] != 1 and (plane.strides[k] != 0 or k == 0):
            is_contiguous = False
        if iter.operand[k].dtype != iter.operand[k].kernel_dtype and plane.strides[k] != 0:
            is_contiguous = False
        if plane.row_strides[k] != 0 and plane.row_strides[k] < plane.strides[k]:
            is_transposed = True
    if is_contiguous:
        run_rows(iter, loop, plane, base, rows, columns)
        return
    if iter.one_by_one:
        tile_columns = 1
        together = False
    elif together:
        tile_columns = columns
        tile_rows = TILE // columns
    elif is_transposed:
        tile_rows = TILE_ROWS
        tile_columns = plane.columns // TILE_ROWS
    if not is_transposed or together:
        run_block(iter, loop, plane, base, 0, rows, 0, columns, tile_rows, tile_columns, together)
        return
    moves = (plane.is_copy and plane.strides[0] == 1 and plane.row_strides[1] == 1
             and iter.operand[0].dtype == iter.operand[1].dtype and not iter.one_by_one)
    size = item_size[iter.operand[0].dtype]
    out_row, x_row = plane.row_strides[0] * size, plane.strides[1] * size
    # Tiles are run in blocks, whose pages, in all operands, are few enough to stay at hand.
    while i < rows:                     # range() with a variable step would be a Python object
        j = 0
        while j < columns:
            if moves:
                tl_copy_transposed(transpose_loops[size], base[0] + i * out_row + j * size, out_row,
                                   base[1] + j * x_row + i * size, x_row, min(BLOCK, rows - i),
                                   min(BLOCK, columns - j), size, plane.is_large)
            else:
                run_block(iter, loop, plane, base, i, min(i + BLOCK, rows),
                          j, min(j + BLOCK, columns), tile_rows, tile_columns, False)
            j += BLOCK
        i += BLOCK


# ---------------------------------------------------------------- running
cdef struct Job:
    TensorIterator* iter
    void* loop


cdef void run_part(void* context, ssize begin, ssize end) noexcept nogil:
    """The slice from `begin` to `end` of the outermost dimension."""
    cdef TensorIterator* iter = (<Job*>context).iter
    cdef void* loop = (<Job*>context).loop
    cdef IndexCounter at                                # of planes
    cdef Plane plane
    cdef ssize[MAX_NDIM] sizes
    cdef ssize rows, columns, first
    cdef int d, k, size, ndim = iter.ndim
    for d in range(ndim):
        sizes[d] = iter.sizes[d]
    if ndim > 0:
        sizes[0] = end - begin
    start_counter(&at, ndim - 2, sizes)
    for k in range(iter.operands):
        size = item_size[iter.operand[k].dtype]
        first = begin * iter.operand[k].strides[0] * size if ndim > 0 else 0
        count_along(&at, k, iter.operand[k].data + first, iter.operand[k].strides, size)
        plane.strides[k] = iter.operand[k].strides[ndim - 1] if ndim > 0 else 0
        plane.row_strides[k] = iter.operand[k].strides[ndim - 2] if ndim > 1 else 0
    plane.is_copy = loop == copy_loops[item_size[iter.operand[0].dtype]]
    columns = sizes[ndim - 1] if ndim > 0 else 1
    rows = sizes[ndim - 2] if ndim > 1 else 1
    prepare_buffers(iter, &plane)
    while True:
        run_plane(iter, loop, &plane, at.data, rows, columns)
        if not next_index(&at, iter.operands):
            return


cdef int for_each(TensorIterator* iter, void* loop, ssize grain) except -1:
    """Call the loop for all elements of the result. A thread gets at least `grain` of them."""
    cdef Job job
    cdef ssize* strides[MAX_OPERANDS]
    cdef ssize work = 1, n
    cdef int d, k
    for d in range(iter.ndim):
        work *= iter.sizes[d]
    if work == 0:
        return 0
    for k in range(iter.operands):
        strides[k] = iter.operand[k].strides
    iter.ndim = coalesce(iter.ndim, iter.sizes, iter.operands, strides)
    job.iter, job.loop = iter, loop
    n = iter.sizes[0] if iter.ndim > 0 else 1
    share_work(run_part, &job, n, work, work if iter.one_by_one else grain)
    return 0


# ---------------------------------------------------------------- copies
cdef void copy_words(word* out, word* x, ssize n) noexcept nogil:
    if out != x:
        memcpy(out, x, n * sizeof(word))


cdef int copy_into(TensorBase out, TensorBase x) except -1:
    """Write x, broadcast and cast, over out. Their memory must not overlap partly. They may be on different devices."""
    cdef TensorIterator iter
    cdef int i
    check_convertible(out.dtype_, x.dtype_)
    if x.storage_.device != ON_CPU or out.storage_.device != ON_CPU:
        return copy_between_devices(out, x)
    iter.ndim = out.ndim_
    iter.operands = 2
    iter.one_by_one = False
    for i in range(out.ndim_):
        iter.sizes[i] = out.sizes[i]
    set_operand(&iter, 0, out.data_, out.dtype_, out.dtype_, out.ndim_, out.sizes, out.strides)
    set_operand(&iter, 1, memory_of(x), x.dtype_, out.dtype_, x.ndim_, x.sizes, x.strides)
    return for_each(&iter, copy_loops[item_size[out.dtype_]], 65536)


cdef bint copied_later(TensorBase out, TensorBase x):
    """Has the device been told to make this copy in its own time? That it can do row after row only."""
    cdef TensorBase there = out if x.storage_.device == ON_CPU else x
    cdef TensorBase here = x if there is out else out
    copy = getattr(allocator_of(there.storage_.device), "write_later" if there is out else "read_later", None)
    if (copy is None or here.storage_.device != ON_CPU or out.dtype_ != x.dtype_ or out.numel_ != x.numel_
            or not (out.is_contiguous_ and x.is_contiguous_)):
        return False
    copy(there.storage_.owner, <ssize>there.data_, here)
    return True


cdef int copy_between_devices(TensorBase out, TensorBase x) except -1:
    """`copy_into` where not both are on the cpu. The copy is made there, and then moved."""
    cdef TensorBase stage
    if is_meta(out) or (is_copying_later() and copied_later(out, x)):
        return 0
    if x.storage_.device != ON_CPU:
        x = staged(x)
    if out.storage_.device == ON_CPU:
        return copy_into(out, x)
    stage = staged(out)
    copy_into(stage, x)
    return unstage(out, stage)


cdef TensorBase moved(TensorBase x, int device):
    """x on another device, with the same strides; x itself if it is there."""
    cdef TensorBase out
    if x.storage_.device == device:
        return x
    out = tensor_on(device, x.dtype_, x.ndim_, x.sizes, x.strides)
    copy_into(out, x)
    return out


cdef TensorBase plain(TensorBase x):
    """x row-major and of the type that is computed in, likewise."""
    return None if x is None else plain_as(x, kernel_dtype(x.dtype_))


cdef TensorBase plain_result(TensorBase out):
    """What a kernel computes into: `out` itself if it is plain, else a new tensor, from which `put_back` copies."""
    cdef int dtype = kernel_dtype(out.dtype_)
    return out if out.is_contiguous_ and dtype == out.dtype_ else empty_beside(out, dtype, out.ndim_, out.sizes)


cdef TensorBase copy_as(TensorBase x, int dtype):
    """A new row-major tensor of this type with x's values."""
    cdef TensorBase out = empty_beside(x, dtype, x.ndim_, x.sizes)
    copy_into(out, x)
    return out


cdef TensorBase contiguous_copy(TensorBase x):
    """A new row-major tensor with x's values."""
    return copy_as(x, x.dtype_)


cdef int fill_with(TensorBase out, const void* value, int value_dtype) except -1:
    """Write one value everywhere."""
    cdef TensorIterator iter
    cdef TensorBase stage
    cdef int i
    if out.storage_.device != ON_CPU:
        if not is_meta(out):
            stage = staged(out)
            fill_with(stage, value, value_dtype)
            unstage(out, stage)
        return 0
    if out.is_contiguous_ and out.numel_ > 0 and is_zero(value, value_dtype):
        with nogil:
            memset(out.data_, 0, out.numel_ * item_size[out.dtype_])
        return 0
    check_convertible(out.dtype_, value_dtype)
    iter.ndim = out.ndim_
    iter.operands = 2
    iter.one_by_one = False
    for i in range(out.ndim_):
        iter.sizes[i] = out.sizes[i]
    set_operand(&iter, 0, out.data_, out.dtype_, out.dtype_, out.ndim_, out.sizes, out.strides)
    set_operand(&iter, 1, <char*>value, value_dtype, out.dtype_, 0, NULL, NULL)
    return for_each(&iter, copy_loops[item_size[out.dtype_]], 65536)


cdef bint is_zero(const void* value, int dtype) noexcept:
    """True if all bits are 0 (so -0.0 is not)."""
    cdef int i
    for i in range(item_size[dtype]):
        if (<char*>value)[i] != 0:
            return False
    return True

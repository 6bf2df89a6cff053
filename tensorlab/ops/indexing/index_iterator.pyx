"""The iterator of all indexing by tensors.

It has two operands: x, of which elements are selected by positions, and a `flat` tensor, which has one place for each
position. The same iterator serves reading (flat = x), writing (x = flat) and accumulating (x += flat).

    for each block of 512 positions:                wrap negative ones, check them, turn them into offsets in x
        for each index of the dimensions that are kept, but for the innermost run:
            for each position of the block:         move one run of elements

A block's offsets stay in the L1 cache while it goes over all the kept dimensions, so they are made once. What is written is
checked beforehand in a pass of its own, because a call that raises must change nothing. Making the offsets checks once more: each
position is read once, and what was read is checked, as another thread may write to the index meanwhile.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy

from tensorlab._core.dtypes cimport (
    BOOL, COMPLEX128, COMPLEX32, COMPLEX64, FLOAT32, FLOAT64, HALF, INT16, INT32, INT64, INT8,
    MAX_ITEMSIZE, NUM_DTYPES, UINT16, UINT32, UINT64, UINT8, complex128, complex64, dtype_object, is_in,
    item_size, kernel_dtype, two_words, word
)
from tensorlab._core.layout cimport extent, is_dense, ssize
from tensorlab._core.loops.iterator cimport contiguous_copy, copy_into
from tensorlab._core.loops.loop_nest cimport (
    IndexCounter, coalesce, count_along, next_index, start_counter
)
from tensorlab._core.loops.parallel cimport NOGIL_WORK, grain_of, parallel_for, thread_count
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, memory_of

from tensorlab.errors import IndexOutOfRange, MemoryLayoutError, UnsupportedDType

cdef enum:
    AHEAD = 4                   # positions between the prefetch of one and its move
    BLOCK = 512                 # positions whose offsets are made at once
    GRAIN = 16384               # elements that make a thread worth starting


# ---------------------------------------------------------------- inner loops: one block of positions
cdef void take_loop(word* x, word* flat, const ssize* offsets, ssize count, ssize index_stride,
                    ssize run, ssize run_stride) noexcept nogil:
    cdef ssize i = 0, j
    cdef word a, b, c, d
    if run == 1 and index_stride == 1:
        # four loads before four stores: as far as the compiler knows, a store may change what
        # is read next
        while i + 4 <= count:
            a, b, c, d = x[offsets[i]], x[offsets[i + 1]], x[offsets[i + 2]], x[offsets[i + 3]]
            flat[i], flat[i + 1], flat[i + 2], flat[i + 3] = a, b, c, d
            i += 4
        while i < count:
            flat[i] = x[offsets[i]]
            i += 1
    elif run < 16:
        for i in range(count):
            for j in range(run):
                flat[i * index_stride + j] = x[offsets[i] + j]
    else:
        for i in range(count):
            fetch_early(x + offsets[min(i + AHEAD, count - 1)], run * sizeof(word))
            memcpy(flat + i * index_stride, x + offsets[i], run * sizeof(word))


cdef void put_loop(word* x, word* flat, const ssize* offsets, ssize count, ssize index_stride, ssize run,
                   ssize run_stride) noexcept nogil:
    cdef ssize i, j
    cdef word value
    if run == 1:
        for i in range(count):
            x[offsets[i]] = flat[i * index_stride]
    elif run_stride == 0:
        for i in range(count):
            value = flat[i * index_stride]
            for j in range(run):
                x[offsets[i] + j] = value
    elif run < 16:
        for i in range(count):
            for j in range(run):
                x[offsets[i] + j] = flat[i * index_stride + j]
    else:
        for i in range(count):
            memcpy(x + offsets[i], flat + i * index_stride, run * sizeof(word))


cdef void add_loop(element* x, element* flat, const ssize* offsets, ssize count, ssize index_stride, ssize run,
                   ssize run_stride) noexcept nogil:
    cdef ssize i, j
    cdef element* to
    cdef element* source
    if run == 1:
        for i in range(count):
            add_to(x + offsets[i], flat + i * index_stride)
        return
    for i in range(count):
        to = x + offsets[i]
        source = flat + i * index_stride
        if run_stride == 0:
            for j in range(run):
                add_to(to + j, source)
        else:
            for j in range(run):
                add_to(to + j, source + j)


cdef index_loop add_loops[NUM_DTYPES]
add_loops[BOOL] = <index_loop>add_loop[bool_element]
add_loops[UINT8] = <index_loop>add_loop[uint8_t]
add_loops[INT8] = <index_loop>add_loop[int8_t]
add_loops[INT16] = <index_loop>add_loop[int16_t]
add_loops[INT32] = <index_loop>add_loop[int32_t]
add_loops[INT64] = <index_loop>add_loop[int64_t]
add_loops[FLOAT32] = <index_loop>add_loop[float]
add_loops[FLOAT64] = <index_loop>add_loop[double]
add_loops[COMPLEX64] = <index_loop>add_loop[complex64]
add_loops[COMPLEX128] = <index_loop>add_loop[complex128]
add_loops[UINT16], add_loops[UINT32], add_loops[UINT64] = add_loops[INT16], add_loops[INT32], add_loops[INT64]     # the same bits


# ---------------------------------------------------------------- half types
cdef bint must_be_widened(int mode, TensorBase x) noexcept:
    """Would elements of a half type be added up? In bfloat16, a sum of ones gets no further than 256, as 257 has nine bits."""
    return mode == ADD and is_in(x.dtype_, HALF | 1 << COMPLEX32)


cdef TensorBase widened(TensorBase x):
    """x in float32 (or complex64), in memory of its own: sums of a half type are rounded once, when everything has been added."""
    cdef TensorBase wide = empty_beside(x, kernel_dtype(x.dtype_), x.ndim_, x.sizes)
    copy_into(wide, x)
    return wide


# ----------------------------------------------------------------
cdef index_loop[MAX_ITEMSIZE + 1] take_loops, put_loops     # by the size of an element

cdef void set_loops(const word* as_this) noexcept:
    take_loops[sizeof(word)] = <index_loop>take_loop[word]
    put_loops[sizeof(word)] = <index_loop>put_loop[word]

set_loops[uint8_t](NULL)
set_loops[uint16_t](NULL)
set_loops[int32_t](NULL)
set_loops[int64_t](NULL)
set_loops[two_words](NULL)


cdef index_loop loop_for(int mode, int dtype, str where) except NULL:
    cdef index_loop loop
    if mode == ADD:
        loop = add_loops[dtype]
    else:
        loop = take_loops[item_size[dtype]] if mode == TAKE else put_loops[item_size[dtype]]
    if loop == NULL:
        raise UnsupportedDType(f"{where}: not implemented for {dtype_object(dtype)}; convert it with .to() first")
    return loop


# ---------------------------------------------------------------- setting up
cdef void add_kept_dim(IndexIterator* iter, ssize size, ssize x_stride, ssize flat_stride) noexcept nogil:
    """One more dimension that is not indexed."""
    iter.sizes[iter.ndim] = size
    iter.x_strides[iter.ndim] = x_stride
    iter.flat_strides[iter.ndim] = flat_stride
    iter.ndim += 1


cdef void end_kept_dims(IndexIterator* iter) noexcept nogil:
    """Coalesce the kept dimensions, and make the last of them the run, if it can be one."""
    cdef ssize* strides[2]
    cdef int d
    strides[0], strides[1] = iter.x_strides, iter.flat_strides
    iter.ndim = coalesce(iter.ndim, iter.sizes, 2, strides)
    d = iter.ndim - 1
    iter.run = 1
    iter.run_stride = 1
    if d >= 0 and iter.x_strides[d] == 1 and 0 <= iter.flat_strides[d] <= 1:
        iter.run = iter.sizes[d]
        iter.run_stride = iter.flat_strides[d]
        iter.ndim = d


# ---------------------------------------------------------------- positions
cdef bint find_offsets(IndexIterator* iter, ssize begin, ssize count,
                       ssize* offsets) noexcept nogil:
    """Offsets in x of a block of positions; False if one is out of range."""
    cdef ssize i, bound, stride
    cdef int64_t at
    cdef uint64_t largest                       # a negative position counts as larger than all
    cdef bint good = True
    cdef const int64_t* index
    cdef int k
    for k in range(iter.indices):
        index = iter.index[k] + begin
        bound = iter.bound[k]
        stride = iter.stride[k]
        largest = 0
        if k == 0:
            for i in range(count):
                at = index[i]
                at += bound if at < 0 else 0
                largest = <uint64_t>at if <uint64_t>at > largest else largest
                offsets[i] = at * stride
        else:
            for i in range(count):
                at = index[i]
                at += bound if at < 0 else 0
                largest = <uint64_t>at if <uint64_t>at > largest else largest
                offsets[i] += at * stride
        good = good and (count == 0 or largest < <uint64_t>bound)
    return good


cdef int raise_bad_position(IndexIterator* iter, str where) except -1:
    """Say which position is out of range."""
    cdef ssize i
    cdef int k
    for k in range(iter.indices):
        for i in range(iter.n):
            if iter.index[k][i] < -iter.bound[k] or iter.index[k][i] >= iter.bound[k]:
                raise IndexOutOfRange(f"{where}: index {iter.index[k][i]} is out of range for a dimension of size "
                                      f"{iter.bound[k]}; valid are {-iter.bound[k]} to {iter.bound[k] - 1}")
    raise IndexOutOfRange(f"{where}: an index was out of range while the op ran, but is not any more: another thread writes to "
                          f"the index tensor. What the op has written is incomplete; give it a clone of the index")


cdef int check_positions(IndexIterator* iter, str where) except -1:
    """Raise if a position is out of range."""
    cdef ssize[BLOCK] offsets
    cdef ssize begin
    cdef bint good = True
    for begin in range(0, iter.n, 512):
        good = good and find_offsets(iter, begin, min(iter.n - begin, BLOCK), offsets)
    if not good:
        raise_bad_position(iter, where)
    return 0


# ---------------------------------------------------------------- running
cdef bint run_block(IndexIterator* iter, index_loop loop, char* x, char* flat, int size, ssize begin, ssize count) noexcept nogil:
    """One block of positions, for all indices of the kept dimensions; False if a position is out of range."""
    cdef ssize[BLOCK] offsets
    cdef IndexCounter at                                # of the kept dimensions
    if not find_offsets(iter, begin, count, offsets):
        return False
    start_counter(&at, iter.ndim, iter.sizes)
    count_along(&at, 0, x, iter.x_strides, size)
    count_along(&at, 1, flat + begin * iter.index_stride * size, iter.flat_strides, size)
    while True:
        loop(at.data[0], at.data[1], offsets, count, iter.index_stride, iter.run, iter.run_stride)
        if not next_index(&at, 2):
            return True


cdef bint run_range(IndexIterator* iter, index_loop loop, char* x, char* flat, int size, ssize begin, ssize end) noexcept nogil:
    cdef ssize i
    cdef bint good = True
    for i in range(begin, end, 512):
        good = run_block(iter, loop, x, flat, size, i, min(end - i, BLOCK)) and good
    return good


cdef struct Job:
    IndexIterator* iter
    index_loop loop
    char* x
    char* flat
    int size                    # bytes of an element
    int axis                    # what is shared out: the positions (0), the run (1), or the outermost kept dimension (2)
    bint failed                 # a position is out of range


cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef IndexIterator iter = job.iter[0]
    cdef char* x = job.x
    cdef char* flat = job.flat
    cdef int size = job.size
    if job.axis == 1:
        iter.run = end - begin
        x += begin * size
        flat += begin * iter.run_stride * size
    elif job.axis == 2:
        iter.sizes[0] = end - begin
        x += begin * iter.x_strides[0] * size
        flat += begin * iter.flat_strides[0] * size
    if job.axis != 0:
        begin, end = 0, iter.n
    if not run_range(&iter, job.loop, x, flat, size, begin, end):
        job.failed = True


cdef int for_each_index(IndexIterator* iter, int mode, TensorBase x, TensorBase flat, str where) except -1:
    """Move everything. Writing needs `check_positions` before; reading checks on the way.

    Threads share the positions where they only read them, or the outermost kept dimension if it is long, as each then
    writes memory of its own. Where they write, a place may be meant by several positions, so that a thread must have all
    of them: then the run or the outermost kept dimension is shared.
    """
    cdef index_loop loop = loop_for(mode, x.dtype_, where)
    cdef Job job
    cdef ssize work = iter.n * iter.run, n, grain
    cdef int d, threads, size = item_size[x.dtype_]
    for d in range(iter.ndim):
        work *= iter.sizes[d]
    if work == 0:
        return 0
    if work < NOGIL_WORK:
        if not run_range(iter, loop, memory_of(x), memory_of(flat), size, 0, iter.n):
            raise_bad_position(iter, where)
        return 0
    job.iter, job.loop, job.x, job.flat, job.size = iter, loop, memory_of(x), memory_of(flat), size
    job.axis, job.failed = 0, False
    threads = thread_count(work, GRAIN)
    if mode == TAKE and iter.ndim > 0 and iter.sizes[0] >= 64 * threads:
        job.axis, n, grain = 2, iter.sizes[0], max(32, grain_of(GRAIN, work // iter.sizes[0]))
    elif mode == TAKE and iter.n >= 64 * threads:
        n, grain = iter.n, max(64, grain_of(GRAIN, work // iter.n))
    elif iter.run >= 32 * threads:
        job.axis, n, grain = 1, iter.run, max(32, iter.run // threads)       # every piece reads all positions
    elif iter.ndim > 0 and iter.sizes[0] >= threads:
        job.axis, n, grain = 2, iter.sizes[0], iter.sizes[0] // threads
    else:
        n, grain = iter.n, iter.n
    with nogil:
        parallel_for(run_share, &job, n, grain)
    if job.failed:
        raise_bad_position(iter, where)
    return 0


# ---------------------------------------------------------------- other layouts
cdef TensorBase as_row(TensorBase x):
    """The elements in row-major order as one dimension: an alias of x, or of a copy."""
    cdef ssize one = 1
    if x.ndim_ == 1:
        return x
    x = x if x.is_contiguous_ else contiguous_copy(x)
    return alias_as(x, 1, &x.numel_, &one, x.data_)


# ---------------------------------------------------------------- overlap
cpdef TensorBase apart_from(TensorBase x, TensorBase y, str where, str what):
    """y, which is to be read while x is written. Raises if they share memory; what cannot be told so easily (a tensor with
    gaps) is copied instead."""
    cdef ssize x_bytes, y_bytes
    if x is y:
        raise MemoryLayoutError(f"{where}: the tensor to be written and {what} are the same tensor; clone one first")
    if x.storage_ is not y.storage_ or x.numel_ == 0 or y.numel_ == 0:
        return y
    x_bytes = extent(x.ndim_, x.sizes, x.strides) * item_size[x.dtype_]
    y_bytes = extent(y.ndim_, y.sizes, y.strides) * item_size[y.dtype_]
    if x.data_ >= y.data_ + y_bytes or y.data_ >= x.data_ + x_bytes:
        return y
    if is_dense(x.ndim_, x.sizes, x.strides) and is_dense(y.ndim_, y.sizes, y.strides):
        raise MemoryLayoutError(f"{where}: the tensor to be written and {what} share part of their memory; clone one first")
    return contiguous_copy(y)

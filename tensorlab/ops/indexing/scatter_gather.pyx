"""The iterator along an index that has one entry for each element, which gather, scatter and scatter_reduce share.

It goes along the elements of `index`, with strides of x that are 0 in dimension `dim`, and adds index * dim_stride; one call
of an inner loop takes the innermost dimension. What is written is written after all indices have been checked, so that a call
that raises changes nothing. Each loop checks them once more where it uses them: another thread may write to the index meanwhile,
and an index out of range must not reach memory. The comparison costs next to nothing, as its branch is always predicted.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t

from tensorlab._core.dtypes cimport (
    BOOL, COMPLEX128, COMPLEX64, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, MAX_ITEMSIZE, NUM_DTYPES,
    UINT16, UINT32, UINT64, UINT8, complex128, complex64, dtype_object, item_size, two_words, word
)
from tensorlab._core.layout cimport shape_text, ssize
from tensorlab._core.loops.iterator cimport contiguous_copy, copy_as, copy_into
from tensorlab._core.loops.loop_nest cimport (
    IndexCounter, count_along, next_index, start_counter
)
from tensorlab._core.loops.parallel cimport share_work
from tensorlab._core.tensor cimport TensorBase, memory_of
from tensorlab.ops.indexing.index_iterator cimport (
    ADD, TAKE, add_to, bool_element, element, must_be_widened, widened
)

from tensorlab.errors import DTypeError, PositionOutOfRange, ShapeError, UnsupportedDType

cdef enum:
    GRAIN = 16384               # elements that make a thread worth starting

# ---------------------------------------------------------------- inner loops; False if an index is out of range
cdef bint check_loop(void* x, const int64_t* index, void* flat, ssize n, ssize x_stride, ssize index_stride, ssize flat_stride,
                     ssize dim_stride, ssize bound) noexcept nogil:
    """The largest one decides; a negative one counts as larger than all."""
    cdef ssize i
    cdef uint64_t largest = 0
    if index_stride == 1:
        for i in range(n):
            largest = <uint64_t>index[i] if <uint64_t>index[i] > largest else largest
    else:
        for i in range(n):
            largest = <uint64_t>index[i * index_stride] if <uint64_t>index[i * index_stride] > largest else largest
    return n == 0 or largest < <uint64_t>bound


cdef bint gather_loop(word* x, const int64_t* index, word* flat, ssize n, ssize x_stride,
                      ssize index_stride, ssize flat_stride, ssize dim_stride,
                      ssize bound) noexcept nogil:
    cdef ssize i = 0
    cdef uint64_t p, q, r, s, size = <uint64_t>bound
    cdef word a, b, c, d
    cdef bint good = True
    if x_stride == 0 and dim_stride == 1 and index_stride == 1 and flat_stride == 1:
        # four loads before four stores: as far as the compiler knows, a store may change what
        # is read next
        while i + 4 <= n:
            p, q = <uint64_t>index[i], <uint64_t>index[i + 1]
            r, s = <uint64_t>index[i + 2], <uint64_t>index[i + 3]
            if p >= size or q >= size or r >= size or s >= size:
                return False
            a, b, c, d = x[p], x[q], x[r], x[s]
            flat[i], flat[i + 1], flat[i + 2], flat[i + 3] = a, b, c, d
            i += 4
    while i < n:
        p = <uint64_t>index[i * index_stride]
        if p < size:
            flat[i * flat_stride] = x[i * x_stride + <ssize>p * dim_stride]
        else:
            good = False
        i += 1
    return good


cdef bint scatter_loop(word* x, const int64_t* index, word* flat, ssize n, ssize x_stride, ssize index_stride, ssize flat_stride,
                       ssize dim_stride, ssize bound) noexcept nogil:
    cdef ssize i
    cdef uint64_t at
    cdef bint good = True
    for i in range(n):
        at = <uint64_t>index[i * index_stride]
        if at < <uint64_t>bound:
            x[i * x_stride + <ssize>at * dim_stride] = flat[i * flat_stride]
        else:
            good = False
    return good


cdef bint add_loop(element* x, const int64_t* index, element* flat, ssize n, ssize x_stride, ssize index_stride,
                   ssize flat_stride, ssize dim_stride, ssize bound) noexcept nogil:
    cdef ssize i = 0
    cdef uint64_t p, q, r, s, size = <uint64_t>bound
    cdef element a, b, c, d
    cdef bint good = True
    if x_stride == 0 and dim_stride == 1 and index_stride == 1 and flat_stride == 1:
        while i + 4 <= n:                               # all loads before the stores, as in gather_loop
            p, q, r, s = <uint64_t>index[i], <uint64_t>index[i + 1], <uint64_t>index[i + 2], <uint64_t>index[i + 3]
            if p >= size or q >= size or r >= size or s >= size:
                return False
            a, b, c, d = flat[i], flat[i + 1], flat[i + 2], flat[i + 3]
            add_to(x + p, &a)
            add_to(x + q, &b)
            add_to(x + r, &c)
            add_to(x + s, &d)
            i += 4
    while i < n:
        p = <uint64_t>index[i * index_stride]
        if p < size:
            add_to(x + i * x_stride + <ssize>p * dim_stride, flat + i * flat_stride)
        else:
            good = False
        i += 1
    return good


cdef scatter_gather_loop add_loops[NUM_DTYPES]
add_loops[BOOL] = <scatter_gather_loop>add_loop[bool_element]
add_loops[UINT8] = <scatter_gather_loop>add_loop[uint8_t]
add_loops[INT8] = <scatter_gather_loop>add_loop[int8_t]
add_loops[INT16] = <scatter_gather_loop>add_loop[int16_t]
add_loops[INT32] = <scatter_gather_loop>add_loop[int32_t]
add_loops[INT64] = <scatter_gather_loop>add_loop[int64_t]
add_loops[FLOAT32] = <scatter_gather_loop>add_loop[float]
add_loops[FLOAT64] = <scatter_gather_loop>add_loop[double]
add_loops[COMPLEX64] = <scatter_gather_loop>add_loop[complex64]
add_loops[COMPLEX128] = <scatter_gather_loop>add_loop[complex128]
add_loops[UINT16], add_loops[UINT32], add_loops[UINT64] = add_loops[INT16], add_loops[INT32], add_loops[INT64]     # the same bits


cdef scatter_gather_loop[MAX_ITEMSIZE + 1] gather_loops, scatter_loops     # by the size of an element

cdef void set_loops(const word* as_this) noexcept:
    gather_loops[sizeof(word)] = <scatter_gather_loop>gather_loop[word]
    scatter_loops[sizeof(word)] = <scatter_gather_loop>scatter_loop[word]

set_loops[uint8_t](NULL)
set_loops[uint16_t](NULL)
set_loops[int32_t](NULL)
set_loops[int64_t](NULL)
set_loops[two_words](NULL)


cdef scatter_gather_loop loop_for(int mode, int dtype, str where) except NULL:
    cdef scatter_gather_loop loop
    if mode == ADD:
        loop = add_loops[dtype]
    else:
        loop = gather_loops[item_size[dtype]] if mode == TAKE else scatter_loops[item_size[dtype]]
    if loop == NULL:
        raise UnsupportedDType(f"{where}: not implemented for {dtype_object(dtype)}; convert it with .to() first")
    return loop


# ---------------------------------------------------------------- running
cdef void set_up_iterator(ScatterGather* iter, TensorBase x, int dim, TensorBase index, TensorBase flat) noexcept nogil:
    """A 0-d tensor counts as one element of one dimension; a 0-d `flat` is broadcast."""
    cdef int d, n = 0
    iter.dim = -1
    iter.dim_stride = x.strides[dim] if x.ndim_ > 0 else 1
    iter.bound = x.sizes[dim] if x.ndim_ > 0 else 1
    for d in range(index.ndim_):
        if index.sizes[d] == 1:
            continue
        iter.sizes[n] = index.sizes[d]
        iter.index_strides[n] = index.strides[d]
        iter.x_strides[n] = x.strides[d] if d != dim else 0
        iter.flat_strides[n] = flat.strides[d] if flat.ndim_ > 0 else 0
        if d == dim:
            iter.dim = n
        n += 1
    iter.ndim = n


cdef bint run_part(ScatterGather* iter, scatter_gather_loop loop, char* x, const int64_t* index, char* flat,
                   int size) noexcept nogil:
    cdef IndexCounter at                                # of the dimensions but for the last
    cdef int last = iter.ndim - 1
    cdef bint good = True
    if last < 0:
        return loop(x, index, flat, 1, 0, 0, 0, iter.dim_stride, iter.bound)
    start_counter(&at, last, iter.sizes)
    count_along(&at, 0, x, iter.x_strides, size)
    count_along(&at, 1, <char*>index, iter.index_strides, sizeof(int64_t))
    count_along(&at, 2, flat, iter.flat_strides, size)
    while True:
        good = loop(at.data[0], <const int64_t*>at.data[1], at.data[2], iter.sizes[last], iter.x_strides[last],
                    iter.index_strides[last], iter.flat_strides[last], iter.dim_stride, iter.bound) and good
        if not next_index(&at, 3):
            return good


cdef struct Job:
    ScatterGather* iter
    scatter_gather_loop loop
    char* x
    const int64_t* index
    char* flat
    int size                        # bytes of an element
    int axis                        # the dimension that is shared out
    bint failed                     # a bad index was met


cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    """From `begin` to `end` of a dimension."""
    cdef Job* job = <Job*>context
    cdef ScatterGather iter = job.iter[0]
    cdef int axis = job.axis
    iter.sizes[axis] = end - begin
    if not run_part(&iter, job.loop, job.x + begin * iter.x_strides[axis] * job.size,
                    job.index + begin * iter.index_strides[axis],
                    job.flat + begin * iter.flat_strides[axis] * job.size, job.size):
        job.failed = True


cdef bint run_iterator(ScatterGather* iter, scatter_gather_loop loop, bint writes, TensorBase x, TensorBase index,
                       TensorBase flat) noexcept:
    """Threads share the first dimension; when x is written, only one other than `dim`, so that they never meet.

    All three have memory: callers ask."""
    cdef Job job
    job.iter, job.loop, job.failed = iter, loop, False
    job.x, job.index, job.flat = x.data_, <const int64_t*>index.data_, flat.data_
    job.size, job.axis = item_size[x.dtype_], 1 if writes and iter.dim == 0 else 0
    share_work(run_share, &job, iter.sizes[job.axis] if job.axis < iter.ndim else 1, index.numel_, GRAIN)
    return not job.failed


cdef int raise_bad_index(TensorBase x, int dim, TensorBase index, str where) except -1:
    """Say which index is out of range."""
    cdef ssize bound = x.sizes[dim] if x.ndim_ > 0 else 1, i
    cdef TensorBase row = contiguous_copy(index)
    cdef const int64_t* at = <const int64_t*>memory_of(row)
    for i in range(row.numel_):
        if at[i] < 0 or at[i] >= bound:
            raise PositionOutOfRange(f"{where}: index {at[i]} is out of range for dimension {dim}, which has size {bound}; valid "
                                     f"are 0 to {bound - 1}")
    raise changed_meanwhile(where)


cdef object changed_meanwhile(str where):
    """The error about an index that was out of range, but is not any more."""
    return PositionOutOfRange(f"{where}: an index was out of range while the op ran, but is not any more: another thread writes "
                              f"to the index tensor. What the op has written is incomplete; give it a clone of the index")


# ---------------------------------------------------------------- checks
cdef TensorBase check_index(TensorBase x, int dim, TensorBase given, str where):
    """The index as int64, which must have as many dimensions as x and be no larger, but for `dim`; an empty one may be any."""
    cdef int d
    if given.dtype_ != INT64 and given.dtype_ != INT32 and given.numel_ > 0:
        raise DTypeError(f"{where}: the index must be of type int64 or int32, not {given.dtype}")
    if given.numel_ > 0:
        if max(<int>given.ndim_, 1) != max(<int>x.ndim_, 1):
            raise ShapeError(f"{where}: the index has {given.ndim_} dimensions, but the tensor has {x.ndim_}; they must be as "
                             f"many")
        for d in range(min(<int>given.ndim_, <int>x.ndim_)):
            if d != dim and given.sizes[d] > x.sizes[d]:
                raise ShapeError(f"{where}: the index of shape {shape_text(given.ndim_, given.sizes)} is larger than the tensor "
                                 f"of shape {shape_text(x.ndim_, x.sizes)} in dimension {d}, which is not the one indexed")
    return given if given.dtype_ == INT64 else copy_as(given, INT64)


cdef int check_source(TensorBase x, TensorBase index, TensorBase source, str where) except -1:
    cdef int d
    if source.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: the source has type {source.dtype}, but the tensor has type {x.dtype}; convert it with "
                         f".to() first")
    if index.numel_ > 0:
        if max(<int>source.ndim_, 1) != max(<int>index.ndim_, 1):
            raise ShapeError(f"{where}: the source has {source.ndim_} dimensions, but the index has {index.ndim_}; they must be "
                             f"as many")
        for d in range(min(<int>source.ndim_, <int>index.ndim_)):
            if index.sizes[d] > source.sizes[d]:
                raise ShapeError(f"{where}: the index of shape {shape_text(index.ndim_, index.sizes)} is larger than the source "
                                 f"of shape {shape_text(source.ndim_, source.sizes)} in dimension {d}")
    return 0


cdef int scatter_into(TensorBase x, int dim, TensorBase index, TensorBase flat, int mode, str where,
                      bint is_new=False) except -1:
    """Write or accumulate, after all indices have been checked. A new x, which an error drops, needs no pass for that."""
    cdef ScatterGather iter
    cdef TensorBase wide
    if index.numel_ == 0:
        return 0
    memory_of(index), memory_of(flat)           # raise if one of them has none
    if must_be_widened(mode, x):
        wide = widened(x)
        scatter_into(wide, dim, index, widened(flat), mode, where, is_new)
        copy_into(x, wide)
        return 0
    set_up_iterator(&iter, x, dim, index, flat)
    if not is_new and not run_iterator(&iter, check_loop, False, x, index, flat):
        raise_bad_index(x, dim, index, where)
    if not run_iterator(&iter, loop_for(mode, x.dtype_, where), True, x, index, flat):
        raise_bad_index(x, dim, index, where)
    return 0

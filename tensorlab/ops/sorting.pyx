"""Sorting along a dimension, by radix.

A number is turned into an unsigned key of the same order, and keys are dealt into buckets, digit by digit, from the
lowest digit to the highest. Each deal keeps the order of equal digits, so after the last one the keys are sorted, and
equal elements stay in the order they had: the sort is stable. Digits in which all keys agree are skipped. Short slices
are sorted by insertion. nan counts as larger than every number, -0 and 0 as equal.

Source: Knuth, The Art of Computer Programming 3, section 5.2.5 (radix sorting).
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tensorlab._core.dispatch.dispatch cimport run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport NO_DERIVATIVE, NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.dtypes cimport (
    BOOL, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, ORDERED, UINT64, UINT8, item_size, kernel_dtype,
    number
)
from tensorlab._core.graph.graph cimport dim_of
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase, empty_like, result_like
from tensorlab.ops.dim_iterator cimport DimIterator, add_operand, dim_apply, start_iterator

from tensorlab import return_types
from tensorlab.errors import ShapeError
from tensorlab.ops.reductions import chosen_derivative

ctypedef fused key_type:
    uint32_t
    uint64_t

cdef enum:
    INSERTION = 40              # elements up to which insertion is faster
    COUNTS = 2048               # buckets of the longest digit, of 11 bits
    GRAIN = 4096                # elements that make a thread worth starting


# ---------------------------------------------------------------- keys
cdef inline key_type key_of(sortable x, key_type as_this) noexcept nogil:
    """An unsigned number of the same order. Of a float: the bits, all flipped if negative, else the sign bit set."""
    cdef uint32_t bits
    cdef uint64_t wide
    if sortable is float:
        if x != x:
            return <key_type>0xffffffff
        x = x + 0                                       # -0 becomes 0
        memcpy(&bits, &x, 4)
        return <key_type>(~bits if bits >> 31 else bits | <uint32_t>0x80000000)
    elif sortable is double:
        if x != x:
            return <key_type>0xffffffffffffffff
        x = x + 0
        memcpy(&wide, &x, 8)
        return <key_type>(~wide if wide >> 63 else wide | <uint64_t>0x8000000000000000)
    elif sortable is int64_t:
        return <key_type>(<uint64_t>x ^ <uint64_t>0x8000000000000000)
    elif sortable is uint8_t or sortable is uint64_t:
        return <key_type>x
    else:
        return <key_type>(<uint32_t><int32_t>x ^ <uint32_t>0x80000000)


# ---------------------------------------------------------------- one slice
cdef inline void insertion_sort(key_type* keys, uint32_t* order, ssize n) noexcept nogil:
    cdef ssize i, j
    cdef key_type key
    cdef uint32_t index
    for i in range(1, n):
        key = keys[i]
        index = order[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            order[j] = order[j - 1]
            j -= 1
        keys[j] = key
        order[j] = index

cdef inline void radix_sort(key_type* keys, uint32_t* order, key_type* other_keys, uint32_t* other_order, ssize n,
                            key_type differing, uint32_t* counts) noexcept nogil:
    """Sort keys and order; `differing` has a 1 in each bit in which two keys differ."""
    cdef int bits = 8 if n < 2048 else 11, shift = 0, d
    cdef uint32_t mask = (1 << bits) - 1, digit, place, count
    cdef ssize i
    cdef uint32_t* result = order
    while shift < 8 * <int>sizeof(key_type):
        if differing >> shift & mask:
            memset(counts, 0, (mask + 1) * sizeof(uint32_t))
            for i in range(n):
                counts[keys[i] >> shift & mask] += 1
            place = 0
            for d in range(<int>mask + 1):              # from counts to the place where each bucket begins
                count = counts[d]
                counts[d] = place
                place += count
            for i in range(n):
                digit = <uint32_t>(keys[i] >> shift & mask)
                place = counts[digit]
                counts[digit] = place + 1
                other_keys[place] = keys[i]
                other_order[place] = order[i]
            keys, other_keys = other_keys, keys
            order, other_order = other_order, order
        shift += bits
    if order != result:
        memcpy(result, order, n * sizeof(uint32_t))

cdef inline void order_of(uint32_t* order, sortable* x, ssize n, bint descending, void* scratch,
                          key_type flip) noexcept nogil:
    cdef uint32_t* counts = <uint32_t*>scratch
    cdef uint32_t* other_order = counts + COUNTS
    cdef key_type* keys = <key_type*>(<char*>(counts + COUNTS) + ((n * sizeof(uint32_t) + 7) & ~<ssize>7))
    cdef key_type differing = 0
    cdef ssize i
    cdef bint is_sorted = True
    if not descending:
        flip = 0                                        # flipped keys have the opposite order
    for i in range(n):
        keys[i] = key_of(x[i], flip) ^ flip
        order[i] = <uint32_t>i
    for i in range(1, n):
        differing |= keys[i] ^ keys[0]
        is_sorted &= keys[i - 1] <= keys[i]
    if is_sorted:
        return
    if n <= INSERTION:
        insertion_sort(keys, order, n)
    else:
        radix_sort(keys, order, keys + n, other_order, n, differing, counts)

cdef void order_narrow(uint32_t* order, number* x, ssize n, bint descending, void* scratch) noexcept nogil:
    order_of(order, x, n, descending, scratch, <uint32_t>0xffffffff)

cdef void order_uint64(uint32_t* order, uint64_t* x, ssize n, bint descending, void* scratch) noexcept nogil:
    order_of(order, x, n, descending, scratch, <uint64_t>0xffffffffffffffff)

cdef void order_wide(uint32_t* order, number* x, ssize n, bint descending, void* scratch) noexcept nogil:
    order_of(order, x, n, descending, scratch, <uint64_t>0xffffffffffffffff)

order_loops[BOOL] = order_loops[UINT8] = <order_loop>order_narrow[uint8_t]
order_loops[INT8] = <order_loop>order_narrow[int8_t]
order_loops[INT16] = <order_loop>order_narrow[int16_t]
order_loops[INT32] = <order_loop>order_narrow[int32_t]
order_loops[INT64] = <order_loop>order_wide[int64_t]
order_loops[FLOAT32] = <order_loop>order_narrow[float]
order_loops[FLOAT64] = <order_loop>order_wide[double]
order_loops[UINT64] = <order_loop>order_uint64

cdef ssize scratch_bytes(ssize n) noexcept nogil:
    """Counts, the other half of the order, and two halves of keys."""
    return (COUNTS + n) * sizeof(uint32_t) + (2 * n + 1) * sizeof(uint64_t)


# ---------------------------------------------------------------- sort
cdef struct SortParameters:
    order_loop order
    bint descending
    int size                    # bytes of an element

cdef void sort_loop(void** data, ssize n, SortParameters* parameters) noexcept nogil:
    cdef int64_t* indices = <int64_t*>data[1]
    cdef uint32_t* order = <uint32_t*>data[3]
    cdef ssize i
    parameters.order(order, data[2], n, parameters.descending, <char*>data[3] + ((n * 4 + 63) & ~<ssize>63))
    for i in range(n):
        indices[i] = order[i]
    if parameters.size == 4:
        for i in range(n):
            (<uint32_t*>data[0])[i] = (<uint32_t*>data[2])[order[i]]
    else:
        for i in range(n):
            memcpy(<char*>data[0] + i * parameters.size, <char*>data[2] + <ssize>order[i] * parameters.size, parameters.size)

cdef Op SORT = Op("sort(Tensor x, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)")
cdef Op STABLE_SORT = Op("stable_sort(Tensor x, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
                         aten=None,
                         node="SortBackward1")           # the same sort; PyTorch names its node so if it is asked for

SORT.derivative("x")(chosen_derivative)
STABLE_SORT.derivative("x")(chosen_derivative)

cdef tuple sort_along_dim(TensorBase x, int dim, bint descending):
    """(values, indices), laid out as x is."""
    cdef TensorBase values = empty_like(x, x.dtype_), indices = empty_like(x, INT64)
    sort_to(values, indices, x, dim, descending)
    return values, indices

cdef int sort_to(TensorBase values, TensorBase indices, TensorBase x, int dim, bint descending) except -1:
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef ssize n = x.sizes[dim] if x.ndim_ > 0 else 1
    cdef SortParameters parameters
    cdef DimIterator iter
    if n >= <ssize>1 << 32:
        raise ShapeError(f"sort: dimension {dim} has {n} elements; at most 2**32 - 1 can be sorted")
    parameters.order = order_loops[kernel]
    parameters.descending = descending
    parameters.size = item_size[kernel]
    start_iterator(&iter, x, dim)
    add_operand(&iter, values, dim, kernel, True)
    add_operand(&iter, indices, dim, INT64, True)
    add_operand(&iter, x, dim, kernel, False)
    iter.scratch = n * 4 + 64 + scratch_bytes(n)
    return dim_apply(&iter, sort_loop_of, &parameters, GRAIN)

cdef void sort_loop_of(void** data, ssize n, void* parameters) noexcept nogil:
    sort_loop(data, n, <SortParameters*>parameters)

@STABLE_SORT.infer
@SORT.infer
def sort_infer(TensorBase x, dim, descending):
    dim_of(dim, x, "sort")
    check_dtype("sort", x, ORDERED | 1 << UINT64)
    return result_like(x, x.dtype_), result_like(x, INT64)

@STABLE_SORT.kernel
@SORT.kernel
def sort_kernel(TensorBase values, TensorBase indices, TensorBase x, dim, bint descending):
    sort_to(values, indices, x, dim_of(dim, x, "sort"), descending)

def sort(TensorBase input not None, dim=-1, bint descending=False, *, bint stable=False, out=None):
    """Sort along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    descending : bool
    stable : bool; the sort is stable in any case
    out : pair of tensors, optional; the results are written there

    Returns
    -------
    (values, indices), of the input's shape. nan counts as larger than every number.

    Raises
    ------
    DimensionError
        If the dimension is out of range.

    >>> import tensorlab
    >>> values, indices = tensorlab.tensor([3., 1., 2.]).sort()
    >>> values, indices
    (tensor([1., 2., 3.]), tensor([1, 2, 0]))
    """
    return return_types.sort(run_3(STABLE_SORT if stable else SORT, input, dim_of(dim, input, "sort"), descending, out,
                                   NO_PARTIAL_OVERLAP))


# ---------------------------------------------------------------- argsort
def argsort(TensorBase input not None, dim=-1, bint descending=False, *, bint stable=False, out=None):
    """The indices that sort along a dimension; see `sort`.

    >>> import tensorlab
    >>> tensorlab.tensor([3., 1., 2.]).argsort(descending=True)
    tensor([0, 2, 1])
    """
    result = run_3(SORT, input, dim_of(dim, input, "argsort"), descending)[1]
    return result if out is None else store_out("argsort", result, out, (input,), NO_PARTIAL_OVERLAP | NO_DERIVATIVE)

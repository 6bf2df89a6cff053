"""Sorted values without their indices, as unique, quantile and median need them: by NumPy, in vector instructions.

NumPy puts nan last, as we do. Its sort is not stable, which shows in one thing only, the order of 0 and -0; where there is a -0
the sort with indices does it, and so it does for autograd, which needs the indices. It also does wide integers: it looks at
those digits only in which two of them differ, and most integers are labels or counts. Of 100,000 below 1,000 it takes a tenth
of the time of NumPy's on a Zen 4, which stores what a mask selects slowly.
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from tensorlab._core.dispatch.dispatch cimport run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, INT32, INT64, ORDERED, UINT64, item_size, kernel_dtype, real
from tensorlab._core.graph.graph cimport dim_of, ndim_of, should_record
from tensorlab._core.layout cimport MAX_NDIM, ssize, wrap_dim
from tensorlab._core.loops.iterator cimport copy_into, plain_as, put_back
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, empty_like, memory_of, result_like
from tensorlab.ops.reductions cimport to_sources
from tensorlab.ops.sorting cimport sort_along_dim

from tensorlab._core.interop.arrays import numpy
from tensorlab.ops.sorting import argsort, sort

ctypedef fused key_type:
    uint32_t
    uint64_t


cdef inline bint has_key(const key_type* x, ssize n, key_type key) noexcept nogil:
    cdef ssize i
    cdef key_type hits = 0
    for i in range(n):
        hits |= x[i] == key
    return hits


cdef inline ssize count_nan(const real* x, ssize n) noexcept nogil:
    cdef ssize i, count = 0
    for i in range(n):
        count += x[i] != x[i]
    return count


cdef ssize nans_in(TensorBase x):
    """How many nans a tensor of a type that is computed in, dense, holds."""
    if x.dtype_ == FLOAT32:
        return count_nan(<float*>memory_of(x), x.numel_)
    return count_nan(<double*>memory_of(x), x.numel_) if x.dtype_ == FLOAT64 else 0


cdef bint has_negative_zero(TensorBase x):
    """Does a tensor of a type that is computed in, dense, hold a -0?"""
    if x.dtype_ == FLOAT32:
        return has_key(<uint32_t*>memory_of(x), x.numel_, <uint32_t>1 << 31)
    if x.dtype_ == FLOAT64:
        return has_key(<uint64_t*>memory_of(x), x.numel_, <uint64_t>1 << 63)
    return False


cdef Op SORTED_VALUES = Op("sorted_values(Tensor x, int dim=-1) -> Tensor", aten=None)

@SORTED_VALUES.derivative("x")
def sorted_values_derivative(grad, x, dim):
    return to_sources(grad, x.shape, dim, argsort(x, dim))

@SORTED_VALUES.infer
def sorted_values_infer(TensorBase x, dim):
    dim_of(dim, x, "sorted_values")
    check_dtype("sort", x, ORDERED | 1 << UINT64)
    return result_like(x, x.dtype_)

@SORTED_VALUES.kernel
def sorted_values_kernel(TensorBase out, TensorBase x, dim):
    cdef TensorBase values
    cdef int d = dim_of(dim, x, "sorted_values")
    if x.numel_ > 0 and (x.dtype_ == INT32 or x.dtype_ == INT64):
        copy_into(out, sort_along_dim(x, d, False)[0])
        return
    values = out if kernel_dtype(x.dtype_) == x.dtype_ else empty_like(x, kernel_dtype(x.dtype_))
    copy_into(values, x)
    if values.numel_ > 0 and has_negative_zero(values):
        copy_into(out, sort_along_dim(x, d, False)[0])
        return
    if x.ndim_ > 0 and x.sizes[d] > 1 and values.numel_ > 0:
        # NumPy's stable sort of small integers is by radix, its other sort of them slower.
        numpy(values).sort(axis=d, kind="stable" if item_size[values.dtype_] <= 2 else None)
    put_back(out, values)

cdef TensorBase sorted_values(TensorBase x, int dim):
    """x sorted along a dimension, laid out as x is. If autograd follows x, it sees a sort, which saves the indices."""
    return sort(x, dim)[0] if should_record(x) else run_2(SORTED_VALUES, x, dim)


cdef TensorBase value_of_rank(TensorBase x, bint skips_nan):
    """The median of all elements, the lower of two: nan if there is one, unless it is skipped. None if there is a -0: the
    sort with indices knows which sign a 0 in the middle has."""
    cdef TensorBase values = empty_beside(x, kernel_dtype(x.dtype_), x.ndim_, x.sizes), out
    cdef ssize rank, nans, one = 1
    copy_into(values, x)
    if has_negative_zero(values):
        return None
    nans = nans_in(values)
    if nans == values.numel_ or (nans > 0 and not skips_nan):
        rank = values.numel_ - 1                        # a nan: they are last
    else:
        rank = (values.numel_ - nans - 1) // 2
    array = numpy(alias_as(values, 1, &values.numel_, &one, values.data_))
    array.partition(rank)
    out = empty_beside(values, values.dtype_, 0, NULL)
    memcpy(memory_of(out), memory_of(values) + rank * item_size[values.dtype_], item_size[values.dtype_])
    return plain_as(out, x.dtype_)


cdef TensorBase partitioned(TensorBase x, int dim, ssize k):
    """A copy, in the type that is computed in, with the element of rank k of each slice at its place along the dimension, and
    smaller ones before it; slices are rows of memory.

    k is that of order_statistics: -1 and -2 are the middle, -2 of those that are not nan.
    """
    cdef TensorBase rows = empty_beside(x, kernel_dtype(x.dtype_), 1, &x.numel_), copy
    cdef ssize[MAX_NDIM] strides
    cdef ssize[2] shape
    cdef ssize n = x.sizes[dim], stride = n
    cdef int d
    for d in range(x.ndim_ - 1, -1, -1):
        strides[d] = 1 if d == dim else stride
        stride *= 1 if d == dim else x.sizes[d]
    copy = alias_as(rows, x.ndim_, x.sizes, strides, rows.data_)
    copy_into(copy, x)
    shape[0], shape[1] = x.numel_ // n, n
    array = numpy(alias_as(rows, 2, shape, NULL, rows.data_))
    if k == -2 and nans_in(rows) > 0:                   # the rank differs from slice to slice
        array.sort(axis=1)
    else:
        array.partition((n - 1) // 2 if k < 0 else k, axis=1)
    return copy


def values_in_order(TensorBase x not None):
    """x sorted along its last dimension, for quantiles.py."""
    return sorted_values(x, max(x.ndim_ - 1, 0))


# ---------------------------------------------------------------- msort
def msort(TensorBase input not None, *, out=None):
    """Sort along the first dimension; see `sort`.

    >>> import tensorlab
    >>> tensorlab.msort(tensorlab.tensor([3., 1., 2.]))
    tensor([1., 2., 3.])
    """
    wrap_dim(0, ndim_of(input), "msort")
    return store_out("msort", sorted_values(input, 0), out, (input,), NO_PARTIAL_OVERLAP)

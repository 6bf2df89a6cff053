"""Sorted values without their indices, as unique, quantile and median need them: by NumPy, in vector instructions.

NumPy puts nan last, as we do. Its sort is not stable, which shows in one thing only, the order of 0 and -0; where there is a -0
the sort with indices does it, and so it does for autograd, which needs the indices.
"""
from libc.stdint cimport uint32_t, uint64_t

from tensorlab._core.out_argument cimport NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, is_floating, item_size, kernel_dtype
from tensorlab._core.graph cimport ndim_of, should_record
from tensorlab._core.iterator cimport copy_into
from tensorlab._core.layout cimport ssize, wrap_dim
from tensorlab._core.tensor cimport TensorBase, empty_beside, empty_like, is_meta, memory_of
from tensorlab.ops.sorting cimport sort_along_dim

from tensorlab._core.arrays import numpy
from tensorlab.ops.sorting import sort

ctypedef fused key_type:
    uint32_t
    uint64_t


cdef inline bint has_key(const key_type* x, ssize n, key_type key) noexcept nogil:
    cdef ssize i
    cdef key_type hits = 0
    for i in range(n):
        hits |= x[i] == key
    return hits


cdef bint has_negative_zero(TensorBase x):
    """Does a tensor of a type that is computed in, dense, hold a -0?"""
    if x.dtype_ == FLOAT32:
        return has_key(<uint32_t*>memory_of(x), x.numel_, <uint32_t>1 << 31)
    if x.dtype_ == FLOAT64:
        return has_key(<uint64_t*>memory_of(x), x.numel_, <uint64_t>1 << 63)
    return False


cdef TensorBase in_dtype(TensorBase x, TensorBase computed):
    """`computed` in x's type."""
    cdef TensorBase out
    if computed.dtype_ == x.dtype_:
        return computed
    out = empty_like(computed, x.dtype_)
    copy_into(out, computed)
    return out


cdef TensorBase sorted_values(TensorBase x, int dim):
    """x sorted along a dimension, laid out as x is. If autograd follows x, it sees a sort."""
    cdef TensorBase values
    if should_record(x):
        return sort(x, dim)[0]
    values = empty_like(x, kernel_dtype(x.dtype_))
    if is_meta(x):
        return in_dtype(x, values)
    copy_into(values, x)
    if values.numel_ > 0 and has_negative_zero(values):
        return sort_along_dim(x, dim, False)[0]
    if x.ndim_ > 0 and x.sizes[dim] > 1 and values.numel_ > 0:
        # NumPy's stable sort of small integers is by radix, its other sort of them slower.
        numpy(values).sort(axis=dim, kind="stable" if item_size[values.dtype_] <= 2 else None)
    return in_dtype(x, values)


cdef TensorBase value_of_rank(TensorBase x, bint skips_nan):
    """The median of all elements, the lower of two, without history: nan if there is one, unless it is skipped. None if
    there is a -0: the sort with indices knows which sign a 0 in the middle has."""
    cdef TensorBase values = empty_beside(x, kernel_dtype(x.dtype_), 1, &x.numel_)
    cdef ssize rank, nans = 0
    copy_into(values, x.detach().reshape(-1))
    if is_floating(values.dtype_):
        if has_negative_zero(values):
            return None
        nans = (values != values).sum().item()
    if nans == values.numel_ or (nans > 0 and not skips_nan):
        rank = values.numel_ - 1                        # a nan: they are last
    else:
        rank = (values.numel_ - nans - 1) // 2
    array = numpy(values)
    array.partition(rank)
    return in_dtype(x, values.narrow(0, rank, 1).reshape(()).clone())


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
    if out is not None:
        return store_out("msort", sorted_values(input.detach(), 0), out, (input,), NO_PARTIAL_OVERLAP)
    return sorted_values(input, 0)

"""Sorted values without their indices, as unique and isin need them, and those of some ranks, for quantile.

The loops are in sorting.pyx.

NumPy sorts in vector instructions. Short slices are always sorted so: 500 float32 take it 1.4 us, and the radix sort 4.3 us. For
long ones it depends on the processor. A Zen 4 is slow at what NumPy does there by AVX-512: 100,000 float32 take it 2.3 ms (by
AVX2 0.4 ms), and the radix sort 0.4 ms. Elsewhere floats are left to NumPy. Integers are mostly labels and counts that differ
in few digits, which radix sorts in a fraction of NumPy's time.
"""
from tensorlab._core.dispatch.dispatch cimport run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.dtypes cimport (
    FLOAT32, FLOAT64, FLOATING, INT32, INT64, NUM_DTYPES, ORDERED, UINT64, is_in, item_size, kernel_dtype
)
from tensorlab._core.graph.graph cimport dim_of, ndim_of, should_record
from tensorlab._core.interop.arrays cimport numpy_sort, sort_function
from tensorlab._core.layout cimport ssize, wrap_dim
from tensorlab._core.tensor cimport TensorBase, result_beside, result_like
from tensorlab.ops.dim_iterator cimport DimIterator, add_operand, dim_apply, start_iterator
from tensorlab.ops.reductions cimport to_sources
from tensorlab.ops.sorting cimport ValueParameters, check_length, ranked_loops, scratch_bytes, value_loops

from tensorlab._finder import compresses_slowly
from tensorlab.errors import ShapeError
from tensorlab.ops.sorting import argsort, sort

cdef enum:
    SHORT = 1024                # elements up to which NumPy is faster
    FEW = 6                     # ranks, of 8 bytes, that are selected sooner than all are sorted: three pairs of neighbours
    GRAIN = 4096                # elements that make a thread worth starting

cdef bint prefers_radix = compresses_slowly()
cdef ssize ANY = <ssize>1 << 62
cdef sort_function[NUM_DTYPES] numpy_sorts              # of bytes and of 16 bits, a radix sort is faster at any length
cdef int dtype
for dtype in (INT32, INT64, UINT64, FLOAT32, FLOAT64):
    numpy_sorts[dtype] = numpy_sort(dtype)


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
    cdef int d = dim_of(dim, x, "sorted_values"), kernel = kernel_dtype(x.dtype_)
    cdef ssize n = x.sizes[d] if x.ndim_ > 0 else 1
    cdef ValueParameters parameters
    cdef DimIterator iter
    check_length(n, d)
    parameters.sort_short = numpy_sorts[kernel]
    parameters.short = ANY if is_in(kernel, FLOATING) and not prefers_radix else SHORT
    start_iterator(&iter, x, d)
    add_operand(&iter, out, d, kernel, True)
    add_operand(&iter, x, d, kernel, False)
    iter.scratch = scratch_bytes(n)
    dim_apply(&iter, value_loops[kernel], &parameters, GRAIN)

cdef TensorBase sorted_values(TensorBase x, int dim):
    """x sorted along a dimension, laid out as x is. If autograd follows x, it sees a sort, which saves the indices."""
    return sort(x, dim)[0] if should_record(x) else run_2(SORTED_VALUES, x, dim)


# ---------------------------------------------------------------- values of some ranks
cdef Op RANKED_VALUES = Op("ranked_values(Tensor x, Tensor ranks) -> Tensor", aten=None)

@RANKED_VALUES.infer
def ranked_values_infer(TensorBase x, TensorBase ranks):
    cdef int d, last = x.ndim_ - 1
    check_dtype("ranked_values", x, ORDERED | 1 << UINT64)
    check_dtype("ranked_values", ranks, 1 << INT64)
    if x.ndim_ == 0 or ranks.ndim_ != x.ndim_ or (x.sizes[last] == 0 and ranks.numel_ > 0):
        raise ShapeError(f"ranked_values: shapes {tuple(x.shape)} and {tuple(ranks.shape)} do not belong together")
    for d in range(last):
        if x.sizes[d] != ranks.sizes[d]:
            raise ShapeError(f"ranked_values: shapes {tuple(x.shape)} and {tuple(ranks.shape)} may differ in the last "
                             "dimension only")
    return result_beside(x, x.dtype_, ranks.ndim_, ranks.sizes)

@RANKED_VALUES.kernel
def ranked_values_kernel(TensorBase out, TensorBase x, TensorBase ranks):
    cdef int last = x.ndim_ - 1, kernel = kernel_dtype(x.dtype_)
    cdef ssize count = ranks.sizes[last]
    cdef DimIterator iter
    check_length(x.sizes[last], last)
    start_iterator(&iter, x, last)
    add_operand(&iter, x, last, kernel, False)
    add_operand(&iter, out, last, kernel, True)
    add_operand(&iter, ranks, last, INT64, False)
    iter.scratch = scratch_bytes(x.sizes[last])
    dim_apply(&iter, ranked_loops[kernel], &count, GRAIN)

def values_of_ranks(TensorBase x not None, TensorBase ranks not None):
    """The values that would stand at `ranks` (int64) if x were sorted along its last dimension, for quantiles.py.

    A few are selected. Many, and where more than plain elements are at stake, are taken from all, sorted;
    numbers of 4 bytes are sorted in half the time.
    """
    cdef int last = x.ndim_ - 1
    if 8 * ranks.sizes[last] > FEW * item_size[x.dtype_] or (x.keys | ranks.keys) or should_record(x):
        return sorted_values(x, last).gather(-1, ranks)
    return run_2(RANKED_VALUES, x, ranks)


# ---------------------------------------------------------------- msort
def msort(TensorBase input not None, *, out=None):
    """Sort along the first dimension; see `sort`.

    >>> import tensorlab
    >>> tensorlab.msort(tensorlab.tensor([3., 1., 2.]))
    tensor([1., 2., 3.])
    """
    wrap_dim(0, ndim_of(input), "msort")
    return store_out("msort", sorted_values(input, 0), out, (input,), NO_PARTIAL_OVERLAP)

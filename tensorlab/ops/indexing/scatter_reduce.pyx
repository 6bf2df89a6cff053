"""Elements that meet in one place: scatter_reduce, with an index for each element, and index_reduce, with one for each slice.

    scatter_reduce    x[index[i][j]][j] = reduce(x[index[i][j]][j], src[i][j])          (dim 0)

where reduce is sum, prod, mean, amax or amin. Without `include_self` a place that is written forgets what it held: it
starts from the number that changes nothing (0 for a sum, 1 for a product, the smallest number for a maximum).

The loops are those of the iterator in scatter_gather.pyx. Half types are computed in float32 and rounded once, bools as bytes.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from tensorlab._core.dispatch.dispatch cimport run_4, run_tuple
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport NO_PARTIAL_OVERLAP, OTHERS_APART, store_out
from tensorlab._core.dtypes cimport (
    BOOL, COMPLEX, COMPLEX128, COMPLEX64, FLOAT32, FLOAT64, FLOATING, INT16, INT32, INT64, INT8,
    NUM_DTYPES, ORDERED, UINT8, complex128, complex64, dtype_object, inexact, is_in,
    kernel_dtype, summand
)
from tensorlab._core.graph.graph cimport dim_of
from tensorlab._core.layout cimport shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_as, copy_into, unary_loop
from tensorlab._core.tensor cimport TensorBase, empty_beside, memory_of, result_beside
from tensorlab.ops.filling cimport fill_number, zeros_beside
from tensorlab.ops.indexing.scatter_gather cimport (
    ScatterGather, check_index, check_loop, check_source, raise_bad_index, run_iterator,
    scatter_gather_loop, scatter_into, set_up_iterator
)
from tensorlab.ops.indexing.gather cimport WRAP_INDEX, padded
from tensorlab.ops.indexing.index_iterator cimport ADD, PUT, apart_from, check_tensor

from tensorlab._core.dtypes import iinfo
from tensorlab.errors import DTypeError, IndexOutOfRange, ShapeError
from tensorlab.ops.indexing import gather as gather_module

cdef enum:
    PROD = 0
    AMAX = 1
    AMIN = 2


# ---------------------------------------------------------------- inner loops: one line; False if an index is out of range
cdef inline summand combined(summand so_far, summand value, int kind) noexcept nogil:
    if summand is complex64 or summand is complex128:       # which have no largest
        return so_far * value
    else:
        if kind == PROD:
            return so_far * value
        if kind == AMAX:
            return value if value > so_far or value != value else so_far
        return value if value < so_far or value != value else so_far


cdef inline bint reduce_loop(summand* x, const int64_t* index, summand* flat, ssize n, ssize x_stride, ssize index_stride,
                             ssize flat_stride, ssize dim_stride, ssize bound, int kind) noexcept nogil:
    cdef ssize i, at
    cdef uint64_t place
    for i in range(n):
        place = <uint64_t>index[i * index_stride]
        if place >= <uint64_t>bound:
            return False
        at = i * x_stride + <ssize>place * dim_stride
        x[at] = combined(x[at], flat[i * flat_stride], kind)
    return True


cdef bint prod_loop(summand* x, const int64_t* index, summand* flat, ssize n, ssize x_stride, ssize index_stride,
                    ssize flat_stride, ssize dim_stride, ssize bound) noexcept nogil:
    return reduce_loop(x, index, flat, n, x_stride, index_stride, flat_stride, dim_stride, bound, PROD)


cdef bint amax_loop(summand* x, const int64_t* index, summand* flat, ssize n, ssize x_stride, ssize index_stride,
                    ssize flat_stride, ssize dim_stride, ssize bound) noexcept nogil:
    return reduce_loop(x, index, flat, n, x_stride, index_stride, flat_stride, dim_stride, bound, AMAX)


cdef bint amin_loop(summand* x, const int64_t* index, summand* flat, ssize n, ssize x_stride, ssize index_stride,
                    ssize flat_stride, ssize dim_stride, ssize bound) noexcept nogil:
    return reduce_loop(x, index, flat, n, x_stride, index_stride, flat_stride, dim_stride, bound, AMIN)


cdef void divide(summand* x, const summand* counts, ssize n) noexcept nogil:
    """Means of integers are rounded down. (A count of uint8 may have come round to 0.)"""
    cdef ssize i
    cdef summand q, count
    for i in range(n):
        count = counts[i]
        if summand in inexact:
            x[i] = x[i] / count
        elif count != 0:
            q = x[i] // count
            if q * count != x[i] and (x[i] < 0) != (count < 0):
                q -= 1
            x[i] = q


# by the type that is computed in
cdef scatter_gather_loop[3][NUM_DTYPES] loops
cdef unary_loop[NUM_DTYPES] divide_loops

cdef void set_loops(int dtype, summand as_this) noexcept:
    loops[PROD][dtype] = <scatter_gather_loop>prod_loop[summand]
    loops[AMAX][dtype] = <scatter_gather_loop>amax_loop[summand]
    loops[AMIN][dtype] = <scatter_gather_loop>amin_loop[summand]
    divide_loops[dtype] = <unary_loop>divide[summand]

set_loops[uint8_t](UINT8, 0)
set_loops[int8_t](INT8, 0)
set_loops[int16_t](INT16, 0)
set_loops[int32_t](INT32, 0)
set_loops[int64_t](INT64, 0)
set_loops[float](FLOAT32, 0)
set_loops[double](FLOAT64, 0)
set_loops[complex64](COMPLEX64, 0)          # of which infer lets sums, products and means through
set_loops[complex128](COMPLEX128, 0)


# ---------------------------------------------------------------- forward
cdef int forget(TensorBase out, int dim, TensorBase index, str reduce, str where) except -1:
    """Put the number that changes nothing where something will arrive."""
    cdef TensorBase start = zeros_beside(out, out.dtype_, 0, NULL)
    if reduce == "prod":
        fill_number(start, 1, where)
    elif reduce == "amax" or reduce == "amin":
        if is_in(out.dtype_, FLOATING):
            fill_number(start, float("-inf") if reduce == "amax" else float("inf"), where)
        else:
            limits = iinfo(dtype_object(out.dtype_))
            fill_number(start, limits.min if reduce == "amax" else limits.max, where)
    return scatter_into(out, dim, index, start, PUT, where)


cdef TensorBase reduced(TensorBase x, int dim, TensorBase index, TensorBase src, str reduce, bint include_self, str where):
    """The result as a new contiguous tensor of x's type."""
    cdef int work = UINT8 if x.dtype_ == BOOL else kernel_dtype(x.dtype_)
    cdef int kind
    cdef TensorBase out, counts, one, values = src if src.dtype_ == work else copy_as(src, work)
    cdef ScatterGather iter
    if index.numel_ == 0:
        return copy_as(x, x.dtype_)
    memory_of(index), memory_of(values)         # raise if one of them has none
    set_up_iterator(&iter, x, dim, index, values)
    if not run_iterator(&iter, check_loop, False, x, index, values):
        raise_bad_index(x, dim, index, where)
    out = copy_as(x, work)
    if not include_self:
        forget(out, dim, index, reduce, where)
    if reduce == "sum" or reduce == "mean":
        scatter_into(out, dim, index, values, ADD, where)
    else:
        set_up_iterator(&iter, out, dim, index, values)
        kind = PROD if reduce == "prod" else AMAX if reduce == "amax" else AMIN
        if not run_iterator(&iter, loops[kind][work], True, out, index, values):
            raise_bad_index(x, dim, index, where)
    if reduce == "mean":
        # where something arrives, one for each, and one for what was there if it counts; elsewhere 1
        counts, one = empty_beside(out, work, out.ndim_, out.sizes), empty_beside(out, work, 0, NULL)
        fill_number(counts, 1, where)
        fill_number(one, 1, where)
        if not include_self:
            forget(counts, dim, index, reduce, where)
        scatter_into(counts, dim, index, one, ADD, where)
        divide_loops[work](memory_of(out), memory_of(counts), out.numel_)
    return out if out.dtype_ == x.dtype_ else copy_as(out, x.dtype_)


cdef object arrivals(object like, int dim, object index, bint include_self, object dtype):
    """How many elements meet in each place; 1 where none does, so that it can be divided by."""
    counts = like.new_ones(like.shape, dtype=dtype) if include_self else like.new_zeros(like.shape, dtype=dtype)
    counts = counts.scatter_add(dim, index, index.new_ones((), dtype=dtype).expand(index.shape))
    return counts if include_self else counts.clamp_(min=1)


# ---------------------------------------------------------------- scatter_reduce
cdef Op SCATTER_REDUCE = Op("scatter_reduce(Tensor x, int dim, Tensor index, Tensor src, str reduce, *, "
                            "bool include_self=True) -> Tensor", aten="scatter_reduce.two",
                            checks_values=True)

@SCATTER_REDUCE.derivative("x")
def scatter_reduce_derivative_x(grad, out, x, dim, index, src, reduce, include_self):
    if not include_self:                                # a place that is written forgets what it held
        return grad.scatter(dim, index, 0)
    if reduce == "sum":
        return grad
    if reduce == "mean":
        return grad / arrivals(x, dim, index, True, grad.dtype)
    if reduce == "prod":                                # the product without x: as if x were 1 where it is 0
        whole = x.masked_fill(x == 0, 1)
        return grad * scatter_reduce(whole, dim, index, src, "prod") / whole
    return (x == out) * (grad / winners(out, x, dim, index, src, True))

@SCATTER_REDUCE.derivative("src")
def scatter_reduce_derivative_src(grad, out, x, dim, index, src, reduce, include_self):
    shape = src.shape
    src = cropped(src, index.shape)
    if reduce == "sum":
        got = grad.gather(dim, index)
    elif reduce == "mean":
        got = (grad / arrivals(x, dim, index, include_self, grad.dtype)).gather(dim, index)
    elif reduce == "prod":
        got = grad_of_factors(grad, out, x, dim, index, src, include_self)
    else:
        shared = grad / winners(out, x, dim, index, src, include_self)
        got = (src == out.gather(dim, index)) * shared.gather(dim, index)
    return padded(got, shape)

cdef object cropped(object src, object shape):
    """The part of a source that an index reaches."""
    return src if src.shape == shape else src[tuple([slice(0, size) for size in shape])]

cdef object winners(object out, object x, int dim, object index, object src, bint include_self):
    """How many elements are the extreme of each place: they share its gradient."""
    src = cropped(src, index.shape)
    wins = (src == out.gather(dim, index)).to(out.dtype)
    start = (x == out).to(out.dtype) if include_self else out.new_zeros(out.shape)
    return start.scatter_add(dim, index, wins).clamp(min=1)

cdef object grad_of_factors(object grad, object out, object x, int dim, object index, object src, bint include_self):
    """The product without one factor: out / factor, or, where the factor is the only zero, the product as if it were 1."""
    zeros = src == 0
    alone = zeros & (grad.new_zeros(x.shape).scatter_add(dim, index, zeros.to(grad.dtype)).gather(dim, index) == 1)
    others = scatter_reduce(x, dim, index, src.masked_fill(alone, 1), "prod", include_self=include_self)
    rest = (grad * out).gather(dim, index) / src.masked_fill(zeros, 1)
    return ((grad * others).gather(dim, index)).where(alone, rest)

@SCATTER_REDUCE.infer
def scatter_reduce_infer(TensorBase x, dim, TensorBase index, TensorBase src, reduce, include_self):
    cdef int d = dim_of(dim, x, "scatter_reduce")
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"scatter_reduce: reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', not {reduce!r}")
    check_dtype("scatter_reduce", x, ORDERED if reduce in ("amax", "amin") else ORDERED | COMPLEX)
    check_source(x, check_index(x, d, index, "scatter_reduce"), src, "scatter_reduce")
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@SCATTER_REDUCE.kernel
def scatter_reduce_kernel(TensorBase out, TensorBase x, dim, TensorBase index, TensorBase src, str reduce, bint include_self):
    cdef int d = dim_of(dim, x, "scatter_reduce")
    cdef TensorBase wide = check_index(x, d, index, "scatter_reduce")
    if out is x:
        src, wide = apart_from(x, src, "scatter_reduce", "the source"), apart_from(x, wide, "scatter_reduce", "the index")
    copy_into(out, reduced(x, d, wide, src, reduce, include_self, "scatter_reduce"))

cdef Op SCATTER_REDUCE_ = inplace_op(SCATTER_REDUCE)

cdef object run_scatter_reduce(Op op, TensorBase x, object dim, object index, object src, object reduce, bint include_self,
                               str where):
    check_tensor(where, "index", index)
    check_tensor(where, "src", src)
    return run_tuple(op, (x, dim_of(dim, x, where), index, src, reduce, include_self))

def scatter_reduce(TensorBase input not None, dim, index, src, reduce, *, bint include_self=True, out=None):
    """A copy of `input` into which the elements of `src` are reduced along one dimension, by an index for each of them.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, with as many dimensions as `input` and, but for `dim`, no larger
    src : Tensor of the same dtype, at least as large as `index`
    reduce : "sum", "prod", "mean", "amax" or "amin"
    include_self : bool; False leaves out what stood in the places that are written

    Returns
    -------
    Tensor of the shape of `input`

    Notes
    -----
    A gradient of amax and amin is shared equally by all the elements that are the extreme.

    >>> import tensorlab
    >>> x, index = tensorlab.tensor([1., 2., 3.]), tensorlab.tensor([0, 0, 2])
    >>> tensorlab.scatter_reduce(x, 0, index, tensorlab.tensor([5., 4., 1.]), "amax")
    tensor([5., 2., 3.])
    """
    result = run_scatter_reduce(SCATTER_REDUCE, input, dim, index, src, reduce, include_self, "scatter_reduce")
    return store_out("scatter_reduce", result, out, (input, index, src), NO_PARTIAL_OVERLAP | OTHERS_APART)

def scatter_reduce_(TensorBase input not None, dim, index, src, reduce, *, bint include_self=True):
    """`scatter_reduce`, written over `input`. A call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2)
    >>> places = tensorlab.tensor([0, 0, 1])
    >>> x.scatter_reduce_(0, places, tensorlab.tensor([1.0, 5.0, 2.0]), "amax")
    tensor([5., 2.])
    """
    return run_scatter_reduce(SCATTER_REDUCE_, input, dim, index, src, reduce, include_self, "scatter_reduce_")

gather_module.set_reducing((scatter_reduce, scatter_reduce_))


# ---------------------------------------------------------------- index_reduce
cdef tuple for_each_element(TensorBase x, object dim, object index, object source, object reduce, str where):
    """The dimension, and the index with which scatter_reduce does what index_reduce is asked for."""
    cdef int d = dim_of(dim, x, where)
    cdef TensorBase given, vector
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"{where}: reduce must be 'prod', 'mean', 'amax' or 'amin', not {reduce!r} (a sum is index_add)")
    if not isinstance(index, TensorBase) or not isinstance(source, TensorBase):
        raise TypeError(f"{where}: the index and the source must be Tensors, not {type(index).__name__} and "
                        f"{type(source).__name__}")
    given = <TensorBase>source
    vector = <TensorBase>index
    if vector.dtype_ != INT64 and vector.dtype_ != INT32:
        raise DTypeError(f"{where}: the index must be of type int64 or int32, not {vector.dtype}")
    if vector.ndim_ > 1:
        raise IndexOutOfRange(f"{where}: the index must be a vector, not of shape {shape_text(vector.ndim_, vector.sizes)}")
    if given.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: the source has type {given.dtype}, but the tensor has type {x.dtype}; convert it with .to() "
                         f"first")
    wanted = list(x.shape)
    if x.ndim_ > 0:
        wanted[d] = vector.numel_
    if list(given.shape) != wanted:
        raise ShapeError(f"{where}: the source has shape {shape_text(given.ndim_, given.sizes)}, but for {vector.numel_} indices "
                         f"of dimension {d} of a tensor of shape {shape_text(x.ndim_, x.sizes)} it must be {tuple(wanted)}")
    index = run_4(WRAP_INDEX, index.long(), x.sizes[d] if x.ndim_ > 0 else 1, False, where)
    if x.ndim_ == 0:
        return d, index.reshape(())
    return d, index.reshape([-1 if i == d else 1 for i in range(x.ndim_)]).expand(wanted)

def index_reduce(TensorBase input not None, dim, index, source, reduce, *, bint include_self=True, out=None):
    """A copy of `input` into which slices of `source` are reduced, by one index for each slice.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, shape (n,)
    source : Tensor of the dtype and shape of `input`, but of size n in `dim`
    reduce : "prod", "mean", "amax" or "amin"
    include_self : bool; False leaves out what stood in the slices that are written

    >>> import tensorlab
    >>> x, index = tensorlab.ones(3), tensorlab.tensor([0, 0, 2])
    >>> tensorlab.index_reduce(x, 0, index, tensorlab.tensor([2., 3., 4.]), "prod")
    tensor([6., 1., 4.])
    """
    d, each = for_each_element(input, dim, index, source, reduce, "index_reduce")
    result = run_scatter_reduce(SCATTER_REDUCE, input, d, each, source, reduce, include_self, "index_reduce")
    return store_out("index_reduce", result, out, (input, index, source), NO_PARTIAL_OVERLAP | OTHERS_APART)

def index_reduce_(TensorBase input not None, dim, index, source, reduce, *, bint include_self=True):
    """`index_reduce`, written over `input`. A call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2)
    >>> places = tensorlab.tensor([0, 0, 1])
    >>> x.index_reduce_(0, places, tensorlab.tensor([2.0, 3.0, 4.0]), "prod")
    tensor([6., 4.])
    """
    d, each = for_each_element(input, dim, index, source, reduce, "index_reduce_")
    apart_from(input, index, "index_reduce_", "the index")
    return run_scatter_reduce(SCATTER_REDUCE_, input, d, each, source, reduce, include_self, "index_reduce_")

"""gather and its relatives: one index for each element.

    gather        out[i][j] = x[index[i][j]][j]             (dim 0)
    scatter       x[index[i][j]][j] = src[i][j]
    scatter_add   x[index[i][j]][j] += src[i][j]

One iterator serves all three (scatter_gather.pyx). gather and scatter_add are each other's gradients.
"""
from libc.stdint cimport int64_t

from tensorlab._core.dispatch.dispatch cimport run_3, run_4
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport as_number
from tensorlab._core.dispatch.out_argument cimport (
    NO_OVERLAP, NO_PARTIAL_OVERLAP, OTHERS_APART, store_out
)
from tensorlab._core.dtypes cimport INT64
from tensorlab._core.graph.graph cimport bump_version, dim_of
from tensorlab._core.layout cimport MAX_NDIM, read_sizes, ssize
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.tensor cimport TensorBase, empty_beside, memory_of, result_beside
from tensorlab.ops.filling cimport check_number, fill_number, fill_zero, refuse_negative
from tensorlab.ops.indexing.scatter_gather cimport (
    ScatterGather, check_index, check_source, loop_for, raise_bad_index, run_iterator,
    scatter_into, set_up_iterator
)
from tensorlab.ops.indexing.index_iterator cimport ADD, PUT, TAKE, apart_from, check_tensor

from tensorlab.errors import DimensionError, DTypeError, IndexOutOfRange, ShapeError


# ---------------------------------------------------------------- gather
cdef Op GATHER = Op("gather(Tensor x, int dim, Tensor index) -> Tensor",
                    fixed="*, bool sparse_grad=False", checks_values=True)

@GATHER.derivative("x")
def gather_derivative(grad, x, dim, index):             # saves x, as PyTorch does: a write to it makes backward raise
    return run_4(GATHER_BACKWARD, grad, dim, index, x.shape)

@GATHER.infer
def gather_infer(TensorBase x, dim, TensorBase index):
    check_index(x, dim_of(dim, x, "gather"), index, "gather")
    return result_beside(x, x.dtype_, index.ndim_, index.sizes)

@GATHER.kernel
def gather_kernel(TensorBase out, TensorBase x, dim, TensorBase index):
    cdef ScatterGather iter
    cdef int d = dim_of(dim, x, "gather")
    cdef TensorBase wide = check_index(x, d, index, "gather")
    if out.numel_ == 0:
        return
    memory_of(wide)                             # raises if it has none
    set_up_iterator(&iter, x, d, wide, out)
    if iter.bound == 0 or not run_iterator(&iter, loop_for(TAKE, x.dtype_, "gather"), False, x, wide, out):
        raise_bad_index(x, d, wide, "gather")

def gather(TensorBase input not None, dim, index, *, bint sparse_grad=False, out=None):
    """Elements picked along one dimension, by an index for each of them.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, with as many dimensions as `input` and, but for `dim`, no larger
    sparse_grad : bool, without effect: gradients are dense

    Returns
    -------
    Tensor of the shape of `index`; for dim 0 of a matrix, out[i][j] = input[index[i][j]][j]

    Raises
    ------
    PositionOutOfRange
        If an index is outside the dimension; negative ones are.

    >>> import tensorlab
    >>> x = tensorlab.tensor([[1, 2], [3, 4]])
    >>> tensorlab.gather(x, 1, tensorlab.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    check_tensor("gather", "index", index)
    # not straight into out=: a bad index is found on the way, and must change nothing
    result = run_3(GATHER, input, dim_of(dim, input, "gather"), index)
    return result if out is None else store_out("gather", result, out, (input, index), NO_OVERLAP)


# ---------------------------------------------------------------- gather_backward
cdef Op GATHER_BACKWARD = Op("gather_backward(Tensor grad, int dim, Tensor index, int[] shape) -> Tensor")

@GATHER_BACKWARD.derivative("grad")
def gather_backward_derivative(grad, dim, index):
    return gather(grad, dim, index)

@GATHER_BACKWARD.infer
def gather_backward_infer(TensorBase grad, dim, TensorBase index, shape):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(shape, sizes, "gather_backward")
    cdef TensorBase out
    refuse_negative(ndim, sizes)
    out = result_beside(grad, grad.dtype_, ndim, sizes)
    check_source(out, check_index(out, dim_of(dim, out, "gather_backward"), index, "gather_backward"), grad, "gather_backward")
    bump_version(out)                                   # PyTorch's is zeros and a write to them, and its version tells
    return out

@GATHER_BACKWARD.kernel
def gather_backward_kernel(TensorBase out, TensorBase grad, dim, TensorBase index, shape):
    """Zeros, with grad added where gather took from."""
    cdef int d = dim_of(dim, out, "gather_backward")
    fill_zero(out)
    scatter_into(out, d, check_index(out, d, index, "gather_backward"), grad, ADD, "gather_backward", True)


# ---------------------------------------------------------------- scatter
cdef Op SCATTER = Op("scatter(Tensor x, int dim, Tensor index, Tensor src) -> Tensor",
                     aten="scatter.src", checks_values=True)

@SCATTER.derivative("x")
def scatter_derivative_x(grad, dim, index):
    return scatter(grad, dim, index, 0)

@SCATTER.derivative("src")
def scatter_derivative_src(grad, dim, index, src_shape):
    return padded(gather(grad, dim, index), src_shape)

cdef object padded(object grad, object shape):
    """A source larger than the index is used only in part: the rest of its gradient is zero."""
    if grad.shape == shape:
        return grad
    out = grad.new_zeros(shape)
    out[tuple([slice(0, size) for size in grad.shape])] = grad
    return out

cdef Op SCATTER_VALUE = Op("scatter_value(Tensor x, int dim, Tensor index, Scalar value) -> Tensor",
                           aten="scatter.value", node="ScatterBackward1", checks_values=True)

@SCATTER_VALUE.derivative("x")
def scatter_value_derivative(grad, dim, index):
    return scatter(grad, dim, index, 0)

cdef TensorBase scatter_result(TensorBase x, object dim, TensorBase index, object src, str where):
    """Check the arguments. `src` is a number in scatter_value only."""
    cdef TensorBase wide = check_index(x, dim_of(dim, x, where), index, where)
    if isinstance(src, TensorBase):
        check_source(x, wide, <TensorBase>src, where)
    else:
        check_number(src, x.dtype_, where)
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

cdef int scatter_over(TensorBase out, TensorBase x, object dim, TensorBase index, object src, int mode, str where) except -1:
    """Write over a copy of x, or over x itself if `out` is x."""
    cdef int d = dim_of(dim, x, where)
    cdef TensorBase wide = check_index(x, d, index, where), source
    if isinstance(src, TensorBase):
        source = <TensorBase>src
    else:
        source = empty_beside(x, x.dtype_, 0, NULL)
        fill_number(source, src, where)
    if out is not x:
        copy_into(out, x)
    source, wide = apart_from(out, source, where, "the source"), apart_from(out, wide, where, "the index")
    return scatter_into(out, d, wide, source, mode, where)

@SCATTER_VALUE.infer
@SCATTER.infer
def scatter_infer(TensorBase x, dim, TensorBase index, src):
    return scatter_result(x, dim, index, src, "scatter")

@SCATTER_VALUE.kernel
@SCATTER.kernel
def scatter_kernel(TensorBase out, TensorBase x, dim, TensorBase index, src):
    scatter_over(out, x, dim, index, src, PUT, "scatter")

cdef Op SCATTER_ = inplace_op(SCATTER)
cdef Op SCATTER_VALUE_ = inplace_op(SCATTER_VALUE)

cdef object reducing = None              # scatter_reduce and scatter_reduce_, of a file further up

def set_reducing(functions):
    """Tell `scatter(reduce=)` who does that."""
    global reducing
    reducing = functions

cdef object scatter_any(TensorBase x, object dim, object index, object src, object value, object reduce, bint in_place):
    """`src` may be a number, as `value`."""
    cdef str where = "scatter_" if in_place else "scatter"
    if src is None:
        src = value
    if not isinstance(src, TensorBase) and as_number(src) is None:
        raise TypeError(f"{where}: the source must be a Tensor or a number, not {type(src).__name__}")
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError(f"{where}: reduce must be 'add' or 'multiply', not {reduce!r}; scatter_reduce has more")
        if not isinstance(src, TensorBase):
            src = x.new_full((), src).expand(index.shape)
        return reducing[in_place](x, dim, index, src, "sum" if reduce == "add" else "prod")
    check_tensor(where, "index", index)
    d = dim_of(dim, x, where)
    if isinstance(src, TensorBase):
        return run_4(SCATTER_ if in_place else SCATTER, x, d, index, src)
    return run_4(SCATTER_VALUE_ if in_place else SCATTER_VALUE, x, d, index, src)

def scatter(TensorBase input not None, dim, index, src=None, *, value=None, reduce=None, out=None):
    """A copy of `input` with elements replaced along one dimension, by an index for each element of `src`.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, with as many dimensions as `input` and, but for `dim`, no larger
    src : Tensor of the same dtype, at least as large as `index`, or a number
    value : number, instead of `src`
    reduce : "add" or "multiply": put the sum or product of what is there and what comes, as `scatter_reduce` does

    Returns
    -------
    Tensor of the shape of `input`; for dim 0 of a matrix, out[index[i][j]][j] = src[i][j]

    Notes
    -----
    If an index comes several times, the last element stays; its gradient goes to all of them, as PyTorch's does.

    >>> import tensorlab
    >>> tensorlab.scatter(tensorlab.zeros(2, 3), 1, tensorlab.tensor([[2], [0]]), 1.0)
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    result = scatter_any(input, dim, index, src, value, reduce, False)
    return store_out("scatter", result, out, (input, index, src), NO_PARTIAL_OVERLAP | OTHERS_APART)

def scatter_(TensorBase input not None, dim, index, src=None, *, value=None, reduce=None):
    """`scatter`, written over `input`. A call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(1, 3).scatter_(1, tensorlab.tensor([[2]]), 1.0)
    tensor([[0., 0., 1.]])
    """
    return scatter_any(input, dim, index, src, value, reduce, True)


# ---------------------------------------------------------------- scatter_add
cdef Op SCATTER_ADD = Op("scatter_add(Tensor x, int dim, Tensor index, Tensor src) -> Tensor",
                         checks_values=True)

@SCATTER_ADD.derivative("x")
def scatter_add_derivative_x(grad):
    return grad

@SCATTER_ADD.derivative("src")
def scatter_add_derivative_src(grad, dim, index, src_shape):
    return padded(gather(grad, dim, index), src_shape)

@SCATTER_ADD.infer
def scatter_add_infer(TensorBase x, dim, TensorBase index, TensorBase src):
    return scatter_result(x, dim, index, src, "scatter_add")

@SCATTER_ADD.kernel
def scatter_add_kernel(TensorBase out, TensorBase x, dim, TensorBase index, TensorBase src):
    scatter_over(out, x, dim, index, src, ADD, "scatter_add")

cdef Op SCATTER_ADD_ = inplace_op(SCATTER_ADD)

def scatter_add(TensorBase input not None, dim, index, src, *, out=None):
    """A copy of `input` with elements added along one dimension, by an index for each element of `src`.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, with as many dimensions as `input` and, but for `dim`, no larger
    src : Tensor of the same dtype, at least as large as `index`

    Returns
    -------
    Tensor of the shape of `input`; for dim 0 of a matrix, out[index[i][j]][j] += src[i][j]

    >>> import tensorlab
    >>> tensorlab.scatter_add(tensorlab.zeros(3), 0, tensorlab.tensor([0, 2, 2]), tensorlab.ones(3))
    tensor([1., 0., 2.])
    """
    check_tensor("scatter_add", "index", index)
    check_tensor("scatter_add", "src", src)
    return run_4(SCATTER_ADD, input, dim_of(dim, input, "scatter_add"), index, src, out, NO_PARTIAL_OVERLAP | OTHERS_APART)

def scatter_add_(TensorBase input not None, dim, index, src):
    """`scatter_add`, written over `input`. A call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(3)
    >>> x.scatter_add_(0, tensorlab.tensor([0, 2, 2]), tensorlab.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 5.])
    """
    check_tensor("scatter_add_", "index", index)
    check_tensor("scatter_add_", "src", src)
    return run_4(SCATTER_ADD_, input, dim_of(dim, input, "scatter_add_"), index, src)


# ---------------------------------------------------------------- wrap_index
cdef Op WRAP_INDEX = Op("wrap_index(Tensor index, int size, bool from_end=True, str where=\"wrap_index\") -> Tensor",
                        aten=None, checks_values=True)

@WRAP_INDEX.infer
def wrap_index_infer(TensorBase index, size, from_end, where):
    if index.dtype_ != INT64:
        raise DTypeError(f"{where}: the index must be of type int64, not {index.dtype}")
    return result_beside(index, INT64, index.ndim_, index.sizes)

@WRAP_INDEX.kernel
def wrap_index_kernel(TensorBase out, TensorBase index, ssize size, bint from_end, where):
    """A copy in which those counted from the end, if they are allowed, are counted from the front. All must be in range."""
    cdef ssize i, at, least = -size if from_end else 0
    cdef int64_t* to = <int64_t*>memory_of(out)
    copy_into(out, index)
    for i in range(out.numel_):
        at = to[i]
        if at < least or at >= size:
            raise IndexOutOfRange(f"{where}: index {at} is out of range for a dimension of size {size}; valid are {least} to "
                                  f"{size - 1}")
        if at < 0:
            to[i] = at + size

def wrap_index(TensorBase index not None, size, from_end, where):
    """Run that op, for parts.py."""
    return run_4(WRAP_INDEX, index, size, from_end, where)


# ---------------------------------------------------------------- take_along_dim
cdef object from_front(object index, ssize size):
    """The indices with negative ones counted from the end."""
    return (index + size).where(index < 0, index)

def take_along_dim(TensorBase input not None, indices, dim=None, *, out=None):
    """`gather` with input and indices broadcast against each other but for `dim`, and with negative indices.

    Parameters
    ----------
    indices : Tensor of int64, such as argsort gives
    dim : int; without it both are flattened

    >>> import tensorlab
    >>> x = tensorlab.tensor([[3, 1, 2]])
    >>> tensorlab.take_along_dim(x, tensorlab.tensor([[1, 2, 0]]), 1)
    tensor([[1, 2, 3]])
    """
    cdef TensorBase index
    cdef int d
    cdef list x_shape, index_shape
    if not isinstance(indices, TensorBase):
        raise TypeError(f"take_along_dim: indices must be a Tensor, not {type(indices).__name__}")
    index = <TensorBase>indices
    if index.dtype_ != INT64:
        raise DTypeError(f"take_along_dim: the indices must be of type int64, not {index.dtype}")
    if dim is None:
        return gather(input.reshape(-1), 0, from_front(index.reshape(-1), input.numel_), out=out)
    if index.ndim_ != input.ndim_:
        raise ShapeError(f"take_along_dim: the tensor has {input.ndim_} dimensions and the indices have {index.ndim_}; they "
                         f"must be as many")
    d = dim_of(dim, input, "take_along_dim")
    if input.ndim_ == 0:
        raise DimensionError(f"take_along_dim: the tensor is 0-d and has no dimension {dim}; leave dim out")
    x_shape = list(input.shape)
    index_shape = list(index.shape)
    for i in range(input.ndim_):
        if i == d:
            continue
        if x_shape[i] != index_shape[i] and x_shape[i] != 1 and index_shape[i] != 1:
            raise ShapeError(f"take_along_dim: shapes {tuple(x_shape)} and {tuple(index_shape)} cannot be broadcast together "
                             f"in dimension {i}")
        x_shape[i] = index_shape[i] = x_shape[i] if index_shape[i] == 1 else index_shape[i]
    index = from_front(index, input.sizes[d])
    return gather(input.expand(x_shape), d, index.expand(index_shape), out=out)

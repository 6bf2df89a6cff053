"""gather and its relatives: one index for each element.

    gather        out[i][j] = x[index[i][j]][j]             (dim 0)
    scatter       x[index[i][j]][j] = src[i][j]
    scatter_add   x[index[i][j]][j] += src[i][j]

One iterator serves all three (scatter_gather.pyx). gather and scatter_add are each other's gradients.
"""
from libc.stdint cimport int64_t

from tensorlab._core.out_argument cimport NO_OVERLAP, NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.op cimport Op
from tensorlab._core.operands cimport as_number
from tensorlab._core.dtypes cimport INT64
from tensorlab._core.graph cimport bump_version, dim_of
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, ssize
from tensorlab._core.recording cimport OpNode, begin_record_inplace, end_record_inplace, record
from tensorlab._core.tensor cimport TensorBase, empty_beside, is_meta, memory_of
from tensorlab.ops.filling cimport fill_number, zeros_beside
from tensorlab.ops.indexing.scatter_gather cimport (
    ScatterGather,
    check_index,
    check_source,
    contiguous_clone,
    loop_for,
    raise_bad_index,
    run_iterator,
    scatter_into,
    set_up_iterator,
)
from tensorlab.ops.indexing.index_iterator cimport ADD, PUT, TAKE, apart_from

from tensorlab.errors import DTypeError, ShapeError


# ---------------------------------------------------------------- gather
cdef Op GATHER = Op("gather(Tensor x, int dim, Tensor index) -> Tensor")

@GATHER.derivative("x")
def gather_derivative(grad, x, dim, index):             # saves x, as PyTorch does: a write to it makes backward raise
    return run_gather_backward(<TensorBase?>grad, dim, <TensorBase?>index, x.shape)

cdef TensorBase gather_forward(TensorBase x, int dim, TensorBase index):
    cdef ScatterGather iter
    cdef TensorBase out = empty_beside(x, x.dtype_, index.ndim_, index.sizes)
    if out.numel_ == 0 or is_meta(out):
        return out
    memory_of(index)                            # raises if it has none
    set_up_iterator(&iter, x, dim, index, out)
    if iter.bound == 0 or not run_iterator(&iter, loop_for(TAKE, x.dtype_), False, x, index, out):
        raise_bad_index(x, dim, index, "gather")
    return out

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
    cdef int d = dim_of(dim, input, "gather")
    cdef TensorBase wide = check_index(input, d, index, "gather")
    if out is not None:
        return store_out("gather", gather_forward(input, d, wide), out, (input, index), NO_OVERLAP)
    return record(GATHER, gather_forward(input, d, wide), (input, d, index))


# ---------------------------------------------------------------- gather_backward
cdef Op GATHER_BACKWARD = Op("gather_backward(Tensor grad, int dim, Tensor index, int[] shape) -> Tensor")

@GATHER_BACKWARD.derivative("grad")
def gather_backward_derivative(grad, dim, index):
    return gather(grad, dim, index)

cdef object run_gather_backward(TensorBase grad, int dim, TensorBase index, object shape):
    """A tensor of zeros, with grad added where gather took from."""
    cdef ssize[MAX_NDIM] sizes
    cdef TensorBase out
    cdef int d, ndim = len(shape)
    for d in range(ndim):
        sizes[d] = shape[d]
    out = zeros_beside(grad, grad.dtype_, ndim, sizes)
    scatter_into(out, dim, check_index(out, dim, index, "gather_backward"), grad, ADD, "gather_backward")
    bump_version(out)                                   # PyTorch's is zeros and a write to them, and its version tells
    return record(GATHER_BACKWARD, out, (grad, dim, index, shape))


# ---------------------------------------------------------------- scatter
cdef Op SCATTER = Op("scatter(Tensor x, int dim, Tensor index, Tensor src) -> Tensor")

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

cdef Op SCATTER_VALUE = Op("scatter_value(Tensor x, int dim, Tensor index, float value) -> Tensor", node="ScatterBackward1")

@SCATTER_VALUE.derivative("x")
def scatter_value_derivative(grad, dim, index):
    return scatter(grad, dim, index, 0)

cdef object run_scatter(Op op, TensorBase x, object dim, object index, object src, bint in_place, int mode, str where):
    cdef int d = dim_of(dim, x, where)
    cdef TensorBase wide = check_index(x, d, index, where), source, out
    cdef OpNode node
    if op is SCATTER_VALUE:
        source = empty_beside(x, x.dtype_, 0, NULL)
        fill_number(source, src, where)
    else:
        source = check_source(x, wide, src, where)
    if not in_place:
        out = contiguous_clone(x)
        scatter_into(out, d, wide, source, mode, where)
        return record(op, out, (x, d, index, src))
    source = apart_from(x, source, where, "the source")
    wide = apart_from(x, wide, where, "the index")
    node = begin_record_inplace(op, x, (x, d, index, src))
    scatter_into(x, d, wide, source, mode, where)
    return end_record_inplace(node, x)

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
    return run_scatter(SCATTER if isinstance(src, TensorBase) else SCATTER_VALUE, x, dim, index, src, in_place, PUT, where)

def scatter(TensorBase input not None, dim, index, src=None, *, value=None, reduce=None, out=None):
    """A copy of `input` with elements replaced along one dimension, by an index for each element of `src`.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, with as many dimensions as `input` and, but for `dim`, no larger
    src : Tensor of the same dtype, at least as large as `index`, or a number
    value : number, in place of `src`
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
    return store_out("scatter", result, out, (input, index, src), NO_PARTIAL_OVERLAP)

def scatter_(TensorBase input not None, dim, index, src=None, *, value=None, reduce=None):
    """`scatter`, written over `input`. A call that raises has changed nothing."""
    return scatter_any(input, dim, index, src, value, reduce, True)


# ---------------------------------------------------------------- scatter_add
cdef Op SCATTER_ADD = Op("scatter_add(Tensor x, int dim, Tensor index, Tensor src) -> Tensor")

@SCATTER_ADD.derivative("x")
def scatter_add_derivative_x(grad):
    return grad

@SCATTER_ADD.derivative("src")
def scatter_add_derivative_src(grad, dim, index, src_shape):
    return padded(gather(grad, dim, index), src_shape)

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
    result = run_scatter(SCATTER_ADD, input, dim, index, src, False, ADD, "scatter_add")
    return store_out("scatter_add", result, out, (input, index, src), NO_PARTIAL_OVERLAP)

def scatter_add_(TensorBase input not None, dim, index, src):
    """`scatter_add`, written over `input`. A call that raises has changed nothing."""
    return run_scatter(SCATTER_ADD, input, dim, index, src, True, ADD, "scatter_add_")


# ---------------------------------------------------------------- take_along_dim
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
    dim = plain_ints(dim)
    if not isinstance(indices, TensorBase):
        raise TypeError(f"take_along_dim: indices must be a Tensor, not {type(indices).__name__}")
    index = <TensorBase>indices
    if index.dtype_ != INT64:
        raise DTypeError(f"take_along_dim: the indices must be of type int64, not {index.dtype}")
    if dim is None:
        return gather(input.reshape(-1), 0, wrapped(index.reshape(-1), input.numel_), out=out)
    if index.ndim_ != input.ndim_:
        raise ShapeError(f"take_along_dim: the tensor has {input.ndim_} dimensions and the indices have {index.ndim_}; they "
                         f"must be as many")
    d = dim_of(dim, input, "take_along_dim")
    x_shape = list(input.shape)
    index_shape = list(index.shape)
    for i in range(input.ndim_):
        if i == d:
            continue
        if x_shape[i] != index_shape[i] and x_shape[i] != 1 and index_shape[i] != 1:
            raise ShapeError(f"take_along_dim: shapes {tuple(x_shape)} and {tuple(index_shape)} cannot be broadcast together "
                             f"in dimension {i}")
        x_shape[i] = index_shape[i] = x_shape[i] if index_shape[i] == 1 else index_shape[i]
    return gather(input.expand(x_shape), d, wrapped(index, input.sizes[d] if input.ndim_ else 1).expand(index_shape), out=out)


cdef void wrap_loop(int64_t* out, ssize n, ssize size) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if out[i] < 0:
            out[i] += size


cdef object wrapped(TensorBase index, ssize size):
    """The indices with negative ones counted from the end."""
    cdef TensorBase out = contiguous_clone(index)
    if not is_meta(out):
        wrap_loop(<int64_t*>memory_of(out), out.numel_, size)
    return out

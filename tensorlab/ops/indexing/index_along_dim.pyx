"""Whole slices along one dimension, by one index for each: index_select, index_add, index_copy, index_fill; and take.

    index_select    out[i] = x[index[i]]                (dim 0)
    index_add       x[index[i]] += source[i]
    index_copy      x[index[i]] = source[i]
    index_fill      x[index[i]] = value

The iterator is that of indexing by tensors (index_iterator.pyx) with one index. index_select and index_add are each other's
gradients.
"""
from libc.stdint cimport int64_t

from tensorlab._core.out_argument cimport NO_OVERLAP, NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.op cimport Op
from tensorlab._core.operands cimport as_number
from tensorlab._core.dtypes cimport INT32, INT64, is_floating
from tensorlab._core.graph cimport bump_version, dim_of
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize
from tensorlab._core.iterator cimport copy_into
from tensorlab._core.recording cimport OpNode, begin_record_inplace, end_record_inplace, record
from tensorlab._core.tensor cimport TensorBase, empty_beside, empty_like, is_meta, memory_of
from tensorlab.ops.filling cimport fill_number, start_overlapping, zeros_beside
from tensorlab.ops.indexing.advanced cimport index_forward, run_index_backward
from tensorlab.ops.indexing.index_iterator cimport (
    ADD,
    PUT,
    TAKE,
    IndexIterator,
    add_kept_dim,
    apart_from,
    end_kept_dims,
    for_each_index,
)

from tensorlab.errors import DTypeError, IndexOutOfRange, PositionOutOfRange, ShapeError, SliceOutOfRange


# ---------------------------------------------------------------- the iterator
cdef TensorBase index_vector(object index, str where):
    """A vector (or 0-d tensor) of indices as contiguous int64."""
    cdef TensorBase given, wide
    if not isinstance(index, TensorBase):
        raise TypeError(f"{where}: argument 'index' must be a Tensor, not {type(index).__name__}")
    given = <TensorBase>index
    if given.dtype_ != INT64 and given.dtype_ != INT32:
        raise DTypeError(f"{where}: the index must be of type int64 or int32, not {given.dtype}")
    if given.dtype_ == INT64 and given.is_contiguous_:
        return given
    wide = empty_beside(given, INT64, given.ndim_, given.sizes)
    copy_into(wide, given)
    return wide


cdef int refuse_matrix(TensorBase index, str where) except -1:
    if index.ndim_ > 1:
        raise IndexOutOfRange(f"{where}: the index must be a vector, not of shape {shape_text(index.ndim_, index.sizes)}")
    return 0


cdef int set_up_index_iterator(IndexIterator* iter, TensorBase x, int dim, TensorBase index, TensorBase flat) except -1:
    """x's slices along `dim` on one side; on the other `flat`, of x's shape but for `dim`, or 0-d and spread over all."""
    cdef int d
    iter.indices = 1
    iter.index[0] = <const int64_t*>memory_of(index)
    iter.bound[0] = x.sizes[dim] if x.ndim_ > 0 else 1
    iter.stride[0] = x.strides[dim] if x.ndim_ > 0 else 1
    iter.n = index.numel_
    iter.index_stride = flat.strides[dim] if flat.ndim_ > 0 else 0
    iter.ndim = 0
    for d in range(x.ndim_):
        if d != dim:
            add_kept_dim(iter, x.sizes[d], x.strides[d], flat.strides[d] if flat.ndim_ > 0 else 0)
    end_kept_dims(iter)


cdef int refuse_negative(TensorBase x, int dim, TensorBase index, object error, str where) except -1:
    """These ops do not count negative indices from the end."""
    cdef ssize i, bound = x.sizes[dim] if x.ndim_ > 0 else 1
    cdef const int64_t* at
    if is_meta(x):
        return 0
    at = <const int64_t*>memory_of(index)
    for i in range(index.numel_):
        if at[i] < 0 or at[i] >= bound:
            raise error(f"{where}: index {at[i]} is out of range for dimension {dim}, which has size {bound}; valid are 0 to "
                        f"{bound - 1}")
    return 0


cdef TensorBase select_forward(TensorBase x, int dim, TensorBase index, str where):
    cdef ssize[MAX_NDIM] sizes
    cdef IndexIterator iter
    cdef TensorBase out
    cdef int d
    for d in range(x.ndim_):
        sizes[d] = x.sizes[d]
    if x.ndim_ > 0:
        sizes[dim] = index.numel_
    elif index.numel_ != 1:
        raise ShapeError(f"{where}: a 0-d tensor is selected by one index, not {index.numel_}")
    refuse_negative(x, dim, index, SliceOutOfRange, where)
    out = empty_beside(x, x.dtype_, x.ndim_, sizes)
    if is_meta(out):
        return out
    set_up_index_iterator(&iter, x, dim, index, out)
    for_each_index(&iter, TAKE, x, out, where)
    return out


cdef int write_slices(TensorBase x, int dim, TensorBase index, TensorBase source, int mode, str where) except -1:
    """Write or accumulate; the indices have been checked."""
    cdef IndexIterator iter
    if is_meta(x) or (source.numel_ == 0 and source.ndim_ > 0):
        return 0
    set_up_index_iterator(&iter, x, dim, index, source)
    return for_each_index(&iter, mode, x, source, where)


# ---------------------------------------------------------------- index_select
cdef Op INDEX_SELECT = Op("index_select(Tensor x, int dim, Tensor index) -> Tensor")

@INDEX_SELECT.derivative("x")
def index_select_derivative(grad, dim, index, x_shape):
    return run_index_select_backward(<TensorBase?>grad, dim, <TensorBase?>index, x_shape)

def index_select(TensorBase input not None, dim, index, *, out=None):
    """The slices of `input` along one dimension that a vector of indices names.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, shape (n,); an index may come several times, but not be negative

    Returns
    -------
    Tensor of the shape of `input`, but of size n in `dim`

    Raises
    ------
    SliceOutOfRange
        If an index is outside the dimension.

    >>> import tensorlab
    >>> tensorlab.index_select(tensorlab.tensor([[1, 2], [3, 4]]), 1, tensorlab.tensor([1, 1, 0]))
    tensor([[2, 2, 1],
            [4, 4, 3]])
    """
    cdef int d = dim_of(dim, input, "index_select")
    cdef TensorBase vector = index_vector(index, "index_select")
    refuse_matrix(vector, "index_select")
    if out is not None:
        return store_out("index_select", select_forward(input, d, vector, "index_select"), out, (input, index), NO_OVERLAP)
    return record(INDEX_SELECT, select_forward(input, d, vector, "index_select"), (input, d, index))


cdef Op INDEX_SELECT_BACKWARD = Op("index_select_backward(Tensor grad, int dim, Tensor index, int[] shape) -> Tensor")

@INDEX_SELECT_BACKWARD.derivative("grad")
def index_select_backward_derivative(grad, dim, index):
    return index_select(grad, dim, index)

cdef object run_index_select_backward(TensorBase grad, int dim, TensorBase index, object shape):
    """A tensor of zeros, with grad's slices added where index_select took them."""
    cdef ssize[MAX_NDIM] sizes
    cdef TensorBase out
    cdef int d, ndim = len(shape)
    for d in range(ndim):
        sizes[d] = shape[d]
    out = zeros_beside(grad, grad.dtype_, ndim, sizes)
    write_slices(out, dim, index_vector(index, "index_select_backward"), grad, ADD, "index_select_backward")
    bump_version(out)                                   # PyTorch's is zeros and a write to them, and its version tells
    return record(INDEX_SELECT_BACKWARD, out, (grad, dim, index, shape))


# ---------------------------------------------------------------- what index_add and index_copy share
cdef TensorBase check_slices(TensorBase x, int dim, TensorBase index, object source, object error, str where):
    """The source: of x's type and shape, but for `dim`, where it is as long as the index."""
    cdef TensorBase given
    cdef int d
    if not isinstance(source, TensorBase):
        raise TypeError(f"{where}: argument 'source' must be a Tensor, not {type(source).__name__}")
    given = <TensorBase>source
    if given.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: the source has type {given.dtype}, but the tensor has type {x.dtype}; convert it with .to() "
                         f"first")
    refuse_matrix(index, where)
    if given.ndim_ != x.ndim_:
        raise error(f"{where}: the source has {given.ndim_} dimensions, but the tensor has {x.ndim_}; they must be as many")
    if (given.sizes[dim] if given.ndim_ > 0 else 1) != index.numel_:
        raise ShapeError(f"{where}: {index.numel_} indices, but the source of shape {shape_text(given.ndim_, given.sizes)} has "
                         f"another size in dimension {dim}")
    for d in range(x.ndim_):
        if d != dim and given.sizes[d] != x.sizes[d]:
            raise ShapeError(f"{where}: the source of shape {shape_text(given.ndim_, given.sizes)} does not fit a tensor of "
                             f"shape {shape_text(x.ndim_, x.sizes)}: but for dimension {dim} they must be equal")
    return given


cdef object run_write(Op op, TensorBase x, int dim, TensorBase vector, TensorBase source, tuple arguments,
                      bint in_place, int mode, str where, bint keeps_strides):
    cdef OpNode node
    cdef TensorBase out
    if not in_place:
        out = empty_like(x, x.dtype_) if keeps_strides else empty_beside(x, x.dtype_, x.ndim_, x.sizes)
        copy_into(out, x)
        write_slices(out, dim, vector, source, mode, where)
        return record(op, out, arguments)
    source = apart_from(x, source, where, "the source")
    vector = apart_from(x, vector, where, "the index")
    node = start_overlapping(op, x, arguments) if op is INDEX_FILL else begin_record_inplace(op, x, arguments)
    write_slices(x, dim, vector, source, mode, where)
    return end_record_inplace(node, x)


# ---------------------------------------------------------------- index_add
cdef Op INDEX_ADD = Op("index_add(Tensor x, int dim, Tensor index, Tensor source, float alpha) -> Tensor")

@INDEX_ADD.derivative("x")
def index_add_derivative_x(grad):
    return grad

@INDEX_ADD.derivative("source")
def index_add_derivative_source(grad, dim, index, alpha, source):    # saves the source, as PyTorch does
    grad = index_select(grad, dim, index) if source.ndim > 0 else grad
    return grad if alpha == 1 else grad * alpha

cdef object run_index_add(TensorBase x, object dim, object index, object source, object alpha, bint in_place, str where):
    cdef int d = dim_of(dim, x, where)
    cdef TensorBase vector = index_vector(index, where), given, scaled
    given = scaled = check_slices(x, d, vector, source, ShapeError, where)
    refuse_negative(x, d, vector, PositionOutOfRange, where)
    if as_number(alpha) is None:
        raise TypeError(f"{where}: alpha must be a number, not {type(alpha).__name__}")
    if not is_floating(x.dtype_):
        alpha = int(alpha)
    if alpha != 1:
        scaled = (given.detach() * alpha).to(x.dtype)
    return run_write(INDEX_ADD, x, d, vector, scaled, (x, d, index, given, alpha), in_place, ADD, where, False)

def index_add(TensorBase input not None, dim, index, source, *, alpha=1, out=None):
    """A copy of `input` with slices of `source`, times `alpha`, added to those that a vector of indices names.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, shape (n,); if an index comes several times, all its slices are added
    source : Tensor of the dtype and shape of `input`, but of size n in `dim`
    alpha : number

    >>> import tensorlab
    >>> tensorlab.index_add(tensorlab.zeros(3), 0, tensorlab.tensor([0, 2, 2]), tensorlab.ones(3), alpha=2)
    tensor([2., 0., 4.])
    """
    result = run_index_add(input, dim, index, source, alpha, False, "index_add")
    return store_out("index_add", result, out, (input, index, source), NO_PARTIAL_OVERLAP)

def index_add_(TensorBase input not None, dim, index, source, *, alpha=1):
    """`index_add`, written over `input`. A call that raises has changed nothing."""
    return run_index_add(input, dim, index, source, alpha, True, "index_add_")


# ---------------------------------------------------------------- index_copy
cdef Op INDEX_COPY = Op("index_copy(Tensor x, int dim, Tensor index, Tensor source) -> Tensor")

@INDEX_COPY.derivative("x")
def index_copy_derivative_x(grad, dim, index):
    return index_fill(grad, dim, index, 0)

@INDEX_COPY.derivative("source")
def index_copy_derivative_source(grad, dim, index, source):          # saves the source, as PyTorch does
    return index_select(grad, dim, index) if source.ndim > 0 else grad

cdef object run_index_copy(TensorBase x, object dim, object index, object source, bint in_place, str where):
    cdef int d = dim_of(dim, x, where)
    cdef TensorBase vector = index_vector(index, where), given
    if (<TensorBase>index).dtype_ != INT64:
        raise DTypeError(f"{where}: the index must be of type int64, not {index.dtype}")
    given = check_slices(x, d, vector, source, IndexOutOfRange, where)
    refuse_negative(x, d, vector, IndexOutOfRange, where)
    return run_write(INDEX_COPY, x, d, vector, given, (x, d, index, given), in_place, PUT, where, False)

def index_copy(TensorBase input not None, dim, index, source, *, out=None):
    """A copy of `input` with slices of `source` in place of those that a vector of indices names.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64, shape (n,); if an index comes several times, the last of its slices stays
    source : Tensor of the dtype and shape of `input`, but of size n in `dim`

    >>> import tensorlab
    >>> tensorlab.index_copy(tensorlab.zeros(3), 0, tensorlab.tensor([2, 0]), tensorlab.tensor([5., 7.]))
    tensor([7., 0., 5.])
    """
    result = run_index_copy(input, dim, index, source, False, "index_copy")
    return store_out("index_copy", result, out, (input, index, source), NO_PARTIAL_OVERLAP)

def index_copy_(TensorBase input not None, dim, index, source):
    """`index_copy`, written over `input`. A call that raises has changed nothing."""
    return run_index_copy(input, dim, index, source, True, "index_copy_")


# ---------------------------------------------------------------- index_fill
cdef Op INDEX_FILL = Op("index_fill(Tensor x, int dim, Tensor index, Tensor value) -> Tensor",
                        node=("IndexFillBackward0", "IndexFillBackward1"))

@INDEX_FILL.derivative("x")
def index_fill_derivative_x(grad, dim, index):
    return index_fill(grad, dim, index, 0)

@INDEX_FILL.derivative("value")
def index_fill_derivative_value(grad, dim, index):
    return (grad - index_fill(grad, dim, index, 0)).sum()       # an index that comes twice counts once

cdef object run_index_fill(TensorBase x, object dim, object index, object value, bint in_place, str where):
    cdef int d = dim_of(dim, x, where)
    cdef TensorBase vector = index_vector(index, where), element, wrapped
    cdef ssize i, bound = x.sizes[d] if x.ndim_ > 0 else 1
    cdef int64_t* at
    if (<TensorBase>index).dtype_ != INT64:
        raise IndexOutOfRange(f"{where}: the index must be of type int64, not {index.dtype}")
    if vector.ndim_ > 1:
        raise ShapeError(f"{where}: the index must be a vector, not of shape {shape_text(vector.ndim_, vector.sizes)}")
    element = empty_beside(x, x.dtype_, 0, NULL)
    if isinstance(value, TensorBase):
        if (<TensorBase>value).ndim_ != 0:
            raise ShapeError(f"{where}: the value must be a number or a 0-d tensor, not of shape "
                             f"{shape_text((<TensorBase>value).ndim_, (<TensorBase>value).sizes)}")
        copy_into(element, <TensorBase>value)
    elif as_number(value) is not None:
        fill_number(element, value, where)
    else:
        raise TypeError(f"{where}: the value must be a number or a 0-d tensor, not {type(value).__name__}")
    wrapped = empty_beside(vector, INT64, vector.ndim_, vector.sizes)
    copy_into(wrapped, vector)
    if not is_meta(wrapped):
        at = <int64_t*>memory_of(wrapped)
        for i in range(wrapped.numel_):                 # unlike its relatives, this one counts from the end
            at[i] += bound if -bound <= at[i] < 0 else 0
    refuse_negative(x, d, wrapped, IndexOutOfRange, where)
    return run_write(INDEX_FILL, x, d, wrapped, element, (x, d, wrapped, value), in_place, PUT, where, True)

def index_fill(TensorBase input not None, dim, index, value):
    """A copy of `input` with the slices that a vector of indices names filled with one value.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64, shape (n,); negative ones count from the end
    value : number or 0-d Tensor

    >>> import tensorlab
    >>> tensorlab.index_fill(tensorlab.zeros(3), 0, tensorlab.tensor([0, -1]), 5)
    tensor([5., 0., 5.])
    """
    return run_index_fill(input, dim, index, value, False, "index_fill")

def index_fill_(TensorBase input not None, dim, index, value):
    """`index_fill`, written over `input`. A call that raises has changed nothing."""
    return run_index_fill(input, dim, index, value, True, "index_fill_")


# ---------------------------------------------------------------- take
cdef Op TAKE_OP = Op("take(Tensor x, Tensor index) -> Tensor")

@TAKE_OP.derivative("x")
def take_derivative(grad, x, index):                    # saves x, as PyTorch does
    return run_index_backward(<TensorBase?>grad.reshape(-1), [index.reshape(-1)], (x.numel(),)).reshape(x.shape)

def take(TensorBase input not None, index, *, out=None):
    """Elements by their position in `input` read as one row.

    Parameters
    ----------
    input : Tensor
    index : Tensor of int64; negative ones count from the end

    Returns
    -------
    Tensor of the shape of `index`

    >>> import tensorlab
    >>> tensorlab.take(tensorlab.tensor([[1, 2], [3, 4]]), tensorlab.tensor([3, 0]))
    tensor([4, 1])
    """
    cdef TensorBase result
    if not isinstance(index, TensorBase):
        raise TypeError(f"take: argument 'index' must be a Tensor, not {type(index).__name__}")
    if (<TensorBase>index).dtype_ != INT64:
        raise DTypeError(f"take: the index must be of type int64, not {index.dtype}")
    result = index_forward(input.detach().reshape(-1), [index.contiguous()], "take")
    if out is not None:
        return store_out("take", result, out, (input, index), NO_OVERLAP)
    return record(TAKE_OP, result, (input, index))

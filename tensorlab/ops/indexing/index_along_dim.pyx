"""Whole slices along one dimension, by one index for each: index_select, index_add, index_copy, index_fill; and take.

    index_select    out[i] = x[index[i]]                (dim 0)
    index_add       x[index[i]] += source[i]
    index_copy      x[index[i]] = source[i]
    index_fill      x[index[i]] = value

The iterator is that of indexing by tensors (index_iterator.pyx) with one index. index_select and index_add are each other's
gradients.
"""
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport int64_t

from tensorlab._core.dispatch.dispatch cimport run_2, run_3, run_4, run_tuple
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport as_number, check_fits
from tensorlab._core.dispatch.out_argument cimport (
    NO_OVERLAP, NO_PARTIAL_OVERLAP, OTHERS_APART, store_out
)
from tensorlab._core.dispatch.recording cimport OpNode, end_record_inplace
from tensorlab._core.dtypes cimport BOOL, INEXACT, INT32, INT64, is_in
from tensorlab._core.graph.graph cimport bump_version, dim_of
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, read_sizes, shape_text, ssize
from tensorlab._core.loops.iterator cimport contiguous_copy, copy_into, plain_as
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.tensor cimport (
    TensorBase, alias, empty_beside, give_memory, is_meta, memory_of, result_beside, result_like
)
from tensorlab.ops.filling cimport (
    check_number, fill_number, fill_zero, refuse_negative as refuse_negative_sizes,
    start_overlapping, warn_if_expanded
)
from tensorlab.ops.indexing.advanced cimport index_result, index_to, run_index_backward
from tensorlab.ops.indexing.index_iterator cimport (
    ADD, PUT, TAKE, IndexIterator, add_kept_dim, apart_from, as_row, check_tensor, must_be_widened, widened,
    end_kept_dims, for_each_index
)

from tensorlab.errors import DTypeError, IndexOutOfRange, PositionOutOfRange, ShapeError, SliceOutOfRange


# ---------------------------------------------------------------- the iterator
cdef TensorBase index_vector(TensorBase given, str where):
    """A vector (or 0-d tensor) of indices as contiguous int64."""
    check_index_type(given, where)
    return plain_as(given, INT64)


cdef int check_index_type(TensorBase given, str where) except -1:
    if given.dtype_ != INT64 and given.dtype_ != INT32:
        raise DTypeError(f"{where}: the index must be of type int64 or int32, not {given.dtype}")
    return 0


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
    """Refuse negative indices, for ops that do not count them from the end."""
    cdef ssize i, bound = x.sizes[dim] if x.ndim_ > 0 else 1
    cdef const int64_t* at = <const int64_t*>memory_of(index)
    for i in range(index.numel_):
        if at[i] < 0 or at[i] >= bound:
            raise error(f"{where}: index {at[i]} is out of range for dimension {dim}, which has size {bound}; valid are 0 to "
                        f"{bound - 1}")
    return 0


cdef TensorBase select_result(TensorBase x, int dim, TensorBase index, str where):
    """The result of `select_forward` without its values."""
    cdef ssize[MAX_NDIM] sizes
    cdef int d
    for d in range(x.ndim_):
        sizes[d] = x.sizes[d]
    if x.ndim_ > 0:
        sizes[dim] = index.numel_
    elif index.numel_ != 1:
        raise ShapeError(f"{where}: a 0-d tensor is selected by one index, not {index.numel_}")
    return result_beside(x, x.dtype_, x.ndim_, sizes)


cdef TensorBase select_forward(TensorBase x, int dim, TensorBase index, str where):
    """The slices of x that the index names, as a new tensor."""
    cdef TensorBase out = select_result(x, dim, index, where)
    give_memory(out)
    select_to(out, x, dim, index, where)
    return out


cdef int select_to(TensorBase out, TensorBase x, int dim, TensorBase index, str where) except -1:
    cdef IndexIterator iter
    refuse_negative(x, dim, index, SliceOutOfRange, where)
    set_up_index_iterator(&iter, x, dim, index, out)
    return for_each_index(&iter, TAKE, x, out, where)


cdef int write_slices(TensorBase x, int dim, TensorBase index, TensorBase source, int mode,
                      str where) except -1:
    """Write or accumulate; the indices have been checked."""
    cdef IndexIterator iter
    cdef TensorBase wide
    if source.numel_ == 0 and source.ndim_ > 0:
        return 0
    memory_of(source)                           # raises if it has none
    if must_be_widened(mode, x):
        wide = widened(x)
        write_slices(wide, dim, index, widened(source), mode, where)
        copy_into(x, wide)
        return 0
    set_up_index_iterator(&iter, x, dim, index, source)
    return for_each_index(&iter, mode, x, source, where)


# ---------------------------------------------------------------- index_select
cdef Op INDEX_SELECT = Op("index_select(Tensor x, int dim, Tensor index) -> Tensor",
                          checks_values=True)
cdef Op PAD_SELECT = Op("pad_select(Tensor x, int dim, Tensor index) -> Tensor", aten=None, checks_values=True,
                        zero_curvature=True)

@PAD_SELECT.derivative("x")
@INDEX_SELECT.derivative("x")
def index_select_derivative(grad, dim, index, x_shape):
    return run_4(INDEX_SELECT_BACKWARD, grad, dim, index, x_shape)

@PAD_SELECT.infer
@INDEX_SELECT.infer
def index_select_infer(TensorBase x, dim, TensorBase index):
    cdef int d = dim_of(dim, x, "index_select")
    refuse_matrix(index, "index_select")
    return select_result(x, d, index_vector(index, "index_select"), "index_select")

@PAD_SELECT.kernel
@INDEX_SELECT.kernel
def index_select_kernel(TensorBase out, TensorBase x, dim, TensorBase index):
    select_to(out, x, dim_of(dim, x, "index_select"), index_vector(index, "index_select"), "index_select")

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
    check_tensor("index_select", "index", index)
    return run_3(INDEX_SELECT, input, dim_of(dim, input, "index_select"), index, out, NO_OVERLAP)


def pad_select(TensorBase input not None, dim, TensorBase index not None):
    """`index_select`, by which an input is padded with what is in it: its second derivative is zeros."""
    return run_3(PAD_SELECT, input, dim_of(dim, input, "pad"), index)


cdef Op INDEX_SELECT_BACKWARD = Op("index_select_backward(Tensor grad, int dim, Tensor index, int[] shape) -> Tensor")

@INDEX_SELECT_BACKWARD.derivative("grad")
def index_select_backward_derivative(grad, dim, index):
    return index_select(grad, dim, index)

@INDEX_SELECT_BACKWARD.infer
def index_select_backward_infer(TensorBase grad, dim, TensorBase index, shape):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(shape, sizes, "index_select_backward")
    cdef TensorBase out
    refuse_negative_sizes(ndim, sizes)
    out = result_beside(grad, grad.dtype_, ndim, sizes)
    check_slices(out, dim_of(dim, out, "index_select_backward"), index, grad, ShapeError, "index_select_backward")
    bump_version(out)                                   # PyTorch's is zeros and a write to them, and its version tells
    return out

@INDEX_SELECT_BACKWARD.kernel
def index_select_backward_kernel(TensorBase out, TensorBase grad, dim, TensorBase index, shape):
    """Zeros, with grad added where index_select took from."""
    cdef int d = dim_of(dim, out, "index_select_backward")
    cdef TensorBase vector = index_vector(index, "index_select_backward")
    fill_zero(out)
    refuse_negative(out, d, vector, SliceOutOfRange, "index_select_backward")
    write_slices(out, d, vector, grad, ADD, "index_select_backward")


# ---------------------------------------------------------------- what index_add and index_copy share
cdef int check_slices(TensorBase x, int dim, TensorBase index, TensorBase source, object error, str where) except -1:
    """The source: of x's type and shape, but for `dim`, where it is as long as the index."""
    cdef int d
    if source.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: the source has type {source.dtype}, but the tensor has type {x.dtype}; convert it with .to() "
                         f"first")
    refuse_matrix(index, where)
    if source.ndim_ != x.ndim_:
        raise error(f"{where}: the source has {source.ndim_} dimensions, but the tensor has {x.ndim_}; they must be as many")
    if (source.sizes[dim] if source.ndim_ > 0 else 1) != index.numel_:
        raise ShapeError(f"{where}: {index.numel_} indices, but the source of shape {shape_text(source.ndim_, source.sizes)} has "
                         f"another size in dimension {dim}")
    for d in range(x.ndim_):
        if d != dim and source.sizes[d] != x.sizes[d]:
            raise ShapeError(f"{where}: the source of shape {shape_text(source.ndim_, source.sizes)} does not fit a tensor of "
                             f"shape {shape_text(x.ndim_, x.sizes)}: but for dimension {dim} they must be equal")
    return 0


# ---------------------------------------------------------------- index_add
cdef Op INDEX_ADD = Op("index_add(Tensor x, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
                       checks_values=True)

@INDEX_ADD.derivative("x")
def index_add_derivative_x(grad):
    return grad

@INDEX_ADD.derivative("source")
def index_add_derivative_source(grad, dim, index, alpha, source):    # saves the source, as PyTorch does
    grad = index_select(grad, dim, index) if source.ndim > 0 else grad
    return grad if alpha == 1 else grad * alpha

@INDEX_ADD.infer
def index_add_infer(TensorBase x, dim, TensorBase index, TensorBase source, alpha):
    cdef int d = dim_of(dim, x, "index_add")
    check_slices(x, d, index_vector(index, "index_add"), source, ShapeError, "index_add")
    if not isinstance(alpha, (int, float)) and as_number(alpha) is None:
        raise TypeError(f"index_add: alpha must be a number, not {type(alpha).__name__}")
    check_fits(as_number(alpha), x.dtype_, "index_add")
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@INDEX_ADD.kernel
def index_add_kernel(TensorBase out, TensorBase x, dim, TensorBase index, TensorBase source, alpha):
    """Add to a copy of x, or to x itself if `out` is x."""
    cdef int d = dim_of(dim, x, "index_add")
    cdef TensorBase vector = index_vector(index, "index_add")
    refuse_negative(x, d, vector, PositionOutOfRange, "index_add")
    if out is not x:
        copy_into(out, x)
    if not PyLong_CheckExact(alpha) or alpha != 1:
        alpha = as_number(alpha) if is_in(x.dtype_, INEXACT) else int(alpha)
        if alpha != 1:
            source = (<object>source).detach() * (alpha if x.dtype_ != BOOL else bool(alpha))
    source = apart_from(out, source, "index_add", "the source")
    write_slices(out, d, apart_from(out, vector, "index_add", "the index"), source, ADD, "index_add")

cdef Op INDEX_ADD_ = inplace_op(INDEX_ADD)

cdef object run_index_add(Op op, TensorBase x, object dim, object index, object source, object alpha):
    check_tensor(op.name, "index", index)
    check_tensor(op.name, "source", source)
    return run_tuple(op, (x, plain_ints(dim), index, source, alpha))

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
    result = run_index_add(INDEX_ADD, input, dim, index, source, alpha)
    return store_out("index_add", result, out, (input, index, source), NO_PARTIAL_OVERLAP | OTHERS_APART)

def index_add_(TensorBase input not None, dim, index, source, *, alpha=1):
    """`index_add`, written over `input`. A call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(3, 2)
    >>> x.index_add_(0, tensorlab.tensor([2, 2]), tensorlab.ones(2, 2))
    tensor([[0., 0.],
            [0., 0.],
            [2., 2.]])
    """
    return run_index_add(INDEX_ADD_, input, dim, index, source, alpha)


# ---------------------------------------------------------------- index_copy
cdef Op INDEX_COPY = Op("index_copy(Tensor x, int dim, Tensor index, Tensor source) -> Tensor",
                        checks_values=True)

@INDEX_COPY.derivative("x")
def index_copy_derivative_x(grad, dim, index):
    return index_fill(grad, dim, index, 0)

@INDEX_COPY.derivative("source")
def index_copy_derivative_source(grad, dim, index, source):          # saves the source, as PyTorch does
    return index_select(grad, dim, index) if source.ndim > 0 else grad

@INDEX_COPY.infer
def index_copy_infer(TensorBase x, dim, TensorBase index, TensorBase source):
    cdef int d = dim_of(dim, x, "index_copy")
    if index.dtype_ != INT64:
        raise DTypeError(f"index_copy: the index must be of type int64, not {index.dtype}")
    check_slices(x, d, index_vector(index, "index_copy"), source, IndexOutOfRange, "index_copy")
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@INDEX_COPY.kernel
def index_copy_kernel(TensorBase out, TensorBase x, dim, TensorBase index, TensorBase source):
    """Write over a copy of x, or over x itself if `out` is x."""
    cdef int d = dim_of(dim, x, "index_copy")
    cdef TensorBase vector = index_vector(index, "index_copy")
    refuse_negative(x, d, vector, IndexOutOfRange, "index_copy")
    if out is not x:
        copy_into(out, x)
    source = apart_from(out, source, "index_copy", "the source")
    write_slices(out, d, apart_from(out, vector, "index_copy", "the index"), source, PUT, "index_copy")

cdef Op INDEX_COPY_ = inplace_op(INDEX_COPY)

cdef object run_index_copy(Op op, TensorBase x, object dim, object index, object source):
    check_tensor(op.name, "index", index)
    check_tensor(op.name, "source", source)
    return run_4(op, x, dim_of(dim, x, op.name), index, source)

def index_copy(TensorBase input not None, dim, index, source, *, out=None):
    """A copy of `input` with slices of `source` instead of those that a vector of indices names.

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
    result = run_index_copy(INDEX_COPY, input, dim, index, source)
    return store_out("index_copy", result, out, (input, index, source), NO_PARTIAL_OVERLAP | OTHERS_APART)

def index_copy_(TensorBase input not None, dim, index, source):
    """`index_copy`, written over `input`. A call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(3, 2)
    >>> x.index_copy_(0, tensorlab.tensor([2]), tensorlab.tensor([[1.0, 2.0]]))
    tensor([[0., 0.],
            [0., 0.],
            [1., 2.]])
    """
    return run_index_copy(INDEX_COPY_, input, dim, index, source)


# ---------------------------------------------------------------- index_fill
cdef Op INDEX_FILL = Op("index_fill(Tensor x, int dim, Tensor index, Scalar value) -> Tensor",
                        aten="index_fill.int_Scalar", checks_values=True)

@INDEX_FILL.derivative("x")
def index_fill_derivative_x(grad, dim, index):
    return index_fill(grad, dim, index, 0)

@INDEX_FILL.derivative("value")
def index_fill_derivative_value(grad, dim, index):
    return (grad - index_fill(grad, dim, index, 0)).sum()       # an index that comes twice counts once

cdef int check_fill_value(TensorBase x, object value, str where) except -1:
    if isinstance(value, TensorBase):
        if (<TensorBase>value).ndim_ != 0:
            raise ShapeError(f"{where}: the value must be a number or a 0-d tensor, not of shape "
                             f"{shape_text((<TensorBase>value).ndim_, (<TensorBase>value).sizes)}")
    elif as_number(value) is not None:
        check_number(value, x.dtype_, where)
    else:
        raise TypeError(f"{where}: the value must be a number or a 0-d tensor, not {type(value).__name__}")
    return 0

cdef TensorBase fill_element(TensorBase x, object value, str where):
    """The value as a 0-d tensor of x's type."""
    cdef TensorBase element = empty_beside(x, x.dtype_, 0, NULL)
    if isinstance(value, TensorBase):
        copy_into(element, <TensorBase>value)
    else:
        fill_number(element, value, where)
    return element

cdef TensorBase fill_vector(TensorBase x, int dim, TensorBase index, str where):
    """The index, checked but for its values."""
    if index.dtype_ != INT64:
        raise IndexOutOfRange(f"{where}: the index must be of type int64, not {index.dtype}")
    if index.ndim_ > 1:
        raise ShapeError(f"{where}: the index must be a vector, not of shape {shape_text(index.ndim_, index.sizes)}")
    return index_vector(index, where)

cdef TensorBase positions_from_front(TensorBase x, int dim, TensorBase vector, str where):
    """A copy of the index: unlike its relatives, index_fill counts from the end, too."""
    cdef TensorBase out = contiguous_copy(vector)
    cdef ssize i, bound = x.sizes[dim] if x.ndim_ > 0 else 1
    cdef int64_t* at = <int64_t*>memory_of(out)
    for i in range(out.numel_):
        at[i] += bound if -bound <= at[i] < 0 else 0
    refuse_negative(x, dim, out, IndexOutOfRange, where)
    return out

@INDEX_FILL.infer
def index_fill_infer(TensorBase x, dim, TensorBase index, value):
    fill_vector(x, dim_of(dim, x, "index_fill"), index, "index_fill")
    check_fill_value(x, value, "index_fill")
    return result_like(x, x.dtype_)

@INDEX_FILL.kernel
def index_fill_kernel(TensorBase out, TensorBase x, dim, TensorBase index, value):
    cdef int d = dim_of(dim, x, "index_fill")
    cdef TensorBase vector = positions_from_front(x, d, fill_vector(x, d, index, "index_fill"), "index_fill")
    copy_into(out, x)
    write_slices(out, d, vector, fill_element(x, value, "index_fill"), PUT, "index_fill")

cdef Op INDEX_FILL_ = inplace_op(INDEX_FILL)

@INDEX_FILL_.compose
def index_fill_in_place(TensorBase x, dim, TensorBase index, value):
    """x may show an element twice: all of its places get one value."""
    cdef int d = dim_of(dim, x, "index_fill_")
    cdef TensorBase vector = fill_vector(x, d, index, "index_fill_"), element
    cdef OpNode node
    check_fill_value(x, value, "index_fill_")
    apart_from(x, vector, "index_fill_", "the index")
    if x.storage_.device == ON_CPU:
        vector, element = positions_from_front(x, d, vector, "index_fill_"), fill_element(x, value, "index_fill_")
    warn_if_expanded(x, "index_fill_")
    node = start_overlapping(INDEX_FILL, x, (x, d, index, value))
    if x.storage_.device == ON_CPU:
        write_slices(x, d, vector, element, PUT, "index_fill_")
    elif not is_meta(x):                                # by the kernel of that device, or on the cpu
        copy_into(x, run_4(INDEX_FILL, alias(x), d, index, alias(<TensorBase>value) if isinstance(value, TensorBase) else value))
    return end_record_inplace(node, x)

INDEX_FILL_.records_itself = True

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
    check_tensor("index_fill", "index", index)
    return run_4(INDEX_FILL, input, dim_of(dim, input, "index_fill"), index, value)

def index_fill_(TensorBase input not None, dim, index, value):
    """`index_fill`, written over `input`. A call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2, 3).index_fill_(1, tensorlab.tensor([0, 2]), 7)
    tensor([[7., 0., 7.],
            [7., 0., 7.]])
    """
    check_tensor("index_fill_", "index", index)
    return run_4(INDEX_FILL_, input, dim_of(dim, input, "index_fill_"), index, value)


# ---------------------------------------------------------------- take
cdef Op TAKE_OP = Op("take(Tensor x, Tensor index) -> Tensor",
                     checks_values=True)

@TAKE_OP.derivative("x")
def take_derivative(grad, x, index):                    # saves x, as PyTorch does
    return run_index_backward(<TensorBase?>grad.reshape(-1), [index.reshape(-1)], (x.numel(),)).reshape(x.shape)

cdef int check_take(TensorBase index) except -1:
    if index.dtype_ != INT64:
        raise DTypeError(f"take: the index must be of type int64, not {index.dtype}")
    return 0

@TAKE_OP.infer
def take_infer(TensorBase x, TensorBase index):
    check_take(index)
    return index_result(as_row(x), [index if index.is_contiguous_ else contiguous_copy(index)], "take")

@TAKE_OP.kernel
def take_kernel(TensorBase out, TensorBase x, TensorBase index):
    index_to(out, as_row(x), [index if index.is_contiguous_ else contiguous_copy(index)], "take")

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
    check_tensor("take", "index", index)
    # not straight into out=: a bad index is found on the way, and must change nothing
    return store_out("take", run_2(TAKE_OP, input, index), out, (input, index), NO_OVERLAP)

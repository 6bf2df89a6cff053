"""Elements chosen by a mask: masked_select reads them, masked_scatter writes them. Both are indexing by that mask."""
from tensorlab._core.out_argument cimport NO_OVERLAP, store_out
from tensorlab._core.op cimport Op
from tensorlab._core.dtypes cimport BOOL
from tensorlab._core.layout cimport MAX_NDIM, broadcast_into, read_sizes, shape_text, ssize
from tensorlab._core.iterator cimport contiguous_copy, copy_into
from tensorlab._core.recording cimport OpNode, begin_record_inplace, end_record_inplace, record
from tensorlab._core.tensor cimport TensorBase, alias_as, make_size
from tensorlab.ops.filling cimport zeros_beside
from tensorlab.ops.indexing.advanced cimport index_forward, run_index_backward, write_indexed
from tensorlab.ops.indexing.nonzero cimport flat_nonzero
from tensorlab.ops.indexing.index_iterator cimport PUT, apart_from

from tensorlab.errors import DTypeError, ShapeError


cdef TensorBase check_mask(object mask, str where):
    if not isinstance(mask, TensorBase):
        raise TypeError(f"{where}: argument 'mask' must be a Tensor, not {type(mask).__name__}")
    if (<TensorBase>mask).dtype_ != BOOL:
        raise DTypeError(f"{where}: the mask must be of type bool, not {mask.dtype}")
    return <TensorBase>mask


cdef object common_shape(TensorBase x, TensorBase mask, str where):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = 0
    broadcast_into(x.ndim_, x.sizes, &ndim, sizes)
    if broadcast_into(mask.ndim_, mask.sizes, &ndim, sizes) < 0:
        raise ShapeError(f"{where}: a tensor of shape {shape_text(x.ndim_, x.sizes)} and a mask of shape "
                         f"{shape_text(mask.ndim_, mask.sizes)} cannot be broadcast together: counted from the right, sizes "
                         f"must be equal or 1")
    return make_size(ndim, sizes)


cdef object expanded(TensorBase x, object shape):
    return x if x.shape == shape else x.expand(shape)


# ---------------------------------------------------------------- masked_select
cdef Op MASKED_SELECT = Op("masked_select(Tensor x, Tensor mask) -> Tensor")

@MASKED_SELECT.derivative("x")
def masked_select_derivative(grad, x, mask):            # saves x, as PyTorch does
    shape = common_shape(<TensorBase?>x, <TensorBase?>mask, "masked_select")
    return run_index_backward(<TensorBase?>grad, [mask.expand(shape)], shape)       # the engine sums what was broadcast

def masked_select(TensorBase input not None, mask, *, out=None):
    """The elements of `input` where `mask` is True, in row-major order.

    Parameters
    ----------
    input : Tensor
    mask : Tensor of bool; the two are broadcast together

    Returns
    -------
    Tensor, shape (number of True,)

    >>> import tensorlab
    >>> x = tensorlab.tensor([1, 2, 3])
    >>> tensorlab.masked_select(x, tensorlab.tensor([True, False, True]))
    tensor([1, 3])
    """
    cdef TensorBase given = check_mask(mask, "masked_select"), result
    shape = common_shape(input, given, "masked_select")
    result = index_forward(expanded(input.detach(), shape), [expanded(given, shape)], "masked_select")
    if out is not None:
        return store_out("masked_select", result, out, (input, mask), NO_OVERLAP)
    return record(MASKED_SELECT, result, (input, given))


# ---------------------------------------------------------------- masked_scatter
cdef Op MASKED_SCATTER = Op("masked_scatter(Tensor x, Tensor mask, Tensor source) -> Tensor")

@MASKED_SCATTER.derivative("x")
def masked_scatter_derivative_x(grad, mask):
    return grad.masked_fill(mask, 0)

@MASKED_SCATTER.derivative("source")
def masked_scatter_derivative_source(grad, mask, source_shape):
    return masked_scatter_backward(<TensorBase?>grad, <TensorBase?>mask, source_shape)

cdef Op MASKED_SCATTER_BACKWARD = Op("masked_scatter_backward(Tensor grad, Tensor mask, int[] shape) -> Tensor")

@MASKED_SCATTER_BACKWARD.derivative("grad")
def masked_scatter_backward_derivative(grad, grad_shape, mask):
    return masked_scatter(grad.new_zeros(grad_shape), mask, grad)

cdef object masked_scatter_backward(TensorBase grad, TensorBase mask, object shape):
    """The elements of grad where the mask is True, in the shape of the source; zeros for the part that was not used."""
    cdef TensorBase taken = index_forward(grad, [mask], "masked_scatter_backward"), out
    cdef ssize[MAX_NDIM] sizes
    cdef ssize one = 1
    out = zeros_beside(grad, grad.dtype_, read_sizes(shape, sizes, "masked_scatter_backward"), sizes)
    copy_into(alias_as(out, 1, taken.sizes, &one, out.data_), taken)
    return record(MASKED_SCATTER_BACKWARD, out, (grad, mask, shape))

cdef TensorBase check_source(TensorBase x, TensorBase mask, object source, str where):
    """The source as a row of as many elements as the mask has True."""
    cdef TensorBase values
    cdef ssize count
    if not isinstance(source, TensorBase):
        raise TypeError(f"{where}: argument 'source' must be a Tensor, not {type(source).__name__}")
    values = <TensorBase>source
    if values.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: the source has type {values.dtype}, but the tensor has type {x.dtype}; convert it with .to() "
                         f"first")
    count = flat_nonzero(mask).numel_
    if values.numel_ < count:
        raise ShapeError(f"{where}: the mask has {count} True, but the source only {values.numel_} elements")
    return values.detach().reshape(-1)[:count]

def masked_scatter_(TensorBase input not None, mask, source):
    """`masked_scatter`, written over `input`. A call that raises has changed nothing."""
    cdef TensorBase given = check_mask(mask, "masked_scatter_"), values
    cdef OpNode node
    shape = common_shape(input, given, "masked_scatter_")
    if shape != input.shape:
        raise ShapeError(f"masked_scatter_: the mask has shape {tuple(given.shape)}, which cannot be broadcast to the shape of "
                         f"the tensor, {tuple(input.shape)}")
    given = expanded(given, shape)
    values = apart_from(input, check_source(input, given, source, "masked_scatter_"), "masked_scatter_", "the source")
    node = begin_record_inplace(MASKED_SCATTER, input, (input, given, source))
    write_indexed(input, [given], values, PUT, "masked_scatter_")
    return end_record_inplace(node, input)

def masked_scatter(TensorBase input not None, mask, source):
    """A copy of `input` in which the elements where `mask` is True are, one after the other, those of `source`.

    Parameters
    ----------
    input : Tensor
    mask : Tensor of bool; the two are broadcast together
    source : Tensor of the same dtype, with at least as many elements as the mask has True

    Raises
    ------
    ShapeError
        If the source has too few elements, or the shapes cannot be broadcast together.

    >>> import tensorlab
    >>> mask = tensorlab.tensor([True, False, True])
    >>> tensorlab.masked_scatter(tensorlab.zeros(3), mask, tensorlab.tensor([5., 7.]))
    tensor([5., 0., 7.])
    """
    cdef TensorBase given = check_mask(mask, "masked_scatter"), values, out
    shape = common_shape(input, given, "masked_scatter")
    given = expanded(given, shape)
    values = check_source(input, given, source, "masked_scatter")
    out = contiguous_copy(expanded(input.detach(), shape))
    write_indexed(out, [given], values, PUT, "masked_scatter")
    return record(MASKED_SCATTER, out, (input, given, source))

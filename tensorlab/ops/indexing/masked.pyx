"""Elements chosen by a mask: masked_select reads them, masked_scatter writes them. Both are indexing by that mask."""
from tensorlab._core.dispatch.dispatch cimport run_2, run_3
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport same_numbers
from tensorlab._core.dispatch.out_argument cimport NO_OVERLAP, store_out
from tensorlab._core.dtypes cimport BOOL
from tensorlab._core.layout cimport MAX_NDIM, broadcast_into, read_sizes, shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.tensor cimport TensorBase, alias_as, make_size, result_beside
from tensorlab.ops.filling cimport fill_zero, refuse_negative
from tensorlab.ops.indexing.advanced cimport index_forward, run_index_backward, write_indexed
from tensorlab.ops.indexing.nonzero cimport flat_nonzero
from tensorlab.ops.indexing.index_iterator cimport PUT, apart_from, as_row, check_tensor

from tensorlab.errors import DTypeError, ShapeError


cdef int check_mask(TensorBase mask, str where) except -1:
    if mask.dtype_ != BOOL:
        raise DTypeError(f"{where}: the mask must be of type bool, not {mask.dtype}")
    return 0


cdef int common_shape(TensorBase x, TensorBase mask, ssize* sizes, str where) except -1:
    """The shape to which both are broadcast; returned is its length."""
    cdef int ndim = 0
    check_mask(mask, where)
    broadcast_into(x.ndim_, x.sizes, &ndim, sizes)
    if broadcast_into(mask.ndim_, mask.sizes, &ndim, sizes) < 0:
        raise ShapeError(f"{where}: a tensor of shape {shape_text(x.ndim_, x.sizes)} and a mask of shape "
                         f"{shape_text(mask.ndim_, mask.sizes)} cannot be broadcast together: counted from the right, sizes "
                         f"must be equal or 1")
    return ndim


cdef TensorBase expanded(TensorBase x, int ndim, const ssize* sizes):
    """An alias of x, broadcast to a larger shape."""
    cdef ssize[MAX_NDIM] strides
    cdef int d, shift = ndim - x.ndim_
    for d in range(ndim):
        strides[d] = 0 if d < shift or x.sizes[d - shift] != sizes[d] else x.strides[d - shift]
    return alias_as(x, ndim, sizes, strides, x.data_)


# ---------------------------------------------------------------- masked_select
cdef Op MASKED_SELECT = Op("masked_select(Tensor x, Tensor mask) -> Tensor")

@MASKED_SELECT.derivative("x")
def masked_select_derivative(grad, x, mask):            # saves x, as PyTorch does
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = common_shape(<TensorBase?>x, <TensorBase?>mask, sizes, "masked_select")
    shape = make_size(ndim, sizes)
    return run_index_backward(<TensorBase?>grad, [mask.expand(shape)], shape)       # the engine sums what was broadcast

@MASKED_SELECT.kernel
def masked_select_kernel(TensorBase x, TensorBase mask):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = common_shape(x, mask, sizes, "masked_select")
    return index_forward(expanded(x, ndim, sizes), [expanded(mask, ndim, sizes)], "masked_select")

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
    check_tensor("masked_select", "mask", mask)
    result = run_2(MASKED_SELECT, input, mask)
    return result if out is None else store_out("masked_select", result, out, (input, mask), NO_OVERLAP)


# ---------------------------------------------------------------- masked_scatter
cdef Op MASKED_SCATTER = Op("masked_scatter(Tensor x, Tensor mask, Tensor source) -> Tensor",
                            checks_values=True)

@MASKED_SCATTER.derivative("x")
def masked_scatter_derivative_x(grad, mask):
    return grad.masked_fill(mask, 0)

@MASKED_SCATTER.derivative("source")
def masked_scatter_derivative_source(grad, mask, source_shape):
    return run_3(MASKED_SCATTER_BACKWARD, grad, mask, source_shape)

cdef Op MASKED_SCATTER_BACKWARD = Op("masked_scatter_backward(Tensor grad, Tensor mask, int[] shape) -> Tensor",
                                     public={"grad": "grad_output", "shape": "sizes"},
                                     aten="masked_scatter_backward")

@MASKED_SCATTER_BACKWARD.derivative("grad")
def masked_scatter_backward_derivative(grad, grad_shape, mask):
    return masked_scatter(grad.new_zeros(grad_shape), mask, grad)

@MASKED_SCATTER_BACKWARD.infer
def masked_scatter_backward_infer(TensorBase grad, TensorBase mask, shape):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(shape, sizes, "masked_scatter_backward")
    mask_like(grad, mask, "masked_scatter_backward")
    refuse_negative(ndim, sizes)
    return result_beside(grad, grad.dtype_, ndim, sizes)

@MASKED_SCATTER_BACKWARD.kernel
def masked_scatter_backward_kernel(TensorBase out, TensorBase grad, TensorBase mask, shape):
    """The elements of grad where the mask is True, in the shape of the source; zeros for the part that was not used."""
    cdef ssize step = 1
    cdef TensorBase given = mask_like(grad, mask, "masked_scatter_backward")
    cdef TensorBase taken = index_forward(grad, [given], "masked_scatter_backward")
    fill_zero(out)
    if taken.numel_ > out.numel_:
        raise ShapeError(f"masked_scatter_backward: the mask has {taken.numel_} True, but a tensor of shape {tuple(shape)} has "
                         f"only {out.numel_} elements")
    copy_into(alias_as(out, 1, taken.sizes, &step, out.data_), taken)

cdef TensorBase mask_like(TensorBase x, TensorBase mask, str where):
    """The mask in x's shape."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = common_shape(x, mask, sizes, where)
    if ndim != x.ndim_ or not same_numbers(ndim, sizes, x.sizes):
        raise ShapeError(f"{where}: the mask has shape {shape_text(mask.ndim_, mask.sizes)}, which cannot be broadcast to the "
                         f"shape of the tensor, {shape_text(x.ndim_, x.sizes)}")
    return expanded(mask, ndim, sizes)

cdef int check_type(TensorBase x, TensorBase source, str where) except -1:
    if source.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: the source has type {source.dtype}, but the tensor has type {x.dtype}; convert it with .to() "
                         f"first")
    return 0

cdef TensorBase check_source(TensorBase x, TensorBase mask, TensorBase source, str where):
    """The source as a row of as many elements as the mask has True."""
    cdef ssize count
    check_type(x, source, where)
    count = flat_nonzero(mask).numel_
    if source.numel_ < count:
        raise ShapeError(f"{where}: the mask has {count} True, but the source only {source.numel_} elements")
    source = as_row(source)
    return alias_as(source, 1, &count, source.strides, source.data_)

@MASKED_SCATTER.infer
def masked_scatter_infer(TensorBase x, TensorBase mask, TensorBase source):
    """A copy of x in the shape of both."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = common_shape(x, mask, sizes, "masked_scatter")
    check_type(x, source, "masked_scatter")
    return result_beside(x, x.dtype_, ndim, sizes)

@MASKED_SCATTER.kernel
def masked_scatter_kernel(TensorBase out, TensorBase x, TensorBase mask, TensorBase source):
    """Write over a copy of x, or over x itself if `out` is x."""
    cdef TensorBase given = mask_like(out, mask, "masked_scatter"), values
    if out is not x:
        copy_into(out, x)
    values = apart_from(out, source, "masked_scatter", "the source")
    write_indexed(out, [given], check_source(out, given, values, "masked_scatter"), PUT, "masked_scatter", True)

cdef Op MASKED_SCATTER_ = inplace_op(MASKED_SCATTER)

def masked_scatter_(TensorBase input not None, mask, source):
    """`masked_scatter`, written over `input`. A call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(4)
    >>> mask = tensorlab.tensor([True, False, True, False])
    >>> x.masked_scatter_(mask, tensorlab.tensor([1.0, 2.0]))
    tensor([1., 0., 2., 0.])
    """
    check_tensor("masked_scatter_", "mask", mask)
    check_tensor("masked_scatter_", "source", source)
    return run_3(MASKED_SCATTER_, input, mask, source)

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
    check_tensor("masked_scatter", "mask", mask)
    check_tensor("masked_scatter", "source", source)
    return run_3(MASKED_SCATTER, input, mask, source)

"""Filling: zeros and single numbers written everywhere, for everything that makes tensors, and fill_, fill and zero_."""
from cpython.object cimport PyObject
from libc.math cimport fabs, isinf, isnan
from libc.string cimport memcpy, memset

from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.dispatch.dispatch cimport run_1, run_2
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport (
    as_number, check_fits, refuse_internal_overlap, write_number
)
from tensorlab._core.dispatch.recording cimport OpNode, begin_record, end_record_inplace
from tensorlab._core.dtypes cimport (
    ANY_FLOATING, FLOAT16, FLOAT32, FLOAT64, FLOAT8, MAX_ITEMSIZE, dtype_object, is_in, item_size,
    kernel_dtype
)
from tensorlab._core.graph.graph cimport needs_grad
from tensorlab._core.graph.inplace cimport check_inplace
from tensorlab._core.layout cimport has_internal_overlap, ssize
from tensorlab._core.loops.iterator cimport fill_with, moved
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.tensor cimport TensorBase, empty_beside, empty_tensor, is_meta, memory_of, result_like

import warnings

from tensorlab._core.dtypes import finfo
from tensorlab.errors import DTypeError, ShapeError

cdef enum:
    SMALL_FILL = 1024                           # elements


# ---------------------------------------------------------------- zeros and numbers
cdef int fill_zero(TensorBase x) except -1:
    cdef double[2] zero = [0, 0]                # as wide as a number of any type
    if x.numel_ == 0:
        return 0
    if x.is_contiguous_ and x.numel_ * item_size[x.dtype_] <= 65536 and x.storage_.device == ON_CPU:
        memset(memory_of(x), 0, x.numel_ * item_size[x.dtype_])
        return 0
    return fill_with(x, zero, x.dtype_)


cdef TensorBase zeros_tensor(int dtype, int ndim, const ssize* sizes):
    cdef TensorBase out = empty_tensor(dtype, ndim, sizes)
    fill_zero(out)
    return out


cdef TensorBase zeros_beside(TensorBase x, int dtype, int ndim, const ssize* sizes):
    """Zeros where x is. The shape may come from a saved or recorded call: two negative sizes would make a positive number."""
    cdef TensorBase out
    refuse_negative(ndim, sizes)
    out = empty_beside(x, dtype, ndim, sizes)
    fill_zero(out)
    return out


cdef int refuse_negative(int ndim, const ssize* sizes) except -1:
    """Raise if a size of what is to be zeros is negative."""
    cdef int i
    for i in range(ndim):
        if sizes[i] < 0:
            raise ShapeError(f"zeros: size {sizes[i]} of dimension {i} is negative")
    return 0


cdef int check_number(object value, int dtype, str where) except -1:
    """Raise unless a number can be stored in that type: a number too large is an error, a fraction is cut off."""
    cdef double x
    if not is_in(dtype, ANY_FLOATING):
        return check_fits(value, dtype, where)
    x = 0 if dtype == FLOAT64 else value
    if not (isinf(x) or isnan(x) or fabs(x) <= (
            65504.0 if dtype == FLOAT16 else finfo(dtype_object(dtype)).max if is_in(dtype, FLOAT8) else 3.4028234663852886e38)):
        raise DTypeError(f"{where}: the number {value} does not fit in {dtype_object(dtype)}; choose a wider dtype")
    return 0


cdef int fill_number(TensorBase x, object value, str where) except -1:
    """Write a Python number everywhere."""
    cdef char[MAX_ITEMSIZE] element
    cdef int dtype = kernel_dtype(x.dtype_)         # the half types are written as float32 and converted
    cdef ssize i
    check_number(value, x.dtype_, where)
    write_number(value, dtype, element)
    if (x.is_contiguous_ and x.dtype_ == FLOAT32 and x.numel_ <= SMALL_FILL
            and x.storage_.device == ON_CPU):                       # shorter than setting up an iterator
        for i in range(x.numel_):
            (<float*>memory_of(x))[i] = (<float*>element)[0]
        return 0
    return fill_with(x, element, dtype)


# ---------------------------------------------------------------- writing where elements share a place
cdef OpNode start_overlapping(Op op, TensorBase x, tuple arguments):
    """Begin to record an op that may write where elements share a place, or that looks at x later.

    All of them get the same value, so what begin_record_inplace refuses is no danger here. No
    derivative may need x as it was.
    """
    cdef PyObject* pointers[4]
    cdef bint wanted = False
    cdef int i, n = len(arguments)
    for i in range(n):
        pointers[i] = <PyObject*>arguments[i]
        wanted = wanted or (isinstance(<object>pointers[i], TensorBase) and needs_grad(<TensorBase>pointers[i]))
    wanted = wanted and thread_state().grad_enabled
    check_inplace(x, wanted, inplace_op(op).name)
    return begin_record(op, pointers, n) if wanted else None


cdef int warn_if_expanded(TensorBase x, str where) except -1:
    """Warn before an op writes to elements that share a place, where others see what is written."""
    if has_internal_overlap(x.ndim_, x.sizes, x.strides):
        warnings.warn(f"{where}: the tensor is expanded, so that some of its elements share a place and "
                      f"change together; write to x.clone()", UserWarning, stacklevel=1)
    return 0


# ---------------------------------------------------------------- fill_ and zero_
def zeros_in_place_of(grad):
    """The gradient of what is overwritten: zeros in the layout of `grad`, a constant to autograd."""
    return run_1(ZERO, grad.detach())

cdef Op FILL = Op("fill(Tensor x, Scalar value) -> Tensor", aten="fill.Scalar",
                  fills_with="value")

FILL.derivative("x")(zeros_in_place_of)

@FILL.derivative("value")
def fill_derivative_value(grad):
    return grad                             # the engine sums it: the value is 0-d


cdef int check_fill_value(TensorBase x, object value) except -1:
    if isinstance(value, TensorBase):
        if (<TensorBase>value).ndim_ != 0:
            raise ShapeError(f"fill_: value must be a number or a 0-d tensor, not a tensor of shape "
                             f"{tuple(value.shape)}")
    elif as_number(value) is None:
        raise TypeError(f"fill_: value must be a number or a 0-d tensor, not {type(value).__name__}")
    else:
        check_number(as_number(value), x.dtype_, "fill_")
    return 0


cdef int write_fill(TensorBase x, object value) except -1:
    if isinstance(value, TensorBase):
        fill_from(x, <TensorBase>value)
    else:
        fill_number(x, as_number(value), "fill_")
    return 0


cdef int fill_from(TensorBase x, TensorBase value) except -1:
    """Write the one element of `value` everywhere; it may be one of x."""
    cdef char[MAX_ITEMSIZE] element
    if is_meta(x):
        return 0
    value = moved(value, ON_CPU)
    memcpy(element, memory_of(value), item_size[value.dtype_])
    return fill_with(x, element, value.dtype_)


cdef Op FILL_ = inplace_op(FILL)

@FILL_.compose
def fill_in_place(TensorBase x, value):
    cdef OpNode node
    check_fill_value(x, value)
    node = start_overlapping(FILL, x, (x, value))
    if isinstance(value, TensorBase):
        refuse_internal_overlap(x, "fill_")             # as PyTorch, which copies a tensor's value where it fills in a number
    write_fill(x, value)
    return end_record_inplace(node, x)

FILL_.records_itself = True

def fill_(TensorBase input not None, value):
    """Write one value, a number or a 0-d tensor, over all elements.

    Raises
    ------
    ShapeError
        If `value` is a tensor with dimensions.
    DTypeError
        If the number does not fit in the tensor's dtype.
    MemoryLayoutError
        If `value` is a tensor, and `input` shows some element twice.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    return run_2(FILL_, input, value)


@FILL.infer
def fill_infer(TensorBase x, value):
    check_fill_value(x, value)
    return result_like(x, x.dtype_)

@FILL.kernel
def fill_kernel(TensorBase out, TensorBase x, value):
    write_fill(out, value)

def fill(TensorBase input not None, value):
    """A tensor like `input` with one value, a number or a 0-d tensor, everywhere.

    >>> import tensorlab
    >>> tensorlab.fill(tensorlab.zeros(2), 3)
    tensor([3., 3.])
    """
    return run_2(FILL, input, value)


cdef Op ZERO = Op("zero(Tensor x) -> Tensor",
                  fills_with=0)

ZERO.derivative("x")(zeros_in_place_of)

cdef Op ZERO_ = inplace_op(ZERO)

@ZERO.infer
def zero_infer(TensorBase x):
    return result_like(x, x.dtype_)

@ZERO.kernel
def zero_kernel(TensorBase out, TensorBase x):
    fill_zero(out)

@ZERO_.compose
def zero_in_place(TensorBase x):
    cdef OpNode node = start_overlapping(ZERO, x, (x,))
    fill_zero(x)
    return end_record_inplace(node, x)

ZERO_.records_itself = True

def zero_(TensorBase input not None):
    """Write zeros over all elements.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.ones(2).zero_()
    tensor([0., 0.])
    """
    return run_1(ZERO_, input)

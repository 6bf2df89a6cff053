"""Choosing between elements by a mask: where and masked_fill."""
from tensorlab._core.dispatch.dispatch cimport run_ternary, run_ternary_inplace
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport as_number, check_fits, is_operand
from tensorlab._core.dispatch.recording cimport OpNode, end_record_inplace
from tensorlab._core.dtypes cimport (
    ANY_FLOATING, BOOL, COMPLEX, NUM_DTYPES, UINT8, dtype_object, is_in, real_dtype
)
from tensorlab._core.graph.graph cimport should_record
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.filling cimport start_overlapping
from tensorlab.ops.pointwise.common cimport check_tensor

import math
import warnings

from tensorlab._core.dtypes import finfo
from tensorlab.errors import DTypeError, ShapeError

cdef extern from "selection_loops.h":       # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- where
# A bool promotes to every type, so the condition does not change the type of the result.
cdef Op WHERE = Op("where(Tensor condition, Tensor x, Tensor y) -> Tensor",
                   aten="where.self", dtype="promote",
                   scalar={"any": "condition ? x : y"}, wraps_numbers=True, exact_out=True,
                   takes_float8=True)

@WHERE.derivative("x")
def where_derivative_x(grad, condition):
    return run_ternary(WHERE, condition, grad, 0)

@WHERE.derivative("y")
def where_derivative_y(grad, condition):
    return run_ternary(WHERE, condition, 0, grad)

def where(TensorBase condition not None, input=None, other=None, *, out=None):
    """Elements of `input` where `condition` is True, and of `other` elsewhere; all three broadcast.

    Parameters
    ----------
    condition : Tensor of bools (or uint8)
    input, other : Tensor or number; without both, the indices of the True elements are returned as `nonzero` gives them
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of the broadcast shape and the promoted dtype, or a tuple of index tensors, one for each dimension

    Raises
    ------
    DTypeError
        If `condition` is neither bool nor uint8.

    >>> import tensorlab
    >>> x = tensorlab.tensor([-1., 2.])
    >>> tensorlab.where(x > 0, x, 0)
    tensor([0., 2.])
    """
    if input is None and other is None and out is None:
        return condition.nonzero(as_tuple=True)
    if not is_operand(input) or not is_operand(other):
        raise TypeError(f"where: input is {type(input).__name__} and other is {type(other).__name__}; each must be a Tensor "
                        f"or a number")
    if condition.dtype_ == UINT8:
        condition = condition != 0
    if condition.dtype_ != BOOL:
        raise DTypeError(f"where: condition is {condition.dtype}; it must be a tensor of bools. Did you mean condition != 0?")
    return run_ternary(WHERE, condition, input, other, out)

def where_method(TensorBase self not None, TensorBase condition not None, other):
    """`where` as a method: elements of `self` where `condition` is True, and of `other` elsewhere.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, -2.0, 3.0])
    >>> x.where(x > 0, 0.0)
    tensor([1., 0., 3.])
    """
    return where(condition, self, other)


# ---------------------------------------------------------------- masked_fill
cdef Op MASKED_FILL = Op("masked_fill(Tensor x, Tensor mask, Tensor value) -> Tensor",
                         aten="masked_fill.Tensor", dtype="promote",
                         scalar={"any": "mask ? value : x"}, takes_float8=True)

@MASKED_FILL.derivative("x")
def masked_fill_derivative_x(grad, mask):
    return masked_fill(grad, mask, 0)

@MASKED_FILL.derivative("value")
def masked_fill_derivative_value(grad, mask):
    return run_ternary(WHERE, mask, grad, 0)

cdef double[NUM_DTYPES] LARGEST             # the largest finite number of each floating type
cdef int code
for code in range(NUM_DTYPES):
    LARGEST[code] = finfo(dtype_object(code)).max if is_in(code, ANY_FLOATING) else 0

cdef object checked_value(str where, TensorBase x, object mask, object value):
    """The value in the type of x, so that it does not change the type of the result."""
    check_tensor(where, "mask", mask)
    if (<TensorBase>mask).dtype_ != BOOL:
        raise DTypeError(f"{where}: mask is {mask.dtype}; it must be a tensor of bools. Did you mean mask != 0?")
    if isinstance(value, TensorBase):
        if (<TensorBase>value).ndim_ > 0:
            raise ShapeError(f"{where}: value has shape {tuple(value.shape)}; it must be a number or a tensor of shape (). "
                             f"Use where(mask, value, input) for one value each")
        if is_in((<TensorBase>value).dtype_, COMPLEX) and not is_in(x.dtype_, COMPLEX):
            raise DTypeError(f"{where}: value is {value.dtype}, which {x.dtype} can't hold; give value.real, or convert input "
                             f"with .cfloat() first")
        return value if (<TensorBase>value).dtype_ == x.dtype_ else value.to(x.dtype)
    value = as_number(value)
    if value is None:
        raise TypeError(f"{where}: argument 'value' must be a Tensor or a number")
    return fitting_number(where, value, x)

cdef int check_part(str where, object value, object part, double most, TensorBase x) except -1:
    if not -most <= part <= most and math.isfinite(part):
        raise DTypeError(f"{where}: the value {value} does not fit in {x.dtype}")
    return 0

cdef object fitting_number(str where, object value, TensorBase x):
    """A number cut to x's category; raises if x's type has no such number."""
    cdef double most = LARGEST[real_dtype(x.dtype_)]
    if x.dtype_ == BOOL:
        return bool(value)
    if is_in(x.dtype_, ANY_FLOATING):
        if isinstance(value, complex):
            raise DTypeError(f"{where}: {x.dtype} can't hold the complex number {value}; convert input with .cfloat() first")
        check_part(where, value, value, most, x)
        return float(value)
    if is_in(x.dtype_, COMPLEX):
        check_part(where, value, value.real, most, x)
        check_part(where, value, value.imag, most, x)
        return complex(value)
    check_fits(value, x.dtype_, where)
    return int(value)

def masked_fill(TensorBase input not None, mask, value):
    """A copy of `input` with `value` where `mask` is True.

    Parameters
    ----------
    mask : Tensor of bools, broadcast with `input`
    value : number or Tensor of shape ()

    Raises
    ------
    DTypeError
        If `mask` is not bool, or `value` does not fit in the type of `input`.
    ShapeError
        If `value` is a tensor with dimensions.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1., 2.])
    >>> tensorlab.masked_fill(x, x > 1, -1)
    tensor([ 1., -1.])
    """
    value = checked_value("masked_fill", input, mask, value)
    if not input.is_contiguous_ or not (<TensorBase>mask).is_contiguous_:       # the result is row-major in any case
        input = input.contiguous()
        mask = mask.contiguous()
    return run_ternary(MASKED_FILL, input, mask, value)

def masked_fill_(TensorBase input not None, mask, value):
    """`masked_fill`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> x.masked_fill_(x > 1, 0.0)
    tensor([1., 0.])
    """
    value = checked_value("masked_fill_", input, mask, value)
    if is_expanded(input):
        return fill_expanded(input, mask, value)
    return run_ternary_inplace(MASKED_FILL, input, mask, value)

cdef bint is_expanded(TensorBase x) noexcept:
    """Do several indices mean one place in memory, because a stride is 0?"""
    cdef int i
    for i in range(x.ndim_):
        if x.strides[i] == 0 and x.sizes[i] > 1:
            return True
    return False

cdef object fill_expanded(TensorBase x, object mask, object value):
    """Fill each place of an expanded tensor that the mask names at least once. PyTorch allows this, and warns."""
    cdef object place = x, wide = mask.expand(x.shape)
    cdef OpNode node = None
    cdef int i
    warnings.warn("masked_fill_: input is expanded, so that several of its elements are one place in memory; clone it first",
                  UserWarning)
    if should_record(x):                # a write to the whole of x: as in PyTorch, no gradient leads through it
        node = start_overlapping(MASKED_FILL, x, (x, mask, value))
        place, value = x.data, value.detach() if isinstance(value, TensorBase) else value
    for i in range(x.ndim_):
        if x.strides[i] == 0 and x.sizes[i] > 1:
            place = place.narrow(i, 0, 1)
            wide = wide.any(i, keepdim=True)
    run_ternary_inplace(MASKED_FILL, place, wide, value)
    return end_record_inplace(node, x) if node is not None else x


set_loops(tl_loops)

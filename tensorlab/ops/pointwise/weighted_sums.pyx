"""Weighted sums in one pass: addcmul and addcdiv add a scaled product or quotient, lerp goes from one tensor to another.

What is multiplied last is added in the same instruction (FMA) and rounded only once, as in PyTorch.
"""
from tensorlab._core.dispatch.dispatch cimport (
    run_quaternary, run_quaternary_inplace, run_ternary, run_ternary_inplace
)
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.out_argument cimport check_out_dtype
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.pointwise.common cimport (
    check_tensor, is_bool, is_floating_operand, old_order
)

from tensorlab.errors import DTypeError, UnsupportedDType
from tensorlab.ops.pointwise.common import same_gradient

cdef extern from "weighted_sums_loops.h":   # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- addcmul
cdef Op ADDCMUL = Op(
    "addcmul(Tensor x, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    dtype="promote",
    scalar={"floating": "fma@(value * tensor1, tensor2, x)",
            "integer": "(T)(value * tensor1) * tensor2 + x",
            "complex": "x + value * tensor1 * tensor2"})

ADDCMUL.derivative("x")(same_gradient)

@ADDCMUL.derivative("tensor1")
def addcmul_derivative_tensor1(grad, tensor2, value):
    return grad * (tensor2 * value)

@ADDCMUL.derivative("tensor2")
def addcmul_derivative_tensor2(grad, tensor1, value):
    return grad * (tensor1 * value)

cdef object fitting_value(str where, object x, object a, object b, object value):
    """The factor, cut to an integer if all tensors are integers, so that it does not change the type of the result."""
    check_tensor(where, "tensor1", a)
    check_tensor(where, "tensor2", b)
    if is_floating_operand(x) or is_floating_operand(a) or is_floating_operand(b) or isinstance(value, TensorBase):
        return value
    if is_bool(x) and is_bool(a) and is_bool(b):
        raise UnsupportedDType(f"{where}: not implemented for tensorlab.bool; use input | (tensor1 & tensor2)")
    return int(value)

def addcmul(TensorBase input not None, tensor1, tensor2, late=None, *, value=1, out=None):
    """`input + value * tensor1 * tensor2`, element by element, broadcast.

    `late` is for the order of old programs, `addcmul(input, value, tensor1, tensor2)`, which warns.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1., 2.])
    >>> tensorlab.addcmul(x, x, x, value=10)
    tensor([11., 42.])
    """
    if late is not None:
        value, tensor1, tensor2 = old_order("addcmul", "value", tensor1, value), tensor2, late
    value = fitting_value("addcmul", input, tensor1, tensor2, value)
    return run_quaternary(ADDCMUL, input, tensor1, tensor2, value, out)

def addcmul_(TensorBase input not None, tensor1, tensor2, late=None, *, value=1):
    """`addcmul`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2)
    >>> x.addcmul_(tensorlab.tensor([1.0, 2.0]), tensorlab.tensor([3.0, 4.0]), value=10)
    tensor([31., 81.])
    """
    if late is not None:
        value, tensor1, tensor2 = old_order("addcmul_", "value", tensor1, value), tensor2, late
    return run_quaternary_inplace(ADDCMUL, input, tensor1, tensor2, fitting_value("addcmul_", input, tensor1, tensor2, value))


# ---------------------------------------------------------------- addcdiv
cdef Op ADDCDIV = Op(
    "addcdiv(Tensor x, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    dtype="promote", scalar={"inexact": "x + value * tensor1 / tensor2"})

ADDCDIV.derivative("x")(same_gradient)

@ADDCDIV.derivative("tensor1")
def addcdiv_derivative_tensor1(grad, tensor2, value):
    return grad * (value / tensor2)

@ADDCDIV.derivative("tensor2")
def addcdiv_derivative_tensor2(grad, tensor1, tensor2, value):
    return -grad * (value * tensor1 / (tensor2 * tensor2))

cdef int refuse_integer_quotient(str where, object a, object b) except -1:
    check_tensor(where, "tensor1", a)
    check_tensor(where, "tensor2", b)
    if not is_floating_operand(a) and not is_floating_operand(b):
        raise DTypeError(f"{where}: tensor1 is {a.dtype} and tensor2 is {b.dtype}; one of them must be floating. Write "
                         f"input + value * (tensor1 / tensor2), or div with rounding_mode='trunc' for whole numbers")
    return 0

def addcdiv(TensorBase input not None, tensor1, tensor2, late=None, *, value=1, out=None):
    """`input + value * tensor1 / tensor2`, element by element, broadcast.

    `late` is for the order of old programs, `addcdiv(input, value, tensor1, tensor2)`, which warns.

    Raises
    ------
    DTypeError
        If neither `tensor1` nor `tensor2` is floating.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1., 2.])
    >>> tensorlab.addcdiv(x, x, x, value=10)
    tensor([11., 12.])
    """
    if late is not None:
        value, tensor1, tensor2 = old_order("addcdiv", "value", tensor1, value), tensor2, late
    refuse_integer_quotient("addcdiv", tensor1, tensor2)
    return run_quaternary(ADDCDIV, input, tensor1, tensor2, value, out)

def addcdiv_(TensorBase input not None, tensor1, tensor2, late=None, *, value=1):
    """`addcdiv`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2)
    >>> x.addcdiv_(tensorlab.tensor([1.0, 2.0]), tensorlab.tensor([4.0, 4.0]), value=-1)
    tensor([0.7500, 0.5000])
    """
    if late is not None:
        value, tensor1, tensor2 = old_order("addcdiv_", "value", tensor1, value), tensor2, late
    refuse_integer_quotient("addcdiv_", tensor1, tensor2)
    return run_quaternary_inplace(ADDCDIV, input, tensor1, tensor2, value)


# ---------------------------------------------------------------- lerp
cdef Op LERP = Op("lerp(Tensor x, Tensor end, Tensor weight) -> Tensor",
                  aten="lerp.Tensor", dtype="promote",
                  scalar={"floating": "lerp#(x, end, weight)",
                          "complex": "complex_lerp#(x, end, weight)"})

@LERP.derivative("x")
def lerp_derivative_x(grad, weight):
    return grad * (1 - weight)

@LERP.derivative("end")
def lerp_derivative_end(grad, weight):
    return grad * weight

@LERP.derivative("weight")
def lerp_derivative_weight(grad, x, end):
    return grad * (end - x)

cdef int check_lerp(str where, TensorBase x, TensorBase end, object weight) except -1:
    if end.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: input is {x.dtype} and end is {end.dtype}; they must have one type. Convert with .to()")
    if isinstance(weight, TensorBase) and (<TensorBase>weight).dtype_ != x.dtype_ and (<TensorBase>weight).ndim_ > 0:
        raise DTypeError(f"{where}: input is {x.dtype} and weight is {weight.dtype}; they must have one type. Convert with "
                         f".to()")
    if not is_floating_operand(x):
        raise UnsupportedDType(f"{where}: not implemented for {x.dtype}; convert with .to(float) first")
    return 0

def lerp(TensorBase input not None, TensorBase end not None, weight, *, out=None):
    """Point on the line from `input` to `end`: `input + weight * (end - input)`.

    Parameters
    ----------
    input, end : Tensor, floating, of one dtype
    weight : number or Tensor; 0 gives `input` and 1 gives `end`

    Raises
    ------
    DTypeError
        If the tensors differ in dtype.

    >>> import tensorlab
    >>> tensorlab.lerp(tensorlab.tensor([0., 10.]), tensorlab.tensor([4., 20.]), 0.25)
    tensor([ 1.0000, 12.5000])
    """
    check_lerp("lerp", input, end, weight)
    if out is not None and isinstance(weight, TensorBase):
        check_out_dtype("lerp", input.dtype_, out)      # only with a number is the result cast
    return run_ternary(LERP, input, end, weight, out)

def lerp_(TensorBase input not None, TensorBase end not None, weight):
    """`lerp`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> average = tensorlab.tensor([0.0, 10.0])
    >>> average.lerp_(tensorlab.tensor([1.0, 20.0]), 0.1)
    tensor([ 0.1000, 11.0000])
    """
    check_lerp("lerp_", input, end, weight)
    return run_ternary_inplace(LERP, input, end, weight)


set_loops(tl_loops)

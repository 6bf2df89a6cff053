"""Sums, products and their relatives: the ops behind + - * and what is made of them.

Division has its own file, and so have powers, absolute values and signs, and sums that scale what they add (addcmul, lerp).
"""
from tensorlab._core.dispatch.dispatch cimport (
    run_binary, run_binary_inplace, run_ternary, run_ternary_inplace, run_unary,
    run_unary_inplace
)
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport factor_of_type, is_operand
from tensorlab._core.dtypes cimport BOOL, dtype_code
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.pointwise.common cimport is_bool, old_order

from tensorlab._core.dispatch.operands import result_type
from tensorlab.errors import DTypeError
from tensorlab.ops.pointwise.common import inplace_function, same_gradient

cdef extern from "arithmetic_loops.h":      # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- add
cdef Op ADD = Op("add(Tensor x, Tensor y) -> Tensor",
                 aten="add.Tensor", fixed="*, Scalar alpha=1", dtype="promote",
                 scalar={"bool": "x | y", "number": "x + y"}, is_modular=True,
                 takes_numbers_only=True)

ADD.derivative("x")(same_gradient)

ADD.derivative("y")(same_gradient)

def add(input, other, late=None, *, alpha=1, out=None):
    """Sum of each pair of elements, broadcast: `input + alpha * other`.

    Parameters
    ----------
    input, other : Tensor or number
    alpha : number that multiplies `other`; an integer if the result is one
    late : `other` where old programs have it, `add(input, alpha, other)`; it warns
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of the broadcast shape and the promoted dtype; for bool it is the logical or

    Raises
    ------
    ShapeError
        If the shapes cannot be broadcast together.
    DTypeError
        If `alpha` is a float and the result an integer.

    >>> import tensorlab
    >>> tensorlab.add(tensorlab.tensor([1., 2.]), 3, alpha=2)
    tensor([7., 8.])
    """
    if late is not None:
        alpha, other = old_order("add", "alpha", other, alpha), late
    if is_one(alpha):
        return run_binary(ADD, input, other, out)
    return run_ternary(ADD_SCALED, input, other, checked_alpha("add", input, other, alpha), out)

def add_(TensorBase input not None, other, late=None, *, alpha=1):
    """`add`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> x.add_(10).add_(tensorlab.tensor([1.0, 2.0]), alpha=-1) is x
    True
    >>> x
    tensor([10., 10.])
    """
    if late is not None:
        alpha, other = old_order("add_", "alpha", other, alpha), late
    if is_one(alpha):
        return run_binary_inplace(ADD, input, other)
    return run_ternary_inplace(ADD_SCALED, input, other, checked_alpha("add_", input, other, alpha))

def add_operator(TensorBase x not None, y):
    """`x + y` and `y + x`; leaves foreign operands to their own class."""
    return run_binary(ADD, x, y) if is_operand(y) else NotImplemented

def add_operator_(TensorBase x not None, y):
    """`x += y`"""
    return run_binary_inplace(ADD, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- add_scaled
cdef Op ADD_SCALED = Op("add_scaled(Tensor x, Tensor y, Scalar alpha) -> Tensor", aten=None,
                        dtype="promote",
                        scalar={"bool": "x | (alpha & y)",
                                "floating": "fma@(alpha, y, x)",
                                "integer": "alpha * y + x",
                                "complex": "x + alpha * y"},
                        node="AddBackward0",
                        takes_numbers_only=True)

ADD_SCALED.derivative("x")(same_gradient)

@ADD_SCALED.derivative("y")
def add_scaled_derivative_y(grad, alpha):
    return run_binary(MUL, grad, alpha)

cdef inline bint is_one(object alpha):
    """Is alpha the integer 1, which leaves every type as it is?"""
    return alpha is not True and isinstance(alpha, int) and alpha == 1

cdef object checked_alpha(str where, object x, object y, object alpha):
    """The factor of `y` as a number that does not change the type of the result."""
    if not is_operand(x) or not is_operand(y):
        return alpha                                    # the runner will say what is wrong
    return factor_of_type(alpha, dtype_code(result_type(x, y), BOOL), where, "alpha")


# ---------------------------------------------------------------- sub_scaled
cdef Op SUB_SCALED = Op("sub_scaled(Tensor x, Tensor y, Scalar alpha) -> Tensor", aten=None,
                        dtype="promote",
                        scalar={"floating": "fma@(-alpha, y, x)",
                                "integer": "(T)-alpha * y + x",
                                "complex": "x - alpha * y"},
                        node="SubBackward0")

SUB_SCALED.derivative("x")(same_gradient)

@SUB_SCALED.derivative("y")
def sub_scaled_derivative_y(grad, alpha):
    return run_binary(MUL, run_unary(NEG, grad), alpha)


# ---------------------------------------------------------------- sub
cdef Op SUB = Op("sub(Tensor x, Tensor y) -> Tensor",
                 aten="sub.Tensor", fixed="*, Scalar alpha=1", dtype="promote",
                 scalar={"number": "x - y"}, is_modular=True, takes_numbers_only=True)

SUB.derivative("x")(same_gradient)

@SUB.derivative("y")
def sub_derivative_y(grad):
    return run_unary(NEG, grad)

cdef int refuse_bool(str where, object x, object y) except -1:
    """A bool has no difference: which of ~, ^ and logical_not is meant, only the caller knows."""
    if is_bool(x) or is_bool(y):
        raise DTypeError(f"{where}: one of the operands is bool, and bools cannot be subtracted. Use ~x or logical_not(x) "
                         f"to invert a mask, x ^ y to compare two, or x.to(int) to calculate")
    return 0

def sub(input, other, late=None, *, alpha=1, out=None):
    """Difference of each pair of elements, broadcast: `input - alpha * other`.

    `late` is for the order of old programs, as in `add`.

    Raises
    ------
    DTypeError
        If an operand is bool, or `alpha` is a float and the result an integer.

    >>> import tensorlab
    >>> tensorlab.sub(tensorlab.tensor([1., 2.]), tensorlab.tensor([3.]))
    tensor([-2., -1.])
    """
    if late is not None:
        alpha, other = old_order("sub", "alpha", other, alpha), late
    refuse_bool("sub", input, other)
    if is_one(alpha):
        return run_binary(SUB, input, other, out)
    return run_ternary(SUB_SCALED, input, other, checked_alpha("sub", input, other, alpha), out)

def sub_(TensorBase input not None, other, late=None, *, alpha=1):
    """`sub`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> x.sub_(tensorlab.tensor([1.0, 1.0]), alpha=0.5)
    tensor([0.5000, 1.5000])
    """
    if late is not None:
        alpha, other = old_order("sub_", "alpha", other, alpha), late
    refuse_bool("sub_", input, other)
    if is_one(alpha):
        return run_binary_inplace(SUB, input, other)
    return run_ternary_inplace(SUB_SCALED, input, other, checked_alpha("sub_", input, other, alpha))

def rsub(TensorBase input not None, other, alpha=1):
    """Difference the other way round: `other - alpha * input`.

    >>> import tensorlab
    >>> tensorlab.rsub(tensorlab.tensor([1., 2.]), 10)
    tensor([9., 8.])
    """
    refuse_bool("rsub", input, other)
    if is_one(alpha) and is_operand(other):
        return run_binary(RSUB, input, other)
    return sub(other, input, alpha=alpha)

cdef Op RSUB = Op("rsub(Tensor x, Tensor y) -> Tensor",
                  aten="rsub.Tensor", fixed="*, Scalar alpha=1", dtype="promote",
                  scalar={"number": "y - x"}, is_modular=True, node="RsubBackward1")

@RSUB.derivative("x")
def rsub_derivative_x(grad):
    return run_unary(NEG, grad)

RSUB.derivative("y")(same_gradient)

def sub_operator(TensorBase x not None, y):
    """`x - y`"""
    if not is_operand(y):
        return NotImplemented
    refuse_bool("sub", x, y)
    return run_binary(SUB, x, y)

def sub_reflected(TensorBase y not None, x):
    """`x - y` where x is not a tensor."""
    if not is_operand(x):
        return NotImplemented
    refuse_bool("sub", x, y)
    return run_binary(RSUB, y, x)

def sub_operator_(TensorBase x not None, y):
    """`x -= y`"""
    if not is_operand(y):
        return NotImplemented
    refuse_bool("sub_", x, y)
    return run_binary_inplace(SUB, x, y)


# ---------------------------------------------------------------- mul
cdef Op MUL = Op("mul(Tensor x, Tensor y) -> Tensor", aten="mul.Tensor", dtype="promote",
                 scalar={"bool": "x & y", "number": "x * y"}, is_modular=True,
                 takes_float8=True, takes_numbers_only=True)

@MUL.derivative("x")
def mul_derivative_x(grad, y):
    return run_binary(MUL, grad, y)

@MUL.derivative("y")
def mul_derivative_y(grad, x):
    return run_binary(MUL, grad, x)

def mul(input, other, *, out=None):
    """Product of each pair of elements, broadcast; `input * other`.

    Parameters
    ----------
    input, other : Tensor or number
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of the broadcast shape and the promoted dtype; for bool it is the logical and

    Raises
    ------
    ShapeError
        If the shapes cannot be broadcast together.

    >>> import tensorlab
    >>> tensorlab.mul(tensorlab.tensor([1., 2.]), 3)
    tensor([3., 6.])
    """
    return run_binary(MUL, input, other, out)

mul_ = inplace_function(MUL, mul)

def mul_operator(TensorBase x not None, y):
    """`x * y`; leaves foreign operands to their own class."""
    return run_binary(MUL, x, y) if is_operand(y) else NotImplemented

def mul_operator_(TensorBase x not None, y):
    """`x *= y`"""
    return run_binary_inplace(MUL, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- neg, positive
cdef Op NEG = Op("neg(Tensor x) -> Tensor", dtype="promote", scalar={"number": "-x"},
                 exact_out=True)

@NEG.derivative("x")
def neg_derivative(grad):
    return run_unary(NEG, grad)

cdef int refuse_bool_sign(str where, TensorBase x) except -1:
    if x.dtype_ == BOOL:
        raise DTypeError(f"{where}: input is bool, which has no sign; use ~x or logical_not(x) to invert a mask")
    return 0

def neg(TensorBase input not None, *, out=None):
    """Negative of each element; `-input`. Unsigned integers wrap.

    Raises
    ------
    DTypeError
        If `input` is bool.

    >>> import tensorlab
    >>> tensorlab.neg(tensorlab.tensor([1., -2.]))
    tensor([-1.,  2.])
    """
    refuse_bool_sign("neg", input)
    return run_unary(NEG, input, out)

def neg_(TensorBase input not None):
    """`neg`, written over `input`."""
    refuse_bool_sign("neg_", input)
    return run_unary_inplace(NEG, input)

def positive(TensorBase input not None):
    """`input` itself; `+input`.

    Raises
    ------
    DTypeError
        If `input` is bool.

    >>> import tensorlab
    >>> tensorlab.positive(tensorlab.tensor([1., -2.]))
    tensor([ 1., -2.])
    """
    refuse_bool_sign("positive", input)
    return input


# other names that PyTorch has for the same functions
multiply, multiply_ = mul, mul_
negative, negative_ = neg, neg_
subtract, subtract_ = sub, sub_


set_loops(tl_loops)

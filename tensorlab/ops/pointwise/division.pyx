"""Division and its remainders: the ops behind / // and %.

True division of integers gives the default floating type. The whole-number kinds keep the promoted type; there dividing
an integer by zero has no answer, so the divisor is searched for zeros before anything is written.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from tensorlab._core.dispatch.dispatch cimport run_2, run_binary, run_binary_inplace, run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport is_operand
from tensorlab._core.dtypes cimport BOOL, integer, item_size
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport contiguous_copy
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport TensorBase, memory_of, result_beside
from tensorlab.ops.pointwise.common cimport is_floating_operand

from tensorlab._core.dispatch.operands import result_type
from tensorlab._core.loops.scalar import Guarded
from tensorlab.errors import DivisionByZero, DTypeError
from tensorlab.ops.pointwise.common import inplace_function, same_gradient, zero_gradient

cdef extern from "division_loops.h":        # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- div
cdef Op DIV = Op("div(Tensor x, Tensor y) -> Tensor",
                 aten="div.Tensor", dtype="floating",
                 scalar={"inexact": "x / y"}, takes_numbers_only=True)

@DIV.derivative("x")
def div_derivative_x(grad, y):
    return run_binary(DIV, grad, y)

@DIV.derivative("y")
def div_derivative_y(grad, x, y):
    return -grad * run_binary(DIV, run_binary(DIV, x, y), y)

cdef Op rounded(str where, object mode):
    """The op of a rounding mode."""
    if mode == "floor":
        return DIV_FLOOR
    if mode == "trunc":
        return DIV_TRUNC
    raise RuntimeError(f"{where}: rounding_mode is {mode!r}; it must be None, 'trunc' or 'floor'")

def div(input, other, *, rounding_mode=None, out=None):
    """Quotient of each pair of elements, broadcast; `input / other`.

    Parameters
    ----------
    input, other : Tensor or number
    rounding_mode : None, "trunc" (towards zero, as C divides integers) or "floor" (downwards, as Python's // does)
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of the broadcast shape; without rounding, integers become the default floating type

    Raises
    ------
    DivisionByZero
        If integers are divided with rounding, and a divisor is 0.

    >>> import tensorlab
    >>> x = tensorlab.tensor([7, -7])
    >>> tensorlab.div(x, 2)
    tensor([ 3.5000, -3.5000])
    >>> tensorlab.div(x, 2, rounding_mode="trunc"), tensorlab.div(x, 2, rounding_mode="floor")
    (tensor([ 3, -3]), tensor([ 3, -4]))
    """
    cdef Op op = DIV
    if rounding_mode is not None:
        op = rounded("div", rounding_mode)
        refuse_zero("div", input, other)
    return run_binary(op, input, other, out)

def div_(TensorBase input not None, other, *, rounding_mode=None):
    """`div`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([7.0, -7.0])
    >>> x.div_(2, rounding_mode="floor")
    tensor([ 3., -4.])
    """
    if rounding_mode is None:
        return run_binary_inplace(DIV, input, other)
    refuse_zero("div_", input, other)
    return run_binary_inplace(rounded("div_", rounding_mode), input, other)

def true_divide(input, other, *, out=None):
    """`div` without rounding.

    >>> import tensorlab
    >>> tensorlab.true_divide(tensorlab.tensor([1, 2]), 2)
    tensor([0.5000, 1.0000])
    """
    return run_binary(DIV, input, other, out)

def div_operator(TensorBase x not None, y):
    """`x / y`; leaves foreign operands to their own class."""
    return run_binary(DIV, x, y) if is_operand(y) else NotImplemented

def div_reflected(TensorBase y not None, x):
    """`x / y` where x is not a tensor. As in PyTorch, it multiplies by the reciprocal, so that is what autograd sees."""
    return run_unary(RECIPROCAL, y) * x if is_operand(x) else NotImplemented

def div_operator_(TensorBase x not None, y):
    """`x /= y`"""
    return run_binary_inplace(DIV, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- reciprocal
cdef Op RECIPROCAL = Op("reciprocal(Tensor x) -> Tensor", dtype="floating",
                        scalar={"inexact": "(T)1 / x"})

@RECIPROCAL.derivative("x")
def reciprocal_derivative(grad, out):
    return -grad * (out * out)

def reciprocal(TensorBase input not None, *, out=None):
    """1 over each element.

    >>> import tensorlab
    >>> tensorlab.reciprocal(tensorlab.tensor([2., -4.]))
    tensor([ 0.5000, -0.2500])
    """
    return run_unary(RECIPROCAL, input, out)

reciprocal_ = inplace_function(RECIPROCAL, reciprocal)


# ---------------------------------------------------------------- zero divisors
cdef bint has_zero(integer* x, ssize n) noexcept nogil:
    cdef bint found = False
    for i in range(n):
        found |= x[i] == 0
    return found

cdef bint tensor_has_zero(TensorBase y):
    """Is an element of an integer or bool tensor 0? Then all its bits are, with a sign or without."""
    cdef TensorBase row = y if y.is_contiguous_ else contiguous_copy(y)
    cdef int size = item_size[y.dtype_]
    if size == 8:
        return has_zero(<int64_t*>memory_of(row), row.numel_)
    if size == 4:
        return has_zero(<int32_t*>memory_of(row), row.numel_)
    if size == 2:
        return has_zero(<int16_t*>memory_of(row), row.numel_)
    return has_zero(<uint8_t*>memory_of(row), row.numel_)

cdef int check_divisors(TensorBase y, str where) except -1:
    if tensor_has_zero(y):
        raise DivisionByZero(f"{where}: other holds a 0, and integers cannot be divided by zero; divide with / for inf, "
                             f"or replace the zeros first")
    return 0

cdef Op CHECK_DIVISORS = Op("check_divisors(Tensor y, str where) -> Tensor", aten=None,
                            checks_values=True)

@CHECK_DIVISORS.infer
def check_divisors_infer(TensorBase y, where):
    """There is nothing to tell: no elements."""
    cdef ssize size = 0
    if is_floating_operand(y):
        raise DTypeError(f"{where}: a divisor of type {y.dtype} may be 0; integers and bools are checked")
    return result_beside(y, BOOL, 1, &size)

@CHECK_DIVISORS.kernel
def check_divisors_kernel(TensorBase out, TensorBase y, where):
    check_divisors(y, where)


cdef int refuse_zero(str where, object x, object y) except -1:
    """Raise if integers are to be divided and a divisor is 0."""
    if not is_operand(x) or not is_operand(y) or is_floating_operand(x) or is_floating_operand(y):
        return 0
    if isinstance(x, TensorBase) and (<TensorBase>x).numel_ == 0:
        return 0
    if isinstance(y, TensorBase):
        # the compiler has to see it, so that a replay looks, too
        if active_layers or (<TensorBase>y).storage_.device != ON_CPU:
            run_2(CHECK_DIVISORS, y, where)
        else:
            check_divisors(<TensorBase>y, where)
    elif y == 0:
        raise DivisionByZero(f"{where}: other is {y}, and integers of type {result_type(x, y)} cannot be divided by it; "
                             f"divide with / for inf")
    return 0


# ---------------------------------------------------------------- div_floor, behind floor_divide and //
cdef Op DIV_FLOOR = Op(
    "div_floor(Tensor x, Tensor y) -> Tensor", aten=None, dtype="promote",
    scalar={"floating": Guarded("div_floor_real#(x, y, near_rest#(x, y))",
                                unless="is_huge_quotient#(x, y)",
                                otherwise="div_floor_real#(x, y, (T)fmod(x, y))"),
            "integer": "div_floor_integer#(x, y)"},
    node="DivBackward2", grain=8192,
    takes_numbers_only=True)

DIV_FLOOR.derivative("x")(zero_gradient)

DIV_FLOOR.derivative("y")(zero_gradient)

def floor_divide(input, other, *, out=None):
    """Quotient rounded down; `input // other`.

    Raises
    ------
    DivisionByZero
        If the operands are integers and a divisor is 0.

    >>> import tensorlab
    >>> tensorlab.floor_divide(tensorlab.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """
    refuse_zero("floor_divide", input, other)
    return run_binary(DIV_FLOOR, input, other, out)

def floor_divide_(TensorBase input not None, other):
    """`floor_divide`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([7, -7]).floor_divide_(2)
    tensor([ 3, -4])
    """
    refuse_zero("floor_divide_", input, other)
    return run_binary_inplace(DIV_FLOOR, input, other)

def floor_divide_operator(TensorBase x not None, y):
    """`x // y`"""
    return floor_divide(x, y) if is_operand(y) else NotImplemented

def floor_divide_reflected(TensorBase y not None, x):
    """`x // y` where x is not a tensor."""
    return floor_divide(x, y) if is_operand(x) else NotImplemented

def floor_divide_operator_(TensorBase x not None, y):
    """`x //= y`"""
    return floor_divide_(x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- div_trunc
cdef Op DIV_TRUNC = Op("div_trunc(Tensor x, Tensor y) -> Tensor", aten=None, dtype="promote",
                       scalar={"floating": "trunc@(x / y)",
                               "integer": "div_trunc_integer#(x, y)"},
                       node="DivBackward2")

DIV_TRUNC.derivative("x")(zero_gradient)

DIV_TRUNC.derivative("y")(zero_gradient)


# ---------------------------------------------------------------- remainder
cdef Op REMAINDER = Op(
    "remainder(Tensor x, Tensor y) -> Tensor", aten="remainder.Tensor", dtype="promote",
    scalar={"floating": Guarded("towards_divisor#(near_rest#(x, y), y)",
                                unless="is_huge_quotient#(x, y)",
                                otherwise="towards_divisor#((T)fmod(x, y), y)"),
            "integer": "towards_divisor#(integer_rest#(x, y), y)"},
    grain=8192)

REMAINDER.derivative("x")(same_gradient)

@REMAINDER.derivative("y")
def remainder_derivative_y(grad, x, y):
    return -grad * run_binary(DIV_FLOOR, x, y)

def remainder(input, other, *, out=None):
    """Rest of the division that rounds down; `input % other`. It has the sign of `other`, as in Python.

    Raises
    ------
    DivisionByZero
        If the operands are integers and a divisor is 0; floating operands give nan.

    >>> import tensorlab
    >>> tensorlab.remainder(tensorlab.tensor([7, -7]), 3)
    tensor([1, 2])
    """
    refuse_zero("remainder", input, other)
    return run_binary(REMAINDER, input, other, out)

def remainder_(TensorBase input not None, other):
    """`remainder`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([7, -7]).remainder_(3)
    tensor([1, 2])
    """
    refuse_zero("remainder_", input, other)
    return run_binary_inplace(REMAINDER, input, other)

def remainder_operator(TensorBase x not None, y):
    """`x % y`"""
    return remainder(x, y) if is_operand(y) else NotImplemented

def remainder_reflected(TensorBase y not None, x):
    """`x % y` where x is not a tensor."""
    return remainder(x, y) if is_operand(x) else NotImplemented

def remainder_operator_(TensorBase x not None, y):
    """`x %= y`"""
    return remainder_(x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- fmod
cdef Op FMOD = Op("fmod(Tensor x, Tensor y) -> Tensor", aten="fmod.Tensor", dtype="promote",
                  scalar={"floating": Guarded("near_rest#(x, y)",
                                              unless="is_huge_quotient#(x, y)",
                                              otherwise="(T)fmod(x, y)"),
                          "integer": "integer_rest#(x, y)"},
                  grain=8192)

FMOD.derivative("x")(same_gradient)

@FMOD.derivative("y")
def fmod_derivative_y(grad, x, y):
    return -grad * run_binary(DIV_TRUNC, x, y)

def fmod(TensorBase input not None, other, *, out=None):
    """Rest of the division that rounds towards zero. It has the sign of `input`, as in C.

    Raises
    ------
    DivisionByZero
        If the operands are integers and a divisor is 0; floating operands give nan.

    >>> import tensorlab
    >>> tensorlab.fmod(tensorlab.tensor([7, -7]), 3)
    tensor([ 1, -1])
    """
    refuse_zero("fmod", input, other)
    return run_binary(FMOD, input, other, out)

def fmod_(TensorBase input not None, other):
    """`fmod`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([7, -7]).fmod_(3)
    tensor([ 1, -1])
    """
    refuse_zero("fmod_", input, other)
    return run_binary_inplace(FMOD, input, other)


# other names that PyTorch has for the same functions
divide, divide_ = div, div_
true_divide_ = div_


set_loops(tl_loops)

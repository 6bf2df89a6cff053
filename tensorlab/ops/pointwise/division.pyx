"""Division and its remainders: the ops behind / // and %.

True division of integers gives the default floating type. The whole-number kinds keep the promoted type; there dividing
an integer by zero has no answer, so the divisor is searched for zeros before anything is written.
"""
from libc.math cimport INFINITY, copysign, fabs, floor, fmod as c_fmod, trunc
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tensorlab._core.dispatch.dispatch cimport run_2, run_binary, run_binary_inplace, run_unary
from tensorlab._core.dispatch.op cimport Op, floating_loops, number_loops
from tensorlab._core.dispatch.operands cimport is_operand
from tensorlab._core.dtypes cimport BOOL, INT8, INT16, INT32, INT64, integer, number, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport contiguous_copy
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport TensorBase, is_meta, memory_of, result_beside
from tensorlab.ops.pointwise.common cimport is_floating_operand

from tensorlab._core.dispatch.operands import result_type
from tensorlab.errors import DivisionByZero, DTypeError
from tensorlab.ops.creation import zeros_like
from tensorlab.ops.pointwise.common import inplace_function


cdef enum:
    BLOCK = 256                 # pairs whose rests are found together


# ---------------------------------------------------------------- div
cdef void div_loop(real* out, real* x, real* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = x[i] / y[i]

cdef Op DIV = Op("div(Tensor x, Tensor y) -> Tensor", dtype="floating")
floating_loops(DIV, &div_loop[float], &div_loop[double])

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
    """`div`, written over `input`."""
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
cdef void reciprocal_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>1 / x[i]

cdef Op RECIPROCAL = Op("reciprocal(Tensor x) -> Tensor", dtype="floating")
floating_loops(RECIPROCAL, &reciprocal_loop[float], &reciprocal_loop[double])

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
    """Is an element of an integer or bool tensor 0?"""
    cdef TensorBase row = y if y.is_contiguous_ else contiguous_copy(y)
    if is_meta(y):
        return False
    if y.dtype_ == INT64:
        return has_zero(<int64_t*>memory_of(row), row.numel_)
    if y.dtype_ == INT32:
        return has_zero(<int32_t*>memory_of(row), row.numel_)
    if y.dtype_ == INT16:
        return has_zero(<int16_t*>memory_of(row), row.numel_)
    if y.dtype_ == INT8:
        return has_zero(<int8_t*>memory_of(row), row.numel_)
    return has_zero(<uint8_t*>memory_of(row), row.numel_)

cdef int check_divisors(TensorBase y, str where) except -1:
    if tensor_has_zero(y):
        raise DivisionByZero(f"{where}: other holds a 0, and integers cannot be divided by zero; divide with / for inf, "
                             f"or replace the zeros first")
    return 0

cdef Op CHECK_DIVISORS = Op("check_divisors(Tensor y, str where) -> Tensor")

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
        if active_layers:           # the compiler has to see it, so that a replay looks, too
            run_2(CHECK_DIVISORS, y, where)
        else:
            check_divisors(<TensorBase>y, where)
    elif y == 0:
        raise DivisionByZero(f"{where}: other is {y}, and integers of type {result_type(x, y)} cannot be divided by it; "
                             f"divide with / for inf")
    return 0


# ---------------------------------------------------------------- the rest of a floating division
cdef bint has_small_quotients(float* x, float* y, ssize n) noexcept nogil:
    """Are all quotients below 2**24, and all divisors finite? (0 * inf would be nan.)"""
    cdef bint found = False
    for i in range(n):
        found |= (not fabs(<double>x[i] / y[i]) < 16777216.0) | (not fabs(y[i]) < <float>INFINITY)
    return not found

cdef void rest_block(real* rest, real* x, real* y, ssize n) noexcept nogil:
    """fmod of each pair, exactly. libm's takes a step for each bit of the quotient, and is no SIMD code.

    For floats with quotients below 2**24, double is wide enough: the quotient cannot round up to a whole number, because the
    distance to the next one is at least 2**-24, and x - quotient * y has no rounding at all.
    """
    if real is float:
        if has_small_quotients(x, y, n):
            for i in range(n):
                rest[i] = <float>copysign(x[i] - trunc(<double>x[i] / y[i]) * y[i], x[i])
            return
    for i in range(n):
        rest[i] = <real>c_fmod(x[i], y[i])


# ---------------------------------------------------------------- div_floor, behind floor_divide and //
cdef inline real div_floor_real(real x, real y, real rest) noexcept nogil:
    """x minus its rest is nearly a multiple of y, so that their quotient is nearly whole."""
    cdef real quotient = (x - rest) / y, whole
    quotient = quotient - 1 if (rest != 0) & ((y < 0) != (rest < 0)) else quotient
    whole = <real>floor(quotient)
    whole = whole + 1 if quotient - whole > <real>0.5 else whole
    whole = <real>copysign(0, x / y) if quotient == 0 else whole
    return x / y if y == 0 else whole

cdef inline integer div_floor_integer(integer x, integer y) noexcept nogil:
    cdef integer quotient
    if integer is uint8_t:
        return x / y if y != 0 else 0
    else:
        if y == 0 or y == -1:                                   # the smallest number / -1 would trap
            return <integer>(y * x)
        quotient = x / y
        return quotient - 1 if (x % y != 0) and (x < 0) != (y < 0) else quotient

cdef void div_floor_loop(number* out, number* x, number* y, ssize n) noexcept nogil:
    cdef number[BLOCK] rest
    cdef ssize i, m, start = 0
    if number is float or number is double:
        while start < n:
            m = min(n - start, <ssize>BLOCK)
            rest_block(rest, x + start, y + start, m)
            for i in range(m):
                out[start + i] = div_floor_real(x[start + i], y[start + i], rest[i])
            start += m
    else:
        for i in range(n):
            out[i] = div_floor_integer(x[i], y[i])

cdef Op DIV_FLOOR = Op("div_floor(Tensor x, Tensor y) -> Tensor", dtype="promote", node="DivBackward2", grain=8192)
number_loops(DIV_FLOOR, &div_floor_loop[uint8_t], &div_floor_loop[int8_t],
             &div_floor_loop[int16_t], &div_floor_loop[int32_t], &div_floor_loop[int64_t],
             &div_floor_loop[float], &div_floor_loop[double])

@DIV_FLOOR.derivative("x")
def div_floor_derivative_x(grad):
    return zeros_like(grad)

@DIV_FLOOR.derivative("y")
def div_floor_derivative_y(grad):
    return zeros_like(grad)

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
    """`floor_divide`, written over `input`."""
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
cdef inline number div_trunc_scalar(number x, number y) noexcept nogil:
    if number is float or number is double:
        return <number>trunc(x / y)
    elif number is uint8_t:
        return x / y if y != 0 else 0
    else:
        return <number>(y * x) if y == 0 or y == -1 else x / y

cdef void div_trunc_loop(number* out, number* x, number* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = div_trunc_scalar(x[i], y[i])

cdef Op DIV_TRUNC = Op("div_trunc(Tensor x, Tensor y) -> Tensor", dtype="promote", node="DivBackward2")
number_loops(DIV_TRUNC, &div_trunc_loop[uint8_t], &div_trunc_loop[int8_t],
             &div_trunc_loop[int16_t], &div_trunc_loop[int32_t], &div_trunc_loop[int64_t],
             &div_trunc_loop[float], &div_trunc_loop[double])

@DIV_TRUNC.derivative("x")
def div_trunc_derivative_x(grad):
    return zeros_like(grad)

@DIV_TRUNC.derivative("y")
def div_trunc_derivative_y(grad):
    return zeros_like(grad)


# ---------------------------------------------------------------- remainder
cdef inline integer integer_rest(integer x, integer y) noexcept nogil:
    """x % y with the sign of x, as in C, but 0 where C traps."""
    if integer is uint8_t:
        return x % y if y != 0 else 0
    else:
        return 0 if y == 0 or y == -1 else x % y

cdef inline number towards_divisor(number rest, number y) noexcept nogil:
    """A rest with the sign of the divisor."""
    return rest + y if (rest != 0) & ((rest < 0) != (y < 0)) else rest

cdef void remainder_loop(number* out, number* x, number* y, ssize n) noexcept nogil:
    cdef number[BLOCK] rest
    cdef ssize i, m, start = 0
    if number is float or number is double:
        while start < n:
            m = min(n - start, <ssize>BLOCK)
            rest_block(rest, x + start, y + start, m)
            for i in range(m):
                out[start + i] = towards_divisor(rest[i], y[start + i])
            start += m
    else:
        for i in range(n):
            out[i] = towards_divisor(integer_rest(x[i], y[i]), y[i])

cdef Op REMAINDER = Op("remainder(Tensor x, Tensor y) -> Tensor", dtype="promote", grain=8192)
number_loops(REMAINDER, &remainder_loop[uint8_t], &remainder_loop[int8_t],
             &remainder_loop[int16_t], &remainder_loop[int32_t], &remainder_loop[int64_t],
             &remainder_loop[float], &remainder_loop[double])

@REMAINDER.derivative("x")
def remainder_derivative_x(grad):
    return grad

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
    """`remainder`, written over `input`."""
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
cdef void fmod_loop(number* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i, m, start = 0
    if number is float or number is double:
        while start < n:
            m = min(n - start, <ssize>BLOCK)
            rest_block(out + start, x + start, y + start, m)
            start += m
    else:
        for i in range(n):
            out[i] = integer_rest(x[i], y[i])

cdef Op FMOD = Op("fmod(Tensor x, Tensor y) -> Tensor", dtype="promote", grain=8192)
number_loops(FMOD, &fmod_loop[uint8_t], &fmod_loop[int8_t], &fmod_loop[int16_t],
             &fmod_loop[int32_t], &fmod_loop[int64_t], &fmod_loop[float], &fmod_loop[double])

@FMOD.derivative("x")
def fmod_derivative_x(grad):
    return grad

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
    """`fmod`, written over `input`."""
    refuse_zero("fmod_", input, other)
    return run_binary_inplace(FMOD, input, other)


# other names that PyTorch has for the same functions
divide, divide_ = div, div_
true_divide_ = div_

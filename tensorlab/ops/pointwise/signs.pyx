"""Signs, neighbours and parts of numbers: abs, sign, copysign, signbit, heaviside, nextafter, frexp, ldexp, angle, gcd, lcm."""
from libc.math cimport M_PI, exp2 as c_exp2, fabs, frexp as c_frexp, signbit as c_signbit
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.dispatch.dispatch cimport run_binary, run_binary_inplace, run_unary
from tensorlab._core.dispatch.op cimport Op, floating_loops, integer_loops, number_loops
from tensorlab._core.dispatch.out_argument cimport NO_PARTIAL_OVERLAP, store_outs
from tensorlab._core.dtypes cimport integer, is_floating, number, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

import collections
import math

from tensorlab._core.dtypes import DTYPES
from tensorlab.errors import DTypeError
from tensorlab.ops.creation import zeros_like
from tensorlab.ops.pointwise.common import inplace_function


# ---------------------------------------------------------------- abs
cdef void abs_loop(number* out, number* x, ssize n) noexcept nogil:
    for i in range(n):
        if number is float or number is double:
            out[i] = fabs(x[i])     # of a float it compiles to the same: the sign bit is cleared
        else:
            out[i] = -x[i] if x[i] < 0 else x[i]

cdef Op ABS = Op("abs(Tensor x) -> Tensor", dtype="promote", exact_out=True)
number_loops(ABS, &abs_loop[uint8_t], &abs_loop[int8_t], &abs_loop[int16_t], &abs_loop[int32_t],
             &abs_loop[int64_t], &abs_loop[float], &abs_loop[double])

@ABS.derivative("x")
def abs_derivative(grad, x):
    return grad * run_unary(SIGN, x)

def abs(TensorBase input not None, *, out=None):
    """Absolute value of each element; `abs(input)`. Its derivative at 0 is taken as 0.

    >>> import tensorlab
    >>> tensorlab.abs(tensorlab.tensor([1., -2.]))
    tensor([1., 2.])
    """
    return run_unary(ABS, input, out)

abs_ = inplace_function(ABS, abs)


# ---------------------------------------------------------------- sign
cdef void sign_loop(number* out, number* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <number>((x[i] > 0) - (x[i] < 0))

cdef Op SIGN = Op("sign(Tensor x) -> Tensor", dtype="promote", exact_out=True)
number_loops(SIGN, &sign_loop[uint8_t], &sign_loop[int8_t], &sign_loop[int16_t],
             &sign_loop[int32_t], &sign_loop[int64_t], &sign_loop[float], &sign_loop[double],
             &sign_loop[uint8_t])

@SIGN.derivative("x")
def sign_derivative(grad):
    return zeros_like(grad)

def sign(TensorBase input not None, *, out=None):
    """-1, 0 or 1 after the sign of each element; 0 for nan.

    >>> import tensorlab
    >>> tensorlab.sign(tensorlab.tensor([-3., 0., 5.]))
    tensor([-1.,  0.,  1.])
    """
    return run_unary(SIGN, input, out)

sign_ = inplace_function(SIGN, sign)


# ---------------------------------------------------------------- copysign
cdef void copysign_loop(real* out, real* x, real* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = c_math.copysign(x[i], y[i])

cdef Op COPYSIGN = Op("copysign(Tensor x, Tensor y) -> Tensor", dtype="floating",
                      node="CopysignBackward1")
floating_loops(COPYSIGN, &copysign_loop[float], &copysign_loop[double])

@COPYSIGN.derivative("x")
def copysign_derivative_x(grad, x, out):
    return grad * (out / x).masked_fill(x == 0, 0)

@COPYSIGN.derivative("y")
def copysign_derivative_y(grad):
    return zeros_like(grad)

def copysign(TensorBase input not None, other, *, out=None):
    """Each element of `input` with the sign of that of `other`, that of -0. included.

    >>> import tensorlab
    >>> tensorlab.copysign(tensorlab.tensor([1., -2.]), tensorlab.tensor([-0., 3.]))
    tensor([-1.,  2.])
    """
    return run_binary(COPYSIGN, input, other, out)

copysign_ = inplace_function(COPYSIGN, copysign)


# ---------------------------------------------------------------- signbit
cdef void signbit_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    for i in range(n):
        if number is float or number is double:
            out[i] = c_signbit(x[i]) != 0
        else:
            out[i] = x[i] < 0

cdef Op SIGNBIT = Op("signbit(Tensor x) -> Tensor", dtype="compare", exact_out=True)
number_loops(SIGNBIT, &signbit_loop[uint8_t], &signbit_loop[int8_t], &signbit_loop[int16_t],
             &signbit_loop[int32_t], &signbit_loop[int64_t], &signbit_loop[float],
             &signbit_loop[double], &signbit_loop[uint8_t])

def signbit(TensorBase input not None, *, out=None):
    """Is the sign of each element negative? True for -0. too.

    >>> import tensorlab
    >>> tensorlab.signbit(tensorlab.tensor([-1., -0., 0.]))
    tensor([ True,  True, False])
    """
    return run_unary(SIGNBIT, input, out)


# ---------------------------------------------------------------- heaviside
cdef void heaviside_loop(number* out, number* x, number* values, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = values[i] if x[i] == 0 else <number>(x[i] > 0)

cdef Op HEAVISIDE = Op("heaviside(Tensor x, Tensor values) -> Tensor", dtype="promote", exact_out=True)
number_loops(HEAVISIDE, &heaviside_loop[uint8_t], &heaviside_loop[int8_t],
             &heaviside_loop[int16_t], &heaviside_loop[int32_t], &heaviside_loop[int64_t],
             &heaviside_loop[float], &heaviside_loop[double], &heaviside_loop[uint8_t])

@HEAVISIDE.derivative("x")
def heaviside_derivative_x(grad):
    return zeros_like(grad)

@HEAVISIDE.derivative("values")
def heaviside_derivative_values(grad, x):
    return grad.masked_fill(x != 0, 0)

cdef int check_heaviside(str where, TensorBase x, TensorBase values) except -1:
    if x.dtype_ != values.dtype_:
        raise DTypeError(f"{where}: input is {x.dtype} and values is {values.dtype}; they must have one type")
    return 0

def heaviside(TensorBase input not None, TensorBase values not None, *, out=None):
    """0 where `input` is negative (or nan), 1 where it is positive, `values` where it is 0.

    Raises
    ------
    DTypeError
        If the dtypes differ.

    >>> import tensorlab
    >>> tensorlab.heaviside(tensorlab.tensor([-1., 0., 2.]), tensorlab.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    check_heaviside("heaviside", input, values)
    return run_binary(HEAVISIDE, input, values, out)

def heaviside_(TensorBase input not None, TensorBase values not None):
    """`heaviside`, written over `input`."""
    check_heaviside("heaviside_", input, values)
    return run_binary_inplace(HEAVISIDE, input, values)


# ---------------------------------------------------------------- nextafter
cdef void nextafter_loop(real* out, real* x, real* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = c_math.nextafter(x[i], y[i])

cdef Op NEXTAFTER = Op("nextafter(Tensor x, Tensor y) -> Tensor", dtype="promote")
floating_loops(NEXTAFTER, &nextafter_loop[float], &nextafter_loop[double])

@NEXTAFTER.derivative("x")
def nextafter_derivative_x(grad, x, y):
    return grad.masked_fill(x == y, 0)

@NEXTAFTER.derivative("y")
def nextafter_derivative_y(grad):
    return zeros_like(grad)

def nextafter(TensorBase input not None, TensorBase other not None, *, out=None):
    """Neighbour of each element among the numbers of its type, on the side of `other`.

    >>> import tensorlab
    >>> tensorlab.nextafter(tensorlab.tensor([1.]), tensorlab.tensor([2.])) - 1 == tensorlab.finfo(tensorlab.float32).eps
    tensor([True])
    """
    return run_binary(NEXTAFTER, input, other, out)

nextafter_ = inplace_function(NEXTAFTER, nextafter, tensors_only=True)


# ---------------------------------------------------------------- frexp, ldexp
cdef void mantissa_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef int exponent
    for i in range(n):
        out[i] = <real>c_frexp(x[i], &exponent)

cdef Op MANTISSA = Op("mantissa(Tensor x) -> Tensor", dtype="promote", node="FrexpBackward0")
floating_loops(MANTISSA, &mantissa_loop[float], &mantissa_loop[double])

@MANTISSA.derivative("x")
def mantissa_derivative(grad, x):
    return grad / run_unary(EXPONENT, x.detach()).exp2()

cdef void exponent_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef int exponent
    for i in range(n):
        c_frexp(x[i], &exponent)
        out[i] = exponent if x[i] - x[i] == 0 else 0            # C leaves it open for inf and nan

cdef Op EXPONENT = Op("exponent(Tensor x) -> Tensor", dtype="promote")
floating_loops(EXPONENT, &exponent_loop[float], &exponent_loop[double])

FrexpResult = collections.namedtuple("FrexpResult", ["mantissa", "exponent"])

def frexp(TensorBase input not None, *, out=None):
    """Mantissa in [0.5, 1) and exponent of each element: `mantissa * 2**exponent` is `input`.

    Returns
    -------
    named tuple (mantissa: Tensor like input, exponent: Tensor, int32)

    >>> import tensorlab
    >>> tensorlab.frexp(tensorlab.tensor([8.])).exponent
    tensor([4], dtype=tensorlab.int32)
    """
    if not is_floating(input.dtype_):
        raise DTypeError(f"frexp: input is {input.dtype}; it must be floating")
    exponent = run_unary(EXPONENT, (<object>input).detach())
    results = run_unary(MANTISSA, input), exponent.to(DTYPES[4])
    return FrexpResult(*(results if out is None else store_outs("frexp", results, out, (input,), NO_PARTIAL_OVERLAP)))

cdef void ldexp_loop(real* out, real* x, real* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = x[i] * <real>c_exp2(y[i])

cdef Op LDEXP = Op("ldexp(Tensor x, Tensor y) -> Tensor", dtype="floating", grain=8192)
floating_loops(LDEXP, &ldexp_loop[float], &ldexp_loop[double])

@LDEXP.derivative("x")
def ldexp_derivative_x(grad, y):
    return grad * y.exp2()

@LDEXP.derivative("y")
def ldexp_derivative_y(grad, out):
    return grad * (out * math.log(2))

def ldexp(TensorBase input not None, TensorBase other not None, *, out=None):
    """`input * 2**other`.

    >>> import tensorlab
    >>> tensorlab.ldexp(tensorlab.tensor([3.]), tensorlab.tensor([2]))
    tensor([12.])
    """
    return run_binary(LDEXP, input, other, out)

ldexp_ = inplace_function(LDEXP, ldexp, tensors_only=True)


# ---------------------------------------------------------------- angle
cdef void angle_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>M_PI if x[i] < 0 else x[i] * <real>0 if x[i] != x[i] else 0

cdef Op ANGLE = Op("angle(Tensor x) -> Tensor", dtype="floating")
floating_loops(ANGLE, &angle_loop[float], &angle_loop[double])

@ANGLE.derivative("x")
def angle_derivative(grad):
    return zeros_like(grad)

def angle(TensorBase input not None, *, out=None):
    """Angle of each real number in the complex plane: pi for negative ones, 0 for the others.

    >>> import tensorlab
    >>> tensorlab.angle(tensorlab.tensor([-1., 2.]))
    tensor([3.1416, 0.0000])
    """
    return run_unary(ANGLE, input, out)


# ---------------------------------------------------------------- gcd, lcm
cdef inline integer gcd_scalar(integer x, integer y) noexcept nogil:
    """Euclid's algorithm, on absolute values; remainders of -1 would trap for the smallest number."""
    cdef integer rest
    while y != 0:
        if integer is uint8_t:
            rest = x % y
        else:
            rest = 0 if y == -1 else x % y
        x = y
        y = rest
    return -x if x < 0 else x

cdef void gcd_loop(integer* out, integer* x, integer* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = gcd_scalar(x[i], y[i])

cdef Op GCD = Op("gcd(Tensor x, Tensor y) -> Tensor", dtype="promote", grain=1024)
integer_loops(GCD, &gcd_loop[uint8_t], &gcd_loop[int8_t], &gcd_loop[int16_t],
              &gcd_loop[int32_t], &gcd_loop[int64_t])

def gcd(TensorBase input not None, TensorBase other not None, *, out=None):
    """Greatest common divisor of each pair of integers; gcd(0, 0) is 0.

    >>> import tensorlab
    >>> tensorlab.gcd(tensorlab.tensor([12, -5]), tensorlab.tensor([18, 10]))
    tensor([6, 5])
    """
    return run_binary(GCD, input, other, out)

gcd_ = inplace_function(GCD, gcd, tensors_only=True)

cdef void lcm_loop(integer* out, integer* x, integer* y, ssize n) noexcept nogil:
    cdef integer divisor, product
    for i in range(n):
        divisor = gcd_scalar(x[i], y[i])
        product = 0 if divisor == 0 else x[i] / divisor * y[i]
        out[i] = -product if product < 0 else product

cdef Op LCM = Op("lcm(Tensor x, Tensor y) -> Tensor", dtype="promote", grain=1024)
integer_loops(LCM, &lcm_loop[uint8_t], &lcm_loop[int8_t], &lcm_loop[int16_t],
              &lcm_loop[int32_t], &lcm_loop[int64_t])

def lcm(TensorBase input not None, TensorBase other not None, *, out=None):
    """Least common multiple of each pair of integers.

    >>> import tensorlab
    >>> tensorlab.lcm(tensorlab.tensor([4, -5]), tensorlab.tensor([6, 10]))
    tensor([12, 10])
    """
    return run_binary(LCM, input, other, out)

lcm_ = inplace_function(LCM, lcm, tensors_only=True)


# other names that PyTorch has for the same functions
absolute, absolute_ = abs, abs_
sgn, sgn_ = sign, sign_

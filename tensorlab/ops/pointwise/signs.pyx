"""Signs, neighbours and parts of numbers: abs, sign, copysign, signbit, heaviside, nextafter, frexp, ldexp, gcd, lcm."""
from tensorlab._core.dispatch.dispatch cimport run_binary, run_binary_inplace, run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, inplace_op, set_loops
from tensorlab._core.dispatch.out_argument cimport NO_PARTIAL_OVERLAP, store_outs
from tensorlab._core.dtypes cimport COMPLEX, FLOATING, is_in
from tensorlab._core.tensor cimport TensorBase

import collections
import math

from tensorlab._core.dtypes import DTYPES
from tensorlab.errors import DTypeError
from tensorlab.ops.pointwise.common import inplace_function, zero_gradient

cdef extern from "signs_loops.h":           # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- abs
cdef Op ABS = Op("abs(Tensor x) -> Tensor", dtype="real",
                 scalar={"floating": "fabs@(x)",
                         "integer": "x < 0 ? -x : x",
                         "complex": "tl_hypot@(creal@(x), cimag@(x))"},
                 exact_out=True, takes_float8=True)

@ABS.derivative("x")
def abs_derivative(grad, x):
    return grad * (x.sgn() if is_in((<TensorBase>x).dtype_, COMPLEX) else run_unary(SIGN, x))

def abs(TensorBase input not None, *, out=None):
    """Absolute value of each element; `abs(input)`. Its derivative at 0 is taken as 0.

    >>> import tensorlab
    >>> tensorlab.abs(tensorlab.tensor([1., -2.]))
    tensor([1., 2.])
    """
    return run_unary(ABS, input, out)

abs_ = inplace_function(ABS, abs)


# ---------------------------------------------------------------- sign
cdef Op SIGN = Op("sign(Tensor x) -> Tensor", dtype="promote", scalar="(x > 0) - (x < 0)",
                  exact_out=True)

SIGN.derivative("x")(zero_gradient)

def sign(TensorBase input not None, *, out=None):
    """-1, 0 or 1 after the sign of each element; 0 for nan.

    >>> import tensorlab
    >>> tensorlab.sign(tensorlab.tensor([-3., 0., 5.]))
    tensor([-1.,  0.,  1.])
    """
    return run_unary(SIGN, input, out)

sign_ = inplace_function(SIGN, sign)


# ---------------------------------------------------------------- copysign
cdef Op COPYSIGN = Op("copysign(Tensor x, Tensor y) -> Tensor",
                      aten="copysign.Tensor", dtype="floating",
                      scalar="copysign@(x, y)", node="CopysignBackward1")

@COPYSIGN.derivative("x")
def copysign_derivative_x(grad, x, out):
    return grad * (out / x).masked_fill(x == 0, 0)

COPYSIGN.derivative("y")(zero_gradient)

def copysign(TensorBase input not None, other, *, out=None):
    """Each element of `input` with the sign of that of `other`, that of -0. included.

    >>> import tensorlab
    >>> tensorlab.copysign(tensorlab.tensor([1., -2.]), tensorlab.tensor([-0., 3.]))
    tensor([-1.,  2.])
    """
    return run_binary(COPYSIGN, input, other, out)

copysign_ = inplace_function(COPYSIGN, copysign)


# ---------------------------------------------------------------- signbit
# By the bits, because GCC 12 fails on a vectorised signbit().
cdef Op SIGNBIT = Op("signbit(Tensor x) -> Tensor", dtype="compare",
                     scalar={"float32": "tl_bits_of_float(x) >> 31",
                             "floating": "tl_bits_of_double(x) >> 63",
                             "ordered": "x < 0"},
                     exact_out=True)

def signbit(TensorBase input not None, *, out=None):
    """Is the sign of each element negative? True for -0. too.

    >>> import tensorlab
    >>> tensorlab.signbit(tensorlab.tensor([-1., -0., 0.]))
    tensor([ True,  True, False])
    """
    return run_unary(SIGNBIT, input, out)


# ---------------------------------------------------------------- heaviside
cdef Op HEAVISIDE = Op("heaviside(Tensor x, Tensor values) -> Tensor", dtype="promote",
                       scalar="x == 0 ? values : (T)(x > 0)", exact_out=True)

HEAVISIDE.derivative("x")(zero_gradient)

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
    """`heaviside`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([-1.5, 0.0, 2.0])
    >>> x.heaviside_(tensorlab.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    check_heaviside("heaviside_", input, values)
    return run_binary_inplace(HEAVISIDE, input, values)


# ---------------------------------------------------------------- nextafter
cdef Op NEXTAFTER = Op("nextafter(Tensor x, Tensor y) -> Tensor", dtype="promote",
                       scalar={"floating": "next_after#(x, y)"})

@NEXTAFTER.derivative("x")
def nextafter_derivative_x(grad, x, y):
    return grad.masked_fill(x == y, 0)

NEXTAFTER.derivative("y")(zero_gradient)

def nextafter(TensorBase input not None, TensorBase other not None, *, out=None):
    """Neighbour of each element among the numbers of its type, on the side of `other`.

    >>> import tensorlab
    >>> tensorlab.nextafter(tensorlab.tensor([1.]), tensorlab.tensor([2.])) - 1 == tensorlab.finfo(tensorlab.float32).eps
    tensor([True])
    """
    return run_binary(NEXTAFTER, input, other, out)

nextafter_ = inplace_function(NEXTAFTER, nextafter, tensors_only=True)


# ---------------------------------------------------------------- frexp, ldexp
cdef Op MANTISSA = Op("mantissa(Tensor x) -> Tensor", aten=None, dtype="promote",
                      scalar={"floating": "mantissa#(x)"}, node="FrexpBackward0")

@MANTISSA.derivative("x")
def mantissa_derivative(grad, x):
    return grad / run_unary(EXPONENT, x.detach()).exp2()

cdef Op EXPONENT = Op("exponent(Tensor x) -> Tensor", aten=None, dtype="promote",
                      scalar={"floating": "exponent#(x)"})

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
    if not is_in(input.dtype_, FLOATING):
        raise DTypeError(f"frexp: input is {input.dtype}; it must be floating")
    exponent = run_unary(EXPONENT, (<object>input).detach())
    results = run_unary(MANTISSA, input), exponent.to(DTYPES[4])
    return FrexpResult(*(results if out is None else store_outs("frexp", results, out, (input,), NO_PARTIAL_OVERLAP)))

cdef Op LDEXP = Op("ldexp(Tensor x, Tensor y) -> Tensor", aten="ldexp.Tensor", dtype="floating",
                   scalar={"floating": "x * (T)exp2(y)", "complex": "x * cexp@(y * (R)0.69314718055994530942)"}, grain=8192)

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
inplace_op(LDEXP).aten = "ldexp_"


# ---------------------------------------------------------------- gcd, lcm
cdef Op GCD = Op("gcd(Tensor x, Tensor y) -> Tensor", dtype="promote",
                 scalar={"integer": "gcd#(x, y)"}, grain=1024)

def gcd(TensorBase input not None, TensorBase other not None, *, out=None):
    """Greatest common divisor of each pair of integers; gcd(0, 0) is 0.

    >>> import tensorlab
    >>> tensorlab.gcd(tensorlab.tensor([12, -5]), tensorlab.tensor([18, 10]))
    tensor([6, 5])
    """
    return run_binary(GCD, input, other, out)

gcd_ = inplace_function(GCD, gcd, tensors_only=True)

cdef Op LCM = Op("lcm(Tensor x, Tensor y) -> Tensor", dtype="promote",
                 scalar={"integer": "lcm#(x, y)"}, grain=1024)

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


set_loops(tl_loops)

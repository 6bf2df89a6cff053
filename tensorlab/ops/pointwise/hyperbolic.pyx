"""Hyperbolic functions and their inverses: sinh, cosh, asinh, acosh, atanh.

tanh stands with the exponentials, in elementary.pyx.
"""
from libc.math cimport NAN

cimport tensorlab._core.loops.c_math as c_math
cimport tensorlab._core.loops.tl_math as tl_math
from tensorlab._core.dispatch.dispatch cimport run_unary
from tensorlab._core.dispatch.op cimport Op, floating_loops
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

from tensorlab.ops.pointwise.common import inplace_function

cdef enum:
    GRAIN = 8192                # these loops cost several times what a sum costs


# ---------------------------------------------------------------- sinh
cdef inline real sinh_scalar(real x) noexcept nogil:
    """With t = exp(a) - 1, a = |x|: (t + t / (t + 1)) / 2 keeps the digits of small x; halves of a keep large ones finite."""
    cdef real a = c_math.fabs(x), t = tl_math.expm1(a), half = tl_math.exp(a * <real>0.5)
    cdef real largest = 88 if real is float else 709            # for which t is finite
    t = <real>0.5 * (t + t / (t + <real>1)) if a < largest else (<real>0.5 * half) * half
    return c_math.copysign(t, x)

cdef void sinh_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = sinh_scalar(x[i])

cdef Op SINH = Op("sinh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(SINH, &sinh_loop[float], &sinh_loop[double])

@SINH.derivative("x")
def sinh_derivative(grad, x):
    return grad * x.cosh()

def sinh(TensorBase input not None, *, out=None):
    """Hyperbolic sine of each element.

    >>> import tensorlab
    >>> tensorlab.sinh(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 1.1752])
    """
    return run_unary(SINH, input, out)

sinh_ = inplace_function(SINH, sinh)


# ---------------------------------------------------------------- cosh
cdef inline real cosh_scalar(real x) noexcept nogil:
    """(e + 1 / e) / 2 with e = exp(|x|), made of halves of |x| so that it overflows no sooner than it must."""
    cdef real half = tl_math.exp(c_math.fabs(x) * <real>0.5)
    return (<real>0.5 * half) * half + <real>0.5 / (half * half)

cdef void cosh_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = cosh_scalar(x[i])

cdef Op COSH = Op("cosh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(COSH, &cosh_loop[float], &cosh_loop[double])

@COSH.derivative("x")
def cosh_derivative(grad, x):
    return grad * x.sinh()

def cosh(TensorBase input not None, *, out=None):
    """Hyperbolic cosine of each element.

    >>> import tensorlab
    >>> tensorlab.cosh(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 1.5431])
    """
    return run_unary(COSH, input, out)

cosh_ = inplace_function(COSH, cosh)


# ---------------------------------------------------------------- asinh
cdef inline real asinh_scalar(real x) noexcept nogil:
    """log(a + sqrt(a * a + 1)) with a = |x|, written for small a; for large a it is log(2 a)."""
    cdef real a = c_math.fabs(x), s = a * a, largest = 1e18 if real is float else 1e150
    cdef real y = tl_math.log1p(a + s / (<real>1 + c_math.sqrt(s + <real>1)))
    return c_math.copysign(y if a < largest else tl_math.log(a) + <real>0.6931471805599453, x)

cdef void asinh_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = asinh_scalar(x[i])

cdef Op ASINH = Op("asinh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(ASINH, &asinh_loop[float], &asinh_loop[double])

@ASINH.derivative("x")
def asinh_derivative(grad, x):
    return grad * (x * x + 1).rsqrt()

def asinh(TensorBase input not None, *, out=None):
    """Inverse hyperbolic sine of each element.

    >>> import tensorlab
    >>> tensorlab.asinh(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.8814])
    """
    return run_unary(ASINH, input, out)

asinh_ = inplace_function(ASINH, asinh)


# ---------------------------------------------------------------- acosh
cdef inline real acosh_scalar(real x) noexcept nogil:
    """log(x + sqrt(x * x - 1)) with t = x - 1, exact near 1; for large x it is log(2 x)."""
    cdef real t = x - <real>1, largest = 1e18 if real is float else 1e150
    cdef real large = tl_math.log(x) + <real>0.6931471805599453
    return (tl_math.log1p(t + c_math.sqrt(t * (t + <real>2))) if x >= 1 else <real>NAN) if not x >= largest else large

cdef void acosh_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = acosh_scalar(x[i])

cdef Op ACOSH = Op("acosh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(ACOSH, &acosh_loop[float], &acosh_loop[double])

@ACOSH.derivative("x")
def acosh_derivative(grad, x):
    return grad * (x * x - 1).rsqrt()

def acosh(TensorBase input not None, *, out=None):
    """Inverse hyperbolic cosine of each element; nan below 1.

    >>> import tensorlab
    >>> tensorlab.acosh(tensorlab.tensor([1., 2.]))
    tensor([0.0000, 1.3170])
    """
    return run_unary(ACOSH, input, out)

acosh_ = inplace_function(ACOSH, acosh)


# ---------------------------------------------------------------- atanh
cdef inline real atanh_scalar(real x) noexcept nogil:
    """log((1 + a) / (1 - a)) / 2 = log(1 + 2 a / (1 - a)) / 2 with a = |x|."""
    cdef real a = c_math.fabs(x)
    cdef real y = <real>0.5 * tl_math.log1p(<real>2 * a / (<real>1 - a))
    return c_math.copysign(y, x) if a <= 1 else <real>NAN

cdef void atanh_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = atanh_scalar(x[i])

cdef Op ATANH = Op("atanh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(ATANH, &atanh_loop[float], &atanh_loop[double])

@ATANH.derivative("x")
def atanh_derivative(grad, x):
    return grad / (1 - x * x)

def atanh(TensorBase input not None, *, out=None):
    """Inverse hyperbolic tangent of each element; nan outside of [-1, 1].

    >>> import tensorlab
    >>> tensorlab.atanh(tensorlab.tensor([0., 0.5]))
    tensor([0.0000, 0.5493])
    """
    return run_unary(ATANH, input, out)

atanh_ = inplace_function(ATANH, atanh)


# other names that PyTorch has for the same functions
arccosh, arccosh_ = acosh, acosh_
arcsinh, arcsinh_ = asinh, asinh_
arctanh, arctanh_ = atanh, atanh_

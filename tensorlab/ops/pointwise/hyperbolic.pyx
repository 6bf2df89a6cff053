"""Hyperbolic functions and their inverses: sinh, cosh, asinh, acosh, atanh.

tanh stands with the exponentials, in elementary.pyx.
"""
from libc.math cimport NAN, copysign as c_copysign, fabs, sqrt

from tensorlab._core.dispatch cimport run_out_1, run_unary, run_unary_inplace
from tensorlab._core.op cimport Op, floating_loops
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef extern from "math.h" nogil:
    float sqrtf(float)

cdef extern from "tl_math.h" nogil:
    float tl_expf(float)
    double tl_exp(double)
    float tl_expm1f(float)
    double tl_expm1(double)
    float tl_log1pf(float)
    double tl_log1p(double)
    float tl_logf(float)
    double tl_log(double)

cdef enum:
    GRAIN = 8192                # these loops cost several times what a sum costs


# ---------------------------------------------------------------- sinh
cdef inline real sinh_scalar(real x) noexcept nogil:
    """With t = exp(a) - 1, a = |x|: (t + t / (t + 1)) / 2 keeps the digits of small x; halves of a keep large ones finite."""
    cdef real a = <real>fabs(x), t, half
    if real is float:
        t = tl_expm1f(a)
        half = tl_expf(a * <float>0.5)
        return <float>c_copysign(<float>0.5 * (t + t / (t + <float>1)) if a < 88 else (<float>0.5 * half) * half, x)
    else:
        t = tl_expm1(a)
        half = tl_exp(a * 0.5)
        return c_copysign(0.5 * (t + t / (t + 1)) if a < 709 else (0.5 * half) * half, x)

cdef void sinh_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = sinh_scalar(x[i])

cdef Op SINH = Op("sinh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(SINH, <void*>sinh_loop[float], <void*>sinh_loop[double])

@SINH.derivative("x")
def sinh_derivative(grad, x):
    return grad * x.cosh()

def sinh(TensorBase input not None, *, out=None):
    """Hyperbolic sine of each element.

    >>> import tensorlab
    >>> tensorlab.sinh(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 1.1752])
    """
    return run_unary(SINH, input) if out is None else run_out_1(SINH, input, out)

def sinh_(TensorBase input not None):
    """`sinh`, written over `input`."""
    return run_unary_inplace(SINH, input)


# ---------------------------------------------------------------- cosh
cdef inline real cosh_scalar(real x) noexcept nogil:
    """(e + 1 / e) / 2 with e = exp(|x|), made of halves of |x| so that it overflows no sooner than it must."""
    cdef real half
    if real is float:
        half = tl_expf(<real>fabs(x) * <float>0.5)
        return (<float>0.5 * half) * half + <float>0.5 / (half * half)
    else:
        half = tl_exp(fabs(x) * 0.5)
        return (0.5 * half) * half + 0.5 / (half * half)

cdef void cosh_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = cosh_scalar(x[i])

cdef Op COSH = Op("cosh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(COSH, <void*>cosh_loop[float], <void*>cosh_loop[double])

@COSH.derivative("x")
def cosh_derivative(grad, x):
    return grad * x.sinh()

def cosh(TensorBase input not None, *, out=None):
    """Hyperbolic cosine of each element.

    >>> import tensorlab
    >>> tensorlab.cosh(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 1.5431])
    """
    return run_unary(COSH, input) if out is None else run_out_1(COSH, input, out)

def cosh_(TensorBase input not None):
    """`cosh`, written over `input`."""
    return run_unary_inplace(COSH, input)


# ---------------------------------------------------------------- asinh
cdef inline real asinh_scalar(real x) noexcept nogil:
    """log(a + sqrt(a * a + 1)) with a = |x|, written for small a; for large a it is log(2 a)."""
    cdef real a = <real>fabs(x), s, y
    if real is float:
        s = a * a
        y = tl_log1pf(a + s / (<float>1 + sqrtf(s + <float>1)))
        return <float>c_copysign(y if a < <float>1e18 else tl_logf(a) + <float>0.6931471805599453, x)
    else:
        s = a * a
        y = tl_log1p(a + s / (1 + sqrt(s + 1)))
        return c_copysign(y if a < 1e150 else tl_log(a) + 0.6931471805599453, x)

cdef void asinh_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = asinh_scalar(x[i])

cdef Op ASINH = Op("asinh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN, inplace_node="AsinhBackward1")
floating_loops(ASINH, <void*>asinh_loop[float], <void*>asinh_loop[double])

@ASINH.derivative("x")
def asinh_derivative(grad, x):
    return grad * (x * x + 1).rsqrt()

def asinh(TensorBase input not None, *, out=None):
    """Inverse hyperbolic sine of each element.

    >>> import tensorlab
    >>> tensorlab.asinh(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.8814])
    """
    return run_unary(ASINH, input) if out is None else run_out_1(ASINH, input, out)

def asinh_(TensorBase input not None):
    """`asinh`, written over `input`."""
    return run_unary_inplace(ASINH, input)


# ---------------------------------------------------------------- acosh
cdef inline real acosh_scalar(real x) noexcept nogil:
    """log(x + sqrt(x * x - 1)) with t = x - 1, exact near 1; for large x it is log(2 x)."""
    cdef real t = x - <real>1, large
    if real is float:
        large = tl_logf(x) + <float>0.6931471805599453
        return (tl_log1pf(t + sqrtf(t * (t + <float>2))) if x >= 1 else <float>NAN) if not x >= <float>1e18 else large
    else:
        large = tl_log(x) + 0.6931471805599453
        return (tl_log1p(t + sqrt(t * (t + 2))) if x >= 1 else NAN) if not x >= 1e150 else large

cdef void acosh_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = acosh_scalar(x[i])

cdef Op ACOSH = Op("acosh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN, inplace_node="AcoshBackward1")
floating_loops(ACOSH, <void*>acosh_loop[float], <void*>acosh_loop[double])

@ACOSH.derivative("x")
def acosh_derivative(grad, x):
    return grad * (x * x - 1).rsqrt()

def acosh(TensorBase input not None, *, out=None):
    """Inverse hyperbolic cosine of each element; nan below 1.

    >>> import tensorlab
    >>> tensorlab.acosh(tensorlab.tensor([1., 2.]))
    tensor([0.0000, 1.3170])
    """
    return run_unary(ACOSH, input) if out is None else run_out_1(ACOSH, input, out)

def acosh_(TensorBase input not None):
    """`acosh`, written over `input`."""
    return run_unary_inplace(ACOSH, input)


# ---------------------------------------------------------------- atanh
cdef inline real atanh_scalar(real x) noexcept nogil:
    """log((1 + a) / (1 - a)) / 2 = log(1 + 2 a / (1 - a)) / 2 with a = |x|."""
    cdef real a = <real>fabs(x)
    if real is float:
        return <float>c_copysign(<float>0.5 * tl_log1pf(<float>2 * a / (<float>1 - a)), x) if a <= 1 else <float>NAN
    else:
        return c_copysign(0.5 * tl_log1p(2 * a / (1 - a)), x) if a <= 1 else NAN

cdef void atanh_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = atanh_scalar(x[i])

cdef Op ATANH = Op("atanh(Tensor x) -> Tensor", dtype="floating", grain=GRAIN, inplace_node="AtanhBackward1")
floating_loops(ATANH, <void*>atanh_loop[float], <void*>atanh_loop[double])

@ATANH.derivative("x")
def atanh_derivative(grad, x):
    return grad / (1 - x * x)

def atanh(TensorBase input not None, *, out=None):
    """Inverse hyperbolic tangent of each element; nan outside of [-1, 1].

    >>> import tensorlab
    >>> tensorlab.atanh(tensorlab.tensor([0., 0.5]))
    tensor([0.0000, 0.5493])
    """
    return run_unary(ATANH, input) if out is None else run_out_1(ATANH, input, out)

def atanh_(TensorBase input not None):
    """`atanh`, written over `input`."""
    return run_unary_inplace(ATANH, input)


# other names that PyTorch has for the same functions
arccosh, arccosh_ = acosh, acosh_
arcsinh, arcsinh_ = asinh, asinh_
arctanh, arctanh_ = atanh, atanh_

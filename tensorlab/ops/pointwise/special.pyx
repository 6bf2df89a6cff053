"""Special functions: the error function and its relatives, the gamma function's logarithm and derivatives, i0, xlogy.

The modified Bessel functions come from SciPy, which is imported when one is first called.
"""
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport (
    INFINITY,
    M_PI,
    M_SQRT1_2,
    NAN,
    copysign,
    erfc as c_erfc,
    exp,
    fabs,
    floor,
    lgamma as c_lgamma,
    log,
    pow as c_pow,
    sqrt,
    tan,
)

cimport tensorlab._core.loops.tl_math as tl_math
from tensorlab._core.dispatch.dispatch cimport run_binary, run_unary
from tensorlab._core.dispatch.op cimport Op, floating_loops
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

import math

from tensorlab.ops.pointwise.common import inplace_function

cdef enum:
    GRAIN = 2048                # most of these loops cost ten times what a sum costs


# ---------------------------------------------------------------- erf
cdef void erf_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = tl_math.erf(x[i])

cdef Op ERF = Op("erf(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(ERF, &erf_loop[float], &erf_loop[double])

@ERF.derivative("x")
def erf_derivative(grad, x):
    return grad * ((-x * x).exp() * (2 / math.sqrt(math.pi)))

def erf(TensorBase input not None, *, out=None):
    """Error function: the probability that a normal number of variance 1/2 is within x of 0.

    >>> import tensorlab
    >>> tensorlab.erf(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.8427])
    """
    return run_unary(ERF, input, out)

erf_ = inplace_function(ERF, erf)


# ---------------------------------------------------------------- erfc
cdef void erfc_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>c_erfc(x[i])

cdef Op ERFC = Op("erfc(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(ERFC, &erfc_loop[float], &erfc_loop[double])

@ERFC.derivative("x")
def erfc_derivative(grad, x):
    return grad * ((-x * x).exp() * (-2 / math.sqrt(math.pi)))

def erfc(TensorBase input not None, *, out=None):
    """1 - erf(x), with all its digits where it is small.

    >>> import tensorlab
    >>> tensorlab.erfc(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 0.1573])
    """
    return run_unary(ERFC, input, out)

erfc_ = inplace_function(ERFC, erfc)


# ---------------------------------------------------------------- ndtr
cdef void ndtr_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>(0.5 * c_erfc(-M_SQRT1_2 * x[i]))

cdef Op NDTR = Op("ndtr(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(NDTR, &ndtr_loop[float], &ndtr_loop[double])

@NDTR.derivative("x")
def ndtr_derivative(grad, x):
    return grad * ((x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi)))

def ndtr(TensorBase input not None, *, out=None):
    """Cumulative distribution of standard normal numbers: the probability that one is at most x.

    Computed as erfc(-x / sqrt(2)) / 2, which has all its digits where it is small.
    Source: Abramowitz and Stegun 1964, 26.2.

    Parameters
    ----------
    input : Tensor, any shape; bool and ints give the default dtype, a floating tensor its own
    out : Tensor to write to

    >>> import tensorlab
    >>> tensorlab.special.ndtr(tensorlab.tensor([0., 1.]))
    tensor([0.5000, 0.8413])
    """
    return run_unary(NDTR, input, out)


# ---------------------------------------------------------------- erfinv
cdef double erfinv_scalar(double x) noexcept nogil:
    """Winitzki's formula, right to 0.2 %, then three of Halley's steps, each of which triples the digits.

    Source: Winitzki 2008, A handy approximation for the error function and its inverse.
    """
    cdef double a = fabs(x), rest, half, y, error, slope
    cdef int _step
    if not a < 1:
        return copysign(INFINITY, x) if a == 1 else NAN
    rest = 1 - a
    half = 2 / (M_PI * 0.147) + 0.5 * log(rest * (1 + a))
    y = sqrt(sqrt(half * half - log(rest * (1 + a)) / 0.147) - half)
    for _step in range(3):
        error = rest - c_erfc(y) if a > 0.5 else (1 - c_erfc(y)) - a        # erf(y) - a, without cancellation
        slope = 2 / sqrt(M_PI) * exp(-y * y)
        y -= error / (slope + y * error)
    return copysign(y, x)

cdef void erfinv_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>erfinv_scalar(x[i])

cdef Op ERFINV = Op("erfinv(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(ERFINV, &erfinv_loop[float], &erfinv_loop[double])

@ERFINV.derivative("x")
def erfinv_derivative(grad, out):
    return grad * ((out * out).exp() * (0.5 * math.sqrt(math.pi)))

def erfinv(TensorBase input not None, *, out=None):
    """Inverse of erf; nan outside of [-1, 1].

    >>> import tensorlab
    >>> tensorlab.erfinv(tensorlab.tensor([0., 0.5]))
    tensor([0.0000, 0.4769])
    """
    return run_unary(ERFINV, input, out)

erfinv_ = inplace_function(ERFINV, erfinv)


# ---------------------------------------------------------------- lgamma
cdef void lgamma_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>c_lgamma(x[i])

cdef Op LGAMMA = Op("lgamma(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(LGAMMA, &lgamma_loop[float], &lgamma_loop[double])

@LGAMMA.derivative("x")
def lgamma_derivative(grad, x):
    return grad * run_unary(DIGAMMA, x)

def lgamma(TensorBase input not None, *, out=None):
    """Logarithm of the absolute value of the gamma function; lgamma(n + 1) is log(n!).

    >>> import tensorlab
    >>> tensorlab.lgamma(tensorlab.tensor([1., 5.]))
    tensor([0.0000, 3.1781])
    """
    return run_unary(LGAMMA, input, out)

lgamma_ = inplace_function(LGAMMA, lgamma)


# ---------------------------------------------------------------- digamma
cdef double digamma_scalar(double x) noexcept nogil:
    """psi(x) = psi(x + 1) - 1/x up to 10, then the asymptotic series; negative x by reflection.

    Source: Abramowitz and Stegun 1964, 6.3.5, 6.3.7 and 6.3.18.
    """
    cdef double below = 0, s
    if x == 0:
        return copysign(INFINITY, -x)
    if x < 0:
        if x == floor(x):
            return NAN
        below = -M_PI / tan(M_PI * (x - floor(x)))
        x = 1 - x
    while x < 10:
        below -= 1 / x
        x += 1
    s = 1 / (x * x)
    return below + log(x) - 0.5 / x - s * (1. / 12 - s * (1. / 120 - s * (1. / 252 - s * (
        1. / 240 - s * (1. / 132 - s * (691. / 32760 - s * (1. / 12)))))))

cdef void digamma_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>digamma_scalar(x[i])

cdef Op DIGAMMA = Op("digamma(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(DIGAMMA, &digamma_loop[float], &digamma_loop[double])

@DIGAMMA.derivative("x")
def digamma_derivative(grad, x):
    return grad * run_binary(POLYGAMMA, x, 1.0)

def digamma(TensorBase input not None, *, out=None):
    """Derivative of lgamma.

    >>> import tensorlab
    >>> tensorlab.digamma(tensorlab.tensor([1., 0.5]))
    tensor([-0.5772, -1.9635])
    """
    return run_unary(DIGAMMA, input, out)

digamma_ = inplace_function(DIGAMMA, digamma)


# ---------------------------------------------------------------- polygamma
cdef double zeta_sum(double s, double x) noexcept nogil:
    """Sum of (x + k)**-s over k >= 0, s > 1: terms up to 10, then Euler and Maclaurin's formula.

    Source: Abramowitz and Stegun 1964, 23.1.30.
    """
    cdef double[10] bernoulli = [1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66, -691. / 2730, 7. / 6, -3617. / 510,
                                 43867. / 798, -174611. / 330]
    cdef double total = 0, factor
    cdef int j
    if x <= 0 and x == floor(x):
        return INFINITY
    while x < 10:
        total += c_pow(x, -s)
        x += 1
    total += c_pow(x, 1 - s) / (s - 1) + 0.5 * c_pow(x, -s)
    factor = s * c_pow(x, -s - 1) / 2                           # s (s + 1) ... x**(-s - 2j + 1) / (2j)!
    for j in range(10):
        total += bernoulli[j] * factor
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / ((2 * j + 3) * (2 * j + 4) * x * x)
    return total

cdef double polygamma_scalar(double x, double n) noexcept nogil:
    """(-1)**(n + 1) n! zeta(n + 1, x); nan far below 0, where the sum would be long."""
    cdef double size
    if n == 0:
        return digamma_scalar(x)
    if not x > -10000:
        return NAN
    size = exp(c_lgamma(n + 1)) * zeta_sum(n + 1, x)
    return size if n - 2 * floor(n / 2) == 1 else -size

cdef void polygamma_loop(real* out, real* x, real* order, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>polygamma_scalar(x[i], order[i])

cdef Op POLYGAMMA = Op("polygamma(Tensor x, Scalar n) -> Tensor", dtype="floating", grain=GRAIN, wraps_numbers=False)
floating_loops(POLYGAMMA, &polygamma_loop[float], &polygamma_loop[double])

@POLYGAMMA.derivative("x")
def polygamma_derivative(grad, x, n):
    return grad * run_binary(POLYGAMMA, x, n + 1)

def polygamma(int n, TensorBase input not None, *, out=None):
    """Derivative number `n` of digamma.

    Raises
    ------
    RuntimeError
        If `n` is negative.

    >>> import tensorlab
    >>> tensorlab.polygamma(1, tensorlab.tensor([1., 0.5]))
    tensor([1.6449, 4.9348])
    """
    if n < 0:
        raise RuntimeError(f"polygamma: n is {n}; it must not be negative")
    return run_binary(POLYGAMMA, input, float(n), out)

def polygamma_method(TensorBase self not None, int n):
    """`polygamma` as a method."""
    return polygamma(n, self)


# ---------------------------------------------------------------- i0, i1
ctypedef double (*scipy_function)(double, int) noexcept nogil      # the int is Cython's skip_dispatch

cdef scipy_function scipy_i0 = &first_i0
cdef scipy_function scipy_i1 = &first_i1

# These two stand in until the first call, because SciPy takes long to import.
cdef double first_i0(double x, int skip_dispatch) noexcept nogil:
    with gil:
        load_bessel()
    return scipy_i0(x, skip_dispatch)

cdef double first_i1(double x, int skip_dispatch) noexcept nogil:
    with gil:
        load_bessel()
    return scipy_i1(x, skip_dispatch)

cdef void* find_function(str name) except NULL:
    """The address of a function of one number in scipy.special."""
    from scipy.special import cython_special
    capsule = cython_special.__pyx_capi__[name]
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))

cdef int load_bessel() except -1:
    global scipy_i0, scipy_i1
    scipy_i0 = <scipy_function>find_function("i0")
    scipy_i1 = <scipy_function>find_function("i1")
    return 0

cdef void i0_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>scipy_i0(x[i], 0)

cdef Op I0 = Op("i0(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(I0, &i0_loop[float], &i0_loop[double])

@I0.derivative("x")
def i0_derivative(grad, x):
    return grad * i1(x)

def i0(TensorBase input not None, *, out=None):
    """Modified Bessel function of order 0.

    >>> import tensorlab
    >>> tensorlab.i0(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 1.2661])
    """
    return run_unary(I0, input, out)

i0_ = inplace_function(I0, i0)

cdef void i1_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = <real>scipy_i1(x[i], 0)

cdef Op I1 = Op("i1(Tensor x) -> Tensor", dtype="floating", grain=GRAIN, node="SpecialI1Backward0")
floating_loops(I1, &i1_loop[float], &i1_loop[double])

@I1.derivative("x")
def i1_derivative(grad, x, out):
    return grad * (i0(x) - (out / x).masked_fill(x == 0, 0.5))

def i1(TensorBase input not None, *, out=None):
    """Modified Bessel function of order 1, the derivative of i0.

    >>> import tensorlab
    >>> tensorlab.special.i1(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.5652])
    """
    return run_unary(I1, input, out)


# ---------------------------------------------------------------- xlogy
cdef inline real xlogy_scalar(real x, real y) noexcept nogil:
    cdef real product = x * tl_math.log(y)
    return 0 if (x == 0) & (y == y) else product

cdef void xlogy_loop(real* out, real* x, real* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = xlogy_scalar(x[i], y[i])

cdef Op XLOGY = Op("xlogy(Tensor x, Tensor y) -> Tensor", dtype="floating", grain=GRAIN,
                   node="XlogyBackward2")
floating_loops(XLOGY, &xlogy_loop[float], &xlogy_loop[double])

@XLOGY.derivative("x")
def xlogy_derivative_x(grad, x, y):
    return run_binary(XLOGY, grad, y).masked_fill((x == 0) & (y <= 0), 0)

@XLOGY.derivative("y")
def xlogy_derivative_y(grad, x, y):
    return grad * (x / y)

def xlogy(input, other, *, out=None):
    """`input * log(other)`, and 0 where `input` is 0 (unless `other` is nan): what entropies need.

    Parameters
    ----------
    input, other : Tensor or number, one of them a Tensor; broadcast

    >>> import tensorlab
    >>> tensorlab.xlogy(tensorlab.tensor([0., 2.]), tensorlab.tensor([0., 10.]))
    tensor([0.0000, 4.6052])
    """
    return run_binary(XLOGY, input, other, out)

xlogy_ = inplace_function(XLOGY, xlogy)

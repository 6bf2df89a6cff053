"""Incomplete gamma functions and Hurwitz's zeta function.

The gamma function itself stands in special.pyx.
"""
from libc.math cimport exp, expm1, fabs, lgamma, log

from tensorlab._core.dispatch.dispatch cimport run_binary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, floating_loops, set_loops
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.pointwise.scipy_functions cimport Borrowed, address_of, apply_to_two, function_of_two

from tensorlab.ops.pointwise.common import inplace_function, no_derivative

cdef extern from "incomplete_gamma_loops.h":    # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 1024                # these loops cost twenty times and more what a sum costs


cdef double EULER = 0.57721566490153286


# ---------------------------------------------------------------- igamma, igammac
cdef Borrowed SCIPY_GAMMAINC = Borrowed("gammainc", NULL)
cdef Borrowed SCIPY_GAMMAINCC = Borrowed("gammaincc", NULL)

cdef void igamma_loop(real* out, real* x, real* y, ssize n) noexcept nogil:
    apply_to_two(out, x, y, n, &SCIPY_GAMMAINC)

cdef void igammac_loop(real* out, real* x, real* y, ssize n) noexcept nogil:
    cdef function_of_two scipys = <function_of_two>address_of(&SCIPY_GAMMAINCC)
    for i in range(n):
        out[i] = <real>(upper_of_small(x[i], y[i]) if is_small(x[i], y[i]) else scipys(x[i], y[i], 0))

cdef bint is_small(double a, double x) noexcept nogil:
    """Where SciPy takes the series below. It has a costly logarithm of the gamma function there: thirty times as slow."""
    return 0 < x <= 1.1 and 0 < a <= (-0.4 / log(x) if x <= 0.5 else 1.1 * x)

cdef double upper_of_small(double a, double x) noexcept nogil:
    """1 - x**a / gamma(1 + a) - x**a / gamma(a) * a series, whose first two terms are subtracted exactly. Source: DLMF 8.7.1."""
    cdef double share = 1, term = 1, total = 0, power, beside_one = 1 + a, k = 0
    while fabs(term) > 1e-16 * fabs(total):
        k += 1
        share *= -x / k
        term = share / (a + k)
        total += term
    power = a * log(x) - (lgamma(beside_one) - EULER * (a - (beside_one - 1)))     # what 1 + a has rounded off
    return -expm1(power) - a * exp(power) * total

cdef Op IGAMMA = Op("igamma(Tensor x, Tensor y) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(IGAMMA, &igamma_loop[float], &igamma_loop[double])

cdef Op IGAMMAC = Op("igammac(Tensor x, Tensor y) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(IGAMMAC, &igammac_loop[float], &igammac_loop[double])

@IGAMMA.derivative("x")
def igamma_derivative_x(grad):
    raise no_derivative("igamma", "input")

@IGAMMAC.derivative("x")
def igammac_derivative_x(grad):
    raise no_derivative("igammac", "input")

@IGAMMA.derivative("y")
def igamma_derivative_y(grad, x, y):
    return grad * ((x - 1) * y.log() - y - x.lgamma()).exp()

@IGAMMAC.derivative("y")
def igammac_derivative_y(grad, x, y):
    return -igamma_derivative_y(grad, x, y)

def igamma(TensorBase input not None, TensorBase other not None, *, out=None):
    """Lower incomplete gamma function, regularized: the integral of `t**(a - 1) * exp(-t)` from 0 to x, over that to inf.

    Parameters
    ----------
    input : Tensor, a, at least 0
    other : Tensor, x, at least 0; nan where one of the two is negative

    Notes
    -----
    Differentiable with respect to `other` only, as in PyTorch.

    >>> import tensorlab
    >>> tensorlab.igamma(tensorlab.tensor([1., 2.]), tensorlab.tensor([1., 1.]))
    tensor([0.6321, 0.2642])
    """
    return run_binary(IGAMMA, input, other, out)

def igammac(TensorBase input not None, TensorBase other not None, *, out=None):
    """Upper incomplete gamma function, regularized: `1 - igamma(input, other)`, with all its digits where that is small.

    >>> import tensorlab
    >>> tensorlab.igammac(tensorlab.tensor([1., 2.]), tensorlab.tensor([1., 1.]))
    tensor([0.3679, 0.7358])
    """
    return run_binary(IGAMMAC, input, other, out)

igamma_ = inplace_function(IGAMMA, igamma, tensors_only=True)
igammac_ = inplace_function(IGAMMAC, igammac, tensors_only=True)


# ---------------------------------------------------------------- zeta
cdef Op ZETA = Op("zeta(Tensor x, Tensor y) -> Tensor", aten="special_zeta", dtype="floating",
                  scalar="(T)zeta(x, y)", grain=GRAIN, node="SpecialZetaBackward0")

@ZETA.derivative("x")
def zeta_derivative_x(grad):
    raise no_derivative("zeta", "input")

@ZETA.derivative("y")
def zeta_derivative_y(grad, x, y):
    return grad * -x * run_binary(ZETA, x + 1, y)

def zeta(input, other, *, out=None):
    """Hurwitz's zeta function: the sum of `(other + k)**-input` over all k from 0.

    Parameters
    ----------
    input : Tensor or number, above 1; inf at 1, nan below
    other : Tensor or number; with 1 it is Riemann's zeta function

    Notes
    -----
    Differentiable with respect to `other` only, as in PyTorch.

    >>> import tensorlab
    >>> tensorlab.special.zeta(tensorlab.tensor([2., 4.]), 1)
    tensor([1.6449, 1.0823])
    """
    return run_binary(ZETA, input, other, out)


set_loops(tl_loops)

"""How samples of the gamma and Dirichlet distributions move with the parameters that they were drawn for.

A sample x keeps its place among all others, F(x; a), so it moves with a by -(dF/da) / (dF/dx). F is SciPy's incomplete gamma or
beta function. dF/da is a central difference; the tail that x is in is the smaller one, so that the difference has many digits.
Source: Figurnov, Mohamed and Mnih 2018, "Implicit reparameterization gradients".
"""
from libc.math cimport exp, lgamma, log, log1p, sqrt

from tensorlab._core.dispatch.dispatch cimport run_binary, run_ternary
from tensorlab._core.dispatch.op cimport Op, floating_loops
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.pointwise.scipy_functions cimport Borrowed, address_of, function_of_three, function_of_two

from tensorlab.ops.pointwise.common import no_derivative

cdef enum:
    GRAIN = 512                 # two incomplete gamma functions cost a hundred sums

cdef Borrowed SCIPY_GAMMAINC = Borrowed("gammainc", NULL)
cdef Borrowed SCIPY_GAMMAINCC = Borrowed("gammaincc", NULL)
cdef Borrowed SCIPY_BETAINC = Borrowed("betainc", NULL)
cdef Borrowed SCIPY_BETAINCC = Borrowed("betaincc", NULL)


cdef inline double step_for(double alpha) noexcept nogil:
    """A hundred-thousandth of the distance in which F changes much."""
    return 1e-5 * (alpha if alpha < 1 else sqrt(alpha))


cdef inline double number_or_0(double x) noexcept nogil:
    return x if x == x else 0


# ---------------------------------------------------------------- gamma
cdef void standard_gamma_grad_loop(real* out, real* alpha, real* x, ssize n) noexcept nogil:
    cdef function_of_two lower = <function_of_two>address_of(&SCIPY_GAMMAINC)
    cdef function_of_two upper = <function_of_two>address_of(&SCIPY_GAMMAINCC)
    cdef double a, y, h, difference, log_density
    for i in range(n):
        a = alpha[i]
        y = x[i]
        h = step_for(a)
        if y < a:               # F itself, or what it lacks of 1: the smaller has more digits
            difference = lower(a + h, y, 0) - lower(a - h, y, 0)
        else:
            difference = upper(a - h, y, 0) - upper(a + h, y, 0)
        log_density = (a - 1) * log(y) - y - lgamma(a)
        out[i] = <real>number_or_0(-difference / (2 * h) * exp(-log_density))

cdef Op STANDARD_GAMMA_GRAD = Op(
    "_standard_gamma_grad(Tensor x, Tensor output) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(STANDARD_GAMMA_GRAD, &standard_gamma_grad_loop[float], &standard_gamma_grad_loop[double])

@STANDARD_GAMMA_GRAD.derivative("x")
def standard_gamma_grad_derivative_x(grad):
    raise no_derivative("_standard_gamma_grad", "input")

@STANDARD_GAMMA_GRAD.derivative("output")
def standard_gamma_grad_derivative_output(grad):
    raise no_derivative("_standard_gamma_grad", "output")

def _standard_gamma_grad(TensorBase input not None, TensorBase output not None):
    """The derivative of gamma samples `output` with respect to the shapes `input` that they were drawn for."""
    return run_binary(STANDARD_GAMMA_GRAD, input, output)


# ---------------------------------------------------------------- dirichlet
cdef void dirichlet_grad_loop(real* out, real* x, real* alpha, real* total, ssize n) noexcept nogil:
    """Of one part and all others together, which are a beta distribution; over 1 - x, which the caller's formula has besides."""
    cdef function_of_three lower = <function_of_three>address_of(&SCIPY_BETAINC)
    cdef function_of_three upper = <function_of_three>address_of(&SCIPY_BETAINCC)
    cdef double a, b, y, h, difference, log_density
    for i in range(n):
        a = alpha[i]
        b = <double>total[i] - a
        y = x[i]
        h = step_for(a)
        if y < a / (a + b):
            difference = lower(a + h, b, y, 0) - lower(a - h, b, y, 0)
        else:
            difference = upper(a - h, b, y, 0) - upper(a + h, b, y, 0)
        log_density = (a - 1) * log(y) + b * log1p(-y) + lgamma(a + b) - lgamma(a) - lgamma(b)
        out[i] = <real>number_or_0(-difference / (2 * h) * exp(-log_density))

cdef Op DIRICHLET_GRAD = Op(
    "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", public={"x": "x"}, dtype="floating", grain=GRAIN)
floating_loops(DIRICHLET_GRAD, &dirichlet_grad_loop[float], &dirichlet_grad_loop[double])

@DIRICHLET_GRAD.derivative("x")
def dirichlet_grad_derivative_x(grad):
    raise no_derivative("_dirichlet_grad", "x")

@DIRICHLET_GRAD.derivative("alpha")
def dirichlet_grad_derivative_alpha(grad):
    raise no_derivative("_dirichlet_grad", "alpha")

@DIRICHLET_GRAD.derivative("total")
def dirichlet_grad_derivative_total(grad):
    raise no_derivative("_dirichlet_grad", "total")

def _dirichlet_grad(TensorBase x not None, TensorBase alpha not None, TensorBase total not None):
    """The derivative of Dirichlet samples with respect to `alpha`, over 1 - x; `total` is the sum of all alphas."""
    return run_ternary(DIRICHLET_GRAD, x, alpha, total)

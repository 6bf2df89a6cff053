"""Numbers of distributions whose parameters are tensors: Poisson, binomial, gamma, Dirichlet.

A generator is serial, so one element is drawn after the other, in the order of the dimensions; _core/rejection.pyx has the
recipes.
Gamma and Dirichlet samples have derivatives: a sample x with the cumulative distribution F moves with its parameter a by
-(dF/da) / (dF/dx). Source: Figurnov, Mohamed and Mnih 2018, "Implicit reparameterization gradients".
"""
from libc.float cimport DBL_MIN, FLT_MIN

from tensorlab._core.dispatch.dispatch cimport run_2, run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport FLOAT64, FLOATING, dtype_object, is_double, is_in, kernel_dtype, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport copy_into, plain_as
from tensorlab._core.random cimport Generator, generator_or_default
from tensorlab._core.rejection cimport draw_binomial, draw_gamma, draw_poisson, fill_gamma
from tensorlab._core.tensor cimport TensorBase, empty_beside, memory_of, result_beside

from tensorlab._core.dtypes import finfo
from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType
from tensorlab.ops.filling import zeros_in_place_of
from tensorlab.ops.meshgrid import broadcast_tensors
from tensorlab.ops.pointwise.common import no_derivative
from tensorlab.ops.pointwise.implicit_gradients import _dirichlet_grad, _standard_gamma_grad


cdef int check_parameter(TensorBase x, str where) except -1:
    if not is_in(x.dtype_, FLOATING):
        raise UnsupportedDType(f"{where}: not implemented for {dtype_object(x.dtype_)}; a floating dtype is needed")
    return 0

cdef TensorBase drawn_like(TensorBase x, object generator, str where):
    """A row-major result: in this order numbers are drawn."""
    generator_or_default(generator, where)
    check_parameter(x, where)
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)


# ---------------------------------------------------------------- poisson
cdef Op POISSON = Op("poisson(Tensor x, Generator? generator=None) -> Tensor", checks_values=True)

POISSON.derivative("x")(zeros_in_place_of)

@POISSON.infer
def poisson_infer(TensorBase x, generator):
    return drawn_like(x, generator, "poisson")

@POISSON.kernel
def poisson_kernel(TensorBase out, TensorBase x, generator):
    cdef Generator source = generator_or_default(generator, "poisson")
    cdef TensorBase rates = plain_as(x, FLOAT64), made = empty_beside(x, FLOAT64, 1, &x.numel_)
    cdef double* rate = <double*>memory_of(rates)
    cdef double* number = <double*>memory_of(made)
    cdef ssize i
    for i in range(x.numel_):
        if not rate[i] >= 0:
            raise ShapeError(f"poisson: a rate is {rate[i]}; all must be at least 0")
    for i in range(x.numel_):
        number[i] = draw_poisson(rate[i], source)
    copy_into(out, (<object>made).view(x.shape))

def poisson(TensorBase input not None, generator=None):
    """Numbers of the Poisson distribution: how many events happen where `input` are expected.

    Parameters
    ----------
    input : floating Tensor, the rates, at least 0
    generator : Generator, the default one if not given

    Raises
    ------
    ShapeError
        If a rate is negative or nan. Then nothing has been drawn.

    Notes
    -----
    The gradient with respect to the rates is 0.

    >>> import tensorlab
    >>> tensorlab.poisson(tensorlab.tensor([0., 0.]))
    tensor([0., 0.])
    """
    return run_2(POISSON, input, generator)


# ---------------------------------------------------------------- binomial
cdef Op BINOMIAL = Op("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor")

@BINOMIAL.derivative("count")
def binomial_derivative_count(grad):
    raise no_derivative("binomial", "count")

@BINOMIAL.derivative("prob")
def binomial_derivative_prob(grad):
    raise no_derivative("binomial", "prob")

@BINOMIAL.infer
def binomial_infer(TensorBase count, TensorBase prob, generator):
    return drawn_like(count, generator, "binomial")

cdef void binomial_row(real* out, const real* count, const real* prob, ssize n, Generator source) noexcept:
    cdef ssize i
    for i in range(n):
        out[i] = draw_binomial(count[i], prob[i], source)

@BINOMIAL.kernel
def binomial_kernel(TensorBase out, TensorBase count, TensorBase prob, generator):
    cdef Generator source = generator_or_default(generator, "binomial")
    cdef int dtype = kernel_dtype(count.dtype_)
    cdef TensorBase counts = plain_as(count, dtype), probs = plain_as(prob, dtype)
    cdef TensorBase made = empty_beside(count, dtype, 1, &count.numel_)
    if is_double(dtype):
        binomial_row[double](<double*>memory_of(made), <double*>memory_of(counts), <double*>memory_of(probs), count.numel_,
                             source)
    else:
        binomial_row[float](<float*>memory_of(made), <float*>memory_of(counts), <float*>memory_of(probs), count.numel_, source)
    copy_into(out, (<object>made).view(count.shape))

def binomial(TensorBase count not None, TensorBase prob not None, generator=None):
    """Numbers of the binomial distribution: how many of `count` trials succeed, each with probability `prob`.

    Parameters
    ----------
    count : floating Tensor; whole numbers, below 0 they count as 0
    prob : Tensor of the same type, broadcast with `count`; what is outside of [0, 1] counts as the nearer end
    generator : Generator, the default one if not given

    Raises
    ------
    DTypeError
        If the types are not floating, or differ.

    >>> import tensorlab
    >>> tensorlab.binomial(tensorlab.tensor([5., 5.]), tensorlab.tensor([0., 1.]))
    tensor([0., 5.])
    """
    if not is_in(count.dtype_, FLOATING):
        raise ValueError(f"binomial: count has type {count.dtype}; give whole numbers in a floating type")
    if not is_in(prob.dtype_, FLOATING):
        raise ValueError(f"binomial: prob has type {prob.dtype}; give probabilities in a floating type")
    if count.dtype_ != prob.dtype_:
        raise DTypeError(f"binomial: count has type {count.dtype}, and prob {prob.dtype}; give both one type")
    counts, probs = broadcast_tensors(count, prob)
    return run_3(BINOMIAL, counts, probs, generator)


# ---------------------------------------------------------------- gamma
cdef Op STANDARD_GAMMA = Op("_standard_gamma(Tensor x, Generator? generator=None) -> Tensor", node="StandardGammaBackward0")

@STANDARD_GAMMA.infer
def standard_gamma_infer(TensorBase x, generator):
    return drawn_like(x, generator, "_standard_gamma")

cdef void gamma_row(real* out, const real* alpha, ssize n, Generator source) noexcept:
    """A sample below the smallest normal number is that: its logarithm is finite."""
    cdef real least = FLT_MIN if real is float else DBL_MIN
    cdef ssize i
    if real is float:
        fill_gamma(out, alpha, n, source)
    else:
        for i in range(n):
            out[i] = draw_gamma(alpha[i], source)
    for i in range(n):
        out[i] = least if out[i] < least else out[i]

@STANDARD_GAMMA.kernel
def standard_gamma_kernel(TensorBase out, TensorBase x, generator):
    cdef Generator source = generator_or_default(generator, "_standard_gamma")
    cdef int dtype = kernel_dtype(x.dtype_)
    cdef TensorBase alphas = plain_as(x, dtype), made = empty_beside(x, dtype, 1, &x.numel_)
    if is_double(dtype):
        gamma_row[double](<double*>memory_of(made), <double*>memory_of(alphas), x.numel_, source)
    else:
        gamma_row[float](<float*>memory_of(made), <float*>memory_of(alphas), x.numel_, source)
    copy_into(out, (<object>made).view(x.shape))

@STANDARD_GAMMA.derivative("x")
def standard_gamma_derivative(grad, x, out):
    return grad * _standard_gamma_grad(x, out)

def _standard_gamma(TensorBase input not None, generator=None):
    """Numbers of the gamma distribution with shape `input` and scale 1, differentiable with respect to the shape.

    >>> import tensorlab
    >>> bool(tensorlab._standard_gamma(tensorlab.tensor([1., 20.])).gt(0).all())
    True
    """
    return run_2(STANDARD_GAMMA, input, generator)


# ---------------------------------------------------------------- dirichlet
cdef Op SAMPLE_DIRICHLET = Op("_sample_dirichlet(Tensor x, Generator? generator=None) -> Tensor", node="SampleDirichletBackward0")

@SAMPLE_DIRICHLET.infer
def sample_dirichlet_infer(TensorBase x, generator):
    return drawn_like(x, generator, "_sample_dirichlet")

@SAMPLE_DIRICHLET.kernel
def sample_dirichlet_kernel(TensorBase out, TensorBase x, generator):
    cdef Generator source = generator_or_default(generator, "_sample_dirichlet")
    cdef TensorBase alphas = plain_as(x, FLOAT64), made = empty_beside(x, FLOAT64, 1, &x.numel_)
    cdef double* number = <double*>memory_of(made)
    cdef double* alpha = <double*>memory_of(alphas)
    cdef ssize i
    for i in range(x.numel_):
        number[i] = draw_gamma[double](alpha[i], source)
    parts = (<object>made).view(x.shape)
    parts = (parts / parts.sum(-1, keepdim=True)).to(x.dtype)
    limits = finfo(x.dtype)
    copy_into(out, parts.clamp(limits.tiny, 1 - limits.eps / 2))         # neither 0 nor 1: their logarithms are finite

@SAMPLE_DIRICHLET.derivative("x")
def sample_dirichlet_derivative(grad, x, out):
    rate = _dirichlet_grad(out, x, x.sum(-1, keepdim=True).expand_as(x))
    return rate * (grad - (out * grad).sum(-1, keepdim=True))

def _sample_dirichlet(TensorBase input not None, generator=None):
    """Numbers of the Dirichlet distribution: parts of 1 along the last dimension, differentiable with respect to `input`.

    >>> import tensorlab
    >>> tensorlab._sample_dirichlet(tensorlab.tensor([1., 2., 3.])).sum()
    tensor(1.)
    """
    return run_2(SAMPLE_DIRICHLET, input, generator)

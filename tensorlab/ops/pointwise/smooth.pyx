"""Activation functions that bend smoothly: gelu, silu, mish, softplus, logsigmoid.

Each has one loop for the function and one for the gradient, so that a layer costs one pass over memory each way. relu and its
relatives are in rectifiers.pyx; sigmoid and tanh in elementary.pyx.
"""
from tensorlab._core.dispatch.dispatch cimport (
    run_binary, run_quaternary, run_ternary, run_unary, run_unary_inplace
)
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dtypes cimport FLOATING
from tensorlab._core.tensor cimport TensorBase

import math

from tensorlab._core.loops.scalar import Guarded

cdef extern from "smooth_loops.h":          # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 8192                # these loops cost several times what a sum costs


# ---------------------------------------------------------------- gelu
cdef Op GELU = Op("gelu(Tensor x) -> Tensor",
                  fixed='*, str approximate="none"', dtype="promote",
                  scalar={"floating": "tl_gelu@(x)"}, grain=GRAIN, exact_out=True)

@GELU.derivative("x")
def gelu_derivative(grad, x):
    return run_binary(GELU_BACKWARD, grad, x)

def gelu(TensorBase input not None, *, str approximate="none", out=None):
    """x times the probability that a standard normal number is below x.

    Parameters
    ----------
    approximate : "none", or "tanh" for 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))

    Source: Hendrycks and Gimpel 2016, Gaussian error linear units.

    >>> import tensorlab
    >>> tensorlab.nn.functional.gelu(tensorlab.tensor([-1., 0., 1.]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate == "none":
        return run_unary(GELU, input, out)
    if approximate == "tanh":
        return run_unary(GELU_TANH, input, out)
    raise RuntimeError(f"gelu: approximate is {approximate!r}; it must be 'none' or 'tanh'")


# ---------------------------------------------------------------- gelu_backward
cdef Op GELU_BACKWARD = Op("gelu_backward(Tensor grad, Tensor x) -> Tensor", dtype="promote",
                           scalar={"floating": "grad * gelu_slope#(x)"}, grain=GRAIN)

@GELU_BACKWARD.derivative("grad")
def gelu_backward_derivative_grad(grad, x):
    return run_binary(GELU_BACKWARD, grad, x)

@GELU_BACKWARD.derivative("x")
def gelu_backward_derivative_x(grad, grad_, x):
    square = x * x
    return grad * grad_ * ((2 - square) * (square * -0.5).exp() * (1 / math.sqrt(2 * math.pi)))


# ---------------------------------------------------------------- gelu_tanh
cdef double TANH_RATE = 0.7978845608028654          # sqrt(2 / pi)
cdef double TANH_CUBIC = 0.044715

cdef Op GELU_TANH = Op("gelu_tanh(Tensor x) -> Tensor", aten=None, dtype="promote",
                       scalar={"floating": "gelu_tanh#(x)"},
                       node="GeluBackward0", grain=GRAIN, exact_out=True)

@GELU_TANH.derivative("x")
def gelu_tanh_derivative(grad, x):
    return run_binary(GELU_TANH_BACKWARD, grad, x)


# ---------------------------------------------------------------- gelu_tanh_backward
cdef Op GELU_TANH_BACKWARD = Op("gelu_tanh_backward(Tensor grad, Tensor x) -> Tensor",
                                dtype="promote",
                                scalar={"floating": "gelu_tanh_backward#(grad, x)"},
                                grain=GRAIN)

@GELU_TANH_BACKWARD.derivative("grad")
def gelu_tanh_backward_derivative_grad(grad, x):
    return run_binary(GELU_TANH_BACKWARD, grad, x)

@GELU_TANH_BACKWARD.derivative("x")
def gelu_tanh_backward_derivative_x(grad, grad_, x):
    square = x * x
    t = (x * (1 + TANH_CUBIC * square) * TANH_RATE).tanh()
    inner = TANH_RATE * (1 + 3 * TANH_CUBIC * square)           # first and second derivative of tanh's argument
    inner_2 = 6 * TANH_RATE * TANH_CUBIC * x
    t_1 = (1 - t * t) * inner
    t_2 = (1 - t * t) * inner_2 - 2 * t * t_1 * inner
    return grad * grad_ * (t_1 + 0.5 * x * t_2)


# ---------------------------------------------------------------- silu
cdef Op SILU = Op("silu(Tensor x) -> Tensor", dtype="promote",
                  scalar={"floating": "x * tl_sigmoid@(x)",
                          "complex": Guarded("x / ((T)1 + complex_exp_near#(-x))",
                                             unless="is_far#(x)",
                                             otherwise="x / ((T)1 + cexp@(-x))")},
                  grain=GRAIN)

@SILU.derivative("x")
def silu_derivative(grad, x):
    return run_binary(SILU_BACKWARD, grad, x)

def silu(TensorBase input not None, bint inplace=False):
    """x times sigmoid(x), also called swish.

    >>> import tensorlab
    >>> tensorlab.nn.functional.silu(tensorlab.tensor([-1., 0., 1.]))
    tensor([-0.2689,  0.0000,  0.7311])
    """
    return run_unary_inplace(SILU, input) if inplace else run_unary(SILU, input)


# ---------------------------------------------------------------- silu_backward
cdef Op SILU_BACKWARD = Op("silu_backward(Tensor grad, Tensor x) -> Tensor",
                           public={"grad": "grad_output"},
                           aten="silu_backward", dtype="promote",
                           scalar={"floating": "silu_backward#(grad, x)",
                                   "complex": "complex_silu_backward#(grad, x)"},
                           grain=GRAIN)

@SILU_BACKWARD.derivative("grad")
def silu_backward_derivative_grad(grad, x):
    return run_binary(SILU_BACKWARD, grad, x)

@SILU_BACKWARD.derivative("x")
def silu_backward_derivative_x(grad, grad_, x):
    s = x.sigmoid()
    return grad * grad_ * (s * (1 - s) * (2 + x * (1 - 2 * s)))


# ---------------------------------------------------------------- mish
cdef Op MISH = Op("mish(Tensor x) -> Tensor", dtype="promote",
                  scalar={"floating": "x * tl_tanh@(tl_softplus@(x))"}, grain=GRAIN)

@MISH.derivative("x")
def mish_derivative(grad, x):
    return run_binary(MISH_BACKWARD, grad, x)

def mish(TensorBase input not None, bint inplace=False):
    """x times tanh(softplus(x)).

    Source: Misra 2020, Mish: a self regularized non-monotonic activation function.

    >>> import tensorlab
    >>> tensorlab.nn.functional.mish(tensorlab.tensor([-1., 0., 1.]))
    tensor([-0.3034,  0.0000,  0.8651])
    """
    return run_unary_inplace(MISH, input) if inplace else run_unary(MISH, input)


# ---------------------------------------------------------------- mish_backward
cdef Op MISH_BACKWARD = Op("mish_backward(Tensor grad, Tensor x) -> Tensor",
                           public={"grad": "grad_output"},
                           aten="mish_backward", dtype="promote",
                           scalar={"floating": "mish_backward#(grad, x)"}, grain=GRAIN)

@MISH_BACKWARD.derivative("grad")
def mish_backward_derivative_grad(grad, x):
    return run_binary(MISH_BACKWARD, grad, x)

@MISH_BACKWARD.derivative("x")
def mish_backward_derivative_x(grad, grad_, x):
    s = x.sigmoid()
    t = softplus(x).tanh()
    t_1 = (1 - t * t) * s                                       # first and second derivative of t
    t_2 = (1 - t * t) * s * (1 - s) - 2 * t * t_1 * s
    return grad * grad_ * (2 * t_1 + x * t_2)


# ---------------------------------------------------------------- softplus
cdef Op SOFTPLUS = Op(
    "softplus(Tensor x, Scalar beta=1, Scalar threshold=20) -> Tensor",
    dtype="promote",
    scalar={"floating": "x * beta > threshold ? x : tl_softplus@(x * beta) / beta"},
    grain=GRAIN, exact_out=True)

@SOFTPLUS.derivative("x")
def softplus_derivative(grad, x, beta, threshold):
    return run_quaternary(SOFTPLUS_BACKWARD, grad, x, beta, threshold)

def softplus(TensorBase input not None, double beta=1, double threshold=20, *, out=None):
    """log(1 + exp(beta x)) / beta: a smooth relu; x itself where beta x is above `threshold`.

    >>> import tensorlab
    >>> tensorlab.nn.functional.softplus(tensorlab.tensor([-1., 0., 30.]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """
    check_dtype("softplus", input, FLOATING)
    return run_ternary(SOFTPLUS, input, beta, threshold, out)


# ---------------------------------------------------------------- softplus_backward
cdef Op SOFTPLUS_BACKWARD = Op(
    "softplus_backward(Tensor grad, Tensor x, Scalar beta, Scalar threshold) -> Tensor",
    public={"grad": "grad_output"}, aten="softplus_backward", dtype="promote",
    scalar={"floating": "x * beta > threshold ? grad : grad * tl_sigmoid@(x * beta)"},
    grain=GRAIN)

@SOFTPLUS_BACKWARD.derivative("grad")
def softplus_backward_derivative_grad(grad, x, beta, threshold):
    return run_quaternary(SOFTPLUS_BACKWARD, grad, x, beta, threshold)

@SOFTPLUS_BACKWARD.derivative("x")
def softplus_backward_derivative_x(grad, grad_, x, beta, threshold):
    s = (x * beta).sigmoid()
    return (grad * grad_ * (s * (1 - s) * beta)).masked_fill(x * beta > threshold, 0)


# ---------------------------------------------------------------- logsigmoid
cdef Op LOGSIGMOID = Op("log_sigmoid(Tensor x) -> Tensor", dtype="promote",
                        scalar={"floating": "-tl_softplus@(-x)"}, grain=GRAIN, exact_out=True)

@LOGSIGMOID.derivative("x")
def logsigmoid_derivative(grad, x):
    return run_binary(LOGSIGMOID_BACKWARD, grad, x)

def logsigmoid(TensorBase input not None, *, out=None):
    """log(sigmoid(x)), without underflow for negative x.

    >>> import tensorlab
    >>> tensorlab.nn.functional.logsigmoid(tensorlab.tensor([-1000., 0.]))
    tensor([-1.0000e+03, -6.9315e-01])
    """
    return run_unary(LOGSIGMOID, input, out)


# ---------------------------------------------------------------- logsigmoid_backward
cdef Op LOGSIGMOID_BACKWARD = Op("log_sigmoid_backward(Tensor grad, Tensor x) -> Tensor",
                                 dtype="promote", scalar={"floating": "grad * tl_sigmoid@(-x)"},
                                 grain=GRAIN)

@LOGSIGMOID_BACKWARD.derivative("grad")
def logsigmoid_backward_derivative_grad(grad, x):
    return run_binary(LOGSIGMOID_BACKWARD, grad, x)

@LOGSIGMOID_BACKWARD.derivative("x")
def logsigmoid_backward_derivative_x(grad, grad_, x):
    s = x.sigmoid()
    return grad * grad_ * (s * (s - 1))


set_loops(tl_loops)

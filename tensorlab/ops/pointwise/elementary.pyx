"""Exponentials, logarithms and what is made of them: sigmoid, logit, logaddexp.

Circular and hyperbolic functions have their own files, and so have erf and its relatives.
"""
from tensorlab._core.dispatch.dispatch cimport run_binary, run_binary_inplace, run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dtypes cimport COMPLEX, is_in
from tensorlab._core.dispatch.out_argument cimport store_out
from tensorlab._core.tensor cimport TensorBase

import math

from tensorlab._core.loops.scalar import Guarded, Searched
from tensorlab.ops.pointwise.common import inplace_function

cdef extern from "elementary_loops.h":      # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 8192                # these loops cost several times what a sum costs


# ---------------------------------------------------------------- exp
cdef Op EXP = Op("exp(Tensor x) -> Tensor", dtype="floating",
                 scalar={"floating": Searched("tl_exp_usual@(x)", unless="tl_exp_is_special@(x)",
                                              otherwise="tl_exp@(x)"),
                         "complex": Guarded("complex_exp_near#(x)", unless="is_far#(x)", otherwise="cexp@(x)")},
                 grain=GRAIN)

@EXP.derivative("x")
def exp_derivative(grad, out):
    return grad * out

def exp(TensorBase input not None, *, out=None):
    """e to the power of each element.

    >>> import tensorlab
    >>> tensorlab.exp(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 2.7183])
    """
    return run_unary(EXP, input, out)

exp_ = inplace_function(EXP, exp)


# ---------------------------------------------------------------- exp2
cdef Op EXP2 = Op("exp2(Tensor x) -> Tensor", dtype="floating",
                  scalar={"floating": "tl_exp2@(x)",
                          "complex": "cexp@(x * (R)0.69314718055994530942)"},
                  grain=GRAIN)

@EXP2.derivative("x")
def exp2_derivative(grad, out):
    return grad * (out * math.log(2))

def exp2(TensorBase input not None, *, out=None):
    """2 to the power of each element.

    >>> import tensorlab
    >>> tensorlab.exp2(tensorlab.tensor([0., 3.]))
    tensor([1., 8.])
    """
    return run_unary(EXP2, input, out)

exp2_ = inplace_function(EXP2, exp2)


# ---------------------------------------------------------------- expm1
cdef Op EXPM1 = Op("expm1(Tensor x) -> Tensor", dtype="floating",
                   scalar={"floating": "tl_expm1@(x)", "complex": "complex_expm1#(x)"},
                   grain=GRAIN)

@EXPM1.derivative("x")
def expm1_derivative(grad, out):
    return grad * (out + 1)

def expm1(TensorBase input not None, *, out=None):
    """exp(x) - 1 of each element, with all its digits where x is small.

    >>> import tensorlab
    >>> tensorlab.expm1(tensorlab.tensor([0., 1e-10], dtype=tensorlab.float64))
    tensor([0.0000e+00, 1.0000e-10], dtype=tensorlab.float64)
    """
    return run_unary(EXPM1, input, out)

expm1_ = inplace_function(EXPM1, expm1)


# ---------------------------------------------------------------- log
cdef Op LOG = Op("log(Tensor x) -> Tensor", dtype="floating",
                 scalar={"floating": Searched("tl_log_usual@(x)", unless="tl_log_is_special@(x)",
                                              otherwise="tl_log@(x)"),
                         "complex": "clog@(x)"},
                 grain=GRAIN)

@LOG.derivative("x")
def log_derivative(grad, x):
    return grad / x

def log(TensorBase input not None, *, out=None):
    """Natural logarithm of each element: -inf for 0, nan for negative ones.

    >>> import tensorlab
    >>> tensorlab.log(tensorlab.tensor([1., 10.]))
    tensor([0.0000, 2.3026])
    """
    return run_unary(LOG, input, out)

log_ = inplace_function(LOG, log)


# ---------------------------------------------------------------- log2
cdef Op LOG2 = Op("log2(Tensor x) -> Tensor", dtype="floating",
                  scalar={"float32": "(float)log2_for_float(x)",
                          "floating": "log2(x)",
                          "complex": "clog@(x) / (R)0.69314718055994530942"},
                  grain=GRAIN)

@LOG2.derivative("x")
def log2_derivative(grad, x):
    return grad / (x * math.log(2))

def log2(TensorBase input not None, *, out=None):
    """Logarithm to base 2 of each element.

    >>> import tensorlab
    >>> tensorlab.log2(tensorlab.tensor([1., 8.]))
    tensor([0., 3.])
    """
    return run_unary(LOG2, input, out)

log2_ = inplace_function(LOG2, log2)


# ---------------------------------------------------------------- log10
cdef Op LOG10 = Op("log10(Tensor x) -> Tensor", dtype="floating",
                   scalar={"float32": "(float)(log2_for_float(x) * 0.3010299956639812)",
                           "floating": "log10(x)",
                           "complex": "clog@(x) / (R)2.30258509299404568402"},
                   grain=GRAIN)

@LOG10.derivative("x")
def log10_derivative(grad, x):
    return grad / (x * math.log(10))

def log10(TensorBase input not None, *, out=None):
    """Logarithm to base 10 of each element.

    >>> import tensorlab
    >>> tensorlab.log10(tensorlab.tensor([1., 1000.]))
    tensor([0., 3.])
    """
    return run_unary(LOG10, input, out)

log10_ = inplace_function(LOG10, log10)


# ---------------------------------------------------------------- log1p
cdef Op LOG1P = Op("log1p(Tensor x) -> Tensor", dtype="floating",
                   scalar={"floating": "tl_log1p@(x)", "complex": "complex_log1p#(x)"},
                   grain=GRAIN)

@LOG1P.derivative("x")
def log1p_derivative(grad, x):
    return grad / (x + 1)

def log1p(TensorBase input not None, *, out=None):
    """log(1 + x) of each element, with all its digits where x is small.

    >>> import tensorlab
    >>> tensorlab.log1p(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.6931])
    """
    return run_unary(LOG1P, input, out)

log1p_ = inplace_function(LOG1P, log1p)


# ---------------------------------------------------------------- sigmoid
cdef Op SIGMOID = Op("sigmoid(Tensor x) -> Tensor", dtype="floating",
                     scalar={"floating": "tl_sigmoid@(x)",
                             "complex": Guarded("(T)1 / ((T)1 + complex_exp_near#(-x))",
                                                unless="is_far#(x)",
                                                otherwise="(T)1 / ((T)1 + cexp@(-x))")},
                     grain=GRAIN)

@SIGMOID.derivative("x")
def sigmoid_derivative(grad, out):
    return run_binary(SIGMOID_BACKWARD, grad, out)          # grad * out * (1 - out) in one pass over memory

def sigmoid(TensorBase input not None, *, out=None):
    """The logistic function 1 / (1 + exp(-x)) of each element.

    >>> import tensorlab
    >>> tensorlab.sigmoid(tensorlab.tensor([-2., 0., 2.]))
    tensor([0.1192, 0.5000, 0.8808])
    """
    return run_unary(SIGMOID, input, out)

sigmoid_ = inplace_function(SIGMOID, sigmoid)


# ---------------------------------------------------------------- sigmoid_backward
cdef Op SIGMOID_BACKWARD = Op("sigmoid_backward(Tensor grad, Tensor y) -> Tensor",
                              public={"grad": "grad_output", "y": "output"},
                              aten="sigmoid_backward",
                              dtype="floating", scalar={"inexact": "grad * ((T)1 - y) * y"})

@SIGMOID_BACKWARD.derivative("grad")
def sigmoid_backward_derivative_grad(grad, y):
    return run_binary(SIGMOID_BACKWARD, grad, y)

@SIGMOID_BACKWARD.derivative("y")
def sigmoid_backward_derivative_y(grad, grad_, y):
    return grad * grad_ * (1 - y * 2)


# ---------------------------------------------------------------- logit
cdef Op LOGIT = Op("logit(Tensor x, Scalar eps) -> Tensor", aten=None, dtype="floating",
                   scalar="logit#(x, eps)", grain=GRAIN, wraps_numbers=False)

@LOGIT.derivative("x")
def logit_derivative(grad, x, eps):
    slope = grad / (x * (1 - x))
    if eps < 0:
        return slope.masked_fill((x < 0) | (x > 1), math.nan)
    return slope.masked_fill((x < eps) | (x > 1 - eps), 0)

def logit(TensorBase input not None, eps=None, *, out=None):
    """Inverse of sigmoid, log(p / (1 - p)); nan outside of [0, 1] unless `eps` is given.

    Parameters
    ----------
    eps : float, optional; `input` is clamped to [eps, 1 - eps] first

    >>> import tensorlab
    >>> tensorlab.logit(tensorlab.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
    eps = -1.0 if eps is None else float(eps)
    return run_binary(LOGIT, input, eps, out)

def logit_(TensorBase input not None, eps=None):
    """`logit`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([0.5]).logit_()
    tensor([0.])
    """
    return run_binary_inplace(LOGIT, input, -1.0 if eps is None else float(eps))


# ---------------------------------------------------------------- logaddexp
cdef Op LOGADDEXP = Op("logaddexp(Tensor x, Tensor y) -> Tensor", dtype="promote",
                       scalar={"floating": "logaddexp#(x, y, (T)1)"}, grain=GRAIN)

@LOGADDEXP.derivative("x")
def logaddexp_derivative_x(grad, x, y):
    return grad * run_unary(SIGMOID, x - y)

@LOGADDEXP.derivative("y")
def logaddexp_derivative_y(grad, x, y):
    return grad * run_unary(SIGMOID, y - x)

def logaddexp(TensorBase input not None, TensorBase other not None, *, out=None):
    """log(exp(x) + exp(y)) of each pair of elements, without overflow.

    >>> import tensorlab
    >>> tensorlab.logaddexp(tensorlab.tensor([1000.]), tensorlab.tensor([1000.]))
    tensor([1000.6932])
    """
    if is_in(input.dtype_, COMPLEX) or is_in(other.dtype_, COMPLEX):
        larger = input.where(input.real > other.real, other)
        return store_out("logaddexp", ((input - larger).exp() + (other - larger).exp()).log() + larger, out, (input, other))
    return run_binary(LOGADDEXP, input, other, out)


# ---------------------------------------------------------------- logaddexp2
cdef Op LOGADDEXP2 = Op("logaddexp2(Tensor x, Tensor y) -> Tensor", dtype="promote",
                        scalar={"floating": "logaddexp#(x, y, (T)0.6931471805599453)"},
                        grain=GRAIN)

@LOGADDEXP2.derivative("x")
def logaddexp2_derivative_x(grad, x, y):
    return grad * run_unary(SIGMOID, (x - y) * math.log(2))

@LOGADDEXP2.derivative("y")
def logaddexp2_derivative_y(grad, x, y):
    return grad * run_unary(SIGMOID, (y - x) * math.log(2))

def logaddexp2(TensorBase input not None, TensorBase other not None, *, out=None):
    """log2(2**x + 2**y) of each pair of elements, without overflow.

    >>> import tensorlab
    >>> tensorlab.logaddexp2(tensorlab.tensor([1000.]), tensorlab.tensor([1000.]))
    tensor([1001.])
    """
    return run_binary(LOGADDEXP2, input, other, out)


# ---------------------------------------------------------------- tanh
cdef Op TANH = Op("tanh(Tensor x) -> Tensor", dtype="floating",
                  scalar={"floating": "tl_tanh@(x)", "complex": "ctanh@(x)"},
                  grain=GRAIN)

@TANH.derivative("x")
def tanh_derivative(grad, out):
    return run_binary(TANH_BACKWARD, grad, out)     # grad * (1 - out * out), in one pass

def tanh(TensorBase input not None, *, out=None):
    """Hyperbolic tangent of each element.

    Returns
    -------
    Tensor of the same shape; integers become the default floating type

    >>> import tensorlab
    >>> tensorlab.tanh(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """
    return run_unary(TANH, input, out)

tanh_ = inplace_function(TANH, tanh)


# ---------------------------------------------------------------- tanh_backward
cdef Op TANH_BACKWARD = Op("tanh_backward(Tensor grad, Tensor y) -> Tensor",
                           public={"grad": "grad_output", "y": "output"},
                           aten="tanh_backward", dtype="floating",
                           scalar={"inexact": "grad * ((T)1 - y * y)"})

@TANH_BACKWARD.derivative("grad")
def tanh_backward_derivative_grad(grad, y):
    return run_binary(TANH_BACKWARD, grad, y)

@TANH_BACKWARD.derivative("y")
def tanh_backward_derivative_y(grad, grad_, y):
    return grad * grad_ * y * -2


set_loops(tl_loops)

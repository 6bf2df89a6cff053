"""Special functions: the error function and its relatives, the gamma function's logarithm and derivatives, xlogy."""
from tensorlab._core.dispatch.dispatch cimport run_binary, run_binary_inplace, run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.tensor cimport TensorBase

import math

from tensorlab._core.loops.scalar import Guarded
from tensorlab.ops.pointwise.common import inplace_function

cdef extern from "special_loops.h":         # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 2048                # most of these loops cost ten times what a sum costs


# ---------------------------------------------------------------- erf
cdef Op ERF = Op("erf(Tensor x) -> Tensor", dtype="floating", scalar="tl_erf@(x)", grain=GRAIN)

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
cdef Op ERFC = Op("erfc(Tensor x) -> Tensor", dtype="floating",
                  scalar={"float32": "(T)erfc_for_float(x)", "floating": "erfc(x)"}, grain=GRAIN)

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
cdef Op NDTR = Op("ndtr(Tensor x) -> Tensor", aten="special_ndtr", dtype="floating",
                  scalar="(T)(0.5 * erfc(-0.70710678118654752440 * x))", grain=GRAIN)

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
cdef Op ERFINV = Op("erfinv(Tensor x) -> Tensor", dtype="floating", scalar="tl_erfinv@(x)",
                    grain=GRAIN)

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
cdef Op LGAMMA = Op("lgamma(Tensor x) -> Tensor", dtype="floating",
                    scalar=Guarded("tl_lgamma_usual@(x)", unless="tl_log_is_special@(x)",
                                   otherwise="tl_lgamma@(x)"),
                    grain=GRAIN)

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
cdef Op DIGAMMA = Op("digamma(Tensor x) -> Tensor", dtype="floating",
                     scalar={"float32": Guarded("(T)digamma_above_0(x)", unless="!((x > 0) & (x < INFINITY))",
                                                otherwise="(T)digamma(x)"),
                             "floating": "digamma(x)"},
                     grain=GRAIN)

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
cdef Op POLYGAMMA = Op("polygamma(Tensor x, Scalar n) -> Tensor", aten=None, dtype="floating",
                       scalar="(T)polygamma(x, n)", grain=GRAIN, wraps_numbers=False)

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
    """`polygamma` as a method.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.0, 0.5]).polygamma(1)
    tensor([1.6449, 4.9348])
    """
    return polygamma(n, self)

def polygamma_(TensorBase self not None, int n):
    """`polygamma`, written over the tensor itself.

    >>> import tensorlab
    >>> tensorlab.tensor([1., 0.5]).polygamma_(1)
    tensor([1.6449, 4.9348])
    """
    if n < 0:
        raise RuntimeError(f"polygamma_: n is {n}; it must not be negative")
    return run_binary_inplace(POLYGAMMA, self, float(n))


# ---------------------------------------------------------------- xlogy
cdef Op XLOGY = Op("xlogy(Tensor x, Tensor y) -> Tensor", aten="xlogy.Tensor", dtype="floating",
                   scalar="xlogy#(x, y)", grain=GRAIN,
                   node="XlogyBackward2")

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


set_loops(tl_loops)

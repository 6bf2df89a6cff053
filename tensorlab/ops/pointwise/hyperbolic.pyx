"""Hyperbolic functions and their inverses: sinh, cosh, asinh, acosh, atanh.

tanh stands with the exponentials, in elementary.pyx.
"""
from tensorlab._core.dispatch.dispatch cimport run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.tensor cimport TensorBase

from tensorlab.ops.pointwise.common import inplace_function

cdef extern from "hyperbolic_loops.h":      # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 8192                # these loops cost several times what a sum costs


# ---------------------------------------------------------------- sinh
cdef Op SINH = Op("sinh(Tensor x) -> Tensor", dtype="floating",
                  scalar={"floating": "sinh#(x)", "complex": "csinh@(x)"}, grain=GRAIN)

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
cdef Op COSH = Op("cosh(Tensor x) -> Tensor", dtype="floating",
                  scalar={"floating": "cosh#(x)", "complex": "ccosh@(x)"}, grain=GRAIN)

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
cdef Op ASINH = Op("asinh(Tensor x) -> Tensor", dtype="floating",
                   scalar={"floating": "asinh#(x)", "complex": "casinh@(x)"},
                   grain=GRAIN)

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
cdef Op ACOSH = Op("acosh(Tensor x) -> Tensor", dtype="floating",
                   scalar={"floating": "acosh#(x)", "complex": "cacosh@(x)"},
                   grain=GRAIN)

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
cdef Op ATANH = Op("atanh(Tensor x) -> Tensor", dtype="floating",
                   scalar={"floating": "atanh#(x)", "complex": "catanh@(x)"},
                   grain=GRAIN)

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


set_loops(tl_loops)

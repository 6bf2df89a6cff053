"""Functions of probabilities: the normal distribution's logarithm and inverse, entropy, and erfc without its decay.

ndtr and erfc stand in special.pyx.
"""
from tensorlab._core.dispatch.dispatch cimport run_binary, run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, floating_loops, set_loops
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.pointwise.scipy_functions cimport Borrowed, apply_to_one

import math

cdef extern from "probabilities_loops.h":   # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 2048                # most of these loops cost ten times what a sum costs


# ---------------------------------------------------------------- erfcx
cdef Borrowed SCIPY_ERFCX = Borrowed("erfcx", NULL)

cdef void erfcx_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_ERFCX)

cdef Op ERFCX = Op("erfcx(Tensor x) -> Tensor", aten="special_erfcx", dtype="floating",
                   grain=GRAIN, node="SpecialErfcxBackward0")
floating_loops(ERFCX, &erfcx_loop[float], &erfcx_loop[double])

@ERFCX.derivative("x")
def erfcx_derivative(grad, x, out):
    return grad * (2 * x * out - 2 / math.sqrt(math.pi))

def erfcx(TensorBase input not None, *, out=None):
    """`exp(x * x) * erfc(x)`, which has all its digits where erfc is too small for a float.

    >>> import tensorlab
    >>> tensorlab.special.erfcx(tensorlab.tensor([0., 100.]))
    tensor([1.0000, 0.0056])
    """
    return run_unary(ERFCX, input, out)


# ---------------------------------------------------------------- log_ndtr
cdef Borrowed SCIPY_LOG_NDTR = Borrowed("log_ndtr", NULL)

cdef void log_ndtr_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_LOG_NDTR)

cdef Op LOG_NDTR = Op("log_ndtr(Tensor x) -> Tensor", aten="special_log_ndtr", dtype="floating",
                      grain=GRAIN, node="SpecialLogNdtrBackward0")
floating_loops(LOG_NDTR, &log_ndtr_loop[float], &log_ndtr_loop[double])

@LOG_NDTR.derivative("x")
def log_ndtr_derivative(grad, x, out):
    return grad * (-(out + x * x / 2)).exp() * (1 / math.sqrt(2 * math.pi))

def log_ndtr(TensorBase input not None, *, out=None):
    """Logarithm of `ndtr`, which has all its digits where ndtr is too small for a float.

    >>> import tensorlab
    >>> tensorlab.special.log_ndtr(tensorlab.tensor([0., -20.]))
    tensor([  -0.6931, -203.9172])
    """
    return run_unary(LOG_NDTR, input, out)


# ---------------------------------------------------------------- ndtri
cdef Borrowed SCIPY_NDTRI = Borrowed("ndtri", NULL)

cdef void ndtri_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_NDTRI)

cdef Op NDTRI = Op("ndtri(Tensor x) -> Tensor", aten="special_ndtri", dtype="floating",
                   grain=GRAIN, node="SpecialNdtriBackward0")
floating_loops(NDTRI, &ndtri_loop[float], &ndtri_loop[double])

@NDTRI.derivative("x")
def ndtri_derivative(grad, out):
    return grad * (out * out / 2).exp() * math.sqrt(2 * math.pi)

def ndtri(TensorBase input not None, *, out=None):
    """Inverse of `ndtr`: the number that a standard normal one is below with probability x; nan outside of [0, 1].

    >>> import tensorlab
    >>> tensorlab.special.ndtri(tensorlab.tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """
    return run_unary(NDTRI, input, out)


# ---------------------------------------------------------------- entr
cdef Op ENTR = Op("entr(Tensor x) -> Tensor", aten="special_entr", dtype="floating",
                  scalar="entr#(x)", grain=GRAIN, node="SpecialEntrBackward0")

@ENTR.derivative("x")
def entr_derivative(grad, x):
    return grad * (-1 - x.log())

def entr(TensorBase input not None, *, out=None):
    """`-x * log(x)`, what a probability adds to an entropy: 0 at 0, -inf below.

    >>> import tensorlab
    >>> tensorlab.special.entr(tensorlab.tensor([0., 0.5]))
    tensor([0.0000, 0.3466])
    """
    return run_unary(ENTR, input, out)


# ---------------------------------------------------------------- xlog1py
cdef Op XLOG1PY = Op("xlog1py(Tensor x, Tensor y) -> Tensor", aten="special_xlog1py", dtype="floating",
                     scalar="xlog1py#(x, y)", grain=GRAIN, node="SpecialXlog1PyBackward0")

@XLOG1PY.derivative("x")
def xlog1py_derivative_x(grad, x, y):
    return run_binary(XLOG1PY, grad, y).masked_fill((x == 0) & (y <= -1), 0)

@XLOG1PY.derivative("y")
def xlog1py_derivative_y(grad, x, y):
    return grad * (x / (y + 1))

def xlog1py(input, other, *, out=None):
    """`input * log1p(other)`, and 0 where `input` is 0 (unless `other` is nan).

    Parameters
    ----------
    input, other : Tensor or number, one of them a Tensor; broadcast

    >>> import tensorlab
    >>> tensorlab.special.xlog1py(tensorlab.tensor([0., 2.]), tensorlab.tensor([-1., 9.]))
    tensor([0.0000, 4.6052])
    """
    return run_binary(XLOG1PY, input, other, out)


set_loops(tl_loops)

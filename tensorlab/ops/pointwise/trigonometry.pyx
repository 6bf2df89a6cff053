"""Circular functions and their inverses, atan2, hypot, and angles in degrees."""
from tensorlab._core.dispatch.dispatch cimport run_binary, run_binary_inplace, run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.tensor cimport TensorBase

import math

from tensorlab._core.loops.scalar import Guarded
from tensorlab.ops.pointwise.common import inplace_function

cdef extern from "trigonometry_loops.h":    # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 8192                # these loops cost several times what a sum costs

# ---------------------------------------------------------------- sin
cdef Op SIN = Op("sin(Tensor x) -> Tensor", dtype="floating",
                 scalar={"floating": Guarded("tl_sin_near@(x, 0)",
                                             unless="tl_is_huge@(x)",
                                             otherwise="tl_sin@(x)"),
                         "complex": "csin@(x)"},
                 grain=GRAIN)

@SIN.derivative("x")
def sin_derivative(grad, x):
    return grad * x.cos()

def sin(TensorBase input not None, *, out=None):
    """Sine of each element, in radians.

    >>> import tensorlab
    >>> tensorlab.sin(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.8415])
    """
    return run_unary(SIN, input, out)

sin_ = inplace_function(SIN, sin)


# ---------------------------------------------------------------- cos
cdef Op COS = Op("cos(Tensor x) -> Tensor", dtype="floating",
                 scalar={"floating": Guarded("tl_sin_near@(x, 1)",
                                             unless="tl_is_huge@(x)",
                                             otherwise="tl_cos@(x)"),
                         "complex": "ccos@(x)"},
                 grain=GRAIN)

@COS.derivative("x")
def cos_derivative(grad, x):
    return grad * -x.sin()

def cos(TensorBase input not None, *, out=None):
    """Cosine of each element, in radians.

    >>> import tensorlab
    >>> tensorlab.cos(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 0.5403])
    """
    return run_unary(COS, input, out)

cos_ = inplace_function(COS, cos)


# ---------------------------------------------------------------- tan
# Sine over cosine, because both are SIMD code, and libm's tangent is not.
cdef Op TAN = Op("tan(Tensor x) -> Tensor", dtype="floating",
                 scalar={"floating": Guarded("tl_sin_near@(x, 0) / tl_sin_near@(x, 1)",
                                             unless="tl_is_huge@(x)",
                                             otherwise="tl_sin@(x) / tl_cos@(x)"),
                         "complex": "ctan@(x)"},
                 grain=GRAIN)

@TAN.derivative("x")
def tan_derivative(grad, out):
    return grad * (out * out + 1)

def tan(TensorBase input not None, *, out=None):
    """Tangent of each element, in radians.

    >>> import tensorlab
    >>> tensorlab.tan(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 1.5574])
    """
    return run_unary(TAN, input, out)

tan_ = inplace_function(TAN, tan)


# ---------------------------------------------------------------- asin
cdef Op ASIN = Op("asin(Tensor x) -> Tensor", dtype="floating",
                  scalar={"floating": "tl_asin@(x)",
                          "complex": "casin@(x)"},
                  grain=GRAIN)

@ASIN.derivative("x")
def asin_derivative(grad, x):
    return grad * (1 - x * x).rsqrt()

def asin(TensorBase input not None, *, out=None):
    """Inverse sine of each element, in radians; nan outside of [-1, 1].

    >>> import tensorlab
    >>> tensorlab.asin(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 1.5708])
    """
    return run_unary(ASIN, input, out)

asin_ = inplace_function(ASIN, asin)


# ---------------------------------------------------------------- acos
cdef Op ACOS = Op("acos(Tensor x) -> Tensor", dtype="floating",
                  scalar={"floating": "tl_acos@(x)",
                          "complex": "cacos@(x)"},
                  grain=GRAIN)

@ACOS.derivative("x")
def acos_derivative(grad, x):
    return grad * -(1 - x * x).rsqrt()

def acos(TensorBase input not None, *, out=None):
    """Inverse cosine of each element, in radians; nan outside of [-1, 1].

    >>> import tensorlab
    >>> tensorlab.acos(tensorlab.tensor([0., 1.]))
    tensor([1.5708, 0.0000])
    """
    return run_unary(ACOS, input, out)

acos_ = inplace_function(ACOS, acos)


# ---------------------------------------------------------------- atan
cdef Op ATAN = Op("atan(Tensor x) -> Tensor", dtype="floating",
                  scalar={"floating": "tl_atan@(x)",
                          "complex": "catan@(x)"},
                  grain=GRAIN)

@ATAN.derivative("x")
def atan_derivative(grad, x):
    return grad / (x * x + 1)

def atan(TensorBase input not None, *, out=None):
    """Inverse tangent of each element, in radians.

    >>> import tensorlab
    >>> tensorlab.atan(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.7854])
    """
    return run_unary(ATAN, input, out)

atan_ = inplace_function(ATAN, atan)


# ---------------------------------------------------------------- atan2
cdef Op ATAN2 = Op("atan2(Tensor y, Tensor x) -> Tensor", dtype="floating",
                   scalar="tl_atan2@(y, x)", grain=GRAIN, public={"y": "self", "x": "other"})

@ATAN2.derivative("y")
def atan2_derivative_y(grad, y, x):
    return grad * (x * inverse_square_radius(x, y))

@ATAN2.derivative("x")
def atan2_derivative_x(grad, y, x):
    return grad * -(y * inverse_square_radius(x, y))

cdef object inverse_square_radius(object x, object y):
    """1 / (x * x + y * y), taken as 0 at the origin, where the angle is undefined."""
    square = x * x + y * y
    return square.reciprocal().masked_fill(square == 0, 0)

def atan2(TensorBase input not None, TensorBase other not None, *, out=None):
    """Angle of the point (x = `other`, y = `input`), in radians from -pi to pi.

    >>> import tensorlab
    >>> tensorlab.atan2(tensorlab.tensor([1., 1.]), tensorlab.tensor([1., -1.]))
    tensor([0.7854, 2.3562])
    """
    return run_binary(ATAN2, input, other, out)

atan2_ = inplace_function(ATAN2, atan2, tensors_only=True)


# ---------------------------------------------------------------- hypot
cdef Op HYPOT = Op("hypot(Tensor x, Tensor y) -> Tensor", dtype="promote",
                   scalar={"floating": "tl_hypot@(x, y)"}, grain=GRAIN)

@HYPOT.derivative("x")
def hypot_derivative_x(grad, x, out):
    return grad * (x / out)

@HYPOT.derivative("y")
def hypot_derivative_y(grad, y, out):
    return grad * (y / out)

def hypot(TensorBase input not None, TensorBase other not None, *, out=None):
    """Length of the hypotenuse, sqrt(x * x + y * y), without overflow on the way.

    >>> import tensorlab
    >>> tensorlab.hypot(tensorlab.tensor([3.]), tensorlab.tensor([4.]))
    tensor([5.])
    """
    return run_binary(HYPOT, input, other, out)

hypot_ = inplace_function(HYPOT, hypot, tensors_only=True)


# ---------------------------------------------------------------- sinc
cdef Op SINC = Op("sinc(Tensor x) -> Tensor", dtype="floating",
                  scalar={"floating": "sinc#(x)", "complex": "complex_sinc#(x)"}, grain=GRAIN)

@SINC.derivative("x")
def sinc_derivative(grad, x):
    a = x * math.pi
    square = a * x                      # 0 long before x is
    return grad * ((a * a.cos() - a.sin()) / square).masked_fill(square == 0, 0)

def sinc(TensorBase input not None, *, out=None):
    """sin(pi x) / (pi x) of each element, and 1 at 0.

    >>> import tensorlab
    >>> tensorlab.sinc(tensorlab.tensor([0., 0.5]))
    tensor([1.0000, 0.6366])
    """
    return run_unary(SINC, input, out)

sinc_ = inplace_function(SINC, sinc)


# ---------------------------------------------------------------- degrees and radians
cdef Op SCALE = Op("scale_angle(Tensor x, Scalar factor) -> Tensor",
                   aten=None, dtype="floating",
                   scalar={"floating": "x * factor"}, node="MulBackward0")

@SCALE.derivative("x")
def scale_derivative(grad, factor):
    return grad * factor

def deg2rad(TensorBase input not None, *, out=None):
    """Degrees to radians.

    >>> import tensorlab
    >>> tensorlab.deg2rad(tensorlab.tensor([180., 90.]))
    tensor([3.1416, 1.5708])
    """
    return run_binary(SCALE, input, math.pi / 180, out)

def deg2rad_(TensorBase input not None):
    """`deg2rad`, written over `input`."""
    return run_binary_inplace(SCALE, input, math.pi / 180)

def rad2deg(TensorBase input not None, *, out=None):
    """Radians to degrees.

    >>> import tensorlab
    >>> tensorlab.rad2deg(tensorlab.tensor([1.]))
    tensor([57.2958])
    """
    return run_binary(SCALE, input, 180 / math.pi, out)

def rad2deg_(TensorBase input not None):
    """`rad2deg`, written over `input`."""
    return run_binary_inplace(SCALE, input, 180 / math.pi)


# other names that PyTorch has for the same functions
arccos, arccos_ = acos, acos_
arcsin, arcsin_ = asin, asin_
arctan, arctan_ = atan, atan_
arctan2, arctan2_ = atan2, atan2_


set_loops(tl_loops)

"""Circular functions and their inverses, atan2, hypot, and angles in degrees."""
from libc.math cimport M_PI, acos as c_acos, asin as c_asin, atan as c_atan, sin as c_sin

cimport tensorlab._core.loops.c_math as c_math
cimport tensorlab._core.loops.tl_math as tl_math
from tensorlab._core.dispatch.dispatch cimport run_binary, run_binary_inplace, run_unary
from tensorlab._core.dispatch.op cimport Op, floating_loops
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

import math

from tensorlab.ops.pointwise.common import inplace_function

cdef enum:
    GRAIN = 8192                # these loops cost several times what a sum costs
    BLOCK = 256

# ---------------------------------------------------------------- sin
cdef void sin_loop(real* out, real* x, ssize n) noexcept nogil:
    tl_math.sin_array(out, x, n)

cdef Op SIN = Op("sin(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(SIN, &sin_loop[float], &sin_loop[double])

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
cdef void cos_loop(real* out, real* x, ssize n) noexcept nogil:
    tl_math.cos_array(out, x, n)

cdef Op COS = Op("cos(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(COS, &cos_loop[float], &cos_loop[double])

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
cdef void tan_loop(real* out, real* x, ssize n) noexcept nogil:
    """Sine over cosine, block by block: both are SIMD code, libm's tangent is not."""
    cdef real[BLOCK] sine, cosine
    cdef ssize i, m, start = 0
    while start < n:
        m = min(n - start, <ssize>BLOCK)
        tl_math.sin_array(&sine[0], x + start, m)
        tl_math.cos_array(&cosine[0], x + start, m)
        for i in range(m):
            out[start + i] = sine[i] / cosine[i]
        start += m

cdef Op TAN = Op("tan(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(TAN, &tan_loop[float], &tan_loop[double])

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


# ---------------------------------------------------------------- one atan for three functions
cdef inline float atan_float(float x) noexcept nogil:
    """t + t * (a polynomial in t * t), fitted by least squares to 1.6e-8, with t = |x| or 1 / |x|; 2 ULP."""
    cdef float a = c_math.fabs(x), t = <float>1 / a if a > 1 else a, s = t * t
    cdef float p = (((<float>0.0028498520 * s - <float>0.016068479) * s + <float>0.042691275) * s - <float>0.075042740) * s
    p = (((p + <float>0.10640924) * s - <float>0.14203642) * s + <float>0.19992620) * s - <float>0.33333072
    t = t + t * (s * p)
    t = <float>1.57079637 - (t + <float>4.3711388e-8) if a > 1 else t       # pi / 2 in two parts
    return c_math.copysign(t, x)


# ---------------------------------------------------------------- asin
cdef inline float asin_float(float x) noexcept nogil:
    return atan_float(x / c_math.sqrt((<float>1 - x) * (<float>1 + x)))

cdef void asin_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = asin_float(x[i]) if real is float else c_asin(x[i])

cdef Op ASIN = Op("asin(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(ASIN, &asin_loop[float], &asin_loop[double])

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
cdef inline float acos_float(float x) noexcept nogil:
    return <float>2 * atan_float(c_math.sqrt((<float>1 - x) / (<float>1 + x)))

cdef void acos_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = acos_float(x[i]) if real is float else c_acos(x[i])

cdef Op ACOS = Op("acos(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(ACOS, &acos_loop[float], &acos_loop[double])

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
cdef void atan_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = atan_float(x[i]) if real is float else c_atan(x[i])

cdef Op ATAN = Op("atan(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(ATAN, &atan_loop[float], &atan_loop[double])

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
cdef void atan2_loop(real* out, real* y, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = c_math.atan2(y[i], x[i])

cdef Op ATAN2 = Op("atan2(Tensor y, Tensor x) -> Tensor", dtype="floating", grain=GRAIN, public={"y": "self", "x": "other"})
floating_loops(ATAN2, &atan2_loop[float], &atan2_loop[double])

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
cdef void hypot_loop(real* out, real* x, real* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = c_math.hypot(x[i], y[i])

cdef Op HYPOT = Op("hypot(Tensor x, Tensor y) -> Tensor", dtype="promote", grain=GRAIN)
floating_loops(HYPOT, &hypot_loop[float], &hypot_loop[double])

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
cdef inline real sinc_scalar(real x) noexcept nogil:
    cdef real a = <real>(x * M_PI)
    return <real>1 if x == 0 else <real>(c_sin(a) / a)

cdef void sinc_loop(real* out, real* x, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = sinc_scalar(x[i])

cdef Op SINC = Op("sinc(Tensor x) -> Tensor", dtype="floating", grain=GRAIN)
floating_loops(SINC, &sinc_loop[float], &sinc_loop[double])

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
cdef Op SCALE = Op("scale_angle(Tensor x, Scalar factor) -> Tensor", dtype="floating", node="MulBackward0")
floating_loops(SCALE, &scale_loop[float], &scale_loop[double])

cdef void scale_loop(real* out, real* x, real* factor, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = x[i] * factor[i]

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

"""The functions of tl_math.h for both floating types: `tl_math.exp(x)` has the type of x.

The functions are inlined, so a loop over one of them is vectorised as a loop over the C function is.
"""
from tensorlab._core.dtypes cimport real

cdef extern from "tl_math.h" nogil:
    float tl_expf(float)
    double tl_exp(double)
    float tl_logf(float)
    double tl_log(double)
    float tl_sigmoidf(float)
    double tl_sigmoid(double)
    float tl_softplusf(float)
    double tl_softplus(double)
    float tl_tanhf(float)
    double tl_tanh(double)


cdef inline real exp(real x) noexcept nogil:
    return tl_expf(x) if real is float else tl_exp(x)

cdef inline real log(real x) noexcept nogil:
    return tl_logf(x) if real is float else tl_log(x)

cdef inline real sigmoid(real x) noexcept nogil:
    return tl_sigmoidf(x) if real is float else tl_sigmoid(x)

cdef inline real softplus(real x) noexcept nogil:
    return tl_softplusf(x) if real is float else tl_softplus(x)

cdef inline real tanh(real x) noexcept nogil:
    return tl_tanhf(x) if real is float else tl_tanh(x)

"""The functions of tl_math.h for both floating types: `tl_math.exp(x)` has the type of x.

The functions are inlined, so a loop over one of them is vectorised as a loop over the C function is.
"""
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize

cdef extern from "tl_math.h" nogil:
    float tl_expf(float)
    double tl_exp(double)
    float tl_exp2f(float)
    double tl_exp2(double)
    float tl_expm1f(float)
    double tl_expm1(double)
    float tl_logf(float)
    double tl_log(double)
    float tl_log1pf(float)
    double tl_log1p(double)
    float tl_sigmoidf(float)
    double tl_sigmoid(double)
    float tl_softplusf(float)
    double tl_softplus(double)
    float tl_tanhf(float)
    double tl_tanh(double)
    float tl_erff(float)
    double tl_erf(double)
    float tl_geluf(float)
    double tl_gelu(double)
    float tl_sqrtf(float)
    double tl_sqrt(double)
    float tl_rsqrtf(float)
    double tl_rsqrt(double)
    void tl_logf_array(const float*, ssize, float*, ssize, ssize)
    void tl_log_array(const double*, ssize, double*, ssize, ssize)
    void tl_sinf_array(const float*, ssize, float*, ssize, ssize)
    void tl_sin_array(const double*, ssize, double*, ssize, ssize)
    void tl_cosf_array(const float*, ssize, float*, ssize, ssize)
    void tl_cos_array(const double*, ssize, double*, ssize, ssize)


cdef inline real exp(real x) noexcept nogil:
    return tl_expf(x) if real is float else tl_exp(x)

cdef inline real exp2(real x) noexcept nogil:
    return tl_exp2f(x) if real is float else tl_exp2(x)

cdef inline real expm1(real x) noexcept nogil:
    return tl_expm1f(x) if real is float else tl_expm1(x)

cdef inline real log(real x) noexcept nogil:
    return tl_logf(x) if real is float else tl_log(x)

cdef inline real log1p(real x) noexcept nogil:
    return tl_log1pf(x) if real is float else tl_log1p(x)

cdef inline real sigmoid(real x) noexcept nogil:
    return tl_sigmoidf(x) if real is float else tl_sigmoid(x)

cdef inline real softplus(real x) noexcept nogil:
    return tl_softplusf(x) if real is float else tl_softplus(x)

cdef inline real tanh(real x) noexcept nogil:
    return tl_tanhf(x) if real is float else tl_tanh(x)

cdef inline real erf(real x) noexcept nogil:
    return tl_erff(x) if real is float else tl_erf(x)

cdef inline real gelu(real x) noexcept nogil:
    return tl_geluf(x) if real is float else tl_gelu(x)

cdef inline real sqrt(real x) noexcept nogil:
    return tl_sqrtf(x) if real is float else tl_sqrt(x)

cdef inline real rsqrt(real x) noexcept nogil:
    return tl_rsqrtf(x) if real is float else tl_rsqrt(x)

cdef inline void log_array(real* out, const real* x, ssize n) noexcept nogil:
    if real is float:
        tl_logf_array(x, 1, out, 1, n)
    else:
        tl_log_array(x, 1, out, 1, n)

cdef inline void sin_array(real* out, const real* x, ssize n) noexcept nogil:
    if real is float:
        tl_sinf_array(x, 1, out, 1, n)
    else:
        tl_sin_array(x, 1, out, 1, n)

cdef inline void cos_array(real* out, const real* x, ssize n) noexcept nogil:
    if real is float:
        tl_cosf_array(x, 1, out, 1, n)
    else:
        tl_cos_array(x, 1, out, 1, n)

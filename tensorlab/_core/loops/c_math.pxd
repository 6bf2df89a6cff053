"""Functions of the C library for both floating types: `c_math.fabs(x)` has the type of x.

They stand apart from those of tl_math.pxd because of a setting for GCC in tl_math.h: it makes exponentials faster, but other
loops that choose between cases (norms.pyx) are not vectorised with it.
"""
from libc.math cimport (
    atan2 as c_atan2,
    atan2f,
    copysign as c_copysign,
    copysignf,
    fabs as c_fabs,
    fabsf,
    fma as c_fma,
    fmaf,
    hypot as c_hypot,
    hypotf,
    nextafter as c_nextafter,
    nextafterf,
    pow as c_pow,
    powf,
    sqrt as c_sqrt,
    sqrtf,
)

from tensorlab._core.dtypes cimport number, real


cdef inline real fabs(real x) noexcept nogil:
    return fabsf(x) if real is float else c_fabs(x)

cdef inline real atan2(real y, real x) noexcept nogil:
    return atan2f(y, x) if real is float else c_atan2(y, x)

cdef inline real copysign(real x, real y) noexcept nogil:
    return copysignf(x, y) if real is float else c_copysign(x, y)

cdef inline real hypot(real x, real y) noexcept nogil:
    return hypotf(x, y) if real is float else c_hypot(x, y)

cdef inline real nextafter(real x, real y) noexcept nogil:
    return nextafterf(x, y) if real is float else c_nextafter(x, y)

cdef inline real pow(real x, real y) noexcept nogil:
    return powf(x, y) if real is float else c_pow(x, y)

cdef inline real sqrt(real x) noexcept nogil:
    return sqrtf(x) if real is float else c_sqrt(x)

cdef inline number fma(number x, number y, number z) noexcept nogil:
    """x * y + z, rounded once."""
    if number is float:
        return fmaf(x, y, z)
    elif number is double:
        return c_fma(x, y, z)
    else:
        return <number>(x * y + z)

"""Functions of the C library for both floating types: `c_math.fabs(x)` has the type of x.

They stand apart from those of tl_math.pxd because of a setting for GCC in tl_math.h: it makes exponentials faster, but other
loops that choose between cases (norms.pyx) are not vectorised with it.
"""
from libc.math cimport fabs as c_fabs, fabsf, fma as c_fma, fmaf, pow as c_pow, powf, sqrt as c_sqrt, sqrtf

from tensorlab._core.dtypes cimport real


cdef inline real fabs(real x) noexcept nogil:
    return fabsf(x) if real is float else c_fabs(x)

cdef inline real pow(real x, real y) noexcept nogil:
    return powf(x, y) if real is float else c_pow(x, y)

cdef inline real sqrt(real x) noexcept nogil:
    return sqrtf(x) if real is float else c_sqrt(x)

cdef inline real fma(real x, real y, real z) noexcept nogil:
    """x * y + z, rounded once."""
    return fmaf(x, y, z) if real is float else c_fma(x, y, z)

"""Vectors of numbers in Cython, as wide as a register (vectors.h): +, -, * and / work on all lanes of a vector at once.

C has no literals of them: a number comes into all lanes with `all_of`.
"""
from tensorlab._core.layout cimport ssize

cdef extern from *:
    """
    #include <math.h>
    #include "vectors.h"
    /* x * y + z with one rounding, where the processor has an instruction for it. */
    #if defined(__AVX512F__) && defined(__GNUC__)
    #include <immintrin.h>
    #define tl_fused_32(x, y, z) ((tl_vector_32)_mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(z)))
    #define tl_fused_64(x, y, z) ((tl_vector_64)_mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(z)))
    #elif defined(__AVX__) && defined(__FMA__) && defined(__GNUC__)
    #include <immintrin.h>
    #define tl_fused_32(x, y, z) ((tl_vector_32)_mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(z)))
    #define tl_fused_64(x, y, z) ((tl_vector_64)_mm256_fmadd_pd((__m256d)(x), (__m256d)(y), (__m256d)(z)))
    #else
    #define tl_fused_32(x, y, z) ((x) * (y) + (z))
    #define tl_fused_64(x, y, z) ((x) * (y) + (z))
    #endif
    /* Comparisons of vectors give -1, all bits, or 0 in each lane. */
    #if defined(__GNUC__)
    #define TL_SELECT(mask, a, b) ((__typeof__(a))(((mask) & (__typeof__(mask))(a)) | (~(mask) & (__typeof__(mask))(b))))
    #else
    #define TL_SELECT(mask, a, b) ((mask) ? (a) : (b))
    #endif
    #define tl_where_more(x, y, a, b) TL_SELECT((x) > (y), a, b)
    #define tl_where_same(x, y, a, b) TL_SELECT((x) == (y), a, b)
    #define TL_LANES(bits, real, sqrt)                                                                                  \\
        static inline tl_vector_##bits tl_all_##bits(real x) {                                                          \\
            return x - (tl_vector_##bits){0};                                                                           \\
        }                                                                                                               \\
        static inline tl_vector_##bits tl_root_##bits(tl_vector_##bits x) {                                             \\
            real *lanes = (real *)&x;                                                                                   \\
            for (int i = 0; i < tl_lanes_##bits; i++) lanes[i] = sqrt(lanes[i]);                                        \\
            return x;                                                                                                   \\
        }
    TL_LANES(32, float, sqrtf)
    TL_LANES(64, double, sqrt)
    """
    ctypedef float floats "tl_vector_32"
    ctypedef double doubles "tl_vector_64"
    floats all_32 "tl_all_32"(float x) nogil
    doubles all_64 "tl_all_64"(double x) nogil
    floats root_32 "tl_root_32"(floats x) nogil
    doubles root_64 "tl_root_64"(doubles x) nogil
    floats fused_32 "tl_fused_32"(floats x, floats y, floats z) nogil
    doubles fused_64 "tl_fused_64"(doubles x, doubles y, doubles z) nogil
    floats where_more_32 "tl_where_more"(floats x, floats y, floats a, floats b) nogil
    doubles where_more_64 "tl_where_more"(doubles x, doubles y, doubles a, doubles b) nogil
    floats where_same_32 "tl_where_same"(floats x, floats y, floats a, floats b) nogil
    doubles where_same_64 "tl_where_same"(doubles x, doubles y, doubles a, doubles b) nogil

ctypedef fused lanes:
    floats
    doubles


cdef inline lanes all_of(double x, lanes* of_type) noexcept nogil:
    """x in each lane."""
    if lanes is floats:
        return all_32(<float>x)
    else:
        return all_64(x)

cdef inline lanes root(lanes x) noexcept nogil:
    if lanes is floats:
        return root_32(x)
    else:
        return root_64(x)

cdef inline lanes fused(lanes x, lanes y, lanes z) noexcept nogil:
    """x * y + z"""
    if lanes is floats:
        return fused_32(x, y, z)
    else:
        return fused_64(x, y, z)

cdef inline lanes where_more(lanes x, lanes y, lanes a, lanes b) noexcept nogil:
    """a in the lanes in which x > y, b in the others, as where nan is compared."""
    if lanes is floats:
        return where_more_32(x, y, a, b)
    else:
        return where_more_64(x, y, a, b)

cdef inline lanes where_same(lanes x, lanes y, lanes a, lanes b) noexcept nogil:
    """a in the lanes in which x == y, b in the others."""
    if lanes is floats:
        return where_same_32(x, y, a, b)
    else:
        return where_same_64(x, y, a, b)

cdef inline lanes absolute(lanes x) noexcept nogil:
    return where_more(x, -x, x, -x)

cdef inline double lane(lanes* x, ssize slot) noexcept nogil:
    """The number in lane slot."""
    if lanes is floats:
        return (<float*>x)[slot]
    else:
        return (<double*>x)[slot]

cdef inline void set_lane(lanes* x, ssize slot, double number) noexcept nogil:
    if lanes is floats:
        (<float*>x)[slot] = <float>number
    else:
        (<double*>x)[slot] = number

/* float16 (IEEE 754 binary16) and bfloat16, as 16 bits, from and to float32. Rounding is to nearest, ties to even. */
#ifndef TL_HALF_H
#define TL_HALF_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

static inline float tl_half_bits_to_float(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline uint32_t tl_half_float_to_bits(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }

static inline float tl_float_of_bfloat(uint16_t h) { return tl_half_bits_to_float((uint32_t)h << 16); }

static inline uint16_t tl_bfloat_of_float(float x) {
    uint32_t bits = tl_half_float_to_bits(x);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return x == x ? (uint16_t)rounded : 0x7fc0u;
}

/* The 10 + 5 bits are moved to where float32 has them; a multiplication by 2**112 then corrects the exponent, and makes
   denormal halves normal on the way. Infinity and nan need the exponent filled. */
static inline float tl_float_of_half(uint16_t h) {
    uint32_t moved = (uint32_t)(h & 0x7fffu) << 13;
    float x = tl_half_bits_to_float(moved) * 5.192296858534828e33f;
    uint32_t bits = tl_half_float_to_bits(x);
    bits = moved >= 0x0f800000u ? moved | 0x7f800000u : bits;
    return tl_half_bits_to_float(bits | (uint32_t)(h & 0x8000u) << 16);
}

/* Adding a float whose last bit is worth what the half's last bit is worth lets the addition do the rounding. */
static inline uint16_t tl_half_of_float(float x) {
    uint32_t bits = tl_half_float_to_bits(x), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
    uint32_t exponent = size & 0x7f800000u;
    if (size >= 0x47800000u)                            /* 65536 and above, inf, nan */
        return (uint16_t)(sign | (size > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (exponent < 0x38800000u) exponent = 0x38800000u; /* below 2**-14 the halves are denormal */
    float anchor = tl_half_bits_to_float(exponent + (13u << 23));
    uint32_t rounded = tl_half_float_to_bits(tl_half_bits_to_float(size) + anchor) - tl_half_float_to_bits(anchor);
    /* rounded counts units of the half's last place, the implicit bit included unless denormal */
    return (uint16_t)(sign | (rounded + (((exponent - 0x38800000u) >> 23) << 10)));
}

/* Rows whose elements lie next to each other. For float16 the processor has instructions (F16C, with every AVX2) that do
   eight at a time; unrolled they take half the time. For bfloat16 the compiler makes such loops by itself. */
static inline void tl_floats_of_halves(float* restrict out, const uint16_t* restrict x, ptrdiff_t n) {
    ptrdiff_t i = 0;
#if defined(__F16C__)
#pragma GCC unroll 4
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(x + i))));
#endif
    for (; i < n; i++) out[i] = tl_float_of_half(x[i]);
}

static inline void tl_halves_of_floats(uint16_t* restrict out, const float* restrict x, ptrdiff_t n) {
    ptrdiff_t i = 0;
#if defined(__F16C__)
#pragma GCC unroll 4
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i*)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++) out[i] = tl_half_of_float(x[i]);
}

static inline void tl_floats_of_bfloats(float* restrict out, const uint16_t* restrict x, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) out[i] = tl_float_of_bfloat(x[i]);
}

static inline void tl_bfloats_of_floats(uint16_t* restrict out, const float* restrict x, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) out[i] = tl_bfloat_of_float(x[i]);
}
#endif

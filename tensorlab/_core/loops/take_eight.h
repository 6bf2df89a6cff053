/* What selecting by a mask needs: 32 bytes as bits, eight elements in another order, and eight
   numbers. */
#ifndef TL_TAKE_EIGHT_H
#define TL_TAKE_EIGHT_H
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && defined(__GNUC__)
#include <immintrin.h>
#endif

/* Bit i is 1 if byte i is not zero. */
static inline uint32_t tl_bits_of_32(const uint8_t *bytes) {
#if defined(__AVX2__) && defined(__GNUC__)
    __m256i all = _mm256_loadu_si256((const __m256i *)bytes);
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(all, _mm256_setzero_si256()));
#elif defined(__SSE2__) && defined(__GNUC__)
    __m128i low = _mm_loadu_si128((const __m128i *)bytes), zero = _mm_setzero_si128();
    __m128i high = _mm_loadu_si128((const __m128i *)(bytes + 16));
    uint32_t zeros = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, zero)) << 16;
    return ~(zeros | (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, zero)));
#else
    uint32_t bits = 0;
    for (int i = 0; i < 32; i++) bits |= (uint32_t)(bytes[i] != 0) << i;
    return bits;
#endif
}

#if defined(__AVX2__) && defined(__GNUC__)
/* to[i] = x[order[i]] */
static inline void tl_take_eight(int32_t *to, const int32_t *x, const uint8_t *order) {
    __m256i places = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)order));
    __m256i eight = _mm256_loadu_si256((const __m256i *)x);
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(eight, places));
}

/* to[i] = first + order[i] */
static inline void tl_number_eight(int64_t *to, int64_t first, const uint8_t *order) {
    for (int i = 0, four; i < 8; i += 4) {
        memcpy(&four, order + i, 4);
        __m256i places = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
        places = _mm256_add_epi64(_mm256_set1_epi64x(first), places);
        _mm256_storeu_si256((__m256i *)(to + i), places);
    }
}
#else
static inline void tl_take_eight(int32_t *to, const int32_t *x, const uint8_t *order) {
    for (int i = 0; i < 8; i++) to[i] = x[order[i]];
}

static inline void tl_number_eight(int64_t *to, int64_t first, const uint8_t *order) {
    for (int i = 0; i < 8; i++) to[i] = first + order[i];
}
#endif
#endif

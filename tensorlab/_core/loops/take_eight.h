/* Eight elements in another order, and eight numbers: to[i] = x[order[i]], and to[i] = first + order[i]. */
#ifndef TL_TAKE_EIGHT_H
#define TL_TAKE_EIGHT_H
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__) && defined(__GNUC__)
#include <immintrin.h>

static inline void tl_take_eight(int32_t *to, const int32_t *x, const uint8_t *order) {
    __m256i places = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)order));
    __m256i eight = _mm256_loadu_si256((const __m256i *)x);
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(eight, places));
}

static inline void tl_number_eight(int64_t *to, int64_t first, const uint8_t *order) {
    for (int i = 0, four; i < 8; i += 4) {
        memcpy(&four, order + i, 4);
        __m256i places = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
        _mm256_storeu_si256((__m256i *)(to + i), _mm256_add_epi64(_mm256_set1_epi64x(first), places));
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

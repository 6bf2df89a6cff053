/* The transforms of Winograd's convolution of 2 x 2 outputs by kernels of 3 x 3.

       4 x 4 pixels d     V = B d B'       B = 1  0 -1  0      G =  1    0    0      A = 1  1  1  0
       a kernel g         U = G g G'           0  1  1  0          1/2  1/2  1/2         0  1 -1 -1
       products M = UV    y = A M A'           0 -1  1  0          1/2 -1/2  1/2
                                               0  1  0 -1           0    0    1

   Each is done along columns first, then along rows, and to a vector of patches, kernels or
   places at a time. Source: A. Lavin and S. Gray, "Fast algorithms for convolutional neural
   networks", 2016. */
#ifndef TL_WINOGRAD_H
#define TL_WINOGRAD_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "transpose.h"
#include "vectors.h"

/* Kernels lie beside each other in tiles of four or eight. */
#if defined(__GNUC__)
enum { TL_TOGETHER = 4 };
typedef float tl_together __attribute__((vector_size(16), aligned(4), may_alias));
#else
enum { TL_TOGETHER = 1 };
typedef float tl_together;
#endif

/* The largest absolute value. Without signs, the bits of floats are ordered as integers are, and
   nan comes last. */
static inline float tl_largest(const float *x, ptrdiff_t n) {
    int32_t most = 0;
    float value;
    for (ptrdiff_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, 4);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    memcpy(&value, &most, 4);
    return value;
}

/* V of the patches that begin at elements 0 to n of a phase: number k of each is a line that
   begins at starts[k], and goes to to[k * step]. All vectors are whole, so there must be room for
   one more behind the last number that is read, and behind the last one that is written. */
static inline void tl_winograd_patches(float *to, ptrdiff_t step, const float *from,
                                       const ptrdiff_t *starts, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += tl_lanes_32) {
        tl_vector_32 d[4][4], t[4][4];
        for (int k = 0; k < 16; k++)
            d[k / 4][k % 4] = *(const tl_vector_32 *)(from + starts[k] + j);
        for (int c = 0; c < 4; c++) {
            t[0][c] = d[0][c] - d[2][c];
            t[1][c] = d[1][c] + d[2][c];
            t[2][c] = d[2][c] - d[1][c];
            t[3][c] = d[1][c] - d[3][c];
        }
        for (int r = 0; r < 4; r++) {
            float *line = to + 4 * r * step + j;
            *(tl_vector_32 *)line = t[r][0] - t[r][2];
            *(tl_vector_32 *)(line + step) = t[r][1] + t[r][2];
            *(tl_vector_32 *)(line + 2 * step) = t[r][2] - t[r][1];
            *(tl_vector_32 *)(line + 3 * step) = t[r][1] - t[r][3];
        }
    }
}

/* U of `count` kernels side by side, a multiple of TL_TOGETHER: weight k of each at from[k * line];
   its U[k] goes to to[k * step]. */
static inline void tl_winograd_kernels(float *to, ptrdiff_t step, const float *from, ptrdiff_t line,
                                       ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i += TL_TOGETHER) {
        tl_together t[4][3];
        for (int c = 0; c < 3; c++) {
            const tl_together a = *(const tl_together *)(from + c * line + i);
            const tl_together b = *(const tl_together *)(from + (3 + c) * line + i);
            const tl_together e = *(const tl_together *)(from + (6 + c) * line + i);
            t[0][c] = a;
            t[1][c] = 0.5f * (a + b + e);
            t[2][c] = 0.5f * (a - b + e);
            t[3][c] = e;
        }
        for (int r = 0; r < 4; r++) {
            float *row = to + 4 * r * step + i;
            *(tl_together *)row = t[r][0];
            *(tl_together *)(row + step) = 0.5f * (t[r][0] + t[r][1] + t[r][2]);
            *(tl_together *)(row + 2 * step) = 0.5f * (t[r][0] - t[r][1] + t[r][2]);
            *(tl_together *)(row + 3 * step) = t[r][2];
        }
    }
}

/* The 2 x 2 outputs of n patches, a multiple of the lanes: M[k] is at from[k * step], and the four
   outputs go to lines of n. */
static inline void tl_winograd_places(float *y, const float *from, ptrdiff_t step, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += tl_lanes_32) {
        tl_vector_32 m[4][4], s[2][4];
        for (int k = 0; k < 16; k++)
            m[k / 4][k % 4] = *(const tl_vector_32 *)(from + k * step + j);
        for (int c = 0; c < 4; c++) {
            s[0][c] = m[0][c] + m[1][c] + m[2][c];
            s[1][c] = m[1][c] - m[2][c] - m[3][c];
        }
        for (int r = 0; r < 2; r++) {
            *(tl_vector_32 *)(y + 2 * r * n + j) = s[r][0] + s[r][1] + s[r][2];
            *(tl_vector_32 *)(y + (2 * r + 1) * n + j) = s[r][1] - s[r][2] - s[r][3];
        }
    }
}

/* A' y A of n patches, a multiple of the lanes: y as four lines of n, and number k of the results
   goes to to[k * step]. */
static inline void tl_winograd_gradients(float *to, ptrdiff_t step, const float *y, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += tl_lanes_32) {
        tl_vector_32 t[4][2];
        for (int c = 0; c < 2; c++) {
            const tl_vector_32 upper = *(const tl_vector_32 *)(y + c * n + j);
            const tl_vector_32 lower = *(const tl_vector_32 *)(y + (2 + c) * n + j);
            t[0][c] = upper;
            t[1][c] = upper + lower;
            t[2][c] = upper - lower;
            t[3][c] = -lower;
        }
        for (int r = 0; r < 4; r++) {
            float *line = to + 4 * r * step + j;
            *(tl_vector_32 *)line = t[r][0];
            *(tl_vector_32 *)(line + step) = t[r][0] + t[r][1];
            *(tl_vector_32 *)(line + 2 * step) = t[r][0] - t[r][1];
            *(tl_vector_32 *)(line + 3 * step) = -t[r][1];
        }
    }
}

/* The weights of n kernels, nine next to each other, get G' U G added: U[k] is at from[k * step]. */
static inline void tl_winograd_weights(float *restrict out, const float *restrict from,
                                       ptrdiff_t step, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        float t[3][4];
        for (int c = 0; c < 4; c++) {
            const float a = from[c * step + i], b = from[(4 + c) * step + i];
            const float d = from[(8 + c) * step + i], e = from[(12 + c) * step + i];
            t[0][c] = a + 0.5f * (b + d);
            t[1][c] = 0.5f * (b - d);
            t[2][c] = 0.5f * (b + d) + e;
        }
        for (int r = 0; r < 3; r++) {
            out[9 * i + 3 * r] += t[r][0] + 0.5f * (t[r][1] + t[r][2]);
            out[9 * i + 3 * r + 1] += 0.5f * (t[r][1] - t[r][2]);
            out[9 * i + 3 * r + 2] += 0.5f * (t[r][1] + t[r][2]) + t[r][3];
        }
    }
}

/* out[2 i] = start + even[i] and out[2 i + 1] = start + odd[i], until `out` has `count`. */
static inline void tl_interleave(float *restrict out, ptrdiff_t count, const float *restrict even,
                                 const float *restrict odd, float start) {
    ptrdiff_t i = 0;
#if defined(__GNUC__)
    for (; i + 8 <= count / 2; i += 8) {
        tl_row_4 a, b, low, high;
        float sums[16];
        memcpy(&a, even + i, 32);
        memcpy(&b, odd + i, 32);
        low = TL_PICK(tl_row_4, a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        high = TL_PICK(tl_row_4, a, b, 4, 12, 5, 13, 6, 14, 7, 15);
        memcpy(sums, &low, 32);
        memcpy(sums + 8, &high, 32);
        for (int k = 0; k < 16; k++) out[2 * i + k] = start + sums[k];
    }
#endif
    for (; i < count / 2; i++) {
        out[2 * i] = start + even[i];
        out[2 * i + 1] = start + odd[i];
    }
    if (count % 2) out[count - 1] = start + even[i];
}
#endif

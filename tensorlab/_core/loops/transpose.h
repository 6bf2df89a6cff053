/* Square blocks transposed in registers: out[i][j] = x[j][i], for elements of 4 and of 8 bytes.

   Element by element, every cache line would be touched once for each number in it, and one number moved at a time. Here
   whole rows of 32 bytes are loaded, turned, and stored. Turning takes log2(rows) rounds: round d swaps, in every square
   of 2d by 2d elements, the upper right quarter with the lower left one.

       d = 2:   a b | c d         a b | i j          d = 1:   a b   i j          a e   i m
                e f | g h    ->   e f | m n                   e f   m n    ->    b f   j n
                ----+----         ----+----                   c d   k l          c g   k o
                i j | k l         c d | k l                   g h   o p          d h   l p
                m n | o p         g h | o p

   Each exchange is one instruction that picks from two rows: of rows a and b, index k takes a[k], and k + 8 (k + 4)
   takes b[k]. */
#ifndef TL_TRANSPOSE_H
#define TL_TRANSPOSE_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
typedef int32_t tl_row_4 __attribute__((vector_size(32)));
typedef int64_t tl_row_8 __attribute__((vector_size(32)));

#if defined(__clang__)
#define TL_PICK(row, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TL_PICK(row, a, b, ...) __builtin_shuffle(a, b, (row){__VA_ARGS__})
#endif

static inline void tl_transpose_4(int32_t *out, ptrdiff_t out_stride,
                                  const int32_t *x, ptrdiff_t x_stride) {
    tl_row_4 r[8], t[8];
    for (int i = 0; i < 8; i++) memcpy(&r[i], x + i * x_stride, 32);
    for (int i = 0; i < 4; i++) {
        t[i] = TL_PICK(tl_row_4, r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        t[i + 4] = TL_PICK(tl_row_4, r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int top = 0; top < 8; top += 4)
        for (int i = top; i < top + 2; i++) {
            r[i] = TL_PICK(tl_row_4, t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            r[i + 2] = TL_PICK(tl_row_4, t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 8; i += 2) {
        t[i] = TL_PICK(tl_row_4, r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[i + 1] = TL_PICK(tl_row_4, r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i++) memcpy(out + i * out_stride, &t[i], 32);
}

static inline void tl_transpose_8(int64_t *out, ptrdiff_t out_stride,
                                  const int64_t *x, ptrdiff_t x_stride) {
    tl_row_8 r[4], t[4];
    for (int i = 0; i < 4; i++) memcpy(&r[i], x + i * x_stride, 32);
    for (int i = 0; i < 2; i++) {
        t[i] = TL_PICK(tl_row_8, r[i], r[i + 2], 0, 1, 4, 5);
        t[i + 2] = TL_PICK(tl_row_8, r[i], r[i + 2], 2, 3, 6, 7);
    }
    for (int i = 0; i < 4; i += 2) {
        r[i] = TL_PICK(tl_row_8, t[i], t[i + 1], 0, 4, 2, 6);
        r[i + 1] = TL_PICK(tl_row_8, t[i], t[i + 1], 1, 5, 3, 7);
    }
    for (int i = 0; i < 4; i++) memcpy(out + i * out_stride, &r[i], 32);
}

#else                                                               /* a compiler without vector types */
static inline void tl_transpose_4(int32_t *out, ptrdiff_t out_stride, const int32_t *x, ptrdiff_t x_stride) {
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) out[i * out_stride + j] = x[j * x_stride + i];
}
static inline void tl_transpose_8(int64_t *out, ptrdiff_t out_stride, const int64_t *x, ptrdiff_t x_stride) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) out[i * out_stride + j] = x[j * x_stride + i];
}
#endif
#endif

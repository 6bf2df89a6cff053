/* Transposed copies of matrices of any size, tile by tile.

   Lines of the source are read once and whole: where rows are a power of two apart, they fall into
   few sets of the caches, and none waits there for the rest of its numbers. To write to a line, a
   processor first reads it from memory; one that is written whole, and past the caches, it does not
   read. So a result that the caches would not keep is streamed. */
#ifndef TL_TRANSPOSED_COPY_H
#define TL_TRANSPOSED_COPY_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { TL_LINE = 64, TL_TILE_COLUMNS = 64 };

/* A whole line, where lines begin. */
static inline void tl_stream_line(char *out, const char *x) {
#if defined(__SSE2__)
    for (int i = 0; i < TL_LINE; i += 16)
        _mm_stream_si128((__m128i *)(out + i), _mm_load_si128((const __m128i *)(x + i)));
#else
    memcpy(out, x, TL_LINE);
#endif
}

/* out[i][j] = tile[j][i], of m rows of n elements; the stride, in elements, is
   that of a tile's rows. */
typedef void (*tl_transpose_tile)(void *out, const void *tile, ptrdiff_t stride, ptrdiff_t m,
                                  ptrdiff_t n);

/* out[i][j] = x[j][i] for i below m and j below n. Rows are so many bytes apart, and elements have
   `size` of them. */
static void tl_copy_transposed(tl_transpose_tile transpose, char *out, ptrdiff_t out_row,
                               const char *x, ptrdiff_t x_row, ptrdiff_t m, ptrdiff_t n,
                               ptrdiff_t size, int is_large) {
    _Alignas(TL_LINE) char tile[TL_LINE * TL_TILE_COLUMNS];
    ptrdiff_t side = TL_LINE / size, rows, columns;
    int has_lines = ((uintptr_t)out | (uintptr_t)out_row) % TL_LINE == 0;
    int is_streamed = is_large && m > side && has_lines;
    for (ptrdiff_t j = 0; j < n; j += columns) {
        columns = is_streamed ? side : TL_TILE_COLUMNS;
        columns = n - j < columns ? n - j : columns;
        for (ptrdiff_t i = 0; i < m; i += side) {
            rows = m - i < side ? m - i : side;
            transpose(tile, x + j * x_row + i * size, x_row / size, rows, columns);
            for (ptrdiff_t k = 0; k < rows; k++) {
                char *to = out + (i + k) * out_row + j * size;
                if (is_streamed && columns == side)
                    tl_stream_line(to, tile + k * TL_LINE);
                else
                    memcpy(to, tile + k * columns * size, columns * size);
            }
        }
    }
#if defined(__SSE2__)
    _mm_sfence(); /* other threads see what was streamed */
#endif
}
#endif

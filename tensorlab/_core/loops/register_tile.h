/* A tile of a product of matrices, kept in registers while the loop runs over the inner dimension.

   Both matrices lie in panels: strips that are just as long as one loop, in the order in which it reads.

                                         right, a panel of 3 vectors of columns
                                     k   |---------|---------|---------|
                                     |   |---------|---------|---------|
        left, a panel of 8 rows      v   |---------|---------|---------|
                     k ->
               r   o  o  o               |=========|=========|=========|
               o   o  o  o               |=========|=========|=========|   out[r][j] += sum over k of left[k][r] * right[k][j]
               w   o  o  o               |=========|=========|=========|
               s   o  o  o               |=========|=========|=========|

   A step of k loads a line of the right panel (3 vectors) and one number for each row, which goes into all lanes of a vector;
   with them it does 8 * 3 multiplications and additions of whole vectors. So arithmetic sets the pace, not memory, and the 24
   sums do not wait for each other. They fill the 32 registers of AVX-512 and of ARM; for 16 registers there are 4 rows.

   GCC's and Clang's vector types say this in plain C, for any processor. The header includes itself, once for each type. */
#ifndef TL_REAL

#ifndef TL_REGISTER_TILE_H
#define TL_REGISTER_TILE_H
#include <stddef.h>
#include "vectors.h"

#if defined(__AVX512F__) || defined(__aarch64__)
enum { TL_TILE_ROWS = 8 };
#else
enum { TL_TILE_ROWS = 4 };
#endif
#if (defined(__AVX2__) && defined(__FMA__)) || defined(__aarch64__)
enum { TL_HAS_FAST_TILE = 1 };
#else
enum { TL_HAS_FAST_TILE = 0 }; /* BLAS finds out what the processor can do, which this build may not know */
#endif
enum { TL_TILE_VECTORS = 3, tl_columns_32 = TL_TILE_VECTORS * tl_lanes_32, tl_columns_64 = TL_TILE_VECTORS * tl_lanes_64 };

/* The six shapes that TL_MULTIPLY is compiled for. */
#define TL_EACH_SIZE(vectors, is_half)           \
    if (is_half) {                               \
        if (vectors == 1)                        \
            TL_MULTIPLY(TL_TILE_ROWS / 2, 1);    \
        else if (vectors == 2)                   \
            TL_MULTIPLY(TL_TILE_ROWS / 2, 2);    \
        else                                     \
            TL_MULTIPLY(TL_TILE_ROWS / 2, 3);    \
    } else if (vectors == 1)                     \
        TL_MULTIPLY(TL_TILE_ROWS, 1);            \
    else if (vectors == 2)                       \
        TL_MULTIPLY(TL_TILE_ROWS, 2);            \
    else                                         \
        TL_MULTIPLY(TL_TILE_ROWS, 3);

#define TL_REAL float
#define TL_BITS 32
#include "register_tile.h"
#undef TL_REAL
#undef TL_BITS
#define TL_REAL double
#define TL_BITS 64
#include "register_tile.h"
#undef TL_REAL
#undef TL_BITS
#endif

#else
#define vector TL_JOIN(tl_vector_, TL_BITS)
#define LANES TL_JOIN(tl_lanes_, TL_BITS)
#define COLUMNS TL_JOIN(tl_columns_, TL_BITS)
#define multiply_vectors TL_JOIN(tl_multiply_vectors_, TL_BITS)
#define copy_part TL_JOIN(tl_copy_part_, TL_BITS)
#define multiply_tile TL_JOIN(tl_multiply_tile_, TL_BITS)
#define multiply_scattered TL_JOIN(tl_multiply_scattered_, TL_BITS)

/* As many rows and vectors as are asked for: constants wherever this is called, so that the loops
   over them vanish. Numbers of the left matrix are a step from each other, or, if there is a list
   `at`, where that says for each k. What lies in `out` is not read if `keep` is 0: then each row has
   a number of its own to be added, if there is a list `start`. */
TL_FUSED static TL_ALWAYS_INLINE void multiply_vectors(TL_REAL *out, ptrdiff_t out_stride, const TL_REAL *left,
                                             ptrdiff_t left_row, ptrdiff_t left_step,
                                             const TL_REAL *const *left_rows, const ptrdiff_t *at,
                                             const TL_REAL *right, ptrdiff_t right_stride, ptrdiff_t n,
                                             TL_REAL alpha, TL_REAL keep, const TL_REAL *start,
                                             const int rows, const int vectors) {
    vector sum[TL_TILE_ROWS][TL_TILE_VECTORS], line[TL_TILE_VECTORS];
    for (int r = 0; r < rows; r++) /* not `= {0}`: that may be a call which fills memory */
        for (int v = 0; v < vectors; v++) sum[r][v] = (vector){0};
    for (ptrdiff_t k = 0; k < n; k++) {
        for (int v = 0; v < vectors; v++)
            line[v] = *(const vector *)(right + k * right_stride + v * LANES);
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++)
                sum[r][v] += line[v] * (at ? left_rows[r][at[k]]
                                           : left[r * left_row + k * left_step]);
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            vector *to = (vector *)(out + r * out_stride + v * LANES);
            sum[r][v] *= alpha;
            if (keep != 0) sum[r][v] += keep * *to;
            else if (start) sum[r][v] += start[r];
            *to = sum[r][v];
        }
}

static inline void copy_part(TL_REAL *to, ptrdiff_t to_stride, const TL_REAL *from, ptrdiff_t from_stride,
                             ptrdiff_t rows, ptrdiff_t columns) {
    for (ptrdiff_t r = 0; r < rows; r++) {
        ptrdiff_t j = 0;
        for (; j + LANES <= columns; j += LANES)
            *(vector *)(to + r * to_stride + j) = *(const vector *)(from + r * from_stride + j);
        for (; j < columns; j++) to[r * to_stride + j] = from[r * from_stride + j];
    }
}

/* A tile, or the part of one that lies within the result; each element's sum is the same then. A list
   `start` has numbers for all rows of a tile. */
TL_FUSED static void multiply_tile(TL_REAL *out, ptrdiff_t out_stride, ptrdiff_t rows, ptrdiff_t columns,
                                   const TL_REAL *left, ptrdiff_t left_row, ptrdiff_t left_step,
                                   const TL_REAL *right, ptrdiff_t right_stride, ptrdiff_t n,
                                   TL_REAL alpha, TL_REAL keep, const TL_REAL *start) {
    const int is_half = rows <= TL_TILE_ROWS / 2;
    const ptrdiff_t height = is_half ? TL_TILE_ROWS / 2 : TL_TILE_ROWS, vectors = (columns + LANES - 1) / LANES;
    TL_REAL part[TL_TILE_ROWS * COLUMNS], *to = out;
    ptrdiff_t stride = out_stride;
    if (rows < height || columns < vectors * LANES) {
        to = part, stride = COLUMNS;
        if (keep != 0) copy_part(part, COLUMNS, out, out_stride, rows, columns);
    }
#define TL_MULTIPLY(ROWS, VECTORS)                                                                         \
    multiply_vectors(to, stride, left, left_row, left_step, NULL, NULL, right, right_stride, n, alpha, keep, start, ROWS, VECTORS)
    TL_EACH_SIZE(vectors, is_half)
#undef TL_MULTIPLY
    if (to == part) copy_part(out, out_stride, part, COLUMNS, rows, columns);
}

/* A whole tile, in memory of its own: rows of the left matrix begin at pointers and continue as a list
   says. So many products are summed `step` at a time, which rounds less than one long sum. */
TL_FUSED static void multiply_scattered(TL_REAL *out, ptrdiff_t rows, ptrdiff_t vectors,
                                        const TL_REAL *const *left, const ptrdiff_t *at,
                                        const TL_REAL *right, ptrdiff_t n, ptrdiff_t step) {
    const int is_half = rows <= TL_TILE_ROWS / 2;
#define TL_MULTIPLY(ROWS, VECTORS)                                                                  \
    for (ptrdiff_t k = 0; k < n; k += step)                                                         \
    multiply_vectors(out, COLUMNS, NULL, 0, 0, left, at + k, right + k * (VECTORS * LANES),         \
                     VECTORS * LANES, n - k < step ? n - k : step, 1, k > 0, NULL, ROWS, VECTORS)
    TL_EACH_SIZE(vectors, is_half)
#undef TL_MULTIPLY
}

#undef vector
#undef LANES
#undef COLUMNS
#undef multiply_vectors
#undef copy_part
#undef multiply_scattered
#undef multiply_tile
#endif

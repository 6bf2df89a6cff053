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
enum { TL_TILE_VECTORS = 3, tl_columns_32 = TL_TILE_VECTORS * tl_lanes_32, tl_columns_64 = TL_TILE_VECTORS * tl_lanes_64 };

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
#define add_vectors TL_JOIN(tl_add_vectors_, TL_BITS)
#define add_tile TL_JOIN(tl_add_tile_, TL_BITS)

/* All rows, and as many vectors as are asked for: a constant wherever this is called, so that
   the loops over them vanish. */
TL_FUSED static inline void add_vectors(TL_REAL *out, ptrdiff_t out_stride, const TL_REAL *left,
                                        const TL_REAL *right, ptrdiff_t n, const int vectors) {
    vector sum[TL_TILE_ROWS][TL_TILE_VECTORS] = {0}, line[TL_TILE_VECTORS];
    for (ptrdiff_t k = 0; k < n; k++) {
        for (int v = 0; v < vectors; v++)
            line[v] = *(const vector *)(right + k * COLUMNS + v * LANES);
        for (int r = 0; r < TL_TILE_ROWS; r++)
            for (int v = 0; v < vectors; v++) sum[r][v] += left[k * TL_TILE_ROWS + r] * line[v];
    }
    for (int r = 0; r < TL_TILE_ROWS; r++)
        for (int v = 0; v < vectors; v++)
            *(vector *)(out + r * out_stride + v * LANES) += sum[r][v];
}

/* A tile, or the part of one that lies within the result; each element's sum is the same then. */
TL_FUSED static void add_tile(TL_REAL *out, ptrdiff_t out_stride, ptrdiff_t rows, ptrdiff_t columns,
                              const TL_REAL *left, const TL_REAL *right, ptrdiff_t n) {
    if (rows == TL_TILE_ROWS && columns == COLUMNS) {
        add_vectors(out, out_stride, left, right, n, TL_TILE_VECTORS);
        return;
    }
    TL_REAL whole[TL_TILE_ROWS * COLUMNS] = {0};
    if (columns <= LANES)
        add_vectors(whole, COLUMNS, left, right, n, 1);
    else if (columns <= 2 * LANES)
        add_vectors(whole, COLUMNS, left, right, n, 2);
    else
        add_vectors(whole, COLUMNS, left, right, n, TL_TILE_VECTORS);
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t j = 0; j < columns; j++) out[r * out_stride + j] += whole[r * COLUMNS + j];
}

#undef vector
#undef LANES
#undef COLUMNS
#undef add_vectors
#undef add_tile
#endif

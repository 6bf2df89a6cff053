/* Rows of a product of a sparse and a dense matrix, and products of rows with rows; this file includes itself for each type.

   Each row of the product is a weighted sum of rows of the dense matrix, those that the indices name. As many columns as there are
   registers for are added up at once, so that memory sees one read for each product, and one write for each sum. GCC's and Clang's
   vector types keep the sums in registers; from a plain loop the compiler stores and reloads them in each step. */
#ifndef TL_ROW_PRODUCTS_H
#define TL_ROW_PRODUCTS_H
#include <stdint.h>
#include "vectors.h"

#if defined(__GNUC__)
typedef float tl_bytes32_32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float tl_bytes16_32 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float tl_bytes8_32 __attribute__((vector_size(8), aligned(4), may_alias));
typedef double tl_bytes32_64 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double tl_bytes16_64 __attribute__((vector_size(16), aligned(8), may_alias));
#else                                                   /* a compiler without vector types: single numbers */
typedef float tl_bytes32_32, tl_bytes16_32, tl_bytes8_32;
typedef double tl_bytes32_64, tl_bytes16_64;
#endif

#define TL_NAME(name) TL_JOIN(name, TL_BITS)
#define TL_BITS 32
#define TL_REAL float
#include "row_products.h"
#undef TL_BITS
#undef TL_REAL
#define TL_BITS 64
#define TL_REAL double
#include "row_products.h"
#undef TL_BITS
#undef TL_REAL

#else

/* VECTORS vectors of columns of some rows of the product: `starts` has where each of them begins among the elements. */
#define TL_SUMS(name, vector, VECTORS)                                                                               \
    TL_FUSED static void TL_NAME(name)(TL_REAL* out, const int64_t* starts, Py_ssize_t rows, const TL_REAL* values,  \
                                       const int64_t* columns, const TL_REAL* dense, Py_ssize_t width) {             \
        for (Py_ssize_t i = 0; i < rows; i++) {                                                                      \
            TL_NAME(vector) total[VECTORS] = {{0}};                                                                  \
            for (int64_t k = starts[i]; k < starts[i + 1]; k++) {                                                    \
                const TL_NAME(vector)* row = (const TL_NAME(vector)*)(dense + columns[k] * width);                   \
                for (int v = 0; v < VECTORS; v++) total[v] += values[k] * row[v];                                    \
            }                                                                                                        \
            for (int v = 0; v < VECTORS; v++) ((TL_NAME(vector)*)(out + i * width))[v] = total[v];                   \
        }                                                                                                            \
    }
TL_SUMS(tl_sums_of_8_, tl_vector_, 8)
TL_SUMS(tl_sums_of_4_, tl_vector_, 4)
TL_SUMS(tl_sums_of_2_, tl_vector_, 2)
TL_SUMS(tl_sums_of_1_, tl_vector_, 1)
TL_SUMS(tl_sums_of_32_bytes_, tl_bytes32_, 1)
TL_SUMS(tl_sums_of_16_bytes_, tl_bytes16_, 1)
#if TL_BITS == 32
TL_SUMS(tl_sums_of_8_bytes_, tl_bytes8_, 1)
#endif
#undef TL_SUMS

/* One column. Eight sums of a row grow side by side, none waiting for another. */
TL_FUSED static void TL_NAME(tl_sums_of_column_)(TL_REAL* out, const int64_t* starts, Py_ssize_t rows, const TL_REAL* values,
                                                 const int64_t* columns, const TL_REAL* dense, Py_ssize_t width) {
    for (Py_ssize_t i = 0; i < rows; i++) {
        TL_REAL total[8] = {0}, rest = 0;
        int64_t k = starts[i];
        for (; k + 8 <= starts[i + 1]; k += 8)
            for (int j = 0; j < 8; j++) total[j] += values[k + j] * dense[columns[k + j] * width];
        for (; k < starts[i + 1]; k++) rest += values[k] * dense[columns[k] * width];
        for (int j = 0; j < 8; j++) rest += total[j];
        out[i * width] = rest;
    }
}

/* Some rows of the product, of a dense matrix with rows of `width`: as many columns at once as there are, or registers for them.
   The last columns, too few for a vector, are in one that begins further left; the columns that it has again come out the same. */
static void TL_NAME(tl_row_products_)(TL_REAL* out, const int64_t* starts, Py_ssize_t rows, const TL_REAL* values,
                                      const int64_t* columns, const TL_REAL* dense, Py_ssize_t width) {
    static const struct {
        Py_ssize_t width;
        void (*sums)(TL_REAL*, const int64_t*, Py_ssize_t, const TL_REAL*, const int64_t*, const TL_REAL*, Py_ssize_t);
    } chunks[] = {
        {8 * TL_NAME(tl_lanes_), TL_NAME(tl_sums_of_8_)},
        {4 * TL_NAME(tl_lanes_), TL_NAME(tl_sums_of_4_)},
        {2 * TL_NAME(tl_lanes_), TL_NAME(tl_sums_of_2_)},
        {TL_NAME(tl_lanes_), TL_NAME(tl_sums_of_1_)},
        {sizeof(TL_NAME(tl_bytes32_)) / sizeof(TL_REAL), TL_NAME(tl_sums_of_32_bytes_)},
        {sizeof(TL_NAME(tl_bytes16_)) / sizeof(TL_REAL), TL_NAME(tl_sums_of_16_bytes_)},
#if TL_BITS == 32
        {sizeof(TL_NAME(tl_bytes8_)) / sizeof(TL_REAL), TL_NAME(tl_sums_of_8_bytes_)},
#endif
        {1, TL_NAME(tl_sums_of_column_)},
    };
    for (Py_ssize_t j = 0; j < width;) {
        const Py_ssize_t rest = width - j;
        int c = 0;
        while (chunks[c].width > rest) c++;
        if (rest < TL_NAME(tl_lanes_) && (chunks[c].width < rest || rest == 1) && chunks[c - 1].width <= width) c--;
        if (chunks[c].width > rest) j = width - chunks[c].width;
        chunks[c].sums(out + j, starts, rows, values, columns, dense + j, width);
        j += chunks[c].width;
    }
}

/* The sum of products of two rows. */
TL_FUSED static TL_REAL TL_NAME(tl_dot_)(const TL_REAL* x, const TL_REAL* y, Py_ssize_t width) {
    enum { LANES = TL_NAME(tl_lanes_) };
    TL_NAME(tl_vector_) total[4] = {{0}};
    TL_REAL sums[LANES], rest = 0;
    Py_ssize_t j = 0;
    for (; j + 4 * LANES <= width; j += 4 * LANES)
        for (int v = 0; v < 4; v++)
            total[v] += ((const TL_NAME(tl_vector_)*)(x + j))[v] * ((const TL_NAME(tl_vector_)*)(y + j))[v];
    for (; j + LANES <= width; j += LANES)
        total[0] += *(const TL_NAME(tl_vector_)*)(x + j) * *(const TL_NAME(tl_vector_)*)(y + j);
    for (; j < width; j++) rest += x[j] * y[j];
    *(TL_NAME(tl_vector_)*)sums = (total[0] + total[1]) + (total[2] + total[3]);
    for (int i = 0; i < LANES; i++) rest += sums[i];
    return rest;
}
#endif

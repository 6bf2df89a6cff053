/* Sums of shifted lines: out[j] += sum over taps t of weights[t] * lines[starts[t] + j], for j below n.

       lines                a b c d e f g h i j k l m n o
       tap 0, start 2           [c d e f]
       tap 1, start 3             [d e f g]
       tap 2, start 7                     [h i j k]
       out                  [0 1 2 3]                       one vector, in a register until all taps are added
                                  [3 4 5 6]                 the last one ends where the row ends

   The last vector may overlap the one before it. So it is summed first, while `out` is as it was, and stored last. Of a row
   shorter than a vector all lanes are summed, and those past its end left out: the lines must have room for that.

   A vector that begins anywhere takes longer to load than to multiply. With a kernel of 3 x 3 each is loaded once for the
   rows of the result that it belongs to, four at a time, and summed in the same order.

   The header includes itself, once for each type. */
#ifndef TL_REAL

#ifndef TL_SHIFTED_LINES_H
#define TL_SHIFTED_LINES_H
#include <stddef.h>
#include "vectors.h"

enum { TL_ROWS_AT_ONCE = 4 };

#if defined(__GNUC__)
#define TL_UNROLL _Pragma("GCC unroll 8")
#else
#define TL_UNROLL
#endif

/* Have a vector in a register: GCC would rather load it again for each product. */
#if defined(__GNUC__) && defined(__x86_64__)
#define TL_KEEP(vector) __asm__("" : "+v"(vector))
#else
#define TL_KEEP(vector) ((void)0)
#endif

#define TL_REAL float
#define TL_BITS 32
#include "shifted_lines.h"
#undef TL_REAL
#undef TL_BITS
#define TL_REAL double
#define TL_BITS 64
#include "shifted_lines.h"
#undef TL_REAL
#undef TL_BITS
#endif

#else
#define vector TL_JOIN(tl_vector_, TL_BITS)
#define LANES TL_JOIN(tl_lanes_, TL_BITS)
#define sum_taps TL_JOIN(tl_sum_taps_, TL_BITS)
#define add_lines TL_JOIN(tl_add_lines_, TL_BITS)
#define sum_rows TL_JOIN(tl_sum_rows_, TL_BITS)
#define add_rows TL_JOIN(tl_add_rows_, TL_BITS)

/* Two vectors of sums: neither waits for the other, and both use what is loaded of a tap. */
TL_FUSED static inline void sum_taps(vector *sum_a, vector *sum_b, const TL_REAL *a, const TL_REAL *b,
                                     const ptrdiff_t *starts, const TL_REAL *weights, ptrdiff_t taps) {
    vector first = {0}, second = {0};
    for (ptrdiff_t t = 0; t < taps; t++) {
        first += weights[t] * *(const vector *)(a + starts[t]);
        second += weights[t] * *(const vector *)(b + starts[t]);
    }
    *sum_a = first;
    *sum_b = second;
}

TL_FUSED static void add_lines(TL_REAL *out, const TL_REAL *lines, const ptrdiff_t *starts,
                               const TL_REAL *weights, ptrdiff_t taps, ptrdiff_t n) {
    const ptrdiff_t last = n - LANES;
    ptrdiff_t a, b = -LANES;
    vector sum_a, sum_b, end;
    if (last < 0) {
        TL_REAL sums[LANES];
        sum_taps(&sum_a, &sum_b, lines, lines, starts, weights, taps);
        *(vector *)sums = sum_a;
        for (ptrdiff_t j = 0; j < n; j++) out[j] += sums[j];
        return;
    }
    end = *(vector *)(out + last);
    while (b < last) {
        a = b + LANES < last ? b + LANES : last;
        b = a + LANES < last ? a + LANES : last;
        sum_taps(&sum_a, &sum_b, lines + a, lines + b, starts, weights, taps);
        if (a < last) *(vector *)(out + a) += sum_a;
        if (b < last) *(vector *)(out + b) += sum_b;
    }
    *(vector *)(out + last) = end + sum_b;
}

/* Of each row a vector of sums over 3 x 3 taps; rows of the lines are `pitch` apart. */
TL_FUSED static TL_ALWAYS_INLINE void sum_rows(vector *sums, const TL_REAL *lines, ptrdiff_t pitch,
                                               const TL_REAL *weights) {
    vector sum[TL_ROWS_AT_ONCE] = {0};
    TL_UNROLL
    for (int i = 0; i < TL_ROWS_AT_ONCE + 2; i++)
        TL_UNROLL
        for (int c = 0; c < 3; c++) {
            vector line = *(const vector *)(lines + i * pitch + c);
            TL_KEEP(line);
            TL_UNROLL
            for (int r = 0; r < TL_ROWS_AT_ONCE; r++)
                if (i >= r && i < r + 3) sum[r] += weights[3 * (i - r) + c] * line;
        }
    for (int r = 0; r < TL_ROWS_AT_ONCE; r++) sums[r] = sum[r];
}

/* The rows of the result lie behind one another, each of n elements. */
TL_FUSED static void add_rows(TL_REAL *out, const TL_REAL *lines, ptrdiff_t pitch, const TL_REAL *weights, ptrdiff_t n) {
    const ptrdiff_t last = n - LANES;
    vector sums[TL_ROWS_AT_ONCE], ends[TL_ROWS_AT_ONCE];
    if (last < 0) {
        TL_REAL lanes[TL_ROWS_AT_ONCE][LANES];
        sum_rows((vector *)lanes, lines, pitch, weights);
        for (int r = 0; r < TL_ROWS_AT_ONCE; r++)
            for (ptrdiff_t j = 0; j < n; j++) out[r * n + j] += lanes[r][j];
        return;
    }
    for (int r = 0; r < TL_ROWS_AT_ONCE; r++) ends[r] = *(vector *)(out + r * n + last);
    for (ptrdiff_t j = 0; j < last; j += LANES) {
        sum_rows(sums, lines + j, pitch, weights);
        for (int r = 0; r < TL_ROWS_AT_ONCE; r++) *(vector *)(out + r * n + j) += sums[r];
    }
    sum_rows(sums, lines + last, pitch, weights);
    for (int r = 0; r < TL_ROWS_AT_ONCE; r++) *(vector *)(out + r * n + last) = ends[r] + sums[r];
}

#undef vector
#undef LANES
#undef sum_taps
#undef add_lines
#undef sum_rows
#undef add_rows
#endif

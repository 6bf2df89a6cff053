/* Sums of shifted lines: out[j] += sum over taps t of weights[t] * lines[starts[t] + j], for j below n.

       lines                a b c d e f g h i j k l m n o
       tap 0, start 2           [c d e f]
       tap 1, start 3             [d e f g]
       tap 2, start 7                     [h i j k]
       out                  [0 1 2 3]                       one vector, in a register until all taps are added
                                  [3 4 5 6]                 the last one ends where the row ends

   The last vector may overlap the one before it. So it is summed first, while `out` is as it was, and stored last. Of a row
   shorter than a vector all lanes are summed, and those past its end left out: the lines must have room for that.

   The header includes itself, once for each type. */
#ifndef TL_REAL

#ifndef TL_SHIFTED_LINES_H
#define TL_SHIFTED_LINES_H
#include <stddef.h>
#include "vectors.h"

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

#undef vector
#undef LANES
#undef sum_taps
#undef add_lines
#endif

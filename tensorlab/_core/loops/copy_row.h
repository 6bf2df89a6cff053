/* Copying the short rows of an image, whole or every second element. */
#ifndef TL_COPY_ROW_H
#define TL_COPY_ROW_H
#include <stddef.h>
#include <string.h>
#include "transpose.h"

#if defined(__GNUC__)
typedef int32_t tl_row_of_four __attribute__((vector_size(16)));
#endif

/* to[i] = row[i * step] for i below n. Of two vectors that share an element, every second one is four. */
static inline void tl_copy_row(float *to, const float *row, ptrdiff_t n, ptrdiff_t step) {
    ptrdiff_t i = 0;
#if defined(__GNUC__)
    if (step == 1) {
        for (; i + 16 <= n; i += 16) memcpy(to + i, row + i, 64);
        for (; i + 8 <= n; i += 8) memcpy(to + i, row + i, 32);
        for (; i + 4 <= n; i += 4) memcpy(to + i, row + i, 16);
    } else if (step == 2)
        for (; i + 4 <= n; i += 4) {
            tl_row_of_four a, b;
            memcpy(&a, row + 2 * i, 16);
            memcpy(&b, row + 2 * i + 3, 16);
            a = TL_PICK(tl_row_of_four, a, b, 0, 2, 5, 7);
            memcpy(to + i, &a, 16);
        }
#endif
    for (; i < n; i++) to[i] = row[i * step];
}
#endif

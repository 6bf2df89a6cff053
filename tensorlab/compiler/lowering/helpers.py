"""C functions of generated code that no expression of an op calls: casts, and folds of rows.

They are written once, for a type T, in the notation of scalar expressions
(_core/loops/scalar.py), and a kernel's source has those that it needs.
"""

from tensorlab._core.loops.scalar import functions_for, functions_in, scalar_functions

SOURCE = """
/* C leaves it open what a number becomes that does not fit, and compilers give a constant nan another
   answer than the processor does. This is x86's; other processors are asked. */
int64_t to_int64#(T x) {
#if defined(__x86_64__)
    return (x >= (T)-9223372036854775808.0) & (x < (T)9223372036854775808.0) ? (int64_t)x : INT64_MIN;
#else
    return (int64_t)x;
#endif
}

int32_t to_int32#(T x) {
#if defined(__x86_64__)
    return (x > (T)-2147483649.0) & (x < (T)2147483648.0) ? (int32_t)x : INT32_MIN;
#else
    return (int32_t)x;
#endif
}
"""

# Folds of a row of n elements that lie next to each other. Sums are those of inner_loops.pxd: 64 running sums side by
# side, and halves of long runs separately, so that the error grows with log n.
SOURCE += """
T row_sum#(const T *x, int64_t n) {
    if (n > 8192) {
        const int64_t half = (n >> 1) & ~(int64_t)63;
        return (T)(row_sum#(x, half) + row_sum#(x + half, n - half));
    }
    T lane[64] = {0}, rest = 0;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (int k = 0; k < 64; k++) lane[k] += x[i + k];
    for (int k = 0; k < 16; k++)
        lane[k] = (lane[k] + lane[k + 16]) + (lane[k + 32] + lane[k + 48]);
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++) lane[k] += x[i + k];
    for (; i < n; i++) rest += x[i];
    for (int half = 8; half > 0; half /= 2)
        for (int k = 0; k < half; k++) lane[k] += lane[k + half];
    return lane[0] + rest;
}

T row_product#(const T *x, int64_t n) {
    T lane[16], result = 1;
    int64_t i = 0;
    for (int k = 0; k < 16; k++) lane[k] = 1;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++) lane[k] *= x[i + k];
    for (; i < n; i++) result *= x[i];
    for (int k = 0; k < 16; k++) result *= lane[k];
    return result;
}

uint8_t row_any_bool(const uint8_t *x, int64_t n) {
    uint8_t found = 0;
    for (int64_t i = 0; i < n; i++) found |= x[i];
    return found;
}

uint8_t row_all_bool(const uint8_t *x, int64_t n) {
    uint8_t all = 1;
    for (int64_t i = 0; i < n; i++) all &= x[i];
    return all;
}

int64_t row_count_bool(const uint8_t *x, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += x[i];
    return count;
}
"""

# Folds of the largest and of the smallest element. Of two plain selects GCC makes vector
# instructions, of one with both conditions it does not. The last block overlaps the one before
# it, which changes no extreme: no element is left to be taken singly.
EXTREME = """
/* nan wins. */
T BETTER#(T x, T y) {
    x = y < x ? y : x;
    return y != y ? y : x;
}

T row_EXTREME#(const T *x, int64_t n) {
    T lane[64], best = x[0];
    if (n < 16) {
        for (int64_t i = 1; i < n; i++) best = BETTER#(best, x[i]);
        return best;
    }
    if (n < 64) {
        for (int k = 0; k < 16; k++) lane[k] = x[k];
        for (int64_t i = 16; i < n; i += 16) {
            const T *y = x + (i < n - 16 ? i : n - 16);
            for (int k = 0; k < 16; k++) lane[k] = BETTER#(lane[k], y[k]);
        }
    } else {
        for (int k = 0; k < 64; k++) lane[k] = x[k];
        for (int64_t i = 64; i < n; i += 64) {
            const T *y = x + (i < n - 64 ? i : n - 64);
            for (int k = 0; k < 64; k++) lane[k] = BETTER#(lane[k], y[k]);
        }
        for (int k = 0; k < 32; k++) lane[k] = BETTER#(lane[k], lane[k + 32]);
        for (int k = 0; k < 16; k++) lane[k] = BETTER#(lane[k], lane[k + 16]);
    }
    for (int k = 0; k < 8; k++) lane[k] = BETTER#(lane[k], lane[k + 8]);
    for (int k = 0; k < 4; k++) lane[k] = BETTER#(lane[k], lane[k + 4]);
    return BETTER#(BETTER#(lane[0], lane[1]), BETTER#(lane[2], lane[3]));
}
"""
SOURCE += EXTREME.replace("EXTREME", "smallest").replace("BETTER", "smaller")
SOURCE += (
    EXTREME.replace("y < x", "y > x").replace("EXTREME", "largest").replace("BETTER", "larger")
)


PARTS = {**scalar_functions(), **functions_in(SOURCE)}


def helpers_for(text):
    """Return the C functions that a piece of C calls, each once, those before that it calls in turn."""
    return functions_for(text, PARTS)

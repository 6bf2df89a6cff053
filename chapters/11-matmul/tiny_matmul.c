/* Ways to multiply row-major float32 matrices, c = a b, where a is m x k and b is k x n: the small program of chapter 11.
   All of them do the same m n k multiplications and as many additions. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef ptrdiff_t size;
typedef float *restrict output;
typedef const float *restrict input;

static size least(size x, size y) { return x < y ? x : y; }

/* ---------------------------------------------------------------- loop orders */
void ijk(output c, input a, input b, size m, size n, size k) {
    for (size i = 0; i < m; i++)
        for (size j = 0; j < n; j++) {
            float total = 0;
            for (size p = 0; p < k; p++)
                total += a[i * k + p] * b[p * n + j];
            c[i * n + j] = total;
        }
}

void ikj(output c, input a, input b, size m, size n, size k) {
    memset(c, 0, m * n * sizeof(float));
    for (size i = 0; i < m; i++)
        for (size p = 0; p < k; p++) {
            float factor = a[i * k + p];
            for (size j = 0; j < n; j++)
                c[i * n + j] += factor * b[p * n + j];
        }
}

void jki(output c, input a, input b, size m, size n, size k) {
    memset(c, 0, m * n * sizeof(float));
    for (size j = 0; j < n; j++)
        for (size p = 0; p < k; p++) {
            float factor = b[p * n + j];
            for (size i = 0; i < m; i++)
                c[i * n + j] += a[i * k + p] * factor;
        }
}

/* ijk, but b is stored the other way round, as n x k: both run along memory. */
void ijk_along(output c, input a, input b, size m, size n, size k) {
    for (size i = 0; i < m; i++)
        for (size j = 0; j < n; j++) {
            float total = 0;
            for (size p = 0; p < k; p++)
                total += a[i * k + p] * b[j * k + p];
            c[i * n + j] = total;
        }
}

/* ---------------------------------------------------------------- tiles for the cache */
enum { TILE_K = 64, TILE_N = 512 };

void tiled(output c, input a, input b, size m, size n, size k) {
    memset(c, 0, m * n * sizeof(float));
    for (size j0 = 0; j0 < n; j0 += TILE_N)
        for (size p0 = 0; p0 < k; p0 += TILE_K)
            for (size i = 0; i < m; i++)
                for (size p = p0; p < least(p0 + TILE_K, k); p++)
                    for (size j = j0; j < least(j0 + TILE_N, n); j++)
                        c[i * n + j] += a[i * k + p] * b[p * n + j];
}

/* ---------------------------------------------------------------- sums in registers */
#if defined(__AVX512F__)
enum { BYTES = 64, ROWS = 12 };     /* 32 registers of 64 bytes */
#elif defined(__AVX__)
enum { BYTES = 32, ROWS = 6 };      /* 16 registers of 32 bytes */
#elif defined(__aarch64__)
enum { BYTES = 16, ROWS = 12 };     /* 32 registers of 16 bytes */
#else
enum { BYTES = 16, ROWS = 6 };
#endif
enum { LANES = BYTES / 4, VECTORS = 2, COLUMNS = VECTORS * LANES };
typedef float vector __attribute__((vector_size(BYTES), aligned(4), may_alias));

/* sums = a tile of a (ROWS x k) times a tile of b (k x COLUMNS) */
static inline void micro_kernel(vector sums[ROWS][VECTORS], input a, size a_row, size a_step,
                                input b, size b_step, size k) {
    vector s[ROWS][VECTORS] = {{{0}}}, line[VECTORS];
    for (size p = 0; p < k; p++, b += b_step) {
        for (int v = 0; v < VECTORS; v++)
            line[v] = *(const vector *)(b + v * LANES);
        for (int r = 0; r < ROWS; r++)
            for (int v = 0; v < VECTORS; v++)
                s[r][v] += a[r * a_row + p * a_step] * line[v];
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < VECTORS; v++)
            sums[r][v] = s[r][v];
}

/* Add the upper left corner of the sums to a place in c. */
static void add_tile(output c, size n, const vector sums[ROWS][VECTORS], size rows, size columns) {
    for (size r = 0; r < rows; r++)
        for (size j = 0; j < columns; j++)
            c[r * n + j] += ((const float *)sums[r])[j];
}

/* What is left at the edges, where no whole tile fits. */
static void edge(output c, input a, input b, size n, size k, size rows, size columns) {
    for (size i = 0; i < rows; i++)
        for (size p = 0; p < k; p++)
            for (size j = 0; j < columns; j++)
                c[i * n + j] += a[i * k + p] * b[p * n + j];
}

void registers(output c, input a, input b, size m, size n, size k) {
    size whole_m = m - m % ROWS, whole_n = n - n % COLUMNS;
    vector sums[ROWS][VECTORS];
    memset(c, 0, m * n * sizeof(float));
    for (size j = 0; j < whole_n; j += COLUMNS)
        for (size i = 0; i < whole_m; i += ROWS) {
            micro_kernel(sums, a + i * k, k, 1, b + j, n, k);
            add_tile(c + i * n + j, n, sums, ROWS, COLUMNS);
        }
    edge(c + whole_n, a, b + whole_n, n, k, whole_m, n - whole_n);
    edge(c + whole_m * n, a + whole_m * k, b, n, k, m - whole_m, n);
}

/* ---------------------------------------------------------------- packed */
enum { BLOCK_K = 256, BLOCK_M = ROWS * 16, BLOCK_N = COLUMNS * 64 };

/* Copy strips of `width` columns of b, each row of a strip behind the one before; 0 past the edge. */
static void pack_b(output to, input b, size n, size rows, size columns) {
    for (size j = 0; j < columns; j += COLUMNS)
        for (size p = 0; p < rows; p++)
            for (size q = 0; q < COLUMNS; q++)
                *to++ = j + q < columns ? b[p * n + j + q] : 0;
}

/* The same for strips of rows of a, column after column. */
static void pack_a(output to, input a, size k, size rows, size columns) {
    for (size i = 0; i < rows; i += ROWS)
        for (size p = 0; p < columns; p++)
            for (size r = 0; r < ROWS; r++)
                *to++ = i + r < rows ? a[(i + r) * k + p] : 0;
}

static void multiply_block(output c, input a, input b, size n, size rows, size columns,
                           size k) {
    vector sums[ROWS][VECTORS];
    for (size j = 0; j < columns; j += COLUMNS)
        for (size i = 0; i < rows; i += ROWS) {
            micro_kernel(sums, a + i * k, 1, ROWS, b + j * k, COLUMNS, k);
            add_tile(c + i * n + j, n, sums, least(ROWS, rows - i),
                     least(COLUMNS, columns - j));
        }
}

void packed(output c, input a, input b, size m, size n, size k) {
    static float block_a[BLOCK_M * BLOCK_K], block_b[BLOCK_K * BLOCK_N];
    memset(c, 0, m * n * sizeof(float));
    for (size j = 0; j < n; j += BLOCK_N)
        for (size p = 0; p < k; p += BLOCK_K) {
            size columns = least(BLOCK_N, n - j), depth = least(BLOCK_K, k - p);
            pack_b(block_b, b + p * n + j, n, depth, columns);
            for (size i = 0; i < m; i += BLOCK_M) {
                size rows = least(BLOCK_M, m - i);
                pack_a(block_a, a + i * k + p, k, rows, depth);
                multiply_block(c + i * n + j, block_a, block_b, n, rows, columns, depth);
            }
        }
}

/* ---------------------------------------------------------------- the peak */
/* Multiply and add in `chains` registers, without touching memory; the result only keeps the work from being left out. */
#define CHAINS(count)                                                               \
    static float chains_##count(float x, float y, size steps) {                     \
        vector s[count], times = x - (vector){0}, plus = y - (vector){0};           \
        for (int r = 0; r < count; r++)                                             \
            s[r] = plus * (float)r; /* chains that begin alike would become one */  \
        for (size p = 0; p < steps; p++)                                            \
            for (int r = 0; r < count; r++)                                         \
                s[r] = s[r] * times + plus;                                         \
        for (int r = 1; r < count; r++)                                             \
            s[0] += s[r];                                                           \
        return s[0][0];                                                             \
    }
CHAINS(1) CHAINS(2) CHAINS(3) CHAINS(4) CHAINS(6) CHAINS(8) CHAINS(10) CHAINS(12)

float chains(size count, float x, float y, size steps) {
    switch (count) {
    case 1: return chains_1(x, y, steps);
    case 2: return chains_2(x, y, steps);
    case 3: return chains_3(x, y, steps);
    case 4: return chains_4(x, y, steps);
    case 6: return chains_6(x, y, steps);
    case 8: return chains_8(x, y, steps);
    case 10: return chains_10(x, y, steps);
    default: return chains_12(x, y, steps);
    }
}

/* ---------------------------------------------------------------- for the measurements */
size lanes(void) { return LANES; }
size tile_rows(void) { return ROWS; }

typedef void (*way)(float *, const float *, const float *, size, size, size);

void repeat(way f, float *c, const float *a, const float *b, size m, size n, size k, size times) {
    for (size t = 0; t < times; t++)
        f(c, a, b, m, n, k);
}

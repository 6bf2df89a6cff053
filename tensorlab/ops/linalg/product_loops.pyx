"""Loops for products of matrices: out = alpha * a @ b + beta * out.

Three kinds. The small one keeps its sums in registers and beats BLAS, whose preparations cost more than such a
product. The integer one runs along rows of b, which the compiler vectorises. The plain one takes anything.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tensorlab._core.dtypes cimport (
    COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT8, INT16, INT32, UINT8, complex64, complex128,
    integer, real, summand
)
from tensorlab._core.layout cimport ssize

cdef extern from *:
    """
    /* out[r][j] = sum over p of a[r][p] * b[p][j] for ROWS rows r and a line of columns j. GCC's and Clang's vector types keep
       the sums in registers; from a plain loop the compiler stores and reloads them in each step, eight times slower. With
       several rows, as many sums as there are registers for grow side by side, none waiting for another, and b is read once
       for all. */
    #include "vectors.h"
    #if defined(__GNUC__)
    #define TL_BLOCK_SUMS(name, real, ROWS)                                                                            \\
        typedef real name##_line __attribute__((vector_size(32), aligned(sizeof(real)), may_alias));                   \\
        TL_FUSED static void name(real* out, Py_ssize_t out_stride, const real* a, Py_ssize_t a_row, Py_ssize_t a_column, \\
                                const real* b, Py_ssize_t b_stride, Py_ssize_t n) {                                    \\
            name##_line total[ROWS] = {{0}};                                                                           \\
            for (Py_ssize_t p = 0; p < n; p++) {                                                                       \\
                const name##_line line = *(const name##_line*)(b + p * b_stride);                                      \\
                for (int r = 0; r < ROWS; r++) total[r] += a[r * a_row + p * a_column] * line;                         \\
            }                                                                                                          \\
            for (int r = 0; r < ROWS; r++) *(name##_line*)(out + r * out_stride) = total[r];                           \\
        }
    #else
    #define TL_BLOCK_SUMS(name, real, ROWS)                                                                            \\
        static inline void name(real* out, Py_ssize_t out_stride, const real* a, Py_ssize_t a_row, Py_ssize_t a_column, \\
                                const real* b, Py_ssize_t b_stride, Py_ssize_t n) {                                    \\
            for (int r = 0; r < ROWS; r++) {                                                                           \\
                real* row = out + r * out_stride;                                                                      \\
                for (int j = 0; j < 32 / (int)sizeof(real); j++) row[j] = 0;                                           \\
                for (Py_ssize_t p = 0; p < n; p++)                                                                     \\
                    for (int j = 0; j < 32 / (int)sizeof(real); j++)                                                   \\
                        row[j] += a[r * a_row + p * a_column] * b[p * b_stride + j];                                   \\
            }                                                                                                          \\
        }
    #endif
    TL_BLOCK_SUMS(tl_row_sums_32, float, 1)
    TL_BLOCK_SUMS(tl_row_sums_64, double, 1)
    TL_BLOCK_SUMS(tl_block_sums_32, float, 8)
    TL_BLOCK_SUMS(tl_block_sums_64, double, 8)
    """
    void tl_row_sums_32(float* out, ssize out_stride, const float* a, ssize a_row, ssize a_column, const float* b,
                        ssize b_stride, ssize n) nogil
    void tl_row_sums_64(double* out, ssize out_stride, const double* a, ssize a_row, ssize a_column, const double* b,
                        ssize b_stride, ssize n) nogil
    void tl_block_sums_32(float* out, ssize out_stride, const float* a, ssize a_row, ssize a_column, const float* b,
                          ssize b_stride, ssize n) nogil
    void tl_block_sums_64(double* out, ssize out_stride, const double* a, ssize a_row, ssize a_column, const double* b,
                          ssize b_stride, ssize n) nogil

cdef enum:
    BLOCK_ROWS = 8              # rows of a block,
    LINE_BYTES = 32             # and bytes of a line


# ---------------------------------------------------------------- small products
cdef inline void line_sums(real* out, ssize out_stride, real* a, Matrix* left, real* b, ssize b_stride,
                           bint is_block) noexcept nogil:
    """A line of columns of a row of the product, or of a block of rows."""
    if real is float:
        if is_block:
            tl_block_sums_32(out, out_stride, a, left.row_stride, left.column_stride, b, b_stride, left.columns)
        else:
            tl_row_sums_32(out, out_stride, a, left.row_stride, left.column_stride, b, b_stride, left.columns)
    elif is_block:
        tl_block_sums_64(out, out_stride, a, left.row_stride, left.column_stride, b, b_stride, left.columns)
    else:
        tl_row_sums_64(out, out_stride, a, left.row_stride, left.column_stride, b, b_stride, left.columns)


cdef void small_product(real* out, real* a, real* b, Matrix* to, Matrix* left, Matrix* right, double alpha,
                        double beta) noexcept nogil:
    """A line of columns at a time. If b's rows are not whole lines, it is first laid out so.

    The last block of rows begins before the end of the one before it if it has to, so that equal rows have equal sums: compilers
    round the sums of a block and those of a row differently.
    """
    cdef real[SMALL_SIDE * SMALL_COLUMNS] packed
    cdef real[BLOCK_ROWS * SMALL_COLUMNS] sums
    cdef ssize done = 0, i, j, p, n = right.columns, b_stride = right.row_stride, stride = SMALL_COLUMNS
    cdef ssize height = BLOCK_ROWS if left.rows >= BLOCK_ROWS else 1
    cdef ssize width = LINE_BYTES // <ssize>sizeof(real)
    cdef bint is_direct = to.column_stride == 1 and n % width == 0 and alpha == 1 and beta == 0
    cdef real* rows = sums
    cdef real* at
    if right.column_stride != 1 or n % width != 0:
        memset(packed, 0, right.rows * SMALL_COLUMNS * sizeof(real))
        for p in range(right.rows):
            for j in range(n):
                packed[p * SMALL_COLUMNS + j] = b[p * right.row_stride + j * right.column_stride]
        b = packed
        b_stride = SMALL_COLUMNS
    if is_direct:
        stride = to.row_stride
    while done < left.rows:
        i = min(done, left.rows - height)
        if is_direct:
            rows = out + i * stride
        j = 0
        while j < n:
            line_sums(rows + j, stride, a + i * left.row_stride, left, b + j, b_stride,
                      height == BLOCK_ROWS)
            j += width
        if not is_direct:
            for p in range(done - i, height):
                for j in range(n):
                    at = out + (i + p) * to.row_stride + j * to.column_stride
                    at[0] = <real>alpha * sums[p * SMALL_COLUMNS + j] + (<real>beta * at[0] if beta != 0 else 0)
        done = i + height


cdef void small_multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil:
    """Of float32 or float64."""
    if dtype == FLOAT32:
        small_product[float](<float*>out.data, <float*>a.data, <float*>b.data, out, a, b, alpha, beta)
    else:
        small_product[double](<double*>out.data, <double*>a.data, <double*>b.data, out, a, b, alpha, beta)


# ---------------------------------------------------------------- any product
cdef void plain_product(summand* out, summand* a, summand* b, Matrix* to, Matrix* left, Matrix* right, double alpha,
                        double beta) noexcept nogil:
    """Any type and any strides: what BLAS has no function for. Integers wrap."""
    cdef ssize i, j, p
    cdef summand total, factor = <summand>alpha, keep = <summand>beta
    cdef summand* x
    cdef summand* y
    for i in range(left.rows):
        for j in range(right.columns):
            total = 0
            x = a + i * left.row_stride
            y = b + j * right.column_stride
            for p in range(left.columns):
                total += x[p * left.column_stride] * y[p * right.row_stride]
            x = out + i * to.row_stride + j * to.column_stride
            x[0] = factor * total + (keep * x[0] if keep != 0 else 0)


cdef void integer_product(integer* out, integer* a, integer* b, Matrix* to, Matrix* left, Matrix* right, double alpha,
                          double beta) noexcept nogil:
    """Rows of out at a time, so that the innermost loop runs along rows of b. Integers wrap."""
    cdef ssize i, j, p
    cdef integer factor
    cdef integer* row
    cdef integer* source
    if to.column_stride != 1 or right.column_stride != 1:
        plain_product(out, a, b, to, left, right, alpha, beta)
        return
    for i in range(left.rows):
        row = out + i * to.row_stride
        for j in range(right.columns):
            row[j] = <integer>beta * row[j] if beta != 0 else 0
        for p in range(left.columns):
            factor = <integer>alpha * a[i * left.row_stride + p * left.column_stride]
            source = b + p * right.row_stride
            for j in range(right.columns):
                row[j] += factor * source[j]


cdef void plain_multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil:
    if dtype == FLOAT32:
        plain_product[float](<float*>out.data, <float*>a.data, <float*>b.data, out, a, b, alpha, beta)
    elif dtype == FLOAT64:
        plain_product[double](<double*>out.data, <double*>a.data, <double*>b.data, out, a, b, alpha, beta)
    elif dtype == COMPLEX64:
        plain_product[complex64](<complex64*>out.data, <complex64*>a.data, <complex64*>b.data, out, a, b, alpha, beta)
    elif dtype == COMPLEX128:
        plain_product[complex128](<complex128*>out.data, <complex128*>a.data, <complex128*>b.data, out, a, b, alpha,
                                  beta)
    elif dtype == UINT8:
        integer_product[uint8_t](<uint8_t*>out.data, <uint8_t*>a.data, <uint8_t*>b.data, out, a, b, alpha, beta)
    elif dtype == INT8:
        integer_product[int8_t](<int8_t*>out.data, <int8_t*>a.data, <int8_t*>b.data, out, a, b, alpha, beta)
    elif dtype == INT16:
        integer_product[int16_t](<int16_t*>out.data, <int16_t*>a.data, <int16_t*>b.data, out, a, b, alpha, beta)
    elif dtype == INT32:
        integer_product[int32_t](<int32_t*>out.data, <int32_t*>a.data, <int32_t*>b.data, out, a, b, alpha, beta)
    else:
        integer_product[int64_t](<int64_t*>out.data, <int64_t*>a.data, <int64_t*>b.data, out, a, b, alpha, beta)


# ---------------------------------------------------------------- inner product
cdef void sum_products(summand* out, summand* x, ssize x_stride, summand* y, ssize y_stride, ssize n) noexcept nogil:
    cdef summand total = 0
    cdef ssize i
    for i in range(n):
        total += x[i * x_stride] * y[i * y_stride]
    out[0] = total


cdef void plain_inner(int dtype, void* out, const void* x, ssize x_stride, const void* y, ssize y_stride,
                      ssize n) noexcept nogil:
    if dtype == FLOAT32:
        sum_products(<float*>out, <float*>x, x_stride, <float*>y, y_stride, n)
    elif dtype == FLOAT64:
        sum_products(<double*>out, <double*>x, x_stride, <double*>y, y_stride, n)
    elif dtype == COMPLEX64:
        sum_products(<complex64*>out, <complex64*>x, x_stride, <complex64*>y, y_stride, n)
    elif dtype == COMPLEX128:
        sum_products(<complex128*>out, <complex128*>x, x_stride, <complex128*>y, y_stride, n)
    elif dtype == UINT8:
        sum_products(<uint8_t*>out, <uint8_t*>x, x_stride, <uint8_t*>y, y_stride, n)
    elif dtype == INT8:
        sum_products(<int8_t*>out, <int8_t*>x, x_stride, <int8_t*>y, y_stride, n)
    elif dtype == INT16:
        sum_products(<int16_t*>out, <int16_t*>x, x_stride, <int16_t*>y, y_stride, n)
    elif dtype == INT32:
        sum_products(<int32_t*>out, <int32_t*>x, x_stride, <int32_t*>y, y_stride, n)
    else:
        sum_products(<int64_t*>out, <int64_t*>x, x_stride, <int64_t*>y, y_stride, n)

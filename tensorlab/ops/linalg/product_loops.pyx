"""Loops for products of matrices: out = alpha * a @ b + beta * out.

Three kinds. The small one keeps a row of sums in registers and beats BLAS, whose preparations cost more than such a
product. The integer one runs along rows of b, which the compiler vectorises. The plain one takes anything.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tensorlab._core.dtypes cimport INT8, INT16, INT32, UINT8, integer, number, real
from tensorlab._core.layout cimport ssize

cdef extern from *:
    """
    /* out[j] = sum over p of a[p * a_stride] * b[p * b_stride + j] for 8 columns j. GCC's and Clang's vector types keep the
       sums in a register; from a plain loop the compiler stores and reloads them in each step, eight times slower. */
    #if defined(__GNUC__)
    #define TL_LINE_SUMS(name, real)                                                                               \\
        typedef real name##_line __attribute__((vector_size(8 * sizeof(real)), aligned(sizeof(real)), may_alias)); \\
        static inline void name(real* out, const real* a, Py_ssize_t a_stride, const real* b, Py_ssize_t b_stride,     \\
                                Py_ssize_t n) {                                                                    \\
            name##_line total = {0};                                                                               \\
            for (Py_ssize_t p = 0; p < n; p++) total += a[p * a_stride] * *(const name##_line*)(b + p * b_stride);     \\
            *(name##_line*)out = total;                                                                            \\
        }
    #else
    #define TL_LINE_SUMS(name, real)                                                                               \\
        static inline void name(real* out, const real* a, Py_ssize_t a_stride, const real* b, Py_ssize_t b_stride,     \\
                                Py_ssize_t n) {                                                                    \\
            for (int j = 0; j < 8; j++) out[j] = 0;                                                                \\
            for (Py_ssize_t p = 0; p < n; p++)                                                                     \\
                for (int j = 0; j < 8; j++) out[j] += a[p * a_stride] * b[p * b_stride + j];                           \\
        }
    #endif
    TL_LINE_SUMS(tl_line_sums_32, float)
    TL_LINE_SUMS(tl_line_sums_64, double)
    """
    void tl_line_sums_32(float* out, const float* a, ssize a_stride, const float* b, ssize b_stride, ssize n) nogil
    void tl_line_sums_64(double* out, const double* a, ssize a_stride, const double* b, ssize b_stride, ssize n) nogil


# ---------------------------------------------------------------- small products
cdef void small_product(real* out, real* a, real* b, Matrix* to, Matrix* left, Matrix* right, double alpha,
                        double beta) noexcept nogil:
    """Eight columns at a time. If b's rows are not whole lines of eight, it is first laid out so."""
    cdef real[SMALL_SIDE * SMALL_COLUMNS] packed
    cdef real[SMALL_COLUMNS] sums
    cdef ssize i, j, p, n = right.columns, inner = right.rows, b_stride = right.row_stride
    cdef bint is_direct = to.column_stride == 1 and n % 8 == 0 and alpha == 1 and beta == 0
    cdef real* row = sums
    if right.column_stride != 1 or n % 8 != 0:
        memset(packed, 0, inner * SMALL_COLUMNS * sizeof(real))
        for p in range(inner):
            for j in range(n):
                packed[p * SMALL_COLUMNS + j] = b[p * right.row_stride + j * right.column_stride]
        b = packed
        b_stride = SMALL_COLUMNS
    for i in range(left.rows):
        if is_direct:
            row = out + i * to.row_stride
        for j in range(0, n, 8):
            if real is float:
                tl_line_sums_32(row + j, a + i * left.row_stride, left.column_stride, b + j, b_stride, inner)
            else:
                tl_line_sums_64(row + j, a + i * left.row_stride, left.column_stride, b + j, b_stride, inner)
        if is_direct:
            continue
        for j in range(n):
            if beta == 0:
                out[i * to.row_stride + j * to.column_stride] = <real>alpha * sums[j]
            else:
                out[i * to.row_stride + j * to.column_stride] = (<real>alpha * sums[j]
                                                                 + <real>beta * out[i * to.row_stride + j * to.column_stride])


# ---------------------------------------------------------------- any product
cdef void plain_product(number* out, number* a, number* b, Matrix* to, Matrix* left, Matrix* right, double alpha,
                        double beta) noexcept nogil:
    """Any type and any strides: what BLAS has no function for. Integers wrap."""
    cdef ssize i, j, p
    cdef number total, factor = <number>alpha, keep = <number>beta
    cdef number* x
    cdef number* y
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


cdef void integer_multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil:
    if dtype == UINT8:
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
cdef number plain_inner(number* x, ssize x_stride, number* y, ssize y_stride, ssize n) noexcept nogil:
    cdef number total = 0
    cdef ssize i
    for i in range(n):
        total += x[i * x_stride] * y[i * y_stride]
    return total

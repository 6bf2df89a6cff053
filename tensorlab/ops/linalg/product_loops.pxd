"""Loops for products of matrices that are too small for BLAS, or of types that it does not know."""
from tensorlab._core.dtypes cimport real, summand
from tensorlab._core.layout cimport ssize

cdef enum:
    SMALL_COLUMNS = 32          # largest small product: rows and inner size up to SMALL_SIDE
    SMALL_SIDE = 32

cdef struct Matrix:             # a matrix anywhere in memory
    char* data                  # its first element
    ssize rows
    ssize columns
    ssize row_stride            # elements from one row to the next
    ssize column_stride

cdef void small_product(real* out, real* a, real* b, Matrix* to, Matrix* left, Matrix* right, double alpha,
                        double beta) noexcept nogil
cdef void plain_product(summand* out, summand* a, summand* b, Matrix* to, Matrix* left, Matrix* right, double alpha,
                        double beta) noexcept nogil
cdef void integer_multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil
cdef summand plain_inner(summand* x, ssize x_stride, summand* y, ssize y_stride, ssize n) noexcept nogil

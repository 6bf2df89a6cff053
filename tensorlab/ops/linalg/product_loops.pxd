"""Loops for products of matrices that are too small for BLAS, or of types that it does not know."""
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

cdef void small_multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil
cdef void plain_multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil
cdef void plain_inner(int dtype, void* out, const void* x, ssize x_stride, const void* y, ssize y_stride,
                      ssize n) noexcept nogil

"""Products of matrices of floats in panels: our own, where it is faster than BLAS."""
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab.ops.linalg.product_loops cimport Matrix

cdef bint is_packed(int dtype, Matrix* a, Matrix* b) noexcept nogil
cdef bint packed_multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil
cdef void pack(real* panel, ssize width, const real* x, ssize step, ssize stride, ssize n, ssize count) noexcept nogil

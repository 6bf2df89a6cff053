"""Products of strided matrices, by BLAS where it pays."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.linalg.product_loops cimport Matrix

cdef void set_matrix(Matrix* matrix, TensorBase x, bint is_transposed) noexcept nogil
cdef void multiply_one(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil
cdef int multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) except -1
cdef int multiply_batch(TensorBase out, TensorBase a, TensorBase b, double alpha, double beta) except -1
cdef int inner_product(int dtype, void* out, const void* x, ssize x_stride, const void* y, ssize y_stride, ssize n) except -1

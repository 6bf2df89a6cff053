"""Matrix products as ops."""
from tensorlab._core.tensor cimport TensorBase

cdef object run_mm(TensorBase x, TensorBase y, object out=*)
cdef object run_matmul(TensorBase x, TensorBase y, object out=*)
cdef TensorBase transposed(TensorBase x)
cdef TensorBase flipped(TensorBase x)
cdef TensorBase as_rows(TensorBase x)
cdef int check_product(str where, TensorBase x, TensorBase y) except -1

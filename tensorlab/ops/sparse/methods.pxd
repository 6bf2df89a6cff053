"""What ops of this layer ask of sparse tensors."""
from tensorlab._core.tensor cimport TensorBase

cdef bint is_sparse_layout(object layout) except -1
cdef object empty_sparse(str where, object size, object layout, object dtype, object device, bint requires_grad)
cpdef object with_sparse_gradient(TensorBase table, TensorBase out, TensorBase indices, padding_idx, rows_of)

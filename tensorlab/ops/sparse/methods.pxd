"""What ops of this layer ask of sparse tensors."""
from tensorlab._core.tensor cimport TensorBase

cpdef object with_sparse_gradient(TensorBase table, TensorBase out, TensorBase indices, padding_idx, rows_of)

"""Views that show a part, for other families of ops too."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase slice_dim(TensorBase x, int dim, ssize start, ssize length, ssize step)
cdef TensorBase diagonal_kernel(TensorBase x, object offset, object dim1, object dim2)
cdef TensorBase part_of(TensorBase x, int dim, ssize start, ssize length, ssize step)

"""What is selected by True and False, or by being other than zero."""
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase where_true(TensorBase x, TensorBase mask)
cdef TensorBase flat_nonzero(TensorBase x)
cdef TensorBase unravel(TensorBase positions, TensorBase x, int dim)

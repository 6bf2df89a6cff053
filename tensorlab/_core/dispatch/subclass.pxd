"""Tensors of another Python class, for other modules too."""
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase subclass_of(TensorBase data, object cls, object require_grad)

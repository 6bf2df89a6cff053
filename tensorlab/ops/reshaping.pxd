"""The same elements in another shape, for other families of ops too."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase reshape_to(TensorBase x, int ndim, const ssize* sizes)

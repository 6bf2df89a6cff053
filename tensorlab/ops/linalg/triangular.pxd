"""Linear systems with a triangle, and the shape of what solves a system."""
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase system_result(str where, TensorBase A, TensorBase B, bint left, bint by_columns)

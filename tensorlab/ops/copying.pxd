"""Copies and casts, for other families of ops too."""
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase run_row_major_clone(TensorBase x)
cdef TensorBase run_contiguous(TensorBase x)
cdef int copy_safely(TensorBase out, TensorBase x) except -1
cdef bint is_same_place(TensorBase x, TensorBase y) noexcept

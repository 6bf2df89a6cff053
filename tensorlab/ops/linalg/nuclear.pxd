from tensorlab._core.tensor cimport TensorBase

cdef object run_nuclear_norm(TensorBase x)

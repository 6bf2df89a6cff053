"""What adaptive pooling shares with average pooling: the loops."""
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase mean_of_windows(TensorBase x, tuple windows, double divisor)
cdef TensorBase spread_over_windows(TensorBase grad, tuple windows, double divisor, tuple sizes)
cdef int check_gradient(TensorBase grad, tuple windows, str where) except -1

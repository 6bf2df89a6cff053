"""What adaptive pooling shares with average pooling: the loops."""
from tensorlab._core.tensor cimport TensorBase

cdef int mean_of_windows(TensorBase out, TensorBase x, tuple windows, double divisor) except -1
cdef int spread_over_windows(TensorBase out, TensorBase grad, tuple windows, double divisor) except -1
cdef int check_gradient(TensorBase grad, tuple windows, str where) except -1

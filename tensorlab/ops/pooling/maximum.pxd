"""What adaptive and fractional pooling share with max pooling: the loop over windows."""
from tensorlab._core.tensor cimport TensorBase

cdef tuple max_of_windows(TensorBase x, tuple windows, tuple counts, tuple steps, bint per_plane)
cdef tuple new_maxima(TensorBase x, int dtype, tuple counts)

"""What adaptive and fractional pooling share with max pooling: the loop over windows."""
from tensorlab._core.tensor cimport TensorBase

cdef int max_of_windows(TensorBase values, TensorBase indices, TensorBase x, tuple windows, tuple counts, tuple steps,
                        bint per_plane) except -1
cdef tuple maxima_results(TensorBase x, tuple counts)

"""What losses need of softmax: its op, for recording a softmax that was computed on the way."""
from tensorlab._core.dispatch cimport Op

cdef Op SOFTMAX

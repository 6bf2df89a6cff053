"""What losses need of softmax: its op, for recording a softmax that was computed on the way."""
from tensorlab._core.op cimport Op

cdef Op SOFTMAX

"""What losses need of softmax: the op of its gradient."""
from tensorlab._core.op cimport Op

cdef Op SOFTMAX_BACKWARD

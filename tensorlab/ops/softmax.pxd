"""What losses need of softmax: the op of its gradient."""
from tensorlab._core.dispatch.op cimport Op

cdef Op SOFTMAX_BACKWARD

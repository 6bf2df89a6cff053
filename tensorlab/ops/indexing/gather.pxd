"""What scatter_reduce and pooling share with gather and scatter."""

from tensorlab._core.dispatch.op cimport Op

cdef Op GATHER_BACKWARD         # grad, dim, index, shape
cdef Op WRAP_INDEX
cdef object padded(object grad, object shape)

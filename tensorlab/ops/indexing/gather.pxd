"""What scatter_reduce shares with scatter."""

from tensorlab._core.dispatch.op cimport Op

cdef Op WRAP_INDEX
cdef object padded(object grad, object shape)

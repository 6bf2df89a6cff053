"""What scatter_reduce shares with scatter."""

cdef object padded(object grad, object shape)

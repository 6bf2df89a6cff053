"""Which overrides a call has; for functions that call hooks themselves."""

cdef list find_overrides(list arguments, list others)
cdef bint are_modes_anywhere() noexcept

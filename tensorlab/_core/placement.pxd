"""Where a factory makes its tensor if it is told no device."""

cdef bint is_meta_by_default() noexcept

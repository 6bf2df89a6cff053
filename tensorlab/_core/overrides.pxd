"""Whether anything listens to the calls of public functions, and how to be quiet for a while."""

cdef bint somebody_listens() noexcept
cdef int be_quiet(int more) noexcept

"""Anomaly mode: remembering lines of the user's program."""

cdef bint is_anomaly_on() noexcept
cdef bint is_data_watched() noexcept
cdef str here()
cdef object forward_stack()
cdef int write_out(dict metadata) except -1
cdef int find_nan(object node, tuple out) except -1
cdef int tell_where(object node, object error) except -1

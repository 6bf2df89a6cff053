"""Sharing a loop out over threads."""
from tensorlab._core.layout cimport ssize

cdef enum:
    NOGIL_WORK = 8192           # elements from which the GIL is let go

# The work of the indices from `begin` to before `end`. It must not matter in which thread, or in which order, ranges run.
ctypedef void (*range_body)(void* context, ssize begin, ssize end) noexcept nogil

cdef void parallel_for(range_body body, void* context, ssize count, ssize grain) noexcept nogil
cdef void share_work(range_body body, void* context, ssize count, ssize work, ssize grain) noexcept
cdef int thread_count(ssize work, ssize grain) noexcept nogil
cdef ssize grain_of(ssize grain, ssize work) noexcept nogil

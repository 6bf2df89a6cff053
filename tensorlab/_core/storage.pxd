"""Owned bytes, the allocator beneath them, and memory that belongs to somebody else."""

cdef void* allocate(size_t nbytes) noexcept
cdef void release(void* address, size_t nbytes) noexcept

cdef class Storage:
    cdef char* address          # first byte; NULL when there are no bytes
    cdef Py_ssize_t nbytes_
    cdef object owner           # keeps foreign memory alive; None when the bytes are ours
    cdef bint is_read_only
    cdef int exports            # live NumPy arrays, memoryviews, capsules that look at these bytes
    cdef int resize(self, Py_ssize_t nbytes) except -1

cdef Storage new_storage(Py_ssize_t nbytes)
cdef Storage foreign_storage(void* address, Py_ssize_t nbytes, object owner, bint is_read_only)
cdef Storage empty_storage

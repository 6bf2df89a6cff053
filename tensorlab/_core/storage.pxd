"""Owned bytes, the allocator beneath them, and memory that belongs to someone else."""

cdef void* allocate(size_t nbytes) noexcept
cdef void release(void* address, size_t nbytes) noexcept

cdef enum:
    # what a write to the bytes must do first
    WRITABLE = 0
    READ_ONLY = 1               # be refused: the owner promised that they do not change
    LENT = 2                    # let the lazy clones that read them copy them (see ops/lazy_clone.pyx)
    BORROWED = 3                # copy them: they are those of the tensor that this is a lazy clone of

cdef class Storage:
    cdef char* address          # first byte; NULL if there are none, or they are elsewhere
    cdef Py_ssize_t nbytes_
    cdef object owner           # keeps foreign memory alive; None when the bytes are ours
    cdef unsigned char device   # where the bytes are: ON_CPU, ON_META, ... (devices.pxd)
    cdef bint is_pending        # of a result that has no memory yet (see pending_storage)
    cdef int guard              # WRITABLE, READ_ONLY, ...
    cdef int exports            # live NumPy arrays, memoryviews and capsules over these bytes
    cdef int resize(self, Py_ssize_t nbytes) except -1
    cdef int own(self) except -1

cdef Storage new_storage(Py_ssize_t nbytes)
cdef Storage storage_on(int device, Py_ssize_t nbytes)
cdef Storage shell_storage(int device, Py_ssize_t nbytes)
cdef int refuse_shell() except -1
cdef Storage pending_storage(int device)
cdef Storage fetched(Storage storage)
cdef int send(Storage storage, Storage source) except -1
cdef Storage foreign_storage(void* address, Py_ssize_t nbytes, object owner, int guard)
cdef Storage empty_storage

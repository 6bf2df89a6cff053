"""The state of tensorlab, as the guards check it."""
from libc.stdint cimport uint64_t


cdef class UsedScope:
    cdef object owner               # the dict of a module, or a class
    cdef dict attributes            # that dict, or the one of the class
    cdef dict values                # {name: what it stood for}
    cdef bint is_class, is_whole
    cdef uint64_t version           # of the owner, when its values were last compared

    cdef bint is_unchanged(self) noexcept
    cdef bint has_values(self) noexcept


cdef class LibraryState:
    cdef list scopes                # of UsedScope
    cdef object abstract_classes
    cdef bint grad_mode, inference
    cdef int default_device
    cdef int autocast               # what was set for it, as one number
    cdef int default_dtype
    cdef long settings              # the number of those of the process

    cdef bint has_modes(self) noexcept
    cdef bint is_unpatched(self) noexcept
    cdef bint has_abstract_classes(self) noexcept

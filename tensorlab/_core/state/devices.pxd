"""Devices: a code for each, the table of those that hold memory of their own, and a thread's default."""

cdef enum:
    ON_CPU = 0              # in memory that the processor addresses
    ON_META = 1             # in none: a shape, a dtype and strides
    FIRST_OF_OTHERS = 2     # of those that `register_device` adds
    MAX_DEVICES = 8
    SHELL = 8               # added to the code of a device: a tensor says that it is there, and has no memory itself

cdef int default_device() noexcept
cdef object memory_on(int device, Py_ssize_t nbytes)
cdef int read_memory(int device, object memory, char* target, Py_ssize_t nbytes) except -1
cdef int write_memory(int device, object memory, const char* source, Py_ssize_t nbytes) except -1
cdef str device_name(int device)

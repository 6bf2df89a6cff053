"""Functions that SciPy has and C has not: `scipy.special.cython_special` offers them to other Cython modules.

SciPy takes long to import, so a function is looked up when it is first called. The loops call it once an element, always in
double: float32 gives the float64 value, rounded.
"""
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer


cdef void* address_of(Borrowed* function) noexcept nogil:
    """The address of a function; it is looked up if that has not been done."""
    if function.address == NULL:
        with gil:
            function.address = find_function(function.name.decode())
    return function.address


cdef void* find_function(str name) except NULL:
    """Cython writes a function of several types several times, under names with a prefix: the one of doubles is asked for."""
    from scipy.special import cython_special
    for spelled, capsule in cython_special.__pyx_capi__.items():
        signature = PyCapsule_GetName(capsule)
        is_of_doubles = b"complex" not in signature and b"float" not in signature
        if is_of_doubles and spelled.removeprefix("__pyx_fuse_").lstrip("0123456789_") == name:
            return PyCapsule_GetPointer(capsule, signature)
    raise AttributeError(f"scipy.special.cython_special has no function {name!r} of doubles")

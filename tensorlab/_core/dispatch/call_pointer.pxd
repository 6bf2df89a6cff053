"""The pointer that every call of a compiled function goes through (PEP 590), and how to set it to another C function."""
from cpython.object cimport PyObject

cdef extern from *:
    """
    #ifndef TL_CALL_POINTER
    #define TL_CALL_POINTER
    typedef PyObject* (*tl_call)(PyObject*, PyObject**, size_t, PyObject*);
    #define tl_call_slot(f) (*(tl_call*)((char*)(f) + Py_TYPE(f)->tp_vectorcall_offset))
    #define tl_set_call_slot(f, call) (tl_call_slot(f) = (tl_call)(call))
    #endif
    """
    ctypedef object (*Call "tl_call")(PyObject* function, PyObject** arguments, size_t flags, PyObject* names)
    Call call_slot "tl_call_slot"(object function)
    void set_call_slot "tl_set_call_slot"(object function, Call call)

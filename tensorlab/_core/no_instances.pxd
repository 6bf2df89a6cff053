"""Extension classes whose objects only our C code makes: elsewhere their fields would be empty, and reading them a crash."""

cdef extern from *:
    """
    #ifndef TL_NO_INSTANCES
    #define TL_NO_INSTANCES
    static PyObject* tl_refuse_new(PyTypeObject* cls, PyObject* arguments, PyObject* named) {
        (void)arguments; (void)named;
        return PyErr_Format(PyExc_TypeError, "cannot create '%.100s' instances", cls->tp_name);
    }
    /* a call of the class goes through the second pointer, if it is there */
    #define tl_forbid_new(cls) (((PyTypeObject*)(cls))->tp_new = tl_refuse_new, ((PyTypeObject*)(cls))->tp_vectorcall = NULL)
    #endif
    """
    void forbid_new "tl_forbid_new"(object cls)     # for a final class; cls.__new__ in its own module goes past this

"""NumPy's names for arguments: `axis` for dim and `keepdims` for keepdim, as PyTorch accepts them in every function.

Not in each signature, where they would only stand in the way: the pointer that calls of such a function go through (PEP 590)
is set to a function that looks at the names of the arguments, if there are any, and calls the function itself. A call
without named arguments pays one comparison.
"""
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE

from tensorlab._core.call_pointer cimport Call, call_slot, set_call_slot

import functools

cdef extern from *:
    """
    #define tl_takes_names(f) (((PyCFunctionObject*)(f))->m_ml->ml_flags == (METH_FASTCALL | METH_KEYWORDS))
    """
    bint takes_names "tl_takes_names"(object function)

cdef Call call_itself = NULL            # one code unpacks the arguments of all compiled functions that take names
cdef dict NUMPY_ALIASES = {"axis": "dim", "keepdims": "keepdim"}


cdef object translate_names(PyObject* function, PyObject** arguments, size_t flags, PyObject* names):
    cdef tuple wanted
    if names == NULL:
        return call_itself(function, arguments, flags, names)
    wanted = translated(<tuple>names, <object>function)
    return call_itself(function, arguments, flags, <PyObject*>wanted)


cdef tuple translated(tuple given, object function):
    """The names of arguments as the function knows them."""
    cdef tuple wanted = tuple([NUMPY_ALIASES.get(name, name) for name in given])
    if wanted != given and len(set(wanted)) < PyTuple_GET_SIZE(wanted):
        raise TypeError(f"{function.__name__}: an argument is given twice, under two names: {', '.join(given)}")
    return wanted


def accepts_numpy_names(function):
    """Decorator: the same for a function written in Python, whose pointer the interpreter does not always go through."""
    def call(*args, **kwargs):
        if kwargs:
            kwargs = dict(zip(translated(tuple(kwargs), function), kwargs.values()))
        return function(*args, **kwargs)

    return functools.update_wrapper(call, function)


def accept_numpy_names(functions):
    """Let compiled functions with a parameter `dim` take NumPy's names of it and `keepdim`."""
    global call_itself
    for function in functions:
        if (type(function) is not type(accept_numpy_names) or not takes_names(function)
                or call_slot(function) == <Call>translate_names):
            continue
        code = function.__code__
        taken = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        if "dim" in taken and "axis" not in taken:
            if call_itself == NULL:
                call_itself = call_slot(function)
            set_call_slot(function, translate_names)

"""Further names for arguments, as PyTorch accepts them: NumPy's in every function, and those of a function's other forms.

Not in each signature, where they would only stand in the way: the pointer that calls of such a function go through (PEP 590)
is set to a function that looks at the names of the arguments, if there are any, and calls the function itself. A call
without named arguments pays one comparison.
"""
from cpython.object cimport PyObject
from cpython.set cimport PySet_Contains
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE

from tensorlab._core.dispatch.call_pointer cimport Call, call_slot, set_call_slot

import functools

cdef extern from *:
    """
    #define tl_takes_names(f) (((PyCFunctionObject*)(f))->m_ml->ml_flags == (METH_FASTCALL | METH_KEYWORDS))
    """
    bint takes_names "tl_takes_names"(object function)

cdef Call call_itself = NULL            # one code unpacks the arguments of all compiled functions that take names
cdef dict NUMPY_ALIASES = {
    "axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other",
}
cdef dict SECTIONS = {name: "indices_or_sections" for name in ("indices", "sections", "tensor_indices_or_sections")}
cdef dict OTHER_FORMS = {                # of functions that PyTorch declares several times, under different names
    "copy_": {"src": "other"},
    "dsplit": SECTIONS,
    "hsplit": SECTIONS,
    "isin": {"element": "elements", "test_element": "test_elements"},
    "one_hot": {"tensor": "input"},
    "result_type": {"scalar": "other", "scalar1": "tensor", "scalar2": "other", "tensor1": "tensor", "tensor2": "other"},
    "split": {"split_size": "split_size_or_sections"},
    "transpose_": {"axis0": "dim0", "axis1": "dim1"},   # it is swapaxes_, too
    "tensor_split": SECTIONS,
    "vsplit": SECTIONS,
}
cdef set FURTHER_NAMES = set(NUMPY_ALIASES).union(*OTHER_FORMS.values())
cdef set translates_itself = set()
cdef dict tables = {}                   # function -> what its further names stand for, once one was met


cdef object translate_names(PyObject* function, PyObject** arguments, size_t flags, PyObject* names):
    cdef tuple wanted
    if names == NULL or not has_further_name(names):
        return call_itself(function, arguments, flags, names)
    wanted = translated(<tuple>names, <object>function)
    return call_itself(function, arguments, flags, <PyObject*>wanted)


cdef inline bint has_further_name(PyObject* names) except -1:
    cdef Py_ssize_t i
    for i in range(PyTuple_GET_SIZE(<tuple>names)):
        if PySet_Contains(FURTHER_NAMES, <object>PyTuple_GET_ITEM(<tuple>names, i)):
            return True
    return False


cdef tuple own_names(tuple given, object function):
    """The names of arguments as the function knows them."""
    return translated(given, function) if has_further_name(<PyObject*>given) else given


cdef tuple translated(tuple given, object function):
    cdef dict table = tables.get(function)
    cdef tuple wanted
    if table is None:
        table = tables[function] = table_of(function)
    wanted = tuple([table.get(name, name) for name in given])
    if PyTuple_GET_SIZE(wanted) > 1 and len(set(wanted)) < PyTuple_GET_SIZE(wanted):
        raise TypeError(f"{function.__name__}: an argument is given twice, under two names: {', '.join(given)}")
    return wanted


cdef dict table_of(function):
    """What each further name stands for, but for those that are parameters of the function itself."""
    cdef object code = function.__code__
    cdef tuple taken = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    further = {**NUMPY_ALIASES, **OTHER_FORMS.get(function.__name__, {})}
    return {name: own for name, own in further.items() if own in taken and name not in taken}


def accepts_numpy_names(function):
    """Decorator: the same for a function written in Python, whose pointer the interpreter does not always go through."""
    def call(*args, **kwargs):
        if kwargs:
            kwargs = dict(zip(own_names(tuple(kwargs), function), kwargs.values()))
        return function(*args, **kwargs)

    return functools.update_wrapper(call, function)


def accept_numpy_names(functions):
    """Let compiled functions take the further names of their parameters."""
    global call_itself
    for function in functions:
        if (type(function) is not type(accept_numpy_names) or not takes_names(function) or function in translates_itself
                or call_slot(function) == <Call>translate_names):
            continue
        if call_itself == NULL:
            call_itself = call_slot(function)
        set_call_slot(function, translate_names)

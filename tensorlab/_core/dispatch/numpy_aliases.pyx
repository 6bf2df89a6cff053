"""Further names for arguments, as PyTorch accepts them: NumPy's in every function, and those of a function's other forms.

Not in each signature, where they would only stand in the way: the pointer that calls of such a function go through (PEP 590)
is set to a function that looks at the names of the arguments, if there are any, and calls the function itself. A call
without named arguments pays one comparison. Where the call fails because an argument isn't a tensor, it says which function
that was, and how to get what is meant: `exp(x.sum)` lacks the brackets of a call.
"""
from cpython.object cimport PyObject
from cpython.set cimport PySet_Contains
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE

from tensorlab._core.dispatch.call_pointer cimport Call, call_slot, set_call_slot

import functools
import re

from tensorlab.errors import uncalled

cdef extern from *:
    """
    #define tl_takes_names(f) (((PyCFunctionObject*)(f))->m_ml->ml_flags == (METH_FASTCALL | METH_KEYWORDS))
    static int tl_raise_what_is_set(void) { return -1; }
    """
    bint takes_names "tl_takes_names"(object function)
    ctypedef PyObject* (*RawCall "tl_call")(PyObject* function, PyObject** arguments, size_t flags, PyObject* names)
    object owned "(PyObject*)"(PyObject* result)
    int raise_what_is_set "tl_raise_what_is_set"() except -1
    Py_ssize_t positional "PyVectorcall_NARGS"(size_t flags)

NO_TENSOR = re.compile(r"Argument '(\w+)' has incorrect type \(expected tensorlab\._core\.tensor\.TensorBase, got (.*)\)$")
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
    cdef PyObject* result
    if names != NULL and has_further_name(names):
        wanted = translated(<tuple>names, <object>function)
        names = <PyObject*>wanted
    result = (<RawCall>call_itself)(function, arguments, flags, names)
    if result == NULL:
        raise_clearly(<object>function, arguments, positional(flags), names)
    return owned(result)


cdef int raise_clearly(object function, PyObject** arguments, Py_ssize_t count, PyObject* names) except -1:
    """Raise the exception that is set, in our words if it says that an argument is not a tensor."""
    try:
        raise_what_is_set()
    except TypeError as error:
        found = NO_TENSOR.match(str(error))
        if found is None:
            raise
        parameters = function.__code__.co_varnames
        given = dict(zip(parameters, [<object>arguments[i] for i in range(count)]))
        if names != NULL:
            given.update({name: <object>arguments[count + i] for i, name in enumerate(<tuple>names)})
        name, kind = found[1], found[2].rpartition(".")[2]
        if name not in given or type(given[name]).__name__ != kind:
            raise  # another function, which this one called
        where = function.__name__.removesuffix("_method")  # as in where_method, which is Tensor.where
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {kind}{uncalled(given[name])}") from None


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

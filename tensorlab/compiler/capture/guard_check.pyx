"""The guards of a recording as an array of C records, and the one pass over them before each replay.

Each Guard (guards.py) becomes one record: the last step of the path to the object, and the comparison with what is expected.

    container       where that step begins: a known object, or a *slot*, with what an earlier record has fetched
    fetch, key      how to go it: to an ITEM of a list, to what a NAME of a dict stands for, ...
    check, expected how to compare: IDENTITY, EQUAL, TYPE, ...
    out             the slot that the object goes to, if later records begin there

Slot 0 holds the arguments, slot 1 the keyword arguments.

`match` runs the records in order until one disagrees. It calls no code of the user's: no `__eq__`, no `__hash__`, no property.
So nothing can change while it runs, and the borrowed references in the slots stay valid.
"""
cimport cython
from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.list cimport PyList_GET_ITEM
from cpython.mem cimport PyMem_Free
from cpython.object cimport Py_TYPE, PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE

from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.compiler.capture.aliasing cimport Aliasing, zeroed
from tensorlab.compiler.capture.library_state cimport LibraryState
from tensorlab.compiler.capture.same_value cimport is_same_value
from tensorlab.compiler.capture.tensor_state cimport TensorState

cdef extern from "Python.h":
    """
    #define ancestors_of(cls) (((PyTypeObject *)(cls))->tp_mro)
    #define LIST_FLAG Py_TPFLAGS_LIST_SUBCLASS
    """
    unsigned long LIST_FLAG
    ssize Py_SIZE(PyObject* x)
    PyObject* ancestors_of(PyObject* cls)
    PyObject* PyDict_GetItemWithError(PyObject* container, PyObject* key)
    PyObject* PyObject_GenericGetDict(PyObject* x, void* context)
    PyObject* PyCell_GET(PyObject* cell)
    PyObject* PyFunction_GET_CODE(PyObject* function)
    PyObject* PyFunction_GET_DEFAULTS(PyObject* function)
    PyObject* PyFunction_GET_KW_DEFAULTS(PyObject* function)
    void PyErr_Clear()
    void Py_DECREF(PyObject* x)

cdef enum:
    # fetch
    ITSELF = 0              # the container
    ITEM = 1                # an item of a list or tuple whose length has been compared
    VALUE = 2               # a value of the dict whose keys have been compared last
    NAME = 3                # what a name of a dict stands for; MISSING if it is not there
    CELL = 4                # what a cell of a closure holds; MISSING if nothing
    ATTRIBUTES = 5          # the __dict__ of an object
    MEMBER = 6              # an attribute in __slots__; the key is its descriptor
    GRADIENT = 7            # .grad of a tensor
    ANCESTORS = 8           # the method resolution order of a class
    # check
    IDENTITY = 0            # is it this very object?
    EQUAL = 1               # has it the same type, and exactly the same value?
    TYPE = 2                # is it of exactly this type?
    TENSOR = 3              # does this TensorState fit it?
    SAME_SLOT = 4           # is it the object that is in this slot already?
    LENGTH = 5              # is it a list or tuple of this length?
    KEYS = 6                # is it a dict with these keys, in this order?
    ORDER = 7               # does iterating over it, a set or an OrderedDict, give these values in this order?
    CODE = 8                # is it a function with this code, these defaults and these keyword defaults?

cdef dict FETCHES = {"constant": ITSELF, "arguments": ITSELF, "item": ITEM, "value": VALUE, "name": NAME, "cell": CELL,
                     "attributes": ATTRIBUTES, "member": MEMBER, "gradient": GRADIENT, "ancestors": ANCESTORS}
cdef dict CHECKS = {"identity": IDENTITY, "equal": EQUAL, "type": TYPE, "tensor": TENSOR, "same": SAME_SLOT,
                    "length": LENGTH, "keys": KEYS, "order": ORDER, "code": CODE}


class Missing:
    """Stands for a name that a dict does not have, and for the content of an empty cell."""

    def __repr__(self):
        return "MISSING"

MISSING = Missing()
cdef PyObject* NOTHING = <PyObject*>MISSING
cdef dict NO_KEYWORDS = {}


@cython.final
@cython.auto_pickle(False)
@cython.binding(False)
cdef class GuardCheck:
    """Guards in the form that is checked.

    Parameters
    ----------
    guards : list of Guard, each after those that fetch what it needs
    slots : dict, id of a Source: the slot where later guards find what it leads to
    inputs : list of int, the slots of the tensors that `match` returns
    aliasing : Aliasing
    library : LibraryState
    """
    def __cinit__(self, list guards not None, dict slots not None, list inputs not None, Aliasing aliasing not None,
                  LibraryState library not None):
        cdef ssize i, most_keys = 0
        self.guards, self.aliasing, self.library = guards, aliasing, library
        self.record_count, self.input_count = len(guards), len(inputs)
        self.records = <Record*>zeroed(len(guards) * sizeof(Record))
        self.slots = <PyObject**>zeroed((len(slots) + 1) * sizeof(PyObject*))
        self.inputs = <int*>zeroed(len(inputs) * sizeof(int))
        for i, slot in enumerate(inputs):
            self.inputs[i] = slot
        fetched = set()
        for i, guard in enumerate(guards):
            write_record(&self.records[i], guard, slots, fetched)
            if guard.check == "keys":
                most_keys = max(most_keys, len(guard.expected))
        self.values = <PyObject**>zeroed(most_keys * sizeof(PyObject*))

    def __dealloc__(self):
        PyMem_Free(self.inputs)
        PyMem_Free(self.records)
        PyMem_Free(self.slots)
        PyMem_Free(self.values)

    # ------------------------------------------------------------ questions
    def check(self, tuple args not None, kwargs=None):
        """Would the recorded program do the same again with these arguments, and all else as it is now?"""
        return self.first_disagreement(args, kwargs, False) is None

    def match(self, tuple args not None, kwargs=None):
        """The input tensors of the recorded graph, in order; or None if the guards do not hold."""
        return self.inputs_of(args, kwargs)

    def is_resized(self, tuple args not None, kwargs=None):
        """Would the guards hold if the sizes and strides of tensors did not matter?"""
        return self.first_disagreement(args, kwargs, True) is None

    def why(self, tuple args not None, kwargs=None):
        """The first demand that is not met, in words; None if all are."""
        failed = self.first_disagreement(args, kwargs, False)
        return failed if failed is None or type(failed) is str else f"no longer true: {failed.why}"

    cdef list inputs_of(self, tuple args, object kwargs):
        cdef int i
        if self.first_disagreement(args, kwargs, False) is not None:
            return None
        return [<object>self.slots[self.inputs[i]] for i in range(self.input_count)]

    # ------------------------------------------------------------ the check
    cdef object first_disagreement(self, tuple args, object kwargs, bint of_any_size):
        """The Guard that does not hold, or a str that says what else is not as it was; None if all is."""
        cdef Record* record
        cdef PyObject* container
        cdef PyObject* found
        cdef int i
        if kwargs is None:
            kwargs = NO_KEYWORDS
        if type(kwargs) is not dict:
            return "the keyword arguments are no dict"
        if not self.library.has_modes():
            return "grad mode, inference mode, the default dtype or device, a mode or a setting has changed"
        if not self.library.is_unpatched():
            return "a function or a method of tensorlab is another one"
        if not self.library.has_abstract_classes():
            return "a class has been registered with an abstract class"
        self.slots[0], self.slots[1] = <PyObject*>args, <PyObject*>kwargs
        for i in range(self.record_count):
            record = &self.records[i]
            container = record.container if record.slot < 0 else self.slots[record.slot]
            found = self.slots[record.out] = fetch(record, container, self.values)
            if not compare(found, record, self.slots, self.values, of_any_size):
                return self.guards[i]
        if not self.aliasing.are_distinct(self.slots):
            return "two arguments are one object, or are no longer"
        if not self.aliasing.share_alike(self.slots):
            return "tensors share their memory in another way"
        return None


# ---------------------------------------------------------------- from guards to records
cdef int write_record(Record* record, guard, dict slots, set fetched) except -1:
    """Write the record of a guard. `fetched`: the ids of the sources whose slots earlier records fill."""
    source, expected = guard.source, guard.expected
    record.check, record.out, record.slot = CHECKS[guard.check], len(slots), -1
    record.expected = <PyObject*>expected
    if guard.check == "same":
        record.expected = <PyObject*><ssize>slots[id(expected)]
    elif guard.check == "length":
        record.expected = <PyObject*><ssize>expected
    if source.kind == "arguments" or id(source) in fetched:
        record.fetch, record.slot = ITSELF, slots[id(source)]
        return 0
    record.fetch = FETCHES[source.kind]
    if id(source) in slots:
        record.out = slots[id(source)]
        fetched.add(id(source))
    container = source if source.kind == "constant" else source.parent
    if container.kind == "constant":
        record.container = <PyObject*>container.key
    else:
        record.slot = slots[id(container)]
    record.key = <PyObject*>source.key
    if record.fetch == ITEM or record.fetch == VALUE:
        record.key = <PyObject*><ssize>source.key
    return 0


# ---------------------------------------------------------------- one record
cdef inline PyObject* fetch(Record* record, PyObject* container, PyObject** values) noexcept:
    """Return what is there now, a borrowed reference; MISSING if the container has no such thing."""
    cdef PyObject* found
    cdef int fetch = record.fetch
    if fetch == NAME:                       # most are this; so it is no case of the switch below
        found = PyDict_GetItemWithError(container, record.key)
        if found == NULL:
            PyErr_Clear()
            return NOTHING
        return found
    if fetch == VALUE:
        return values[<ssize>record.key]
    elif fetch == ITEM:
        if Py_TYPE(<object>container).tp_flags & LIST_FLAG:
            return PyList_GET_ITEM(<object>container, <ssize>record.key)
        return PyTuple_GET_ITEM(<object>container, <ssize>record.key)
    elif fetch == ATTRIBUTES:
        found = PyObject_GenericGetDict(container, NULL)
        if found == NULL:
            PyErr_Clear()
            return NOTHING
        Py_DECREF(found)                    # the object keeps it
        return found
    elif fetch == CELL:
        found = PyCell_GET(container)
        return NOTHING if found == NULL else found
    elif fetch == GRADIENT:
        return <PyObject*>(<TensorBase>container).gradient
    elif fetch == ANCESTORS:
        return ancestors_of(container)
    elif fetch == MEMBER:
        return member_of(container, record.key)
    return container


cdef inline bint compare(PyObject* found, Record* record, PyObject** slots, PyObject** values,
                         bint of_any_size) noexcept:
    """Is the object as expected?"""
    cdef PyObject* expected = record.expected
    cdef int check = record.check
    if check == IDENTITY:               # most ask this; so it is no case of the switch below
        return found == expected
    if check == TENSOR:
        return (<TensorState>expected).fits(found, of_any_size)
    elif check == TYPE:
        return <PyObject*>Py_TYPE(<object>found) == expected
    elif check == EQUAL:
        return found == expected or is_same_value(found, expected)
    elif check == SAME_SLOT:
        return found == slots[<ssize>expected]
    elif check == LENGTH:
        return Py_SIZE(found) == <ssize>expected
    elif check == KEYS:
        return has_keys(found, <tuple>expected, values)
    elif check == CODE:
        return is_function_like(found, <tuple>expected)
    return yields(found, <tuple>expected)


cdef inline bint has_keys(PyObject* container, tuple expected, PyObject** values) noexcept:
    """Has a dict these keys, in this order? Then `values` has its values."""
    cdef PyObject* key
    cdef Py_ssize_t position = 0
    cdef ssize i, count = PyTuple_GET_SIZE(expected)
    if PyDict_Size(<object>container) != count:
        return False
    for i in range(count):
        if not PyDict_Next(<object>container, &position, &key, &values[i]):
            return False
        if key != PyTuple_GET_ITEM(expected, i) and not is_same_value(key, PyTuple_GET_ITEM(expected, i)):
            return False
    return True


# ---------------------------------------------------------------- rarer ways to fetch and to compare
cdef PyObject* member_of(PyObject* container, PyObject* descriptor) noexcept:
    """The attribute of an object with __slots__; the object holds the reference."""
    try:
        value = (<object>descriptor).__get__(<object>container)
    except BaseException:
        return NOTHING
    return <PyObject*>value


cdef bint is_function_like(PyObject* function, tuple expected) noexcept:
    """Has a function the code, defaults and keyword defaults that it had?"""
    cdef PyObject* defaults = PyFunction_GET_DEFAULTS(function)
    cdef PyObject* keyword_defaults = PyFunction_GET_KW_DEFAULTS(function)
    return (PyFunction_GET_CODE(function) == PyTuple_GET_ITEM(expected, 0)
            and (defaults if defaults != NULL else <PyObject*>None) == PyTuple_GET_ITEM(expected, 1)
            and (keyword_defaults if keyword_defaults != NULL else <PyObject*>None) == PyTuple_GET_ITEM(expected, 2))


cdef bint yields(PyObject* container, tuple expected) noexcept:
    """Does iterating over a set, a frozenset or an OrderedDict give these values, in this order?"""
    cdef ssize i = 0
    try:
        for found in <object>container:
            if i == len(expected) or not is_same_value(<PyObject*>found, <PyObject*>expected[i]):
                return False
            i += 1
    except BaseException:
        return False
    return i == len(expected)

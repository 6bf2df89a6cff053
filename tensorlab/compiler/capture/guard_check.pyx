"""The guards of a trace as flat arrays of C records, and the one pass over them before each replay.

A record fetches an object and compares it with what the recording saw:

    container       a known object (a dict, a cell, ...), or a *slot*: what an earlier record fetched
    kind, key       how to fetch from it: LOOKUPS in a dict, an ITEM of a list, the content of a CELL, ...
    how, expected   how to compare: IDENTITY, VALUE (the same type, and exactly the same value), TYPE, ...
    out             the slot that the object goes to, if later records want it

`match` runs them in order until one disagrees. It calls no code of the user's: no `__eq__`, no `__hash__`, no property. So
nothing can change while it runs, and the borrowed references in the slots stay valid.

Tensors are compared by TensorRecords: class, dtype, sizes, strides and what autograd knows of them. Two of them must be one
object, or share a storage, exactly where they did so in the recording.
"""
cimport cython
from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport Py_EQ, Py_TYPE, PyObject, PyObject_RichCompareBool, PyTypeObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memset

from tensorlab._core.dispatch.overrides cimport are_modes_anywhere
from tensorlab._core.dtypes cimport default_float
from tensorlab._core.graph.graph cimport needs_grad
from tensorlab._core.layout cimport ssize
from tensorlab._core.state.devices cimport default_device
from tensorlab._core.state.modes cimport ThreadState, thread_state
from tensorlab._core.state.settings_number cimport settings_number
from tensorlab._core.tensor cimport TensorBase, is_meta, offset_of

from _abc import get_cache_token
from tensorlab._core.device import device as device_class
from tensorlab._core.tensor import Size

cdef extern from "Python.h":
    """
    #define ancestors_of(cls) (((PyTypeObject *)(cls))->tp_mro)
    /* A number that CPython changes with every change of a dict or of a class and its bases; 0 says nothing. */
    static inline uint64_t version_of(PyObject *owner, int is_class) {
        if (is_class) return ((PyTypeObject *)owner)->tp_version_tag;
    #if PY_VERSION_HEX < 0x030E0000
        return ((PyDictObject *)owner)->ma_version_tag;
    #else
        return 0;
    #endif
    }
    """
    uint64_t version_of(PyObject* owner, bint is_class)
    PyObject* ancestors_of(PyObject* cls)
    PyObject* PyDict_GetItemWithError(PyObject* container, PyObject* key)
    PyObject* PyObject_GenericGetDict(PyObject* x, void* context)
    PyObject* PyCell_GET(PyObject* cell)
    PyObject* PyFunction_GET_CODE(PyObject* function)
    PyObject* PyFunction_GET_DEFAULTS(PyObject* function)
    PyObject* PyFunction_GET_KW_DEFAULTS(PyObject* function)
    PyObject* PyErr_Occurred()
    void PyErr_Clear()
    void Py_DECREF(PyObject* x)

cdef enum:
    # kinds: where the object comes from
    ARGUMENT = 0            # args[key]
    KEYWORD = 1             # kwargs, whose keys are compared by ENTRIES; here the dict itself
    ITEM = 3                 # container[key] of a list or tuple whose length has been compared
    CELL = 4                # what a closure cell holds; MISSING if nothing
    ENTRIES = 5             # a whole dict: its keys in order, and for each value an Entry
    DICT_OF = 6             # the __dict__ of an object
    SLOT_OF = 7             # an attribute in __slots__: key is its descriptor
    GRADIENT = 8            # .grad of a tensor
    FUNCTION = 9            # the code, defaults and keyword defaults of a function, together
    ANCESTORS = 10          # the method resolution order of a class
    ORDERED = 11            # what iterating over a set or an OrderedDict yields, in order
    TENSOR = 12             # a TensorRecord for what is in a slot
    WHOLE = 13              # the container itself
    NO_KEYWORDS = 14        # there are no keyword arguments
    LOOKUPS = 15            # single entries of a dict, an Entry for each
    OBJECT = 16             # an object of the type `expected` whose __dict__ is `key`
    # how the object is compared
    ANYTHING = 0
    IDENTITY = 1
    VALUE = 2
    TYPE = 3
    SIZED = 4               # a list or tuple of a type, with a length
    SAME_SLOT = 5           # the object that is in another slot already

KINDS = {"argument": ARGUMENT, "keyword": KEYWORD, "item": ITEM, "cell": CELL, "entries": ENTRIES,
         "dict": DICT_OF, "slot": SLOT_OF, "gradient": GRADIENT, "function": FUNCTION, "ancestors": ANCESTORS,
         "ordered": ORDERED, "tensor": TENSOR, "whole": WHOLE, "no keywords": NO_KEYWORDS,
         "lookups": LOOKUPS, "object": OBJECT}
COMPARISONS = {"anything": ANYTHING, "identity": IDENTITY, "value": VALUE, "type": TYPE, "sized": SIZED, "same slot": SAME_SLOT}


class Missing:
    """Stands for an entry that a dict does not have, and for the content of an empty cell."""

    def __repr__(self):
        return "MISSING"

MISSING = Missing()
cdef PyObject* NOTHING = <PyObject*>MISSING

cdef struct Record:
    int kind, how, out
    int slot                # the slot that holds the container, or -1
    PyObject* container     # else the container
    PyObject* key
    ssize number            # an index, or where something else begins
    ssize count             # of entries; else a length or a slot that `how` needs
    PyObject* expected

cdef struct Entry:
    PyObject* key
    PyObject* expected
    int how, out
    ssize number

cdef struct TensorRecord:
    PyObject* cls
    int dtype, ndim
    int device
    bint needs_grad, wants_grad, is_view, is_inference, has_hooks
    bint checks_offset
    ssize offset
    ssize* layout           # sizes, then strides

cdef struct Trusted:
    PyObject* owner         # the dict of a module of tensorlab, or a class
    bint is_class
    uint64_t version        # of the owner, when its values were last compared


# ---------------------------------------------------------------- exactly the same value
cdef bint is_same_value(PyObject* x, PyObject* y) noexcept:
    """Do x and y have one type, and exactly one value? nan is nan, and 0.0 is not -0.0. Only the types below are compared."""
    cdef double a, b
    cdef ssize i
    if x == y:
        return True
    if Py_TYPE(<object>x) is not Py_TYPE(<object>y):
        return False
    if PyFloat_CheckExact(<object>x):
        a, b = PyFloat_AS_DOUBLE(<object>x), PyFloat_AS_DOUBLE(<object>y)
        return memcmp(&a, &b, sizeof(double)) == 0 or (a != a and b != b)
    if (PyLong_CheckExact(<object>x) or PyUnicode_CheckExact(<object>x)
            or Py_TYPE(<object>x) is <PyTypeObject*>bytes):
        return PyObject_RichCompareBool(<object>x, <object>y, Py_EQ) == 1
    if Py_TYPE(<object>x) is <PyTypeObject*>tuple or Py_TYPE(<object>x) is <PyTypeObject*>Size:
        if PyTuple_GET_SIZE(<object>x) != PyTuple_GET_SIZE(<object>y):
            return False
        for i in range(PyTuple_GET_SIZE(<object>x)):
            if not is_same_value(PyTuple_GET_ITEM(<object>x, i), PyTuple_GET_ITEM(<object>y, i)):
                return False
        return True
    return is_same_rare_value(<object>x, <object>y)


cdef bint is_same_rare_value(object x, object y) noexcept:
    """The same for types with attributes that are read without running any code of the user's."""
    if type(x) is complex:
        return is_same_pair(x.real, y.real) and is_same_pair(x.imag, y.imag)
    if type(x) is slice or type(x) is range:
        return is_same_pair(x.start, y.start) and is_same_pair(x.stop, y.stop) and is_same_pair(x.step, y.step)
    if type(x) is list:                     # what tolist() gave
        return len(x) == len(y) and all([is_same_pair(x[i], y[i]) for i in range(len(x))])
    if type(x) is device_class:
        return is_same_pair(x.type, y.type) and is_same_pair(x.index, y.index)
    return False


cdef inline bint is_same_pair(object x, object y) noexcept:
    return is_same_value(<PyObject*>x, <PyObject*>y)


def same_value(x, y):
    """Do x and y have one type, and exactly one value: is the one as good as the other for a replay?"""
    return is_same_pair(x, y)


# ---------------------------------------------------------------- the check
cdef void* zeroed(size_t size) except NULL:
    """So many bytes, at least one."""
    cdef void* memory = PyMem_Calloc(1, max(size, 1))
    if memory == NULL:
        raise MemoryError()
    return memory


@cython.auto_pickle(False)
cdef class Matcher:
    """GuardCheck, as far as replay.pyx has to know it."""

    cdef list inputs_of(self, tuple args, object kwargs):
        raise NotImplementedError(f"{type(self).__name__}: a matcher defines inputs_of")


@cython.final
@cython.auto_pickle(False)
@cython.binding(False)
cdef class GuardCheck(Matcher):
    """Guards in the form that is checked.

    Parameters
    ----------
    records : list of tuples (kind, container, key, how, expected, out, number), as guards.py makes them; an int as container is
        a slot. Of kinds "entries" and "lookups", the key is a list of tuples (key, how, expected, out, number); of kind
        "tensor", the container is a slot and the key an example
    slot_count : int
    inputs : list of int, the slots of the tensors that `match` returns
    distinct : list of int, the slots of objects of which no two are one object
    groups : list of (slot, first): each tensor that counts and the position of the first one here with the same storage;
        empty if it does not matter which tensors share storages
    strangers : list of (slot, object that must not be in it)
    """
    cdef Record* records
    cdef Entry* entries
    cdef TensorRecord* tensors
    cdef ssize* layouts             # sizes and strides of all tensors
    cdef PyObject** slots
    cdef int* distinct
    cdef int* groups                # slot, first, slot, first, ...
    cdef ssize* gaps                # bytes from the first one's memory to this one's
    cdef int* inputs
    cdef int* stranger_slots
    cdef PyObject** strangers
    cdef PyObject** table           # of pointers, to find equal ones
    cdef int* positions
    cdef ssize table_size
    cdef int record_count, distinct_count, group_count, input_count, stranger_count
    cdef ssize argument_count
    cdef Trusted* trusted
    cdef list trusted_values        # for each: what `trust` was given
    cdef int trusted_count
    cdef public object registry     # the token of abc, if it counts
    cdef bint grad_mode, inference
    cdef int default_device
    cdef long settings              # the number of those of the process
    cdef int default_dtype
    cdef object kept                # what the records point at
    cdef readonly int failed        # the record that disagreed last; below 0: see WORDS in guards.py
    cdef readonly int failed_entry  # and which of its entries, or -1

    def __cinit__(self, list records, int slot_count, ssize argument_count, list inputs, list distinct, list groups,
                  list strangers):
        cdef ThreadState* state = thread_state()
        cdef ssize entries = 0, numbers = 0, i
        for record in records:
            if record[0] in ("entries", "lookups"):
                entries += len(record[2])
            elif record[0] == "tensor":
                numbers += 2 * record[2].dim()
        self.kept = ([record[1:5] for record in records if record[0] != "tensor"], strangers)   # not the examples
        self.trusted_values = []
        self.argument_count = argument_count
        self.grad_mode, self.inference, self.default_dtype = state.grad_mode, state.inference, default_float()
        self.default_device, self.settings = default_device(), settings_number()
        self.records = <Record*>zeroed(len(records) * sizeof(Record))
        self.entries = <Entry*>zeroed(entries * sizeof(Entry))
        self.tensors = <TensorRecord*>zeroed(len(records) * sizeof(TensorRecord))
        self.layouts = <ssize*>zeroed(numbers * sizeof(ssize))
        self.slots = <PyObject**>zeroed(slot_count * sizeof(PyObject*))
        self.distinct = <int*>zeroed(len(distinct) * sizeof(int))
        self.groups = <int*>zeroed(2 * len(groups) * sizeof(int))
        self.gaps = <ssize*>zeroed(len(groups) * sizeof(ssize))
        self.inputs = <int*>zeroed(len(inputs) * sizeof(int))
        self.stranger_slots = <int*>zeroed(len(strangers) * sizeof(int))
        self.strangers = <PyObject**>zeroed(len(strangers) * sizeof(PyObject*))
        self.table_size = 64
        while self.table_size < 3 * max(len(distinct), len(groups)):
            self.table_size *= 2
        self.table = <PyObject**>zeroed(self.table_size * sizeof(PyObject*))
        self.positions = <int*>zeroed(self.table_size * sizeof(int))
        entries = numbers = 0
        for i, record in enumerate(records):
            entries, numbers = self.write_record(i, record, entries, numbers)
        for i, slot in enumerate(inputs):
            self.inputs[i] = slot
        for i, slot in enumerate(distinct):
            self.distinct[i] = slot
        for i, (slot, first) in enumerate(groups):
            self.groups[2 * i], self.groups[2 * i + 1] = slot, first
        for i, (slot, stranger) in enumerate(strangers):
            self.stranger_slots[i], self.strangers[i] = slot, <PyObject*>stranger
        self.record_count, self.distinct_count, self.group_count = len(records), len(distinct), len(groups)
        self.input_count, self.stranger_count = len(inputs), len(strangers)

    cdef tuple write_record(self, ssize i, tuple given, ssize entries, ssize numbers):
        """Write record i; returns how many entries and numbers of layouts are written then."""
        cdef Record* record = &self.records[i]
        cdef Entry* entry
        kind, container, key, how, expected, out, number = given
        record.kind, record.how, record.out = KINDS[kind], COMPARISONS[how], out
        record.slot, record.container = -1, <PyObject*>container
        if type(container) is int:
            record.slot = container
        record.key, record.expected, record.number = <PyObject*>key, <PyObject*>expected, number
        record.count = expected if how == "same slot" else number
        if record.kind == ENTRIES or record.kind == LOOKUPS:
            record.number, record.count = entries, len(key)
            for name, how, expected, out, number in key:
                entry = &self.entries[entries]
                entry.key, entry.expected = <PyObject*>name, <PyObject*>expected
                entry.how, entry.out, entry.number = COMPARISONS[how], out, expected if how == "same slot" else number
                entries += 1
        elif record.kind == TENSOR:
            record.number = i
            numbers += describe(<TensorBase?>key, &self.tensors[i], self.layouts + numbers)
            self.tensors[i].checks_offset = number
        return entries, numbers

    def note_gaps(self, list tensors):
        """Take from the tensors of the recording, one for each of `groups`, how far apart they lie in their storage."""
        cdef ssize i
        cdef TensorBase x, first
        for i in range(len(tensors)):
            x, first = tensors[i], tensors[self.groups[2 * i + 1]]
            self.gaps[i] = <ssize>x.data_ - <ssize>first.data_

    def trust(self, list owners not None):
        """Expect that modules and classes of tensorlab keep the values that the program has used.

        They hardly ever change, so only the version of each is looked at, and its values if that is another one.

        Parameters
        ----------
        owners : list of (dict or class, attributes, {name: value}, is_whole); `attributes` is the dict, or that of the
            class, and `is_whole` says whether there must be no other names in it
        """
        cdef int i
        PyMem_Free(self.trusted)
        self.trusted, self.trusted_count, self.trusted_values = NULL, 0, owners
        self.trusted = <Trusted*>zeroed(len(self.trusted_values) * sizeof(Trusted))
        for i in range(<int>len(self.trusted_values)):
            self.trusted[i].owner = <PyObject*>self.trusted_values[i][0]
            self.trusted[i].is_class = isinstance(self.trusted_values[i][0], type)
        self.trusted_count = <int>len(self.trusted_values)

    cdef inline bint has_kept_trusted(self) noexcept:
        cdef Trusted* one = self.trusted
        cdef uint64_t version
        cdef int i
        for i in range(self.trusted_count):
            version = version_of(one[i].owner, one[i].is_class)
            if (version == 0 or version != one[i].version) and not self.compare_trusted(i):
                return False
        return True

    cdef bint compare_trusted(self, int i) noexcept:
        """Has an owner the values that it had? Then its version stands for them from now on."""
        cdef PyObject* found
        owner, attributes, values, is_whole = self.trusted_values[i]
        if is_whole and len(<dict>attributes) != len(<dict>values):
            return False
        for name, value in (<dict>values).items():
            found = PyDict_GetItemWithError(<PyObject*>attributes, <PyObject*>name)
            if (found if found != NULL else NOTHING) != <PyObject*>value:
                PyErr_Clear()
                return False
        if self.trusted[i].is_class:
            give_version(owner)
        self.trusted[i].version = version_of(self.trusted[i].owner, self.trusted[i].is_class)
        return True

    def __dealloc__(self):
        PyMem_Free(self.trusted)
        for memory in (<size_t>self.records, <size_t>self.entries, <size_t>self.tensors, <size_t>self.layouts,
                       <size_t>self.slots, <size_t>self.distinct, <size_t>self.groups, <size_t>self.gaps,
                       <size_t>self.inputs, <size_t>self.stranger_slots, <size_t>self.strangers, <size_t>self.table,
                       <size_t>self.positions):
            PyMem_Free(<void*><size_t>memory)

    def check(self, tuple args not None, kwargs=None):
        """Would the recorded program do the same again with these arguments, and all else as it is now?"""
        return self.agrees(args, kwargs)

    def match(self, tuple args not None, kwargs=None):
        """The input tensors of the recorded graph, in order; or None if the guards do not hold."""
        return self.inputs_of(args, kwargs)

    cdef list inputs_of(self, tuple args, object kwargs):
        cdef int i
        if not self.agrees(args, kwargs):
            return None
        return [<object>self.slots[self.inputs[i]] for i in range(self.input_count)]

    def is_resized(self, tuple args not None, kwargs=None):
        """Would the guards hold if the sizes and strides of tensors did not matter?"""
        return self.agrees(args, kwargs, True)

    cdef bint agrees(self, tuple args, object kwargs, bint of_any_size=False) noexcept:
        cdef int i
        self.failed = self.failed_entry = -1
        if PyTuple_GET_SIZE(args) != self.argument_count:
            return False
        if kwargs is not None and type(kwargs) is not dict:
            return False
        if not self.has_modes():
            self.failed = -2
            return False
        if not self.has_kept_trusted():
            self.failed = -5
            return False
        if self.registry is not None and get_cache_token() != self.registry:
            self.failed = -6
            return False
        for i in range(self.record_count):
            if not self.holds(&self.records[i], args, kwargs, of_any_size):
                self.failed = i
                return False
        if not self.are_distinct():
            self.failed = -3
            return False
        if self.group_count and not self.share_alike():
            self.failed = -4
            return False
        return True

    cdef inline bint has_modes(self) noexcept:
        cdef ThreadState* state = thread_state()
        return (state.grad_mode == self.grad_mode and state.inference == self.inference and state.packing == NULL
                and (state.layers == NULL or PyList_GET_SIZE(<object>state.layers) == 0)
                and default_float() == self.default_dtype and default_device() == self.default_device
                and settings_number() == self.settings and not are_modes_anywhere())

    cdef bint holds(self, Record* record, tuple args, object kwargs, bint of_any_size) noexcept:
        """Fetch what a record is about, and compare it."""
        cdef PyObject* container = record.container if record.slot < 0 else self.slots[record.slot]
        cdef PyObject* found
        cdef int kind = record.kind
        if kind == LOOKUPS:
            return self.finds(record, container)
        elif kind == TENSOR:
            return is_like(container, &self.tensors[record.number], of_any_size)
        elif kind == ENTRIES:
            return self.has_entries(record, container)
        elif kind == OBJECT:
            return <PyObject*>Py_TYPE(<object>container) == record.expected and has_dict(container, record.key)
        elif kind == ARGUMENT:
            found = PyTuple_GET_ITEM(args, record.number)
        elif kind == KEYWORD:
            if kwargs is None:
                return False
            found = <PyObject*>kwargs
        elif kind == ITEM:
            if Py_TYPE(<object>container).tp_flags & LIST_FLAG:
                found = PyList_GET_ITEM(<object>container, record.number)
            else:
                found = PyTuple_GET_ITEM(<object>container, record.number)
        elif kind == CELL:
            found = PyCell_GET(container)
            if found == NULL:
                found = NOTHING
        elif kind == NO_KEYWORDS:
            return kwargs is None or PyDict_Size(kwargs) == 0
        elif kind == WHOLE:
            found = container
        elif kind == DICT_OF:
            found = PyObject_GenericGetDict(container, NULL)
            if found == NULL:
                PyErr_Clear()
                return False
            Py_DECREF(found)                    # the object keeps it
        elif kind == GRADIENT:
            found = <PyObject*>(<TensorBase>container).gradient
        elif kind == ANCESTORS:
            found = ancestors_of(container)
        elif kind == FUNCTION:
            return is_function_like(container, <tuple>record.key)
        elif kind == SLOT_OF:
            return self.has_slot(record, container)
        else:
            return yields(container, <tuple>record.key)
        if record.out >= 0:
            self.slots[record.out] = found
        return self.compare(found, record.how, record.expected, record.count)

    cdef inline bint compare(self, PyObject* found, int how, PyObject* expected,
                             ssize number) noexcept:
        if how == IDENTITY:
            return found == expected
        if how == VALUE:
            return found == expected or is_same_value(found, expected)
        if how == TYPE:
            return <PyObject*>Py_TYPE(<object>found) == expected
        if how == SIZED:
            return <PyObject*>Py_TYPE(<object>found) == expected and Py_SIZE(found) == number
        if how == SAME_SLOT:
            return found == self.slots[number]
        return True

    cdef inline bint finds(self, Record* record, PyObject* container) noexcept:
        """Are these entries of a dict as expected? MISSING stands for one that is not there."""
        cdef Entry* entry = &self.entries[record.number]
        cdef PyObject* found
        for _ in range(record.count):
            found = PyDict_GetItemWithError(container, entry.key)
            if found == NULL:
                PyErr_Clear()
                found = NOTHING
            if not self.compare(found, entry.how, entry.expected, entry.number):
                self.failed_entry = entry - &self.entries[record.number]
                return False
            if entry.out >= 0:
                self.slots[entry.out] = found
            entry += 1
        return True

    cdef bint has_entries(self, Record* record, PyObject* container) noexcept:
        """Does a dict have these keys in this order, and the values that are expected?"""
        cdef Entry* entry = &self.entries[record.number]
        cdef PyObject* key
        cdef PyObject* value
        cdef Py_ssize_t position = 0
        if PyDict_Size(<object>container) != record.count:
            return False
        for _ in range(record.count):
            if not PyDict_Next(<object>container, &position, &key, &value):
                return False
            if key != entry.key and not is_same_value(key, entry.key):
                return False
            if entry.how != ANYTHING and not self.compare(value, entry.how, entry.expected, entry.number):
                self.failed_entry = entry - &self.entries[record.number]
                return False
            if entry.out >= 0:
                self.slots[entry.out] = value
            entry += 1
        return True

    cdef bint has_slot(self, Record* record, PyObject* container) noexcept:
        """The attribute of an object with __slots__; the object holds the reference."""
        try:
            value = (<object>record.key).__get__(<object>container)
        except AttributeError:
            value = MISSING
        except BaseException:
            return False
        if record.out >= 0:
            self.slots[record.out] = <PyObject*>value
        return self.compare(<PyObject*>value, record.how, record.expected, record.count)

    cdef bint are_distinct(self) noexcept:
        """Are these all different objects, and none of them a stranger?"""
        cdef ssize mask = self.table_size - 1, place
        cdef PyObject* x
        cdef int i
        if self.distinct_count > 1:
            memset(self.table, 0, self.table_size * sizeof(PyObject*))
            for i in range(self.distinct_count):
                x = self.slots[self.distinct[i]]
                place = (<ssize>x >> 4) & mask
                while self.table[place] != NULL:
                    if self.table[place] == x:
                        return False
                    place = (place + 1) & mask
                self.table[place] = x
        for i in range(self.stranger_count):
            if self.slots[self.stranger_slots[i]] == self.strangers[i]:
                return False
        return True

    cdef bint share_alike(self) noexcept:
        """Do the tensors share storages as they did, and lie as far apart in them?"""
        cdef ssize mask = self.table_size - 1, place
        cdef TensorBase x, first
        cdef PyObject* storage
        cdef int i, expected
        memset(self.table, 0, self.table_size * sizeof(PyObject*))
        for i in range(self.group_count):
            x = <TensorBase>self.slots[self.groups[2 * i]]
            expected = self.groups[2 * i + 1]
            storage = <PyObject*>x.storage_
            place = (<ssize>storage >> 4) & mask
            while self.table[place] != NULL and self.table[place] != storage:
                place = (place + 1) & mask
            if self.table[place] == NULL:
                self.table[place], self.positions[place] = storage, i
            if self.positions[place] != expected:
                return False
            if expected != i:
                first = <TensorBase>self.slots[self.groups[2 * expected]]
                if <ssize>x.data_ - <ssize>first.data_ != self.gaps[i]:
                    return False
        return True


cdef int give_version(object cls) noexcept:
    """A class that was changed has no version until an attribute is looked up in it."""
    try:
        type.__getattribute__(cls, "forward")
    except AttributeError:
        pass
    return 0


# ---------------------------------------------------------------- what single records compare
cdef extern from *:
    """
    #define LIST_FLAG Py_TPFLAGS_LIST_SUBCLASS
    """
    unsigned long LIST_FLAG
    ssize Py_SIZE(PyObject* x)


cdef inline bint has_dict(PyObject* x, PyObject* attributes) noexcept:
    """Is this the __dict__ of x?"""
    cdef PyObject* found = PyObject_GenericGetDict(x, NULL)
    if found == NULL:
        PyErr_Clear()
    else:
        Py_DECREF(found)
    return found == attributes


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
            if i == len(expected) or not is_same_pair(found, expected[i]):
                return False
            i += 1
    except BaseException:
        return False
    return i == len(expected)


cdef ssize describe(TensorBase x, TensorRecord* record, ssize* layout):
    """Write down what `is_like` compares; returns how many numbers of the layout there are."""
    cdef int i
    record.cls, record.dtype, record.ndim = <PyObject*>Py_TYPE(x), x.dtype_, x.ndim_
    record.needs_grad, record.wants_grad, record.device = needs_grad(x), x.wants_grad, x.storage_.device
    record.is_view, record.is_inference, record.has_hooks = x.base is not None, x.counter is None, has_hooks(x)
    record.offset = offset_of(x)
    record.layout = layout
    for i in range(x.ndim_):
        layout[i], layout[x.ndim_ + i] = x.sizes[i], x.strides[i]
    return 2 * x.ndim_


cdef inline bint has_hooks(TensorBase x) noexcept:
    return (x.hooks is not None and len(x.hooks) > 0) or (x.after_hooks is not None and len(x.after_hooks) > 0)


cdef inline bint is_like(PyObject* given, TensorRecord* record, bint of_any_size) noexcept:
    """Is this a tensor of the recorded class, layout and history?"""
    cdef TensorBase x
    cdef int i
    if <PyObject*>Py_TYPE(<object>given) != record.cls:
        return False
    x = <TensorBase>given
    if x.dtype_ != record.dtype or x.ndim_ != record.ndim:
        return False
    for i in range(0 if of_any_size else record.ndim):
        if x.sizes[i] != record.layout[i] or x.strides[i] != record.layout[record.ndim + i]:
            return False
    return (needs_grad(x) == record.needs_grad and x.wants_grad == record.wants_grad
            and x.storage_.device == record.device and (x.base is not None) == record.is_view
            and (x.counter is None) == record.is_inference and has_hooks(x) == record.has_hooks
            and (not record.checks_offset or offset_of(x) == record.offset))


# ---------------------------------------------------------------- what the recording asks of a tensor
def history_of(TensorBase x not None):
    """What autograd knows of a tensor, by identity: (its own flag, node, gradient, node of its base, whether it has hooks).

    Two of them that are equal say that nothing was done to its history between.
    """
    base_node = None if x.base is None else x.base.node
    return bool(x.wants_grad), x.node, x.gradient, base_node, bool(has_hooks(x))


def memory_layout_of(TensorBase x not None):
    """How a tensor lies in memory, by identity of the storage: what an op may change and a replay starts from."""
    return tuple(x.shape), [x.strides[i] for i in range(x.ndim_)], x.dtype_, offset_of(x), <size_t><void*>x.storage_


def writes_to(TensorBase x not None):
    """How often a tensor has been written to; 0 for an inference tensor, which does not count."""
    return 0 if x.counter is None else x.counter.value


def storage_of(TensorBase x not None):
    """The storage, for identity alone: the memory stays out of reach."""
    return x.storage_


def is_packing():
    """Whether saved tensors are packed in this thread."""
    return thread_state().packing != NULL

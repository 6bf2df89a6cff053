"""Aliasing: which objects of a call are one object, and which tensors share memory.

In a recording of f(x, y) the two arguments have two placeholders, in one of f(x, x) they have one; so neither holds for the
other call. Where an op writes, it also matters whether a view and its base are both there, and how far they lie apart.
"""
cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from libc.string cimport memset

from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase


@cython.final
@cython.auto_pickle(False)
cdef class Aliasing:
    """What `GuardCheck` asks, with the slots that hold the objects of a call.

    Parameters
    ----------
    distinct : list of int, the slots of objects of which no two were one object
    strangers : list of (slot, object that was not in it)
    tensors : list of (slot, tensor), those whose shared memory matters; the tensors are not kept
    """

    def __cinit__(self, list distinct, list strangers, list tensors):
        cdef ssize i, count = len(tensors)
        cdef TensorBase x, first
        self.kept = strangers
        self.distinct_count, self.stranger_count, self.tensor_count = len(distinct), len(strangers), count
        self.distinct = <int*>zeroed(len(distinct) * sizeof(int))
        self.strangers = <PyObject**>zeroed(len(strangers) * sizeof(PyObject*))
        self.stranger_slots = <int*>zeroed(len(strangers) * sizeof(int))
        self.tensors, self.firsts = <int*>zeroed(count * sizeof(int)), <int*>zeroed(count * sizeof(int))
        self.gaps = <ssize*>zeroed(count * sizeof(ssize))
        self.table_size = 64
        while self.table_size < 3 * max(len(distinct), count):
            self.table_size *= 2
        self.table = <PyObject**>zeroed(self.table_size * sizeof(PyObject*))
        self.positions = <int*>zeroed(self.table_size * sizeof(int))
        for i, slot in enumerate(distinct):
            self.distinct[i] = slot
        for i, (slot, stranger) in enumerate(strangers):
            self.stranger_slots[i], self.strangers[i] = slot, <PyObject*>stranger
        self.first_sharers = []
        for i, (slot, tensor) in enumerate(tensors):
            x = tensor
            self.tensors[i] = slot
            self.firsts[i] = self.first_with(<PyObject*>x.storage_, i)
            first = tensors[self.firsts[i]][1]
            self.gaps[i] = <ssize>x.data_ - <ssize>first.data_
            self.first_sharers.append(self.firsts[i])

    def __dealloc__(self):
        PyMem_Free(self.distinct)
        PyMem_Free(self.strangers)
        PyMem_Free(self.stranger_slots)
        PyMem_Free(self.tensors)
        PyMem_Free(self.firsts)
        PyMem_Free(self.gaps)
        PyMem_Free(self.table)
        PyMem_Free(self.positions)

    cdef int first_with(self, PyObject* key, int position) noexcept:
        """The position with which this key came into the table; that is this one if the key was not there yet."""
        cdef ssize mask = self.table_size - 1, place = (<ssize>key >> 4) & mask
        while self.table[place] != NULL:
            if self.table[place] == key:
                return self.positions[place]
            place = (place + 1) & mask
        self.table[place], self.positions[place] = key, position
        return position

    cdef bint are_distinct(self, PyObject** slots) noexcept:
        """Are these all different objects, and none of them a stranger?"""
        cdef int i
        if self.distinct_count > 1:
            memset(self.table, 0, self.table_size * sizeof(PyObject*))
            for i in range(self.distinct_count):
                if self.first_with(slots[self.distinct[i]], i) != i:
                    return False
        for i in range(self.stranger_count):
            if slots[self.stranger_slots[i]] == self.strangers[i]:
                return False
        return True

    cdef bint share_alike(self, PyObject** slots) noexcept:
        """Do the tensors share storages as they did, and lie as far apart in them?"""
        cdef TensorBase x, first
        cdef int i
        if self.tensor_count == 0:
            return True
        memset(self.table, 0, self.table_size * sizeof(PyObject*))
        for i in range(self.tensor_count):
            x, first = <TensorBase>slots[self.tensors[i]], <TensorBase>slots[self.tensors[self.firsts[i]]]
            if self.first_with(<PyObject*>x.storage_, i) != self.firsts[i]:
                return False
            if <ssize>x.data_ - <ssize>first.data_ != self.gaps[i]:
                return False
        return True


cdef void* zeroed(size_t size) except NULL:
    """So many bytes, at least one."""
    cdef void* memory = PyMem_Calloc(1, max(size, 1))
    if memory == NULL:
        raise MemoryError()
    return memory

"""The state of the library that a recording relied on: modes and settings, and functions that a program may replace.

These are part of every recording, and hardly ever change. All settings share one number, which each setter changes. CPython gives
a dict or a class another version number whenever it is changed, so most checks compare numbers, and no values.
"""
cimport cython
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from tensorlab._core.dispatch.autocast cimport thread_autocast
from tensorlab._core.dispatch.overrides cimport are_modes_anywhere
from tensorlab._core.dtypes cimport default_float
from tensorlab._core.state.modes cimport ThreadState, thread_state
from tensorlab._core.state.devices cimport default_device
from tensorlab._core.state.settings_number cimport settings_number

from _abc import get_cache_token

cdef extern from "Python.h":
    """
    /* 0 says nothing. From Python 3.14 on, dicts have no version. */
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
    PyObject* PyDict_GetItemWithError(PyObject* container, PyObject* key)
    void PyErr_Clear()


@cython.final
@cython.auto_pickle(False)
@cython.binding(False)
cdef class UsedScope:
    """A module or a class of tensorlab, with the names in it that a recording used.

    Parameters
    ----------
    owner : the dict of the module, or the class
    attributes : dict, the same one, or the dict of the class
    values : dict, {name: what it stood for}
    is_whole : bool, whether there must be no other names
    """

    def __cinit__(self, owner, dict attributes not None, dict values not None, bint is_whole):
        self.owner, self.attributes, self.values, self.is_whole = owner, attributes, values, is_whole
        self.is_class = isinstance(owner, type)

    def joined(self, UsedScope other not None):
        """The scope with what two recordings used."""
        values = self.values if self.is_whole else {**self.values, **other.values}
        return UsedScope(self.owner, self.attributes, values, self.is_whole)

    cdef bint is_unchanged(self) noexcept:
        cdef uint64_t version = version_of(<PyObject*>self.owner, self.is_class)
        return (version != 0 and version == self.version) or self.has_values()

    cdef bint has_values(self) noexcept:
        """Compare the values themselves. If they are the same, the version stands for them from now on."""
        cdef PyObject* found
        if self.is_whole and len(self.attributes) != len(self.values):
            return False
        for name, value in self.values.items():
            found = PyDict_GetItemWithError(<PyObject*>self.attributes, <PyObject*>name)
            if found != <PyObject*>value:
                PyErr_Clear()
                return False
        if self.is_class:
            give_version(self.owner)
        self.version = version_of(<PyObject*>self.owner, self.is_class)
        return True


cdef int give_version(object cls) noexcept:
    """A class that was changed has no version until an attribute is looked up in it."""
    try:
        type.__getattribute__(cls, "forward")
    except AttributeError:
        pass
    return 0


@cython.final
@cython.auto_pickle(False)
@cython.binding(False)
cdef class LibraryState:
    """The modes and settings as they are now, and what a recording used of tensorlab.

    Parameters
    ----------
    scopes : list of UsedScope
    abstract_classes : int or None, the token of `abc` if it counts which classes are registered with abstract ones
    """

    def __cinit__(self, list scopes not None, abstract_classes):
        cdef ThreadState* state = thread_state()
        self.scopes, self.abstract_classes = scopes, abstract_classes
        self.grad_mode, self.inference, self.default_dtype = state.grad_mode, state.inference, default_float()
        self.default_device, self.settings, self.autocast = default_device(), settings_number(), thread_autocast().settings

    def join(self, LibraryState other not None):
        """Demand what another recording used of tensorlab as well: it has become a branch of this one."""
        cdef UsedScope scope
        scopes = {id((<UsedScope>one).owner): one for one in self.scopes}
        for scope in other.scopes:
            known = scopes.get(id(scope.owner))
            scopes[id(scope.owner)] = scope if known is None else known.joined(scope)
        self.scopes = list(scopes.values())
        if self.abstract_classes is None:
            self.abstract_classes = other.abstract_classes

    cdef bint has_modes(self) noexcept:
        """Are the modes and settings what they were, and no layer or mode active that wants to see each call?"""
        cdef ThreadState* state = thread_state()
        return (state.grad_mode == self.grad_mode and state.inference == self.inference and state.packing == NULL
                and thread_autocast().settings == self.autocast
                and (state.layers == NULL or PyList_GET_SIZE(<object>state.layers) == (thread_autocast().layer != NULL))
                and default_float() == self.default_dtype and default_device() == self.default_device
                and settings_number() == self.settings and not are_modes_anywhere())

    cdef bint is_unpatched(self) noexcept:
        """Do the names that were used stand for what they stood for?"""
        cdef PyObject* scope
        cdef Py_ssize_t i
        for i in range(PyList_GET_SIZE(self.scopes)):
            scope = PyList_GET_ITEM(self.scopes, i)
            if not (<UsedScope>scope).is_unchanged():
                return False
        return True

    cdef bint has_abstract_classes(self) noexcept:
        """Are the same classes registered with abstract ones, as far as that counts?"""
        return self.abstract_classes is None or get_cache_token() == self.abstract_classes


def is_packing():
    """Whether saved tensors are packed in this thread."""
    return thread_state().packing != NULL

"""Overrides: how a class that inherits Tensor, or a mode, gets hold of the calls of public functions.

A class takes part by defining `__tensor_function__(cls, function, types, args=(), kwargs=None)`, or the same under PyTorch's name
`__torch_function__`; a mode by defining it as a method. There is one interception point. Every public function is a
compiled function, and a compiled function holds a pointer to the C function that a call of it goes to (PEP 590):

    before      add ----------------> its C code
    after       add ----> intercept ----> its C code, if no argument's class has a hook
                                   `----> the hook of the class or of the mode

`enable_interception` sets these pointers when the first class with a hook is defined or the first mode is entered. A program
that has neither runs the very instructions it would run if this file did not exist, and every reference to a function is
covered, wherever and whenever it was taken. docs/decisions/0020 says what this costs afterwards.

The functions are collected by tensorlab/overrides.py, which knows the public names. Calls below them, from C to C, are not
public and cannot be overridden; nor can what the engine calls, formulas of derivatives among it, until it comes to functions
of the user's own (`set_overrides_disabled` and `call_with_overrides` in modes.pyx).
"""
from cpython.object cimport PyObject
from cpython.dict cimport PyDict_GetItem
from cpython.tuple cimport PyTuple_GET_SIZE

from tensorlab._core.dispatch.call_pointer cimport Call, call_slot, set_call_slot
from tensorlab._core.dispatch.operands cimport is_operand
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.tensor cimport TensorBase, tensor_class

import threading

cdef extern from *:
    """
    #include "thread_local.h"
    static TL_THREAD struct { int no_classes, disabled; } tl_overrides = {0, 0};

    /* the body of a function of (*args, **kwargs), which has no such pointer before the pointers are set */
    #define tl_body(f, args, kwargs) \\
        ((PyCFunctionWithKeywords)(void*)((PyCFunctionObject*)(f))->m_ml->ml_meth)((PyObject*)(f), args, kwargs)
    #define tl_type(x) ((PyObject*)Py_TYPE(x))
    """
    object run_body "tl_body"(PyObject* function, tuple args, dict kwargs)
    PyObject* type_of "tl_type"(PyObject* x)
    ctypedef struct ThreadOverrides:
        int no_classes          # DisableTorchFunctionSubclass blocks that this thread is in
        int disabled            # DisableTorchFunction blocks: modes do not intercept either
    ThreadOverrides state "tl_overrides"
    Py_ssize_t PyVectorcall_NARGS(size_t flags) noexcept

cdef enum:
    # what a function is, beside a plain one
    OPERATOR = 1                # for operands that it does not know it answers NotImplemented
    FACTORY = 2                 # its arguments are data: only modes intercept it

IS_OPERATOR, IGNORES_CLASSES = OPERATOR, FACTORY        # for Python
HOOK_NAMES = ("__tensor_function__", "__torch_function__")

cdef class Entry:
    """A public function: its own C code, and the function that hooks are told."""
    cdef Call original
    cdef object public
    cdef int kind

cdef dict entries = {}              # function: Entry; empty until the switch is on
cdef set plain_classes = set()      # classes over Tensor without a hook, such as Parameter
cdef tuple foreign = ()             # classes with a hook that do not inherit Tensor
cdef object collect = None          # lists the public functions; tensorlab/overrides.py hands it down
cdef bint is_wanted = False         # a hook was defined before the functions could be collected
cdef object stacks = threading.local()      # .modes: the modes in force in a thread, the innermost last
cdef int mode_count = 0             # in all threads, so that threads without modes need not look


# ---------------------------------------------------------------- which arguments have hooks
def disabled_tensor_function(*args, **kwargs):
    """As `__tensor_function__` of a class: let its tensors be plain ones in calls, as Parameter does."""
    return NotImplemented


cdef str hook_name(object cls):
    """The name under which the class or one it inherits defines a hook; None if there is none."""
    for parent in cls.__mro__:
        for name in HOOK_NAMES:
            if name in parent.__dict__:
                return None if parent.__dict__[name] is disabled_tensor_function else name
    return None


def register_subclass(cls):
    """Register a new class that inherits Tensor, or one that got a hook later; enable interception if it has one."""
    if hook_name(cls) is None:
        plain_classes.add(cls)
    else:
        plain_classes.discard(cls)
        enable_interception()


def register(cls):
    """Let a class that defines `__torch_function__` but does not inherit Tensor take part; usable as a decorator."""
    global foreign
    if hook_name(cls) is None:
        raise TypeError(f"register: {cls.__name__} defines neither {HOOK_NAMES[0]} nor {HOOK_NAMES[1]}")
    foreign += (cls,)
    enable_interception()
    return cls


cdef bint has_override(object value):
    """Does the class of this argument have a hook?"""
    cls = type(value)
    if isinstance(value, TensorBase):
        return cls is not tensor_class and cls not in plain_classes and hook_name(cls) is not None
    return isinstance(value, foreign) and hook_name(cls) is not None


cdef list add_overloaded(list found, object value):
    """Add an argument to those whose class is asked: one for each class, subclasses first."""
    cdef Py_ssize_t i
    if not has_override(value):
        return found
    if found is None:
        return [value]
    for one in found:
        if type(one) is type(value):
            return found
    for i in range(len(found)):
        if isinstance(value, type(found[i])):
            found.insert(i, value)
            return found
    found.append(value)
    return found


def overloaded_arguments(arguments):
    """The arguments whose classes must be asked, in the order in which they are."""
    cdef list found = None
    if not state.no_classes and not are_overrides_disabled():
        for value in arguments:
            found = add_overloaded(found, value)
    return found or []


# ---------------------------------------------------------------- the interception point
cdef object intercept(PyObject* function, PyObject** arguments, size_t flags, PyObject* names):
    """What a call of any public function goes to once interception is enabled."""
    cdef Entry entry = <Entry><object>PyDict_GetItem(entries, <object>function)
    cdef list found = None
    cdef Py_ssize_t i, positional = PyVectorcall_NARGS(flags)
    cdef Py_ssize_t n = positional + (PyTuple_GET_SIZE(<tuple>names) if names != NULL else 0)
    cdef PyObject* kind
    if are_overrides_disabled():
        return entry.original(function, arguments, flags, names)
    if not state.no_classes and not entry.kind & FACTORY:
        for i in range(n):
            kind = type_of(arguments[i])
            if kind == <PyObject*>tensor_class:
                continue
            if isinstance(<object>arguments[i], (list, tuple)):
                for value in <object>arguments[i]:
                    found = add_overloaded(found, value)
            else:
                found = add_overloaded(found, <object>arguments[i])
    if found is None and (mode_count == 0 or not has_modes()):
        return entry.original(function, arguments, flags, names)
    args = positional_arguments(arguments, positional)
    kwargs = named_arguments(arguments + positional, names)
    if entry.kind & OPERATOR and (
            # the hook comes first: an object that answers any question looks like a number, too
            n == 0 or not (has_override(<object>arguments[n - 1])
                           or is_operand(<object>arguments[n - 1]))):
        return entry.original(function, arguments, flags, names)
    result = call_hooks(entry.public, found or [], args, kwargs)
    if result is NotImplemented and not entry.kind & OPERATOR:
        raise no_implementation(entry.public, found or [])
    return result


cdef tuple positional_arguments(PyObject** arguments, Py_ssize_t n):
    return tuple([<object>arguments[i] for i in range(n)])


cdef dict named_arguments(PyObject** arguments, PyObject* names):
    cdef Py_ssize_t i
    if names == NULL:
        return {}
    return {(<tuple>names)[i]: <object>arguments[i] for i in range(PyTuple_GET_SIZE(<tuple>names))}


cdef object call_with_tuple(PyObject* function, PyObject** arguments, size_t flags, PyObject* names):
    """The own code of a function of (*args, **kwargs)."""
    cdef Py_ssize_t n = PyVectorcall_NARGS(flags)
    return run_body(function, positional_arguments(arguments, n), named_arguments(arguments + n, names))


cdef object call_hooks(object public, list found, tuple args, dict kwargs):
    """Give the call to the innermost mode, then to each class, until one handles it."""
    types = tuple([type(value) for value in found])
    cdef list modes
    if mode_count > 0 and has_modes():
        modes = stacks.modes
        mode = modes.pop()                      # a mode does not intercept its hook's own calls
        try:
            result = hook_of(mode)(public, types, args, kwargs)
        finally:
            modes.append(mode)
        if result is not NotImplemented:
            return result
    for value in found:
        result = hook_of(value)(public, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


cdef object hook_of(object value):
    return getattr(value, hook_name(type(value)))


cdef object no_implementation(object public, list found):
    return TypeError(f"{getattr(public, '__name__', public)}: no implementation found on the types "
                     f"{[type(value).__name__ for value in found]}: the {HOOK_NAMES[0]} of each returned NotImplemented")


def overridable(function):
    """A compiled function that calls one written in Python: methods of Tensor are listed through it, to be intercepted, too."""
    def call(*args, **kwargs):
        return function(*args, **kwargs)
    call.__name__ = function.__name__
    call.__doc__ = function.__doc__
    call.__wrapped__ = function
    return call


cdef list find_overrides(list arguments, list others):
    """Those of the arguments, and of the others if there are any, whose classes are asked about a call; None if neither a class
    nor a mode is."""
    cdef list found
    if not is_wanted or are_overrides_disabled():
        return None
    found = overloaded_arguments(arguments + (others or []))
    return found if found or active_modes() else None


def call_override(public, found, args, kwargs):
    """Give a call to the hooks of `found`; for functions that call hooks themselves."""
    result = call_hooks(public, found, args, kwargs)
    if result is NotImplemented:
        raise no_implementation(public, found)
    return result


# ---------------------------------------------------------------- enabling
def set_collector(function):
    """Take the function that lists (function, public function, kind) for all public functions."""
    global collect
    collect = function
    if is_wanted:
        enable_interception()


def enable_interception():
    """Set the pointers of all public functions to `intercept`. They stay so."""
    global is_wanted
    cdef Entry entry
    is_wanted = True
    if collect is None:                         # the package is still being imported
        return
    for function, public, kind in collect():
        if function not in entries:
            entry = Entry.__new__(Entry)
            entry.original = call_slot(function)
            if entry.original == NULL:
                entry.original = call_with_tuple
            entry.public = public
            entry.kind = kind
            entries[function] = entry
            set_call_slot(function, intercept)


def is_interception_enabled():
    """True if calls of public functions go through `intercept`."""
    return len(entries) > 0


# ---------------------------------------------------------------- blocks in which overrides are disabled
cdef bint are_overrides_disabled() noexcept:
    return state.disabled > 0 or thread_state().overrides_disabled


def is_engine_calling():
    """Is the engine calling: is this part of the formula of a derivative?"""
    return thread_state().overrides_disabled


class DisableTorchFunctionSubclass:
    """A block in which tensors of all classes are plain ones; modes still intercept calls."""

    def __enter__(self):
        state.no_classes += 1

    def __exit__(self, *exception):
        state.no_classes -= 1


class DisableTorchFunction:
    """A block in which neither classes nor modes intercept calls."""

    def __enter__(self):
        state.disabled += 1

    def __exit__(self, *exception):
        state.disabled -= 1


# ---------------------------------------------------------------- modes
cdef bint has_modes():
    """Is a mode in force in this thread?"""
    return len(getattr(stacks, "modes", ())) > 0


cdef bint are_modes_anywhere() noexcept:
    """Is a mode in force in any thread? A quick test for those who do without modes."""
    return mode_count > 0


def push_mode(mode):
    """Let a mode intercept all calls of this thread from now on."""
    global mode_count
    if hook_name(type(mode)) is None:
        raise TypeError(f"{type(mode).__name__}: a mode must define {HOOK_NAMES[0]} or {HOOK_NAMES[1]}")
    if not hasattr(stacks, "modes"):
        stacks.modes = []
    enable_interception()
    stacks.modes.append(mode)
    mode_count += 1


def pop_mode():
    """Take away and return the innermost mode of this thread."""
    global mode_count
    mode_count -= 1
    return stacks.modes.pop()


def active_modes():
    """The modes that intercept a call that this thread makes now, the innermost last."""
    return () if are_overrides_disabled() else tuple(getattr(stacks, "modes", ()))

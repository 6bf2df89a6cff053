"""Autocast: a layer that casts the arguments of ops, to a type that halves memory or to one that keeps precision.

Each op has a rule (autocast_rules.py) or none. The layer lies above autograd, so a cast is an op like any other: it has a
node, and its backward casts the gradient back to the type of the weight.

What a thread has set is kept for each device type, as programs ask for it; ops look only at what it has set for the cpu.
The layer is entered while autocast is on, so a thread in which it's off pays nothing.

A leaf that requires grad is cast once in a region. The cast is kept until the outermost region ends, unless the leaf is
written to, or another layer takes down what is called.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF

from tensorlab._core.dispatch.layers cimport Layer
from tensorlab._core.dtypes cimport (
    BFLOAT16, FLOAT16, FLOAT32, HALF, dtype as dtype_class, dtype_object, is_in
)
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.tensor cimport TensorBase

import threading

from tensorlab._core.dispatch.autocast_rules import (
    FLOAT32 as TO_FLOAT32, LOWER, WIDEST, autocast_rule
)
from tensorlab._core.dispatch.layers import entered_layers

cdef extern from *:
    """
    #include "thread_local.h"
    static TL_THREAD struct { int dtype; PyObject *layer; int settings; } tl_autocast = {-1, NULL, 0};
    """
    ThreadAutocast tl_autocast


cdef ThreadAutocast* thread_autocast() noexcept nogil:
    """What this thread has set for the cpu."""
    return <ThreadAutocast*>&tl_autocast


# ---------------------------------------------------------------- casting
cpdef bint is_eligible(object x):
    """May x be cast: is it a tensor in memory of the cpu, of a floating type but float64?"""
    cdef TensorBase tensor
    if not isinstance(x, TensorBase):
        return False
    tensor = <TensorBase>x
    return is_in(tensor.dtype_, HALF | 1 << FLOAT32) and tensor.storage_.device == ON_CPU


cdef object cast(object x, int dtype):
    """x in another type, if it is a tensor that may be cast; of a list, the tensors in it."""
    if type(x) is tuple or type(x) is list:
        return type(x)([cast(one, dtype) for one in x])
    if is_eligible(x) and (<TensorBase>x).dtype_ != dtype:
        return x.to(dtype_object(dtype))
    return x


cdef int widest_among(object values, int widest) except -1:
    """float32 if a tensor among the values is, else `widest`."""
    for x in values:
        if isinstance(x, (tuple, list)):
            widest = widest_among(x, widest)
        elif is_eligible(x):
            if (<TensorBase>x).dtype_ != widest:
                widest = FLOAT32        # also of bfloat16 and float16: neither holds the other
    return widest


cpdef tuple in_float32(tuple values):
    """The values, with their tensors in float32 where autocast is on.

    For functions over several ops: these, one by one, would not be cast so.

    >>> in_float32((1, None))
    (1, None)
    """
    return values if tl_autocast.dtype < 0 or is_hidden() else cast(values, FLOAT32)


cpdef tuple in_lower(tuple values):
    """The values with their tensors in the smaller type where autocast is on."""
    return values if tl_autocast.dtype < 0 or is_hidden() else cast(values, tl_autocast.dtype)


def without_autocast(function, *args):
    """Call a function whose ops nothing is cast for, because it has cast its arguments itself.

    >>> without_autocast(max, 1, 2)
    2
    """
    cdef int dtype = tl_autocast.dtype
    tl_autocast.dtype = -1
    try:
        return function(*args)
    finally:
        tl_autocast.dtype = dtype


cdef bint is_hidden():
    """Is a layer below autocast handling a call, so that autocast has been met already?"""
    return (<Layer>tl_autocast.layer).position >= thread_state().ceiling


# ---------------------------------------------------------------- the layer
@cython.final
@cython.auto_pickle(False)
@cython.binding(False)
cdef class AutocastLayer(Layer):
    """Casts the arguments of each call by the rule of its op, and passes it on."""

    def __init__(self):
        super().__init__("autocast")

    def call(self, op, arguments):
        rule = autocast_rule.of(op)
        if rule is None or tl_autocast.dtype < 0:
            return op(*arguments)
        if rule is LOWER:
            return op(*[lowered(x) for x in arguments])
        if rule is WIDEST:
            return op(*cast(arguments, widest_among(arguments, tl_autocast.dtype)))
        if rule is TO_FLOAT32:
            return op(*cast(arguments, FLOAT32))
        device_type, dtype = rule                       # of an op of a program
        if device_type == "cpu":
            arguments = cast(arguments, (<dtype_class?>dtype).code)
        return op(*arguments)


cdef object lowered(object x):
    """x in the smaller type; of a leaf, what was kept of it."""
    cdef int dtype = tl_autocast.dtype
    if not (is_leaf_in_float32(x) and settings.is_cache_enabled) or is_watched():
        return cast(x, dtype)
    state = (<TensorBase>x).counter.value, thread_state().grad_enabled, dtype
    found = settings.kept.get(id(x))
    if found is None or found[0] != state:      # it's new, or was written to since
        found = settings.kept[id(x)] = state, cast(x, dtype), x
    return found[1]


cdef bint is_leaf_in_float32(object x):
    """Is x a weight: a leaf in float32 that requires grad, and no view?"""
    cdef TensorBase leaf
    if not is_eligible(x):
        return False
    leaf = <TensorBase>x
    return (leaf.dtype_ == FLOAT32 and leaf.wants_grad and leaf.node is None and leaf.base is None
            and leaf.counter is not None)


cdef bint is_watched():
    """Does another layer see the calls of this thread? It must see each cast."""
    return len(<list>thread_state().layers) > 1


def other_layers():
    """The layers that this thread has entered besides this one, from the top.

    >>> other_layers()
    ()
    """
    return tuple([layer for layer in entered_layers() if not isinstance(layer, AutocastLayer)])


def autocast_settings():
    """What this thread has set, as one number; for those who compare."""
    return tl_autocast.settings


# ---------------------------------------------------------------- what a thread has set
class Settings(threading.local):
    """Per device type: whether autocast is on, and the smaller type; and what holds for all of them."""

    def __init__(self):
        half, brain = dtype_object(FLOAT16), dtype_object(BFLOAT16)
        self.dtypes = {"cpu": brain, "cuda": half, "mps": half, "xpu": half}
        self.enabled = set()
        self.is_cache_enabled = True
        self.kept = {}              # id of a leaf: (its state, its cast, the leaf itself, which so stays alive)
        self.nesting = 0


settings = Settings()


def set_cache_enabled(bint enabled):
    """Set for this thread whether casts of weights are kept."""
    settings.is_cache_enabled = enabled
    note_settings()


cdef int numbered() except -1:
    """What is set, as one number: five bits for each dtype, one for each switch."""
    cdef int number = settings.is_cache_enabled
    for device_type, dtype in settings.dtypes.items():
        number = number << 6 | (<dtype_class?>dtype).code << 1 | (device_type in settings.enabled)
    return number


cdef int DEFAULT = numbered()


cdef int note_settings() except -1:
    """Tell those who compare, as guards do, what is set now."""
    tl_autocast.settings = numbered() ^ DEFAULT
    return 0


def set_autocast(str device_type, bint enabled, dtype):
    """Set for this thread whether autocast is on for a device type, and the smaller type."""
    cdef ThreadAutocast* state = thread_autocast()
    settings.dtypes[device_type] = dtype
    (settings.enabled.add if enabled else settings.enabled.discard)(device_type)
    note_settings()
    if device_type != "cpu":
        return
    if enabled and state.layer == NULL:
        layer = AutocastLayer().__enter__()
        Py_INCREF(layer)
        state.layer = <PyObject*>layer
    elif not enabled and state.layer != NULL:
        layer = <object>state.layer
        layer.__exit__(None, None, None)
        state.layer = NULL
        Py_DECREF(layer)
    state.dtype = (<dtype_class?>dtype).code if enabled else -1

"""The modes of a thread: is autograd recording, does inference mode hold, how many backward passes run, are overrides off.

One small C struct for each thread; reading it costs two nanoseconds, so every op can afford to look.
"""
cimport cython
from cpython.ref cimport Py_XDECREF, Py_XINCREF

import os

cdef extern from *:
    """
    #include "thread_local.h"
    static TL_THREAD struct {
        int grad_enabled, inference, backward_depth;
        PyObject *packing, *task, *running;
        int grad_mode, overrides_disabled;
        PyObject *layers;
        int ceiling;
        PyObject *levels;
        void *handled;
    } tl_state = {1, 0, 0, NULL, NULL, NULL, 1, 0, NULL, 1 << 30, NULL, NULL};
    """
    ThreadState tl_state


# ---------------------------------------------------------------- forked children
def in_forked_children(function):
    """Call a function in each forked child, which has only the thread that forked; where there is no fork, never."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


# ---------------------------------------------------------------- grad mode
cdef ThreadState* thread_state() noexcept nogil:
    """This thread's modes; grad mode is on in a new thread."""
    return <ThreadState*>&tl_state


def is_grad_enabled():
    """True unless `no_grad` or `inference_mode` is in force in this thread.

    `enable_grad` within `inference_mode` makes it True again, but what is computed there is still not recorded.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.is_grad_enabled()
    True
    """
    return <bint>thread_state().grad_mode


def is_inference_mode_enabled():
    """True while `inference_mode` is in force in this thread.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.is_inference_mode_enabled()
    False
    """
    return <bint>thread_state().inference


cdef bint set_grad_mode(bint enabled) noexcept:
    """Set grad mode in this thread and return what it was."""
    cdef ThreadState* state = thread_state()
    cdef bint was = state.grad_mode
    state.grad_mode = enabled
    state.grad_enabled = enabled and not state.inference
    return was


def switch_grad_mode(bint enabled):
    """Set grad mode in this thread and return what it was. `no_grad` and others call it."""
    return set_grad_mode(enabled)


def switch_inference_mode(bint enabled):
    """Set inference mode in this thread and return what it was."""
    cdef ThreadState* state = thread_state()
    cdef bint was = state.inference
    state.inference = enabled
    state.grad_enabled = state.grad_mode and not enabled
    return was


# ---------------------------------------------------------------- overrides
cdef bint set_overrides_disabled(bint overrides_disabled) noexcept:
    """Disable overrides by classes and modes in this thread (overrides.pyx), or enable them again; return which it was.

    The engine disables them, because the user did not make the calls that it makes.
    """
    cdef ThreadState* state = thread_state()
    cdef bint was = state.overrides_disabled
    state.overrides_disabled = overrides_disabled
    return was


cdef object call_with_overrides(object function, tuple arguments):
    """Call what the user wrote, a hook or a custom function: classes and modes may override the calls that it makes.

    The modes that it leaves switched, and the packing of saved tensors, are then again as they were.
    """
    cdef ThreadState* state = thread_state()
    cdef bint was = set_overrides_disabled(False), grad_mode = state.grad_mode, inference = state.inference
    cdef PyObject* packing = state.packing
    cdef PyObject* left
    Py_XINCREF(packing)
    try:
        return function(*arguments)
    finally:
        set_overrides_disabled(was)
        state.inference = inference
        set_grad_mode(grad_mode)
        left = state.packing
        state.packing = packing
        Py_XDECREF(left)


# ---------------------------------------------------------------- contexts; autograd/grad_mode.py gives them their names
@cython.auto_pickle(False)
@cython.binding(False)
cdef class GradContext:
    """Grad mode is on, or off, inside."""
    cdef bint enabled
    cdef bint was

    def __enter__(self):
        self.was = set_grad_mode(self.enabled)

    def __exit__(self, kind, error, traceback):
        set_grad_mode(self.was)

    def __reduce__(self):
        return type(self), (), getattr(self, "__dict__", None)


cdef object new_context(object cls, bint enabled, object function):
    cdef GradContext context = GradContext.__new__(cls)
    context.enabled = enabled
    return context if function is None else context(function)


def new_no_grad(cls, function=None):
    """`no_grad()`, a context; or `no_grad(function)`, so that `@no_grad` decorates without parentheses too."""
    return new_context(cls, False, function)


def new_enable_grad(cls, function=None):
    """`enable_grad()`, or `enable_grad(function)`."""
    return new_context(cls, True, function)

"""The modes of a thread: grad mode, inference mode, running backward passes."""
from cpython.object cimport PyObject

cdef struct ThreadState:
    bint grad_enabled           # are ops recorded? If grad mode is on, and inference mode is not
    bint inference
    int backward_depth          # nested calls of backward that are running
    PyObject* packing           # (pack, unpack, what was here before), if saved tensors are packed, else NULL (saved.pyx)
    PyObject* task              # the backward pass that is running (engine.pyx), or NULL
    PyObject* running           # the node that it runs, in anomaly mode, else NULL
    bint grad_mode              # what no_grad and enable_grad have set
    bint overrides_disabled     # the engine is calling: no class and no mode overrides that (overrides.pyx)
    PyObject* layers            # the list of layers that this thread has entered, or NULL (layers.pyx)
    int ceiling                 # a call sees only layers below this position: those that have not handled it yet
    PyObject* levels            # the list of transforms that this thread is in, or NULL (levels.pyx)
    void* handled               # the calls that layers of classes are handling, the innermost first, or NULL (layers.pyx)

# How many layers are entered in the process, in all threads; and that plus the number of tensors with
# keys that are alive. While the second is 0, no call of an op looks any further.
cdef int entered_layers
cdef int active_layers

cdef ThreadState* thread_state() noexcept nogil
cdef bint set_grad_mode(bint enabled) noexcept
cdef bint set_overrides_disabled(bint overrides_disabled) noexcept
cdef object call_with_overrides(object function, tuple arguments)

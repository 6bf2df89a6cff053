"""Tensors that wait to be used again: making an object of Python's and freeing it would take a
third of a small op's time.

A plain tensor that goes is kept, its fields as `__cinit__` leaves them, and the next result
is the one that was kept last. Plain is a tensor of class Tensor itself with nothing but its
values: all others are freed by Python, as any object is.

Python frees an object by a function in its class, tp_dealloc; a class written in Python has
subtype_dealloc there. Ours stands before it in class Tensor.
"""
from cpython.object cimport PyObject, PyTypeObject, Py_TYPE, destructor
from cpython.ref cimport Py_DECREF

cimport tensorlab._core.tensor as tensors
from tensorlab._core.dtypes cimport FLOAT32
from tensorlab._core.storage cimport empty_storage
from tensorlab._core.tensor cimport VIEW_DEFAULT, TensorBase

cdef extern from *:
    PyObject** attributes_at "_PyObject_GetDictPtr"(PyObject*)  # where its __dict__ is, or NULL
    bint is_finalized "PyObject_GC_IsFinalized"(PyObject*)      # has its __del__ run?
    void clear_weakrefs "PyObject_ClearWeakRefs"(PyObject*)
    void track "PyObject_GC_Track"(PyObject*)                   # by the garbage collector
    void untrack "PyObject_GC_UnTrack"(PyObject*)
    Py_ssize_t references "Py_REFCNT"(PyObject*)
    void set_references "Py_SET_REFCNT"(PyObject*, Py_ssize_t)

cdef enum:
    MAX_KEPT = 256
cdef PyObject* pool[MAX_KEPT]           # each with one reference, the pool's
cdef PyTypeObject* plain_class = NULL   # Tensor
cdef destructor free_by_python = NULL


def keep_tensors(cls):
    """Keep plain tensors of a class when they go; _tensor.py calls it once, with Tensor."""
    global plain_class, free_by_python
    plain_class = <PyTypeObject*>cls
    free_by_python = plain_class.tp_dealloc
    plain_class.tp_dealloc = free_tensor
    tensors.take_tensor = take_tensor


cdef TensorBase take_tensor():
    """The tensor that was kept last."""
    tensors.kept -= 1
    tensors.live_count += 1
    cdef TensorBase x = <TensorBase>pool[tensors.kept]
    Py_DECREF(x)                        # the pool's reference
    track(<PyObject*>x)
    return x


cdef void free_tensor(PyObject* given) noexcept:
    """Keep a tensor to which no reference is left, or let Python free it."""
    if tensors.kept < MAX_KEPT and is_plain(<TensorBase>given):
        untrack(given)
        clear_weakrefs(given)
        set_references(given, 1)        # the pool's
        reset(<TensorBase>given)
        if tensors.kept < MAX_KEPT:     # still: what it held may have freed others
            pool[tensors.kept] = given
            tensors.kept += 1
            tensors.live_count -= 1
            return
        set_references(given, 0)
    # Python's function calls the first one in a base that isn't itself: for a class that
    # inherits from Tensor, that's ours. So ours steps aside, and Python's looks again.
    plain_class.tp_dealloc = free_by_python
    free_by_python(given)
    plain_class.tp_dealloc = free_tensor


cdef bint is_plain(TensorBase x) noexcept:
    """Is x of class Tensor itself, with nothing but its values?

    A long chain of gradients or attributes is for Python, which frees it without nested calls.
    """
    return (Py_TYPE(x) == plain_class and plain_class.tp_finalize == NULL
            and x.keys == 0 and x.hooks is None and x.box is None and x.after_hooks is None
            and x.accumulator == NULL and x.forms == 0 and not x.retains_grad_
            and x.gradient is None and attributes_at(<PyObject*>x)[0] == NULL
            and not is_finalized(<PyObject*>x))


cdef void reset(TensorBase x) noexcept:
    """Give a plain tensor the fields that `__cinit__` does; but a counter of its own stays."""
    x.storage_ = empty_storage
    x.data_ = NULL
    x.dtype_, x.ndim_, x.is_contiguous_ = FLOAT32, 1, True
    x.numel_ = x.sizes[0] = 0
    x.strides[0] = 1
    x.wants_grad, x.creation, x.output_number, x.view_version = False, VIEW_DEFAULT, 0, 0
    if x.counter is not None:
        if references(<PyObject*>x.counter) == 1 and x.counter.written_at is None:
            x.counter.value = 0
        else:
            x.counter = None
    if x.shape_ is not None:           # asks first: to write None counts references up and down
        x.shape_ = None
    if x.node is not None:
        x.node = None
    if x.base is not None:
        x.base = None

"""Tensors that wait to be used again: making an object of Python's and freeing it would take a third of a small op's time.

A tensor that goes is kept, with its fields as `__cinit__` leaves them, and the next result is the one that was kept last. Only
tensors of class Tensor itself are, and only those that nothing unusual was done to; all others are freed as any object is.
Python frees an object by a function in its class. That of classes written in Python looks for fields that each base has
added; Tensor adds none, so it can have ours. A class that inherits from Tensor frees what it has added, then calls ours.
"""
from cpython.object cimport PyObject, PyTypeObject, Py_TYPE, destructor
from cpython.ref cimport Py_DECREF

cimport tensorlab._core.tensor as tensors
from tensorlab._core.dtypes cimport FLOAT32
from tensorlab._core.storage cimport empty_storage
from tensorlab._core.tensor cimport VIEW_DEFAULT, TensorBase

cdef extern from *:
    """
    #define tl_has_attributes(x) ((x)->__dict__ != NULL)
    #define tl_has_weakrefs(x) ((x)->__weakref__ != NULL)
    """
    bint has_attributes "tl_has_attributes"(TensorBase)
    bint has_weakrefs "tl_has_weakrefs"(TensorBase)
    void clear_weakrefs "PyObject_ClearWeakRefs"(PyObject*)
    bint revived "PyObject_CallFinalizerFromDealloc"(PyObject*)     # by its __del__
    void track "PyObject_GC_Track"(PyObject*)
    void untrack "PyObject_GC_UnTrack"(PyObject*)
    Py_ssize_t references "Py_REFCNT"(PyObject*)
    void set_references "Py_SET_REFCNT"(PyObject*, Py_ssize_t)

cdef enum:
    MAX_KEPT = 256
cdef PyObject* pool[MAX_KEPT]           # each with one reference, the pool's
cdef destructor free_fields = NULL      # what Cython wrote to free a TensorBase


def keep_tensors(cls):
    """Keep tensors of a class when they go; tensorlab/_tensor.py calls it once, with Tensor."""
    global free_fields
    free_fields = (<PyTypeObject*>TensorBase).tp_dealloc
    (<PyTypeObject*>cls).tp_dealloc = free_tensor
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
    """Keep a tensor on which there are no references any more, or free it."""
    cdef PyTypeObject* cls = Py_TYPE(<object>given)
    if cls.tp_finalize != NULL and cls.tp_dealloc == free_tensor and revived(given):
        return
    tensors.live_count -= 1
    if tensors.kept < MAX_KEPT and is_plain(<TensorBase>given, cls):
        untrack(given)
        if has_weakrefs(<TensorBase>given):
            clear_weakrefs(given)
        set_references(given, 1)
        reset(<TensorBase>given)
        if tensors.kept < MAX_KEPT:     # what it held may have freed others
            pool[tensors.kept] = given
            tensors.kept += 1
            return
    else:
        tensors.set_keys(<TensorBase>given, 0)
    free_fields(given)
    Py_DECREF(<object>cls)


cdef bint is_plain(TensorBase x, PyTypeObject* cls) noexcept:
    """Is x of class Tensor itself, with nothing but its values? If that has a __del__, Python notes in an object that it has run."""
    return (cls == <PyTypeObject*>tensors.tensor_class and cls.tp_finalize == NULL and not has_attributes(x)
            and x.keys == 0 and x.hooks is None and x.box is None and x.after_hooks is None and x.accumulator == NULL
            and x.forms == 0 and not x.retains_grad_)


cdef void reset(TensorBase x) noexcept:
    """Give a plain tensor the fields that `__cinit__` does, but a counter that no one shares stays."""
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
    if x.shape_ is not None:            # asks first: writing None counts its references up and down, four times in a row
        x.shape_ = None
    if x.node is not None:
        x.node = None
    if x.gradient is not None:
        x.gradient = None
    if x.base is not None:
        x.base = None

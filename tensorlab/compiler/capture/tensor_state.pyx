"""What a recording notes of a tensor: the state that its guards compare, and the marks that show what was done to it.

A guard must not keep the tensors of a call alive, so it has a TensorState, which describes one.
"""
cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport Py_TYPE, PyObject

from tensorlab._core.graph.graph cimport needs_grad
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport LAZY, TensorBase, offset_of


@cython.final
@cython.auto_pickle(False)
cdef class TensorState:
    """Class, dtype, layout and history of a tensor: a replay takes any tensor that they fit, whatever its values are.

    Parameters
    ----------
    x : Tensor
    checks_offset : bool, whether it matters where in its storage the tensor begins
    """

    def __cinit__(self, TensorBase x not None, bint checks_offset):
        cdef int i
        self.layout = <ssize*>PyMem_Malloc((2 * x.ndim_ + 1) * sizeof(ssize))
        if self.layout == NULL:
            raise MemoryError()
        self.cls, self.dtype, self.ndim = type(x), x.dtype_, x.ndim_
        self.needs_grad, self.wants_grad, self.device = needs_grad(x), x.wants_grad, x.storage_.device
        self.is_view, self.is_inference, self.has_hooks = x.base is not None, x.counter is None, has_hooks(x)
        self.checks_offset, self.offset = checks_offset, offset_of(x)
        for i in range(x.ndim_):
            self.layout[i], self.layout[x.ndim_ + i] = x.sizes[i], x.strides[i]

    def __dealloc__(self):
        PyMem_Free(self.layout)

    cdef bint fits(self, PyObject* given, bint of_any_size) noexcept:
        """Is this a tensor of the same class, layout and history? `of_any_size`: without regard to sizes and strides."""
        cdef TensorBase x
        cdef int i
        if <PyObject*>Py_TYPE(<object>given) != <PyObject*>self.cls:
            return False
        x = <TensorBase>given
        if x.dtype_ != self.dtype or x.ndim_ != self.ndim or x.keys & LAZY:
            return False
        for i in range(0 if of_any_size else self.ndim):
            if x.sizes[i] != self.layout[i] or x.strides[i] != self.layout[self.ndim + i]:
                return False
        return (needs_grad(x) == self.needs_grad and x.wants_grad == self.wants_grad
                and x.storage_.device == self.device and (x.base is not None) == self.is_view
                and (x.counter is None) == self.is_inference and has_hooks(x) == self.has_hooks
                and (not self.checks_offset or offset_of(x) == self.offset))


cdef inline bint has_hooks(TensorBase x) noexcept:
    return (x.hooks is not None and len(x.hooks) > 0) or (x.after_hooks is not None and len(x.after_hooks) > 0)


# ---------------------------------------------------------------- marks: equal ones say that nothing was done
def history_of(TensorBase x not None):
    """What autograd knows of a tensor, by identity: (its own flag, node, gradient, node of its base, whether it has hooks)."""
    base_node = None if x.base is None else x.base.node
    return bool(x.wants_grad), x.node, x.gradient, base_node, bool(has_hooks(x))


def memory_layout_of(TensorBase x not None):
    """How a tensor lies in memory, by identity of the storage: what an op may change and a replay starts from."""
    return tuple(x.shape), [x.strides[i] for i in range(x.ndim_)], x.dtype_, offset_of(x), <size_t><void*>x.storage_


def is_lazy(TensorBase x not None):
    """Does its memory hold its conjugate or its negative?"""
    return x.keys & LAZY != 0


def writes_to(TensorBase x not None):
    """How often a tensor has been written to; 0 for an inference tensor, which does not count."""
    return 0 if x.counter is None else x.counter.value


def storage_of(TensorBase x not None):
    """The storage, for identity alone: the memory stays out of reach."""
    return x.storage_

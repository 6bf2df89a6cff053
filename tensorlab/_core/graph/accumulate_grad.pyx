"""Edges, which lead from a tensor to the node that its gradient goes to; and AccumulateGrad, the node where they end.

A leaf that requires gradients has no node of its own. The first edge to it makes its AccumulateGrad node, which lives as long
as some graph needs it; the leaf knows it meanwhile, so that all edges lead to the same one.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.pythread cimport (
    NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock,
    PyThread_get_thread_ident, PyThread_release_lock, PyThread_type_lock
)
from libc.stdlib cimport calloc

from tensorlab._core.graph.graph cimport GraphTask, Node, grad_fn_of, needs_grad, write_metadata
from tensorlab._core.layout cimport is_dense
from tensorlab._core.no_instances cimport forbid_new
from tensorlab._core.state.devices cimport device_name
from tensorlab._core.state.modes cimport call_with_overrides, thread_state
from tensorlab._core.tensor cimport FOREIGN, TensorBase, place_of

from tensorlab._core.device import strided
from tensorlab._core.state.modes import in_forked_children
from tensorlab.errors import GradientError

cdef extern from *:
    Py_ssize_t references "Py_REFCNT"(PyObject*)


# ---------------------------------------------------------------- edges
cdef Node gradient_edge(TensorBase x):
    """The node that x's gradient goes to; the output number is x.output_number (0 for a leaf)."""
    cdef Node node = grad_fn_of(x)
    cdef AccumulateGrad leaf
    if node is not None or not x.wants_grad:
        return node
    if x.accumulator != NULL:
        return <Node>x.accumulator
    leaf = AccumulateGrad.__new__(AccumulateGrad)
    leaf.variable = x
    write_metadata(&leaf.first_metadata, x)
    x.accumulator = <PyObject*>leaf
    return leaf


cdef int set_edges(Node node, object inputs) except -1:
    """Point the node's edges at the nodes of these tensors; what is not a tensor that needs gradients gets None."""
    cdef list edges = []
    cdef Py_ssize_t i = 0
    cdef TensorBase x
    for value in inputs:
        edges.append(None)
        if isinstance(value, TensorBase) and needs_grad(<TensorBase>value):
            x = <TensorBase>value
            edges[i] = gradient_edge(x)
            if x.output_number != 0:
                set_edge_output(node, i, len(inputs), x.output_number)
        i += 1
    node.edges = tuple(edges)
    return 0


cdef int set_edge_output(Node node, Py_ssize_t i, Py_ssize_t count, int number) except -1:
    """Edge i, of `count`, leads to output `number` of the next node; without this, to its first."""
    if node.edge_outputs == NULL:
        node.edge_outputs = <int*>calloc(count, sizeof(int))
        if node.edge_outputs == NULL:
            raise MemoryError()
    node.edge_outputs[i] = number
    return 0


# ---------------------------------------------------------------- AccumulateGrad
@cython.final
@cython.no_gc_clear         # `variable` must still be there in __dealloc__; a cycle is cut at the leaf's hooks or attributes
cdef class AccumulateGrad(Node):
    """Where backward ends: adds the gradient that arrives to the leaf's `.grad`."""

    def __cinit__(self):
        self.sequence_number = <unsigned long long>-1  # runs before any other ready node, so that its gradient is soon let go

    def __dealloc__(self):
        if self.variable is not None and self.variable.accumulator == <PyObject*>self:
            self.variable.accumulator = NULL

    cdef tuple apply(self, object grad, GraphTask task):
        cdef TensorBase variable = self.variable
        cdef TensorBase new = <TensorBase>grad
        if new is not None and grad_fn_of(variable) is not None:
            raise GradientError(
                "AccumulateGrad: a leaf was written in place after it had been used, and is no "
                "leaf any more; its gradient has no place to go")
        # the hooks run even if no gradient came, or if requires_grad was switched off meanwhile
        if new is not None and needs_grad(variable):
            acquire_lock()
            try:
                self.add_to_leaf(new)
            finally:
                release_lock()
        if variable.after_hooks:
            for function in list(variable.after_hooks.values()):
                result = call_with_overrides(function, (variable,))
                if result is not None and not isinstance(result, TensorBase):
                    raise TypeError("post-accumulate-grad hook: must return None, not "
                                    f"{type(result).__name__}")
                if result is not None and result is not variable:
                    raise GradientError("post-accumulate-grad hook: must return None; it may "
                                        "change the tensor or .grad in place")
        return ()

    cdef int add_to_leaf(self, TensorBase new) except -1:
        cdef TensorBase variable = self.variable
        cdef bint is_tracked
        if place_of(new) != place_of(variable):
            raise GradientError(
                f"AccumulateGrad: a leaf on {device_name(variable.storage_.device)} got a "
                f"gradient on {device_name(new.storage_.device)}; a custom backward function "
                "must have returned it")
        if variable.gradient is None:
            # 2 references, the engine's and apply's: nothing else holds this tensor, so it is
            # taken over without a copy. (As in PyTorch, its memory may have other users: it may
            # be a view of the gradient given to backward, say.)
            if (not thread_state().grad_enabled and references(<PyObject*>new) == 2
                    and keeps_layout(new, variable)):
                is_tracked = new.base is not None or needs_grad(new)
                variable.gradient = new.detach() if is_tracked else new
            else:
                variable.gradient = copy_in_layout(new, variable)
        elif thread_state().grad_enabled or (
                has_other_layout(variable.gradient) and not has_other_layout(new)):
            variable.gradient = variable.gradient + new     # sparse ones can't become dense in place
        else:
            variable.gradient.add_(new)
        return 0

    cdef str label(self):
        return "AccumulateGrad"


cdef bint keeps_layout(TensorBase grad, TensorBase variable) noexcept:
    """Do grad's strides follow the variable's (if that is dense), or else row-major order? An expanded one never does."""
    cdef int i
    for i in range(grad.ndim_):
        if grad.strides[i] == 0:
            return False
    if not is_dense(variable.ndim_, variable.sizes, variable.strides):
        return grad.is_contiguous_
    for i in range(variable.ndim_):
        if variable.sizes[i] != 1 and grad.strides[i] != variable.strides[i]:
            return False
    return True


cdef bint has_other_layout(TensorBase x) except -1:
    """Is it found by something else than strides: is it sparse?"""
    return x.keys != 0 and x.layout is not strided


cdef object copy_in_layout(TensorBase grad, TensorBase variable):
    if has_other_layout(grad) or has_other_layout(variable) or (
            grad.keys & FOREIGN and keeps_layout(grad, variable)):      # it may lie in parts, as its clone does
        return grad.clone()
    if not is_dense(variable.ndim_, variable.sizes, variable.strides):
        return grad.clone(memory_format="contiguous")
    return grad.new_empty_strided(variable.shape, variable.stride()).copy_(grad)


# ---------------------------------------------------------------- the lock
# Backward passes of several threads may reach one leaf at the same time, and a thread may be interrupted between reading .grad
# and writing it. One lock serves all leaves, because it is held for so short a time.
cdef PyThread_type_lock lock = PyThread_allocate_lock()
cdef long lock_owner = 0            # the thread that has it,
cdef int lock_depth = 0             # and how often: adding gradients of a subclass may run any code, another backward included


cdef int acquire_lock() except -1:
    global lock_owner, lock_depth
    cdef long me = PyThread_get_thread_ident()
    if lock_depth == 0 or lock_owner != me:
        if not PyThread_acquire_lock(lock, NOWAIT_LOCK):
            with nogil:
                PyThread_acquire_lock(lock, WAIT_LOCK)
        lock_owner = me
    lock_depth += 1
    return 0


cdef int release_lock() except -1:
    global lock_depth
    lock_depth -= 1
    if lock_depth == 0:
        PyThread_release_lock(lock)
    return 0


def renew_lock():
    """In a forked child, which has only the thread that forked: no other has the lock, whichever had it before."""
    global lock, lock_depth
    lock = PyThread_allocate_lock()             # the old one may stay locked
    if lock_depth > 0 and lock_owner == PyThread_get_thread_ident():
        PyThread_acquire_lock(lock, NOWAIT_LOCK)
    else:
        lock_depth = 0

in_forked_children(renew_lock)


cdef int transfer_lock(long owner, long borrower) noexcept:
    """If `owner` has the lock, and will wait for the thread `borrower`, that one has it meanwhile."""
    global lock_owner
    if lock_depth > 0 and lock_owner == owner:
        lock_owner = borrower
    return 0


forbid_new(AccumulateGrad)

"""Writing in place under autograd: what is refused before the write, and what becomes of histories after it.

A tensor that is not a view gets the node of the op. A write to a view is a write to its base, too: the base gets a CopySlices,
which has the op's node inside, and every view of the base is stale until `graph.grad_fn_of` looks at it.
"""
cimport cython
from libc.stdlib cimport calloc

from tensorlab._core.dtypes cimport is_differentiable, item_size
from tensorlab._core.graph.accumulate_grad cimport gradient_edge
from tensorlab._core.graph.graph cimport (
    read_strided,
    GraphTask, Node, already_released, grad_fn_of, is_wanted, move_retained, needs_grad,
    refuse_special_view, set_history, set_sequence_number, should_record, write_metadata
)
from tensorlab._core.no_instances cimport forbid_new
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.tensor cimport (
    LAZY, TensorBase, alias_as, check_writable, make_size, offset_of, set_lazy_bits
)

from tensorlab.errors import GradientError


cdef int check_inplace(TensorBase x, bint any_needs_grad, str op) except -1:
    """Raise before an in-place op writes to a tensor that autograd could not follow."""
    check_writable(x, op)
    if x.counter is None and not thread_state().inference:
        raise GradientError(f"{op}: an inference tensor cannot be changed in place outside "
                            "inference_mode; clone it first")
    if not any_needs_grad:
        return 0
    if x.base is not None:
        refuse_special_view(x, op)
        if needs_grad(x) and grad_fn_of(x.base) is None:
            raise GradientError(f"{op}: a view of a leaf that requires grad is being used in "
                                "an in-place operation; use the out-of-place op, or write "
                                "under no_grad")
    if needs_grad(x) and grad_fn_of(x) is None:
        raise GradientError(f"{op}: a leaf that requires grad is being used in an in-place "
                            "operation; use the out-of-place op, or write under no_grad")
    return 0


cdef int check_layout_change(TensorBase x, str op) except -1:
    """Raise unless x itself may get another layout. This comes before the other arguments are looked at."""
    cdef bint is_recorded = should_record(x)
    check_inplace(x, is_recorded, op)
    if is_recorded and not is_differentiable(x.dtype_):
        raise GradientError(f"{op}: integers have no gradient, but this tensor requires grad (one that does was written "
                            f"into it); detach it first")
    return 0


cdef int rebase_history(TensorBase x, Node node, Py_ssize_t place=0) except -1:
    """x was changed in place by the op of `node`: rewrite the history of x, and of its base if x is a view.

    `place` is the edge of the node that leads to x: in ops of ours the first, in a custom function any.
    """
    cdef CopySlices slices
    cdef TensorBase base
    cdef Node old
    if x.base is None:
        old = x.node
        set_history(x, node, 0)
        return move_retained(x, old, node)
    base = x.base
    slices = CopySlices.__new__(CopySlices)
    set_sequence_number(slices)
    write_metadata(&slices.first_metadata, base)
    write_metadata(&slices.base_metadata, base)
    write_metadata(&slices.view_metadata, x)
    for i in range(base.ndim_):
        slices.base_strides[i] = base.strides[i]
    for i in range(x.ndim_):
        slices.view_strides[i] = x.strides[i]
    # x may have another type, the real part; and a box (levels.pyx) has a storage of its own
    slices.view_offset = (x.data_ - x.storage_.address) - (base.data_ - base.storage_.address)
    slices.view_offset //= item_size[x.dtype_]
    slices.base_bits, slices.view_bits = base.keys & LAZY, x.keys & LAZY
    slices.saved = node
    slices.place = place
    take_edges(slices, node, base)
    old = base.node
    set_history(base, slices, 0)
    move_retained(base, old, slices)
    grad_fn_of(x)                       # x is stale after the write: this gives it a new node
    return 0


cdef int take_edges(CopySlices slices, Node node, TensorBase base) except -1:
    """Copy the in-place op's edges to CopySlices; the view's edge goes to the base instead."""
    cdef Py_ssize_t i, n = len(node.edges), place = slices.place
    slices.edges = node.edges[:place] + (gradient_edge(base),) + node.edges[place + 1:]
    if base.output_number != 0 or node.edge_outputs != NULL:
        slices.edge_outputs = <int*>calloc(n, sizeof(int))
        if slices.edge_outputs == NULL:
            raise MemoryError()
        for i in range(n):
            slices.edge_outputs[i] = node.edge_outputs[i] if node.edge_outputs != NULL else 0
        slices.edge_outputs[place] = (
            base.output_number if slices.edges[place] is not None else 0)
    return 0


# ---------------------------------------------------------------- CopySlices
@cython.final
cdef class CopySlices(Node):
    """The base of a view that was changed in place: base = old base with the view's elements replaced by function(view).

    Backward: the gradient of the old base is the incoming one, with the view's part replaced by what the in-place op's
    own backward makes of that part.
    """

    cdef tuple apply(self, object grad, GraphTask task):
        cdef Node function = <Node>self.saved
        cdef object memory, result, part, grads
        cdef list out
        cdef int i
        if grad is None:
            return (None,) * len(self.edges)
        memory = grad.new_empty_strided(
            make_size(self.base_metadata.ndim, self.base_metadata.sizes),
            tuple([self.base_strides[i] for i in range(self.base_metadata.ndim)]))
        result = read_strided(
            memory, self.base_metadata.dtype, memory.shape, memory.stride(), 0, self.base_bits
        ) if self.base_bits else memory
        result.copy_(grad)
        part = read_strided(
            memory, self.view_metadata.dtype,
            make_size(self.view_metadata.ndim, self.view_metadata.sizes),
            tuple([self.view_strides[i] for i in range(self.view_metadata.ndim)]),
            self.view_offset, self.view_bits)
        if function is None:
            raise already_released("CopySlices")
        if task.is_selective and is_wanted(task, self.edges[self.place]):
            # our edge to the base stands for the op's edge to the view's old node, and the op's
            # node will ask whether that one is wanted
            task.needed.add(function.edges[self.place])
        # a copy: the op's backward may keep what it is given, and `part` is written to below
        grads = function.apply(part.clone(memory_format="contiguous"), task)
        out = list(grads)
        out[self.place] = None
        if is_wanted(task, self.edges[self.place]):
            if grads[self.place] is None:
                part.zero_()
            else:
                part.copy_(grads[self.place])
            out[self.place] = result
        return tuple(out)

    cdef TensorBase view_again(self, TensorBase saved):
        """The view as it was right after the write, from a detached alias of it: a view of a base whose node is this one."""
        cdef char* data = saved.data_ - self.view_offset * item_size[saved.dtype_]
        cdef int ndim = self.base_metadata.ndim
        cdef TensorBase base
        if saved.keys & ~LAZY:                  # of a class with a layer: it makes views of its own
            strides = tuple([self.base_strides[i] for i in range(ndim)])
            base = <TensorBase?>saved.as_strided(make_size(ndim, self.base_metadata.sizes), strides,
                                                 offset_of(saved) - self.view_offset).detach()
            base.counter = saved.counter
        else:
            base = alias_as(saved, ndim, self.base_metadata.sizes, self.base_strides, data)
            base.dtype_ = self.base_metadata.dtype
            set_lazy_bits(base, self.base_bits)
        set_history(base, self, 0)
        return read_strided(base, saved.dtype_, make_size(saved.ndim_, saved.sizes), saved.stride(), offset_of(saved),
                            saved.keys & LAZY)

    cdef str label(self):
        return "CopySlices"


forbid_new(CopySlices)

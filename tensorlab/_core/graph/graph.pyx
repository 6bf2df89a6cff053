"""The graph that forward writes: nodes, edges, and what is known of views.

    y = x * w        a Node "mul"; its edges point at the nodes of x and w; y.node points at it

A leaf that requires gradients has no node of its own; an edge to it points at its AccumulateGrad node (accumulate_grad.pyx).

Views. A view knows its base, how it was made (its `creation`) and at which version its node was right. Writing to a view
changes the base, so the base gets a new node, CopySlices; every other view of that base is then *stale*: its node describes
values that are gone. `grad_fn_of` notices by comparing versions and makes a new node from the base. Code that wants to follow
a tensor's node must ask it; other code only tests whether there is one, or replaces it. This is the most dangerous place of the
whole engine.

Freeing. A chain of a million nodes must not be freed by a million nested calls. A node that dies inside many others puts
what it holds aside, and the outermost one releases that, one thing after the other. The count is one for all threads: what
one puts aside while another frees may wait for that one.

Overrides. Subclasses and modes may intercept calls (overrides.pyx). The engine disables that for the ops that it calls
itself, and enables it again for what the user wrote, such as a hook: see modes.pyx.
"""
cimport cython
from cpython.weakref cimport PyWeakref_NewRef
from libc.stdlib cimport calloc, free

cimport tensorlab._core.profiling as profiling

from collections import namedtuple

from tensorlab._core.dtypes cimport dtype_object, is_differentiable
from tensorlab._core.graph.anomaly cimport forward_stack, here, is_anomaly_on, write_out
from tensorlab._core.no_instances cimport forbid_new
from tensorlab._core.state.devices cimport SHELL
from tensorlab._core.state.modes cimport ThreadState, set_overrides_disabled, thread_state
from tensorlab._core.tensor cimport (
    LAZY, VIEW_DEFAULT, VIEW_INFERENCE, VIEW_MULTI_OUTPUT, VIEW_NO_GRAD, TensorBase, make_size,
    offset_of
)

from tensorlab._core.hooks import RemovableHandle
from tensorlab.errors import GradientError


# ---------------------------------------------------------------- freeing without deep recursion
cdef enum:
    MAX_NESTED_FREES = 40       # nested frees that any stack bears: about 40 KiB

cdef list deferred_frees = []       # what was held by nodes that died deep inside others
cdef int release_depth = 0


cdef int release(Node node) except -1:
    """Free what a dying node holds; too deeply nested, leave that to the outermost free."""
    global release_depth
    if release_depth >= MAX_NESTED_FREES:
        deferred_frees.append(node.edges)
        deferred_frees.append(node.saved)
        deferred_frees.append(node.extras)
    release_depth += 1
    node.edges = None
    node.saved = None
    node.extras = None          # hooks may hold the tensors before
    if release_depth == 1:
        while deferred_frees:
            deferred_frees.pop()
    release_depth -= 1
    return 0


# ---------------------------------------------------------------- nodes
cdef int set_sequence_number(Node node) except -1:
    """Give a new node its sequence number; in anomaly mode, note where in the user's program it was made."""
    profiling.nodes_made += 1
    node.sequence_number = profiling.nodes_made
    if is_anomaly_on():
        extras_of(node).metadata = {"traceback_": forward_stack()}
        if thread_state().running != NULL:
            node.extras.metadata["parent_"] = <object>thread_state().running
    return 0


@cython.auto_pickle(False)
cdef class NodeExtras:
    """What few nodes have: hooks, tensors that retain their gradient, metadata."""


cdef NodeExtras extras_of(Node node):
    if node.extras is None:
        node.extras = NodeExtras.__new__(NodeExtras)
    return node.extras


@cython.binding(False)
cdef class Node:
    """One step of the backward pass: turns the gradients of an op's outputs into those of its inputs.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> node = (2 * x).exp().grad_fn
    >>> node.name(), node.next_functions[0][0].name()
    ('ExpBackward0', 'MulBackward0')
    """

    def __cinit__(self):
        self.edges = ()
        self.output_count = 1
        self.input_metadata = &self.first_metadata

    def __dealloc__(self):
        release(self)
        if self.input_metadata != &self.first_metadata:
            free(self.input_metadata)
        if self.edge_outputs != NULL:
            free(self.edge_outputs)

    cdef tuple apply(self, object grad, GraphTask task):
        """Gradients for all edges; `grad` is one gradient, or a list if the op had several outputs."""
        raise NotImplementedError(f"{self.label()} has no backward")

    cdef int release_saved(self) except -1:
        """Forget what was saved for backward."""
        self.saved = None
        return 0

    cdef str label(self):
        return type(self).__name__

    def __call__(self, *grad_outputs):
        """Run this node alone, without its hooks: the gradients of its inputs, from those of its outputs.

        Parameters
        ----------
        grad_outputs : Tensor or None, one for each output of the forward op, of its shape

        Returns
        -------
        Tensor or None, or a tuple of them if there are more edges than one in `next_functions`

        Raises
        ------
        RuntimeError
            If a gradient has another shape than its output, or something that was saved is gone.

        >>> import tensorlab
        >>> x = tensorlab.tensor([2., 3.], requires_grad=True)
        >>> x.square().grad_fn(tensorlab.ones(2)).tolist()
        [4.0, 6.0]
        """
        cdef bint were_disabled
        cdef list grads = []
        cdef tuple out
        if len(grad_outputs) != self.output_count:
            raise TypeError(f"{self.label()}: {self.output_count} gradients are expected, one for each output of the forward op, "
                            f"but {len(grad_outputs)} are given")
        were_disabled = set_overrides_disabled(True)
        try:
            for i, grad in enumerate(grad_outputs):
                grads.append(None if grad is None else checked_form(self, i, grad))
            if self.output_count != 1:
                out = self.apply(grads if any([grad is not None for grad in grads]) else None, GraphTask.__new__(GraphTask))
            else:
                out = self.apply(grads[0], GraphTask.__new__(GraphTask))
        finally:
            set_overrides_disabled(were_disabled)
        return out[0] if len(out) == 1 else out

    def name(self):
        """The name that PyTorch gives this kind of node, such as MulBackward0."""
        return self.label()

    @property
    def next_functions(self):
        """Where the gradients of the inputs go: a tuple of (node or None, output number)."""
        return tuple([(node, self.edge_outputs[i] if self.edge_outputs != NULL else 0)
                      for i, node in enumerate(self.edges)])

    def _sequence_nr(self):
        """Nodes with larger numbers were made later and run earlier."""
        return self.sequence_number

    @property
    def requires_grad(self):
        """True: a node exists because a gradient is wanted."""
        return True

    @property
    def metadata(self):
        """A dict for whatever you want to keep with this node."""
        cdef NodeExtras extras = extras_of(self)
        if extras.metadata is None:
            extras.metadata = {}
        else:
            write_out(extras.metadata)
        return extras.metadata

    @property
    def _input_metadata(self):
        """The form of the gradients that come in: (shape, dtype) for each output, None for one that is not a tensor."""
        return tuple([GradientForm(make_size(self.input_metadata[i].ndim, self.input_metadata[i].sizes),
                                   dtype_object(self.input_metadata[i].dtype))
                      if self.input_metadata[i].ndim >= 0 else None for i in range(self.output_count)])

    def register_prehook(self, hook):
        """Call `hook(grad_outputs)` before this node runs, with the tuple of gradients that come in.

        What the hook returns, unless None, takes their place.

        Returns
        -------
        RemovableHandle, whose remove() takes the hook away
        """
        cdef NodeExtras extras = extras_of(self)
        if extras.prehooks is None:
            extras.prehooks = {}
        return add_hook(extras.prehooks, hook, "register_prehook")

    def register_hook(self, hook):
        """Call `hook(grad_inputs, grad_outputs)` after this node has run; a tuple that it returns replaces grad_inputs.

        Parameters
        ----------
        hook : function of two tuples: the gradients that go out, one for each edge in `next_functions`; and those that came in

        Returns
        -------
        RemovableHandle, whose remove() takes the hook away
        """
        cdef NodeExtras extras = extras_of(self)
        if extras.posthooks is None:
            extras.posthooks = {}
        return add_hook(extras.posthooks, hook, "register_hook")

    def __repr__(self):
        return f"<{self.label()} object at {<size_t><void*>self:#x}>"


GradientForm = namedtuple("GradientForm", "shape dtype")


cdef TensorBase checked_form(Node node, Py_ssize_t i, object grad):
    """A gradient that comes in at a node from outside, in the type of output i, after a look at its shape."""
    cdef InputMetadata* metadata = &node.input_metadata[i]
    if not isinstance(grad, TensorBase):
        raise TypeError(f"{node.label()}: gradients must be Tensors or None, not {type(grad).__name__}")
    if metadata.ndim < 0:
        raise GradientError(f"{node.label()}: output {i} is not a tensor, so None stands for its gradient")
    if grad.shape != make_size(metadata.ndim, metadata.sizes):
        raise GradientError(f"{node.label()}: the gradient of output {i} has shape {tuple(grad.shape)}, but the output has shape "
                            f"{tuple(make_size(metadata.ndim, metadata.sizes))}")
    return <TensorBase?>(grad if (<TensorBase>grad).dtype_ == metadata.dtype else grad.to(dtype_object(metadata.dtype)))


cdef object add_hook(dict hooks, object hook, str where):
    if not callable(hook):
        raise TypeError(f"{where}: the hook must be callable, not {type(hook).__name__}")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


cdef int write_metadata(InputMetadata* metadata, TensorBase x) except -1:
    cdef int i
    metadata.dtype = x.dtype_
    metadata.device = x.storage_.device & ~SHELL
    metadata.ndim = x.ndim_
    for i in range(x.ndim_):
        metadata.sizes[i] = x.sizes[i]
    return 0


cdef int set_input_metadata(Node node, object outputs) except -1:
    """Remember what the gradients that come in must look like."""
    cdef Py_ssize_t i, n
    if isinstance(outputs, TensorBase):
        return write_metadata(&node.first_metadata, <TensorBase>outputs)
    n = len(outputs)
    if n != 1:
        node.input_metadata = <InputMetadata*>calloc(max(n, 1), sizeof(InputMetadata))
        if node.input_metadata == NULL:
            node.input_metadata = &node.first_metadata
            raise MemoryError()
    node.output_count = n
    for i in range(n):
        if outputs[i] is None:
            node.input_metadata[i].ndim = -1  # a custom function may return things that are no tensors
        else:
            write_metadata(&node.input_metadata[i], <TensorBase?>outputs[i])
    return 0


# ---------------------------------------------------------------- reading a tensor's node
cdef object strided_reading = None

cdef int set_strided_reading(object function) except -1:
    """What replays a view on its base; handed down by tensorlab/ops/complex_numbers.pyx."""
    global strided_reading
    strided_reading = function
    return 0

cdef TensorBase read_strided(object base, int dtype, object size, object stride, object offset, int bits):
    """A view of `base`, recorded: see `strided_reading`. `bits` are the view's, CONJ and NEG."""
    return <TensorBase?>strided_reading(base, dtype, size, stride, offset, bits)


cdef Node grad_fn_of(TensorBase x):
    """The node that made x, or None for a leaf. Refreshes a stale view: see the file's top."""
    cdef bint was_enabled, were_disabled
    cdef TensorBase again
    cdef object old
    if x.base is None:
        return x.node
    if x.node is None and not (x.base.wants_grad or x.base.node is not None):
        return None
    if x.counter.value != x.view_version:
        refuse_special_view(x, None)
        old = x.node
        x.node = None
        if is_differentiable(x.dtype_):
            was_enabled = thread_state().grad_enabled
            thread_state().grad_enabled = True      # in inference mode too: history from before
            were_disabled = set_overrides_disabled(True)
            try:
                again = read_strided(
                    x.base, x.dtype_, make_size(x.ndim_, x.sizes), x.stride(), offset_of(x),
                    x.keys & LAZY)
            finally:
                thread_state().grad_enabled = was_enabled
                set_overrides_disabled(were_disabled)
            x.node = again.node
        if x.node is None:                  # x is of integers, or its base was detached
            x.node = DeadEnd.__new__(DeadEnd)
            set_input_metadata(<Node>x.node, x)
        x.output_number = 0
        x.view_version = x.counter.value
        move_retained(x, old, x.node)
    return x.node


@cython.final
cdef class DeadEnd(Node):
    """The node of a refreshed view from which no gradient can reach its base."""

    cdef tuple apply(self, object grad, GraphTask task):
        return ()

    cdef str label(self):
        return "AsStridedBackward0"


# ---------------------------------------------------------------- writing a tensor's node
cdef int set_history(TensorBase x, Node node, int output_number) except -1:
    """x was made by `node`."""
    x.node = node
    x.output_number = output_number
    if x.base is not None:
        x.view_version = x.counter.value
    return 0


cdef int move_retained(TensorBase x, Node old, Node new) except -1:
    """A tensor that retains its gradient got a new node: so retain the gradient there."""
    if not x.retains_grad_ or new is None:
        return 0
    if old is not None and old.extras is not None and old.extras.retaining is not None:
        for number, reference in list(old.extras.retaining.items()):
            if reference() is x:
                del old.extras.retaining[number]
    return retain_at(new, x)


cdef int retain_at(Node node, TensorBase x) except -1:
    """Let backward keep x's gradient, which comes in at `node`."""
    cdef NodeExtras extras = extras_of(node)
    if extras.retaining is None:
        extras.retaining = {}
    extras.retaining[x.output_number] = PyWeakref_NewRef(x, None)
    return 0


cdef int retain(TensorBase x) except -1:
    """x, unless it is a leaf, keeps its gradient from now on."""
    cdef Node node = grad_fn_of(x)
    if node is None or x.retains_grad_:
        return 0
    x.retains_grad_ = True
    return retain_at(node, x)


cdef int bump_version(TensorBase x) except -1:
    """An in-place operation has written to x."""
    if x.counter is not None:
        x.counter.value += 1
        if is_anomaly_on():
            x.counter.written_at = here()
    elif not thread_state().inference:
        raise GradientError("an inference tensor cannot be changed in place outside "
                            "inference_mode; clone it first")
    return 0


cdef int refuse_special_view(TensorBase x, str op) except -1:
    """Raise for a view that was made in a way that cannot follow a write.

    `op` is what writes to x; None if x's base was written.
    """
    cdef str what, why
    if x.creation == VIEW_DEFAULT:
        return 0
    what = "it is being changed in place"
    if op is None:
        what = "its base or another view of its base was changed in place"
    if x.creation == VIEW_NO_GRAD:
        why = "this view was made under no_grad"
    elif x.creation == VIEW_INFERENCE:
        why = "this view was made under inference_mode"
    elif x.creation == VIEW_MULTI_OUTPUT:
        why = "this view is one of several that one function returned (unbind, split, chunk)"
    else:
        why = ("this view was returned by a custom autograd Function, whose backward the write "
               "would bypass")
    raise GradientError(
        f"{op or 'autograd'}: {why}, and {what} with grad mode enabled: no correct gradient "
        "exists. Use the out-of-place op, or clone the view before.")


cdef TensorBase as_view(TensorBase x, TensorBase out, int creation):
    """Mark `out`, an alias of x, as a differentiable view of x (or of x's base)."""
    cdef ThreadState* state = thread_state()
    if x.counter is None:
        return out
    if state.inference:
        creation = VIEW_INFERENCE
    elif not state.grad_enabled:
        creation = VIEW_NO_GRAD
    out.creation = creation
    if x.base is not None:
        out.base = x.base
        if creation == VIEW_DEFAULT:
            out.creation = x.creation
    else:
        out.base = x
    out.view_version = out.counter.value
    return out


cdef object already_released(str name):
    """The error for a second backward through a graph whose saved tensors are gone."""
    return GradientError(f"backward: {name} has run before, and what it had saved was freed then. Call the first "
                         f"backward with retain_graph=True to run it twice.")


forbid_new(DeadEnd)

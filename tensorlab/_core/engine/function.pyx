"""Custom autograd functions: `forward` and `backward` written by the user, one node for each call.

The node is what the user knows as `ctx`. Each Function class gets a node class of its own, so that the node carries its name.
"""
cimport cython

from tensorlab._core.dtypes cimport is_differentiable
from tensorlab._core.engine.engine cimport filled_gradient
from tensorlab._core.graph.accumulate_grad cimport set_edges
from tensorlab._core.graph.graph cimport (
    GraphTask, Node, already_released, as_view, bump_version, grad_fn_of, move_retained,
    needs_grad, set_history, set_input_metadata, set_sequence_number
)
from tensorlab._core.graph.inplace cimport check_inplace, rebase_history
from tensorlab._core.graph.saved cimport SavedTensor, free_saved, save_tensor, saved_again
from tensorlab._core.profiling cimport (
    FUNCTION, NO_NODE, close_record, is_profiling, open_record
)
from tensorlab._core.state.modes cimport (
    active_layers, call_with_overrides, set_grad_mode, thread_state
)
from tensorlab._core.tensor cimport (
    VIEW_DEFAULT, VIEW_IN_FUNCTION, VIEW_MULTI_OUTPUT, TensorBase, VersionCounter, alias,
    tensor_class
)

import warnings

from tensorlab._core.engine.autograd_fields import detach
from tensorlab.errors import GradientError


cdef int announce(SavedTensor saved) except -1:
    """Tell the object whose method unpacks that a Function reads: formulas may ask several times, Functions once (checkpoint)."""
    asked = getattr(getattr(saved.unpacker, "__self__", None), "_before_function_reads", None)
    if asked is not None:
        asked(saved.packed)
    return 0


@cython.binding(False)
cdef class FunctionNode(Node):
    """The context of one call of a custom Function, and its node in the graph.

    `saved` is a list: a SavedTensor for each tensor that forward saved, None where it saved None. When backward has freed what
    was saved, `saved` is None.
    """

    cdef tuple to_save          # what forward asked to save
    cdef tuple dirty
    cdef tuple non_differentiable
    cdef tuple for_forward      # what it asked to save for jvp
    cdef readonly bint materializes     # missing gradients become zeros
    cdef bint was_read          # saved_tensors were read, and dropped (clear_saved_tensors_on_access)
    cdef readonly tuple needs_input_grad    # for each argument of apply: will its gradient be used?
    cdef list tensor_places     # the arguments that are tensors: only they have edges

    def __cinit__(self):
        self.materializes = True
        self.dirty = ()
        self.non_differentiable = ()

    def save_for_backward(self, *tensors):
        """Keep tensors for backward, which checks that they are unchanged.

        Call it once, in forward.
        """
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    "save_for_backward: can only save Tensors and None, not "
                    f"{type(tensor).__name__}; keep other things as attributes of ctx")
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors for jvp, which runs right after forward; there they are `saved_tensors`."""
        for one in tensors:
            if one is not None and not isinstance(one, TensorBase):
                raise TypeError("save_for_forward: can only save Tensors and None, not "
                                f"{type(one).__name__}; keep other things as attributes of ctx")
        self.for_forward = tensors

    @property
    def saved_tensors(self):
        """What save_for_backward kept, checked to be unchanged; in jvp, what save_for_forward kept, if it was called."""
        cdef list out = []
        if self.for_forward is not None:
            return self.for_forward
        if self.was_read:
            raise GradientError(f"{self.label()}: saved_tensors can be read once only, because clear_saved_tensors_on_access is "
                                f"set on the Function; keep what you have read, or do not set it")
        if self.to_save is not None:            # forward is still running, or was not recorded
            return self.to_save
        if self.saved is None:
            if self.sequence_number != 0:
                raise already_released(self.label())
            return ()
        for one in self.saved:
            if one is not None and (<SavedTensor>one).unpacker is not None:
                announce(<SavedTensor>one)
            out.append(None if one is None else (<SavedTensor>one).restore(self))
        if type(self)._function.clear_saved_tensors_on_access:
            self.release_saved()
            self.was_read = True
        return tuple(out)

    @property
    def _raw_saved_tensors(self):
        """The SavedTensor objects behind `saved_tensors`; instead of None there is one that keeps nothing."""
        if self.was_read:
            return ()
        if self.saved is None:
            raise already_released(self.label())
        return tuple([saved_again(None, 0, False) if one is None else one for one in self.saved])

    def mark_dirty(self, *tensors):
        """Say which inputs forward has changed in place; each must also be returned."""
        check_marked("mark_dirty", tensors)
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Say which outputs have no gradient."""
        check_marked("mark_non_differentiable", tensors)
        self.non_differentiable = tensors

    def set_materialize_grads(self, value):
        """Choose whether missing gradients reach backward as zeros (the default) or as None."""
        if not isinstance(value, bool):
            raise TypeError(f"set_materialize_grads: a bool is needed, not {type(value).__name__}")
        self.materializes = value

    cdef int release_saved(self) except -1:
        if self.saved is not None:
            free_saved(self.saved)
            self.saved = None
        return 0

    cdef tuple apply(self, object grad, GraphTask task):
        cdef list grads = [grad] if self.output_count == 1 else (
            list(grad) if grad is not None else [None] * self.output_count)
        # kept apart, as a backward that is given a list may take gradients out of it
        cdef list counters = [], versions = []
        cdef Py_ssize_t i, n = len(self.needs_input_grad)
        for i in range(len(grads)):
            if grads[i] is None and self.materializes:
                grads[i] = self.zeros_for_output(i)
            counters.append(None if grads[i] is None else (<TensorBase>grads[i]).counter)
            versions.append(version_of(counters[i]))
        cls = type(self)._function
        out = call_with_overrides(
            cls.backward, (self, grads) if cls.boxed_grads_call else (self, *grads))
        for i in range(len(counters)):
            if version_of(counters[i]) != versions[i]:
                raise GradientError(f"{self.label()}: its backward changed gradient {i} in "
                                    "place, which other nodes may still read; clone it first, "
                                    "or use the out-of-place op")
        if not isinstance(out, (tuple, list)):
            out = (out,)
        out = list(out)
        while len(out) > n and out[len(out) - 1] is None:
            out.pop()
        if len(out) != n:
            raise GradientError(
                f"{self.label()}: returned {len(out)} gradients, but forward took {n} "
                "arguments; return one for each, None for those without")
        for i in range(n):
            if out[i] is not None and not isinstance(out[i], TensorBase):
                raise GradientError(f"{self.label()}: returned a {type(out[i]).__name__} as "
                                    f"gradient {i}; a Tensor or None is needed")
            if out[i] is not None and i not in self.tensor_places:
                raise GradientError(f"{self.label()}: returned a gradient for argument {i} of "
                                    "forward, which was not a tensor; return None in its place")
        return tuple([out[i] for i in self.tensor_places])

    cdef TensorBase zeros_for_output(self, Py_ssize_t i):
        if self.input_metadata[i].ndim < 0:  # that output is not a tensor
            return None
        return filled_gradient(&self.input_metadata[i], 0, None)


cdef int check_marked(str where, tuple tensors) except -1:
    """Only tensors can be marked."""
    for one in tensors:
        if not isinstance(one, TensorBase):
            raise GradientError(f"{where}: only Tensors can be marked, not {type(one).__name__}")
    return 0


cdef unsigned long version_of(VersionCounter counter) noexcept:
    """How often its tensor was written to; 0 for None: no gradient, or an inference tensor, whose
    writes are not counted."""
    return counter.value if counter is not None else 0


def context_of(cls, tuple needs_input_grad):
    """A context for methods that are called outside of `apply_function`."""
    cdef FunctionNode node = cls._node_class()
    node.needs_input_grad = needs_input_grad
    return node


def apply_function(cls, tuple arguments, dict keywords):
    """Run cls.forward outside autograd, then make its outputs the results of one node.

    `keywords` go to forward as they are: no gradient comes for them.
    """
    cdef FunctionNode node = cls._node_class()
    cdef bint was_enabled, is_recorded = False, is_single
    cdef long long record = -1
    cdef list flags = [], outputs
    for argument in arguments:
        flags.append(isinstance(argument, TensorBase) and needs_grad(<TensorBase>argument))
        is_recorded = is_recorded or flags[len(flags) - 1]
    is_recorded = is_recorded and thread_state().grad_enabled
    node.needs_input_grad = tuple(flags)
    if is_recorded:
        node.tensor_places = [
            i for i, argument in enumerate(arguments) if isinstance(argument, TensorBase)]
        set_edges(node, [arguments[i] for i in node.tensor_places])
        node.saved = []
        set_sequence_number(node)
    was_enabled = set_grad_mode(False)
    if is_profiling:
        record = open_record(FUNCTION, cls.__name__, NO_NODE)
    try:
        if cls._has_setup_context:
            result = cls.forward(*arguments)
            cls.setup_context(node, arguments, result)
        elif keywords:
            result = cls.forward(node, *arguments, **keywords)
        else:
            result = cls.forward(node, *arguments)
    finally:
        close_record(record, node.sequence_number)
        set_grad_mode(was_enabled)
    is_single = not isinstance(result, (tuple, list))
    outputs = [result] if is_single else list(result)
    to_save = node.to_save or ()
    if is_recorded:
        node.to_save = None         # it would own the node's outputs, if what follows raises
    wrap_outputs(node, arguments, outputs, is_recorded)
    if is_recorded:
        node.saved = [
            None if one is None else save_for(node, <TensorBase>one) for one in to_save]
    node.for_forward = None
    node.dirty = node.non_differentiable = ()   # or the tensors would live as long as the node
    return outputs[0] if is_single else outputs if isinstance(result, list) else tuple(outputs)


cdef SavedTensor save_for(FunctionNode node, TensorBase x):
    """Keep x: as an output if forward made or wrote it, so that the two do not own each other.

    An input may be detached in place meanwhile, as in PyTorch.
    """
    cdef bint is_output = grad_fn_of(x) is node or (needs_grad(x) and contains(node.dirty, x))
    cdef SavedTensor saved = save_tensor(x, is_output)
    saved.was_computed = False
    saved.may_differ = True
    return saved


cdef int wrap_outputs(FunctionNode node, tuple arguments, list outputs,
                      bint is_recorded) except -1:
    """Give each output its history. What was changed in place is checked first, so that an
    error leaves nothing half done."""
    cdef Py_ssize_t i, differentiable = 0
    cdef TensorBase out
    cdef Node old
    cdef bint is_input, is_dirty, has_grad
    for one in node.dirty:
        check_dirty(node, <TensorBase?>one, arguments, outputs, is_recorded)
    for one in node.dirty:              # forward may have written where no op of ours counts it
        bump_version(<TensorBase?>one)
    if is_recorded:
        set_input_metadata(
            node, [one if isinstance(one, TensorBase) else None for one in outputs])
    for i in range(len(outputs)):
        if not isinstance(outputs[i], TensorBase):
            continue
        out = <TensorBase>outputs[i]
        is_input = contains(arguments, out)
        is_dirty = contains(node.dirty, out)
        has_grad = (is_recorded and is_differentiable(out.dtype_)
                    and not contains(node.non_differentiable, out))
        differentiable += has_grad
        if not has_grad:
            if is_input and needs_grad(out):
                out = detach(out)
            elif is_input and not is_dirty:
                out = self_view(out)
            elif not is_input and needs_grad(out) and out.base is None:
                out.node = None
                out.wants_grad = False
        elif is_dirty:
            out.gradient = None         # it belonged to what the tensor was before
            if out.base is not None:
                rebase_history(out, node, edge_to(node, arguments, out))
            else:
                old = out.node
                set_history(out, node, <int>i)
                move_retained(out, old, node)
        else:
            if is_input:
                out = self_view(out)
            set_history(out, node, <int>i)
        if out.base is not None and not (is_input and is_dirty):
            out.creation = VIEW_IN_FUNCTION
        outputs[i] = out
    if differentiable > 1:
        for one in outputs:
            if isinstance(one, TensorBase) and (<TensorBase>one).base is not None:
                (<TensorBase>one).creation = VIEW_MULTI_OUTPUT
    return 0


cdef int check_dirty(FunctionNode node, TensorBase x, tuple arguments, list outputs, bint is_recorded) except -1:
    """Raise unless x, which forward says it has changed, may be: it must be an argument and be returned."""
    if not contains(outputs, x):
        raise GradientError(f"{node.label()}: a tensor marked dirty was not returned; forward must return every input "
                            f"that it changes in place")
    if not is_recorded:
        return 0
    if not contains(arguments, x):
        if x.base is not None:
            raise GradientError(f"{node.label()}: mark_dirty was given a view that is no argument of forward; only an argument "
                                f"that forward changed in place can be marked")
        warnings.warn(f"{node.label()}: mark_dirty was given a tensor that is no argument of forward; only an argument that "
                      f"forward changed in place should be marked", UserWarning, stacklevel=2)       # harmless, but a mistake
    check_inplace(x, True, type(node)._function.__name__)
    if x.base is not None and len(outputs) > 1:         # it is the node of the base that will run this one, with one gradient
        raise GradientError(f"{node.label()}: an input that is a view was changed in place, and forward returned "
                            f"several outputs; only one is possible then")
    return 0


cdef Py_ssize_t edge_to(FunctionNode node, tuple arguments, TensorBase x) except -1:
    """Which of the node's edges leads to x; 0 if x was no argument."""
    cdef Py_ssize_t i
    for i in range(len(node.tensor_places)):
        if arguments[node.tensor_places[i]] is x:
            return i
    return 0


cdef TensorBase self_view(TensorBase x):
    """A view of the whole of x, as forward would make it: outside autograd. Of which class, a subclass decides."""
    cdef bint was_enabled = set_grad_mode(False)
    cdef TensorBase out
    try:
        if type(x) is tensor_class and not active_layers:
            out = as_view(x, alias(x), VIEW_DEFAULT)
        else:
            out = x.view_as(x)
    finally:
        set_grad_mode(was_enabled)
    return out


cdef bint contains(object collection, object x):
    """Is this very object in the collection? (Not an equal one: == of tensors is elementwise.)"""
    for one in collection:
        if one is x:
            return True
    return False


# ---------------------------------------------------------------- an error for later
cdef class DelayedError(Node):
    """The node of tensors whose derivative does not exist: a program may compute them, but backward must not go through them."""
    cdef str message
    cdef object kind

    cdef tuple apply(self, object grad, GraphTask task):
        raise self.kind(self.message)


def without_derivative(str op, inputs, tuple outputs):
    """The results of an op that has no derivative. If autograd follows an input, backward through those of floats raises."""
    cdef bint is_wanted = False
    if thread_state().grad_enabled:
        for x in inputs:
            is_wanted = is_wanted or (isinstance(x, TensorBase) and needs_grad(<TensorBase>x))
    if not is_wanted:
        return outputs
    text = f"{op}: its derivative is not implemented; detach() what it is given, or its results, to take them for constants"
    floats = [out if is_differentiable((<TensorBase?>out).dtype_) else None for out in outputs]
    delayed = delay_error(text, floats, NotImplementedError, inputs)
    return tuple([out if other is None else other for out, other in zip(outputs, delayed)])


def delay_error(str message, tensors, kind=GradientError, inputs=()):
    """Aliases of these tensors (None stays None) that require grad; backward through them raises `message`.

    It raises before gradients reach the leaves behind `inputs`, from which the tensors were computed.
    """
    cdef DelayedError node = DelayedError.__new__(DelayedError)
    cdef TensorBase out
    cdef list outputs = []
    node.message = message
    node.kind = kind
    set_edges(node, inputs)
    set_sequence_number(node)
    for i, x in enumerate(tensors):
        out = None
        if x is not None:
            out = detach(<TensorBase?>x)
            set_history(out, node, <int>i)
        outputs.append(out)
    set_input_metadata(node, outputs)
    return tuple(outputs)

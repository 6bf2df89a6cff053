"""backward and grad: what users call to start the engine.

They check what is asked for, make the gradients to start from, run the engine (engine.pyx), and return what it found.
"""
from collections import namedtuple
from operator import index
from collections.abc import Mapping

from tensorlab._core.dispatch.overrides cimport find_overrides
from tensorlab._core.dtypes cimport dtype_object, is_differentiable
from tensorlab._core.engine.engine cimport edge_of, execute, filled_gradient
from tensorlab._core.graph.graph cimport (
    InputMetadata, Node, grad_fn_of, has_shape_of, needs_grad, retain, write_metadata
)
from tensorlab._core.layout cimport shape_text
from tensorlab._core.state.modes cimport set_overrides_disabled
from tensorlab._core.tensor cimport TensorBase

import warnings

from tensorlab._core.dispatch.levels import box, box_of, enter_batch, leave_level, value_at
from tensorlab._core.dispatch.overrides import call_override
from tensorlab.errors import GradientError, what_was_meant


# ---------------------------------------------------------------- where a pass starts and ends
GradientEdge = namedtuple("GradientEdge", "node output_nr ownership_token", defaults=[None])
GradientEdge.__doc__ = """A place in the graph where a gradient goes: a node, and which output of its forward op.

It can stand for a tensor in `backward` and `grad`, and holds no memory of the tensor. Made by `autograd.graph.get_gradient_edge`.
"""


def get_gradient_edge(TensorBase tensor not None):
    """The GradientEdge of a tensor: where its gradient goes.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad.

    Examples
    --------
    >>> import tensorlab
    >>> y = tensorlab.ones(2, requires_grad=True).exp()
    >>> edge = tensorlab.autograd.graph.get_gradient_edge(y)
    >>> edge.node.name(), edge.output_nr
    ('ExpBackward0', 0)
    """
    cdef Node node
    cdef int number = 0
    if not needs_grad(tensor):
        raise GradientError("get_gradient_edge: the tensor does not require grad, so no gradient will come")
    node = edge_of(tensor, &number)
    return GradientEdge(node, number)


cdef list first_gradients(list ends, object given, str where):
    """The gradients to start from: those given, or 1 for a single element. Overrides are disabled meanwhile."""
    cdef bint were_disabled = set_overrides_disabled(True)
    try:
        return checked_gradients(ends, given, where)
    finally:
        set_overrides_disabled(were_disabled)


cdef list checked_gradients(list ends, object given, str where):
    cdef list grads = list(given)
    cdef Py_ssize_t i
    cdef TensorBase x
    cdef InputMetadata form
    if len(grads) != len(ends):
        raise GradientError(f"{where}: {len(ends)} tensors but {len(grads)} gradients are given")
    for i in range(len(ends)):
        if not isinstance(ends[i], GradientEdge):
            x = <TensorBase?>ends[i]
            if not needs_grad(x) or (grad_fn_of(x) is None and not x.wants_grad):
                raise GradientError(f"{where}: tensor {i} does not require grad and was not computed from one that does; "
                                    f"call requires_grad_() on the leaves before computing it")
        form_of(ends[i], &form)
        grads[i] = first_gradient(grads[i], &form, ends[i], where)
    return grads


cdef int form_of(object end, InputMetadata* form) except -1:
    """Shape and type of the gradient of a tensor or a GradientEdge."""
    cdef int number = 0
    cdef Node node
    if isinstance(end, TensorBase):
        return write_metadata(form, <TensorBase>end)
    node = edge_of(end, &number)
    form[0] = node.input_metadata[number]
    return 0


cdef object first_gradient(object grad, InputMetadata* form, object end, str where):
    """`grad` in the type of `form`, after a look at its shape; a 1 if it is None and the form has one element."""
    cdef int i
    if not is_differentiable(form.dtype):
        raise GradientError(f"{where}: gradients exist for floating types only, not {dtype_object(form.dtype)}")
    if grad is None:
        for i in range(form.ndim):
            if form.sizes[i] != 1:
                raise GradientError(f"{where}: the tensor has shape {shape_text(form.ndim, form.sizes)}; a gradient can be "
                                    f"made up only for one element. Reduce it, as in .sum(), or pass gradient=")
        return filled_gradient(form, 1, end)
    if not isinstance(grad, TensorBase):
        raise TypeError(f"{where}: gradients must be Tensors or None, not {type(grad).__name__}")
    if not has_shape_of(<TensorBase>grad, form):
        raise GradientError(f"{where}: the gradient has shape {shape_text((<TensorBase>grad).ndim_, (<TensorBase>grad).sizes)}, "
                            f"but the tensor has shape {shape_text(form.ndim, form.sizes)}")
    return grad if (<TensorBase>grad).dtype_ == form.dtype else grad.to(dtype_object(form.dtype))


cdef bint as_flag(object value, str name, str where) except -1:
    """A bool, or a whole number in its place; another thing is an argument that has slipped."""
    if isinstance(value, bool):
        return value
    try:
        return index(value) != 0
    except TypeError:
        raise TypeError(f"{where}: {name} must be a bool, not {type(value).__name__}") from None


cdef list as_list(object value, str what, str where):
    if isinstance(value, (TensorBase, GradientEdge)) or value is None:
        return [value]
    try:
        return list(value)
    except TypeError:
        raise TypeError(
            f"{where}: {what} must be a Tensor or a sequence of them, not {type(value).__name__}{what_was_meant(value)}"
        ) from None


cdef list as_targets(object inputs, str where):
    """The inputs as a list; of a dict its values."""
    if type(inputs) is dict:
        return list((<dict>inputs).values())
    if isinstance(inputs, Mapping):
        raise TypeError(f"{where}: inputs is a {type(inputs).__name__}; of all mappings only a dict will do")
    return as_list(inputs, "inputs", where)


cdef int check_targets(list targets, str where) except -1:
    """Gradients can be asked for only by tensors that require grad, and by edges."""
    for target in targets:
        if not isinstance(target, (TensorBase, GradientEdge)):
            raise GradientError(f"{where}: inputs must be Tensors or GradientEdges, not {type(target).__name__}")
        if isinstance(target, TensorBase) and not needs_grad(<TensorBase>target):
            raise GradientError(f"{where}: one of the inputs does not require grad; call requires_grad_() on it before "
                                f"computing the outputs")
    return 0


cdef int refuse_boxes(list roots) except -1:
    """Gradients inside of a transform are functions' results: there is no leaf that could keep them."""
    for root in roots:
        found = box_of(root)
        if found is not None and found.level.is_alive and not found.level.allows_capture:
            raise GradientError(f"backward: backward() called inside a functorch transform, {found.level.transform}. This is not "
                                f"supported: take gradients there with func.grad or func.vjp, or call backward() outside of it")
    return 0


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add to the `.grad` of each leaf the gradient of the sum of `tensors` by that leaf.

    Parameters
    ----------
    tensors : Tensor, GradientEdge, or a sequence of them
    grad_tensors : Tensor, None, or a sequence of them; the vectors of the vector-Jacobian product, one for each tensor,
        with that tensor's shape; may be None for a tensor of one element
    retain_graph : bool; keep what was saved, so that backward can run again. As `create_graph` unless given
    create_graph : bool; record the backward pass itself, for higher derivatives
    grad_variables : the name of `grad_tensors` in old programs; it warns
    inputs : Tensor, GradientEdge, sequence or dict of them; only these get a `.grad`. A tensor that is not a leaf retains its
        gradient from now on; for an edge of one there is no tensor to keep it, unless it retains it already

    Raises
    ------
    GradientError
        If a tensor has no graph, needs a gradient that was not given, or something that was saved is gone or was changed.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> tensorlab.autograd.backward([x.sum(), (3 * x).sum()])
    >>> x.grad
    tensor([4., 4.])
    """
    cdef list roots = as_list(tensors, "tensors", "backward")
    cdef list targets = None if inputs is None else as_targets(inputs, "backward")
    cdef list grads, found = find_overrides(roots, targets)
    if grad_variables is not None:
        warnings.warn("backward: grad_variables is the old name of grad_tensors", FutureWarning)
        if grad_tensors is not None:
            raise GradientError("backward: grad_tensors and grad_variables are two names of one thing; leave out the second")
        grad_tensors = grad_variables
    refuse_boxes(roots)
    grads = [None] * len(roots) if grad_tensors is None else as_list(grad_tensors, "the gradient", "backward")
    if found is not None:
        return call_override(backward, found, (tuple(roots),), dict(
            grad_tensors=grad_tensors, retain_graph=retain_graph, create_graph=create_graph, inputs=targets))
    keep_graph = as_flag(create_graph if retain_graph is None else retain_graph, "retain_graph", "backward")
    records = as_flag(create_graph, "create_graph", "backward")
    if targets is not None:
        check_targets(targets, "backward")
        if len(targets) == 0:
            raise GradientError("backward: inputs is empty; leave it away to reach all leaves")
    grads = first_gradients(roots, grads, "backward")
    for target in targets or ():
        if isinstance(target, TensorBase):
            retain(<TensorBase>target)              # does nothing to a leaf
    execute(roots, grads, keep_graph, records, targets, True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradient of the sum of `outputs` by each of `inputs`, as a tuple; nothing is added to the `.grad` of a leaf.

    Parameters
    ----------
    outputs, inputs : Tensor, GradientEdge, or a sequence of them; inputs may be a dict of them
    grad_outputs : as `grad_tensors` of `backward`
    retain_graph, create_graph : as in `backward`
    only_inputs : True, as it always is: other leaves get no `.grad`. False warns
    allow_unused : bool; give None for an input that the outputs do not depend on, instead of raising
    is_grads_batched : bool; each of `grad_outputs` holds several vectors along a first dimension more, and so do the results.
        One pass serves all of them, as under vmap
    materialize_grads : bool; give zeros instead of None

    Returns
    -------
    tuple of Tensor, one of each input's shape; a dict of them if the inputs are one

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    >>> tensorlab.autograd.grad((x * x).sum(), x)
    (tensor([2., 4.]),)
    """
    cdef list roots = as_list(outputs, "outputs", "grad"), targets = as_targets(inputs, "grad")
    cdef list found = find_overrides(roots, targets)
    cdef list grads = [None] * len(roots) if grad_outputs is None else as_list(grad_outputs, "grad_outputs", "grad")
    cdef Py_ssize_t i
    cdef bint were_disabled
    if found is not None:
        return like_inputs(call_override(grad, found, (tuple(roots), tuple(targets)), dict(
            grad_outputs=grad_outputs, retain_graph=retain_graph, create_graph=create_graph, only_inputs=only_inputs,
            allow_unused=allow_unused, is_grads_batched=is_grads_batched, materialize_grads=materialize_grads)), inputs)
    if not only_inputs:
        warnings.warn("grad: only_inputs=False has no effect; call backward for gradients in other leaves", FutureWarning)
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: with materialize_grads every input may be unused; do not pass allow_unused=False")
    if allow_unused is None:
        allow_unused = materialize_grads
    keep_graph = as_flag(create_graph if retain_graph is None else retain_graph, "retain_graph", "grad")
    create_graph = as_flag(create_graph, "create_graph", "grad")
    allow_unused = as_flag(allow_unused, "allow_unused", "grad")
    if len(targets) == 0:
        raise GradientError("grad: inputs is empty; name the tensors whose gradients are wanted")
    check_targets(targets, "grad")
    if is_grads_batched:
        were_disabled = set_overrides_disabled(True)
        try:
            found = execute_batch(roots, grads, keep_graph, create_graph, targets)
        finally:
            set_overrides_disabled(were_disabled)
    else:
        grads = first_gradients(roots, grads, "grad")
        found = execute(roots, grads, keep_graph, create_graph, targets, False)
    for i in range(len(found)):
        if found[i] is None:
            if materialize_grads and isinstance(targets[i], GradientEdge):
                raise GradientError(f"grad: input {i} is a GradientEdge that the outputs do not depend on, and materialize_grads "
                                    f"cannot make zeros for it: an edge knows of no tensor; pass allow_unused=True instead")
            if materialize_grads:
                found[i] = zeros_for(targets[i], create_graph)
            elif not allow_unused:
                raise GradientError(f"grad: input {i} was not used to compute the outputs; pass allow_unused=True to get "
                                    f"None for it")
    return like_inputs(tuple(found), inputs)


cdef object like_inputs(object grads, object inputs):
    """The gradients in a dict, if the inputs came in one."""
    return dict(zip(inputs, grads)) if type(inputs) is dict else grads


cdef TensorBase zeros_for(object target, bint wants_grad):
    """The gradient by something that the outputs do not depend on; it requires grad if that was to be differentiated again."""
    cdef InputMetadata form
    cdef TensorBase out
    form_of(target, &form)
    out = filled_gradient(&form, 0, target)
    out.wants_grad = wants_grad
    return out


# ---------------------------------------------------------------- several vectors at once
cdef list execute_batch(list ends, list batches, bint keep_graph, bint create_graph, list targets):
    """Run one pass with a box for each batch, as under vmap; None where nothing is found."""
    cdef Py_ssize_t n = -1
    for batch in batches:
        if not isinstance(batch, TensorBase) or batch.ndim == 0:
            raise GradientError("grad: with is_grads_batched each of grad_outputs must be a Tensor whose first dimension counts "
                                "the vectors")
        if n >= 0 and len(batch) != n:
            raise ValueError(f"grad: the batches of grad_outputs have {n} and {len(batch)} vectors; all must have as many")
        n = len(batch)
    if n == 0:
        raise ValueError("grad: with is_grads_batched there must be at least one vector, but grad_outputs has none")
    level = enter_batch("grad with is_grads_batched", n)
    try:
        starts = first_gradients(ends, [box(level, batch) for batch in batches], "grad")
        found = execute(ends, starts, keep_graph, create_graph, targets, False)
    finally:
        leave_level(level)
    return [None if one is None else whole_batch(one, level, n) for one in found]


def whole_batch(found, level, n):
    """What is in a box; a gradient that is the same for all vectors is no box of this level."""
    value = value_at(found, level)
    return value.expand((n, *found.shape)) if value is found else value

"""Hooks of a backward pass: the functions that are called where a gradient passes.

The order at a node, which is PyTorch's:

    tensor hooks     of the tensors that the node made (for a leaf: of the leaf); each may replace its gradient
    retained         gradients go to the tensors that asked for them, autograd.grad takes what it wants
    prehooks         of the node, with all gradients that come in
    the node runs
    after hooks      of a leaf whose .grad has just got its gradient
    posthooks        of the node, with all gradients that go out, and those that came in
"""
from tensorlab._core.graph.graph cimport Node
from tensorlab._core.state.modes cimport call_with_overrides
from tensorlab._core.tensor cimport VIEW_DEFAULT, TensorBase, place_of

from tensorlab.errors import GradientError


# ---------------------------------------------------------------- hooks of tensors
cdef object run_tensor_hooks(Node node, object grad):
    """Call the hooks of the tensors that the node made; each may replace the gradient. Retained
    gradients come last."""
    cdef list grads
    cdef int number
    cdef TensorBase holder
    if node.output_count == 1:
        grads = [grad]
    else:
        grads = grad if grad is not None else [None] * node.output_count
    if node.extras.tensor_hooks is not None:
        for number, _, function in list(node.extras.tensor_hooks):
            grads[number] = checked_hook_result(
                call_with_overrides(function, (grads[number],)), grads[number])
    if node.extras.retaining is not None:
        for number, reference in list(node.extras.retaining.items()):
            holder = <TensorBase>reference()
            if holder is not None and grads[number] is not None and not is_stale(holder):
                holder.gradient = (grads[number].clone() if holder.gradient is None
                                   else holder.gradient + grads[number])
    return grads[0] if node.output_count == 1 else some_of(grads)


cdef list some_of(list grads):
    """The gradients of a node's outputs, or None if there are none at all."""
    for grad in grads:
        if grad is not None:
            return grads
    return None


cdef bint is_stale(TensorBase x) noexcept:
    """Will a view get another node, to which its retained gradient belongs, when it is next asked?"""
    return x.base is not None and x.creation == VIEW_DEFAULT and x.counter.value != x.view_version


cdef object run_leaf_hooks(TensorBase leaf, object grad):
    for _, function in list(leaf.hooks):
        grad = checked_hook_result(call_with_overrides(function, (grad,)), grad)
    return grad


cdef object checked_hook_result(object result, object grad):
    if result is None:
        return grad
    if not isinstance(result, TensorBase):
        raise TypeError(f"hook: must return None or a Tensor, not {type(result).__name__}")
    if grad is None:
        raise GradientError("hook: there was no gradient (None), so a hook cannot replace it "
                            "with one")
    if result.shape != grad.shape:
        raise GradientError(f"hook: returned a gradient of shape {tuple(result.shape)} in "
                            f"place of one of shape {tuple(grad.shape)}")
    if place_of(<TensorBase>result) != place_of(<TensorBase>grad):
        raise GradientError(f"hook: returned a gradient on {result.device} instead of one on "
                            f"{grad.device}")
    if result.dtype != grad.dtype:
        raise GradientError(f"hook: returned a gradient of type {result.dtype} instead of one "
                            f"of type {grad.dtype}")
    return result


# ---------------------------------------------------------------- hooks of nodes
cdef object run_prehooks(Node node, object grad):
    """Let the node's prehooks replace the gradients that come in."""
    cdef tuple grads = gradients_of(node, grad)
    for function in list(node.extras.prehooks.values()):
        grads = checked_tuple(call_with_overrides(function, (grads,)), grads, "prehook")
    return grads[0] if node.output_count == 1 else some_of(list(grads))


cdef tuple run_posthooks(Node node, tuple out, object grad):
    """Let the node's posthooks replace the gradients that go out."""
    cdef tuple grads = gradients_of(node, grad)
    for function in list(node.extras.posthooks.values()):
        out = checked_tuple(call_with_overrides(function, (out, grads)), out, "hook")
    return tuple(list(out))                     # ours alone: the engine moves the gradients out of it


cdef tuple gradients_of(Node node, object grad):
    """What waits at a node, as a tuple with an item for each output of the forward op."""
    if node.output_count == 1:
        return (grad,)
    return (None,) * node.output_count if grad is None else tuple(<list>grad)


cdef tuple checked_tuple(object result, tuple grads, str kind):
    cdef list out
    if result is None:
        return grads
    if not isinstance(result, tuple):
        raise TypeError(f"{kind} of a node: must return None or a tuple of {len(grads)} "
                        f"gradients, not {type(result).__name__}")
    if len(result) != len(grads):
        raise GradientError(f"{kind} of a node: returned {len(result)} gradients instead of "
                            f"{len(grads)}")
    out = []
    for new, old in zip(result, grads):         # unlike a tensor's hook, it may drop a gradient
        out.append(None if new is None else checked_hook_result(new, old))
    return tuple(out)

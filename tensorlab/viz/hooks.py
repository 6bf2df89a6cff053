"""Which hooks backward will call at a node, in the order in which it calls them.

There is no list of hooks, but a handle knows where its hook was put.  So one hook more is registered for a
moment; where it lies, the others lie.
"""

__all__ = ["read_hooks"]


def read_hooks(node, tensors):
    """Return the hooks of a node as texts, such as "prehook: check_norm".

    Parameters
    ----------
    tensors : list of Tensor, those of which the node is the grad_fn, or the leaf
    """
    found, places = [], {}
    for tensor in tensors:
        # several tensors of one node may have their hooks in one place
        names = names_beside(tensor.register_hook, places)
        found += [f"tensor hook: {name}" for name in names]
        if getattr(tensor, "retains_grad", False):
            found.append("retains its gradient")
    found += [f"prehook: {name}" for name in names_beside(node.register_prehook)]
    for tensor in tensors:
        if tensor.grad_fn is None:
            register = tensor.register_post_accumulate_grad_hook
            found += [f"after hook: {name}" for name in names_beside(register)]
    found += [f"hook: {name}" for name in names_beside(node.register_hook)]
    return found


def names_beside(register, places=None):
    """Return the names of the functions that were registered before, in order, once for each place."""
    handle = register(nothing)
    entries = handle.entries if hasattr(handle, "entries") else handle.hooks_dict_ref()
    if places is not None and places.setdefault(id(entries), register) is not register:
        handle.remove()
        return []
    functions = list(entries.values()) if isinstance(entries, dict) else [e[-1] for e in entries]
    handle.remove()
    return [name_of(function) for function in functions if function is not nothing]


def name_of(function):
    return getattr(function, "__name__", type(function).__name__)


def nothing(*_):
    """Do nothing at a gradient."""

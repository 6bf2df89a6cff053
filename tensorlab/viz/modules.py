"""Which submodule made which node of a graph: a module is run once, with hooks that look on.

Before a submodule runs, every node behind its inputs is there already.  After it has run, the nodes
behind its outputs that were not there before are its own, unless a submodule within it, which ends
earlier, has claimed them.
"""

__all__ = ["is_module", "names_of", "nodes_behind", "run"]


def is_module(value):
    return hasattr(value, "named_parameters") and hasattr(value, "named_modules")


def names_of(module):
    """Return {name: tensor} of the parameters, and of the buffers that require grad."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return {name: tensor for name, tensor in named if tensor.requires_grad}


def tensors_in(value):
    """Yield the tensors in nested tuples, lists and dicts."""
    if isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif hasattr(value, "grad_fn"):
        yield value


def nodes_behind(tensors, stop=()):
    """Return every node that can be reached from some tensors without passing one of `stop`."""
    found = {}
    stack = [tensor.grad_fn for tensor in tensors]
    while stack:
        node = stack.pop()
        if node is not None and node not in found and node not in stop:
            found[node] = None
            stack += [child for child, _ in node.next_functions]
    return found


def run(module, inputs):
    """Run a module; return (results that have a graph, {node: "in 0 (Linear)"}).

    Raises
    ------
    ValueError
        If no result has a graph.
    """
    owners, there_before, handles = {}, {}, []

    def watch(name, part):
        def before(part, arguments):
            there_before[name] = nodes_behind(tensors_in(arguments))

        def after(part, arguments, outputs):
            for node in nodes_behind(tensors_in(outputs), stop=there_before[name]):
                if not hasattr(node, "variable"):  # a leaf belongs to no module
                    owners.setdefault(node, f"in {name} ({type(part).__name__})")

        handles.extend([part.register_forward_pre_hook(before), part.register_forward_hook(after)])

    for name, part in module.named_modules():
        if name:  # the module itself is what the whole picture shows
            watch(name, part)
    try:
        outputs = module(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    results = [tensor for tensor in tensors_in(outputs) if tensor.grad_fn is not None]
    if not results:
        raise ValueError(
            f"viz.graph: {type(module).__name__} gave nothing that has a graph; "
            "let its parameters or an input require grad, and leave no_grad"
        )
    return results, owners

"""Three questions to ask of a graph that gives no gradients, or bad ones: the instruments of chapter 26."""

import tensorlab as torch


def nodes_behind(result):
    """Yield every node that backward from this tensor would run."""
    seen, waiting = set(), [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            waiting += [next_node for next_node, _ in node.next_functions]


def unreached(loss, parameters):
    """Return the names of the parameters to which no path leads from the loss.

    Parameters
    ----------
    loss : Tensor, of any shape
    parameters : dict of name to Tensor
    """
    leaves = [node.variable for node in nodes_behind(loss) if hasattr(node, "variable")]
    return [
        name
        for name, parameter in parameters.items()
        if not any(parameter is leaf for leaf in leaves)
    ]


def report(parameters):
    """Return what is remarkable about each gradient: a dict of name to a word."""
    found = {}
    for name, parameter in parameters.items():
        grad = parameter.grad
        if grad is None:
            found[name] = "no gradient"
        elif not grad.isfinite().all():
            found[name] = "nan or inf"
        elif not (grad != 0).any():
            found[name] = "all zero"
        else:
            found[name] = f"size {grad.norm().item():.3g}"
    return found


def first_bad(loss):
    """Run backward; name the first node that turns finite gradients into nan or inf.

    Returns
    -------
    str or None
    """
    found = []

    def examine(node):
        def hook(inner, outer):
            came_in = all(is_finite(grad) for grad in outer)
            if came_in and not all(is_finite(grad) for grad in inner):
                found.append(node.name())

        return hook

    handles = [node.register_hook(examine(node)) for node in nodes_behind(loss)]
    loss.backward(torch.ones_like(loss))
    for handle in handles:
        handle.remove()
    return found[0] if found else None


def is_finite(grad):
    return grad is None or bool(grad.isfinite().all())

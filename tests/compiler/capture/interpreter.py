"""Replay a trace by calling its ops one by one: what a compiled plan has to agree with."""

import operator

from tensorlab.compiler.capture.same_value import same_value

import tensorlab as torch
from tensorlab._core.dispatch.facets import reads_values
from tensorlab.fx import Node


class Diverged(Exception):
    """A replay saw another value than the recording did: the rest of the graph is not for it."""


def interpret(trace, inputs):
    """Run a trace's graph on these tensors, gradients included; returns what the function would return."""
    values, given = {}, iter(inputs)

    def now(value):
        if isinstance(value, Node):
            return values[value]
        if isinstance(value, dict):
            return {key: now(one) for key, one in value.items()}
        if isinstance(value, (tuple, list)):
            parts = [now(one) for one in value]
            if hasattr(value, "_fields"):
                return type(value)(*parts)
            return tuple(parts) if isinstance(value, tuple) else parts
        return value

    for node in trace.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(given)
        elif node.op == "output":
            result = now(node.args[0])
        elif node.target is operator.getitem:
            values[node] = values[node.args[0]][node.args[1]]
        else:
            with torch.set_grad_enabled(node.meta["grad_enabled"]):
                values[node] = node.target(*map(now, node.args))
            if reads_values.of(node.target) and not same_value(values[node], node.meta["val"]):
                raise Diverged(node)
    for placeholder, gradient in trace.grad_assignments:
        values[placeholder].grad = None if gradient is None else values[gradient]
    return result


def same_bits(x, y):
    """Are two results, nested as they may be, equal to the last bit and of the same types?"""
    if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
        if (x.shape, x.stride(), x.dtype, x.requires_grad) != (
            y.shape,
            y.stride(),
            y.dtype,
            y.requires_grad,
        ):
            return False
        return all(map(same_value, flat(x.detach().tolist()), flat(y.detach().tolist())))
    if type(x) is not type(y):
        return False
    if isinstance(x, dict):
        return list(x) == list(y) and all(same_bits(x[key], y[key]) for key in x)
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(map(same_bits, x, y))
    return same_value(x, y) or x is y


def flat(value):
    """The numbers of nested lists, in order."""
    return [one for part in value for one in flat(part)] if isinstance(value, list) else [value]


FETCH = {
    "item": lambda container, index: container[index],
    "value": lambda container, index: list(container.values())[index],
    "name": lambda container, name: container[name],
    "cell": lambda cell, _: cell.cell_contents,
    "attributes": lambda value, _: object.__getattribute__(value, "__dict__"),
    "member": lambda value, descriptor: descriptor.__get__(value),
    "gradient": lambda x, _: x.grad,
}


def fetch(source, args, kwargs=None):
    """Go the way of a Source in Python, with other arguments, and return the object that is there now."""
    if source.kind == "constant":
        return source.key
    if source.kind == "arguments":
        return (args, kwargs)[source.key]
    return FETCH[source.kind](fetch(source.parent, args, kwargs), source.key)

"""Batching rules: how an op computes for all examples of a batch at once.

vmap shows each tensor of a batch without its first dimension (levels.pyx). A call with such tensors
comes here, and a rule turns it into calls with the whole batch:

    @batching("trace")
    def trace(op, size, batched, x):
        return x.diagonal(0, 1, 2).sum(-1)

`op` is the op that was called, `size` the number of examples. `batched` has an item for each
argument: whether its first dimension is the batch (for a list of tensors, a tuple of them). The
arguments follow, tensors as they are inside of the boxes. The rule returns what the op returns,
with the batch as the first dimension of each tensor, or `Same(result)` if that is the same for all
examples.

Pointwise ops need no rule: levels.pyx lines their operands up. An op without a rule runs once for
each example, and a warning says so. The form in place needs none either: what the rule computes is
copied over its first argument.
"""

import warnings

from tensorlab._core.dispatch.facets import REGISTRY, Facet
from tensorlab._core.dispatch.levels import box, box_of, fill_box, value_at
from tensorlab._core.tensor import TensorBase


class Rules(Facet):
    """A facet whose rules may be given before their ops are declared, in modules that are loaded on demand."""

    def __init__(self, name):
        super().__init__(name, lambda op: self.by_name.get(op.name))
        self.by_name = {}

    def give(self, name, value):
        """Give an op its rule."""
        if name in self.by_name:
            raise ValueError(f"Facet {self.name}: {name} has one already")
        self.by_name[name] = value


batching = Rules("batching")


class Same:
    """A result that is the same for all examples."""

    def __init__(self, value):
        self.value = value


# ---------------------------------------------------------------- a call at a level
def run_batched(level, op, arguments):
    """Call an op for all examples of a level; levels.pyx does so."""
    values = tuple([_values(one, level) for one in arguments])
    batched = tuple([_is_batched(one, level) for one in arguments])
    rule = batching.of(op)
    if rule is None and op.writes:
        return _write(level, op, arguments, batched, values)
    if rule is None:
        rule = draw if op.draws else one_by_one
    results = rule(op, level if op.draws else level.size, batched, *values)
    return arguments[0] if op.writes else _in_boxes(level, results)


def _values(argument, level):
    if isinstance(argument, TensorBase):
        return value_at(argument, level)
    if isinstance(argument, (tuple, list)):
        return type(argument)([_values(one, level) for one in argument])
    return argument


def _is_batched(argument, level):
    if isinstance(argument, (tuple, list)):
        return tuple([_is_batched(one, level) for one in argument])
    found = box_of(argument)
    return found is not None and found.level is level


def _in_boxes(level, results):
    if isinstance(results, TensorBase):
        return box(level, results)
    if isinstance(results, Same):
        return results.value
    if isinstance(results, (tuple, list)):
        return type(results)([_in_boxes(level, one) for one in results])
    return results


def _write(level, op, arguments, batched, values):
    """A call in place: of a view, which changes the layout, or of anything else, whose result is copied over it."""
    functional = op.functional
    rule = batching.of(functional) or (draw if op.draws else one_by_one)
    result = rule(functional, level if op.draws else level.size, batched, *values)
    if functional.is_view:
        fill_box(arguments[0], level, result)
    else:
        values[0].copy_(result)
    return arguments[0]


# ---------------------------------------------------------------- without a rule
_warned: set = set()  # names of ops


def one_by_one(op, size, batched, *arguments):
    """Call an op once for each example, and put the results together."""
    if op.name not in _warned:
        _warned.add(op.name)
        warnings.warn(
            f"vmap: {op.name} has no batching rule, so it runs {size} times here, once for each example",
            stacklevel=2,
        )
    if size == 0:
        raise RuntimeError(
            f"vmap: {op.name} has no batching rule, and there are 0 examples to run it for"
        )
    return together([op(*example(arguments, batched, i)) for i in range(size)])


def example(arguments, batched, i):
    """The arguments of one example."""
    return [
        type(one)(example(one, is_batched, i))
        if isinstance(one, (tuple, list))
        else one.select(0, i)
        if is_batched
        else one
        for one, is_batched in zip(arguments, _same_length(batched, arguments), strict=True)
    ]


def _same_length(batched, arguments):
    return batched if isinstance(batched, tuple) else (False,) * len(arguments)


def together(results):
    """The results of all examples as one, with a first dimension for the batch."""
    first = results[0]
    if isinstance(first, TensorBase):
        return REGISTRY["stack"](results, 0)
    if isinstance(first, (tuple, list)):
        return type(first)([together(list(of_one)) for of_one in zip(*results, strict=True)])
    if any(one != first for one in results):
        raise RuntimeError(
            f"vmap: the examples have different results that are no tensors: {results}"
        )
    return first


# ---------------------------------------------------------------- random numbers
def draw(op, level, batched, *arguments):
    """Random numbers: for each example its own, or the same for all, as vmap's `randomness` says."""
    size = level.size
    if level.randomness == "error":
        raise RuntimeError(
            f"vmap: the function draws random numbers by {op.name}. Say whether each example gets its own, "
            f"vmap(..., randomness='different'), or all get the same, randomness='same'"
        )
    if level.randomness == "same":
        if any(_flat(batched)):
            values = op(*example(arguments, batched, 0))
            return together([values] * size)
        return Same(op(*arguments))
    parameters = op.signature.parameters
    arguments = list(arguments)
    if parameters[0].name == "size" or any(one.name == "size" for one in parameters):
        at = next(i for i, one in enumerate(parameters) if one.name == "size")
        arguments[at] = [size, *arguments[at]]
        return op(*arguments)
    return together([op(*example(arguments, batched, i)) for i in range(size)])


def _flat(batched):
    for one in batched:
        if isinstance(one, tuple):
            yield from _flat(one)
        else:
            yield one

"""Batching rules: how an op computes for all examples of a batch at once.

vmap shows each tensor of a batch without its first dimension (levels.pyx). A call with such
tensors comes here, and a rule turns it into calls with the whole batch:

    @batching("trace")
    def trace(op, size, batched, x):
        return x.diagonal(0, 1, 2).sum(-1)

`op` is the op that was called, `size` the number of examples. `batched` has an item for each
argument: whether its first dimension is the batch (for a list of tensors, a tuple of them). The
arguments follow, tensors as they are inside of the boxes. (A rule of random numbers gets the
level in the place of `size`.) The rule returns what the op returns, with the batch as the first
dimension of each tensor, or `Same(result)` if that is the same for all examples.

A rule may also be written for one example, as calls of other ops. It gets the tensors in their
boxes, and each of its calls comes here again:

    @in_parts("take")
    def take(op, x, index):
        return x.flatten()[index]

Pointwise ops need no rule: levels.pyx lines their operands up. An op that is made of others
anyway (`compose_function`) needs none either, nor does a form in place: what the rule computes
is copied over its first argument. Any other op without a rule runs once for each example, and a
warning says so.
"""

import warnings

from tensorlab._core.dispatch.facets import REGISTRY, Facet
from tensorlab._core.dispatch.level_calls import opened
from tensorlab._core.dispatch.levels import box, fill_box, value_at
from tensorlab._core.tensor import TensorBase


class Rules(Facet):
    """A facet whose rules may be given before their ops are declared, in modules that are
    loaded on demand.
    """

    def __init__(self, name):
        super().__init__(name, lambda op: self.by_name.get(op.name))
        self.by_name = {}

    def give(self, name, value):
        """Give an op its rule, now or when it is declared."""
        if name in REGISTRY:
            super().give(name, value)
        elif name in self.by_name:
            raise ValueError(f"Facet {self.name}: {name} has one already")
        else:
            self.by_name[name] = value


batching = Rules("batching")


class Same:
    """A result that is the same for all examples."""

    def __init__(self, value):
        self.value = value


class InParts:
    """A rule for one example; it gets boxes and returns them."""

    def __init__(self, function):
        self.function = function

    def run(self, level, op, arguments):
        return self.function(op, *arguments)


def in_parts(*names):
    """Give ops a rule that is written for one example: `function(op, *arguments)`."""

    def give(function):
        for name in names:
            batching.give(name, InParts(function))
        return function

    return give


# ---------------------------------------------------------------- a call at a level
def run_batched(level, op, arguments):
    """Call an op for all examples of a level; levels.pyx does so."""
    if op.writes:
        return _write(level, op, arguments)
    return _call(level, op, arguments)


def _call(level, op, arguments):
    """What an op returns, in boxes."""
    rule = batching.of(op) or _made_of_others(op) or one_by_one
    if isinstance(rule, InParts):
        return rule.run(level, op, arguments)
    values, batched = opened(level, arguments)
    return in_boxes(level, rule(op, level if op.draws else level.size, batched, *values))


def _made_of_others(op):
    if op.compose_function is None:
        return None
    return InParts(lambda op, *arguments: op.compose_function(*arguments))


def in_boxes(level, results):
    """What a rule returned, as a program sees it."""
    if isinstance(results, TensorBase):
        return box(level, results)
    if isinstance(results, Same):
        return results.value
    if isinstance(results, (tuple, list)):
        return type(results)([in_boxes(level, one) for one in results])
    return results


def _write(level, op, arguments):
    """A call in place: of a view, which changes the layout, or of anything else, whose result
    is copied over it.
    """
    x = arguments[0]
    if batching.of(op) is not None or op.functional is None:
        _call(level, op, arguments)
        return x
    result = _call(level, op.functional, arguments)
    if op.functional.is_view:
        fill_box(x, level, value_at(result, level))
    else:
        x.copy_(result)
    return x


# ---------------------------------------------------------------- without a rule
_warned: set = set()  # names of ops


def one_by_one(op, size, batched, *arguments):
    """Call an op once for each example, and put the results together."""
    if op.name not in _warned:
        _warned.add(op.name)
        warnings.warn(
            f"vmap: {op.name} has no batching rule, so it runs {size} times here, once for "
            f"each example",
            stacklevel=2,
        )
    return for_each(op, size, batched, *arguments)


def for_each(op, size, batched, *arguments):
    """The same without a warning: the rule of ops that are fastest so."""
    if size == 0:
        raise RuntimeError(
            f"vmap: {op.name} runs once for each example, and there are 0 examples to run it for"
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

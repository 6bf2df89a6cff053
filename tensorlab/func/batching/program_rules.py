"""Batching rules that a program gives, in the form of PyTorch's: for ops of its own, and
functions with a derivative of their own.

    rule(info, in_dims, *arguments)   ->   (result, out_dims)

`in_dims` has for each argument the dimension of the batch, or None; `out_dims` says so of the
results, one for all or one for each. Arguments by keyword only are given by keyword.
"""

from typing import NamedTuple

from tensorlab._core.tensor import TensorBase
from tensorlab._pytree import tree_map
from tensorlab.func.batching.rules import InParts, Same, in_boxes, is_batched, values_at


class VmapInfo(NamedTuple):
    """What a rule is told of the call of vmap."""

    batch_size: int
    randomness: str


class ProgramRule(InParts):
    """A rule of a program's op."""

    def run(self, level, op, arguments):
        by_name = {
            parameter.name: values_at(value, level)
            for parameter, value in zip(op.signature.parameters, arguments, strict=True)
            if parameter.is_keyword_only
        }
        positional = arguments[: len(arguments) - len(by_name)]
        return run_rule(self.function, level, positional, by_name)


def run_rule(function, level, arguments, by_name=None):
    """The results of such a rule, in boxes of a level."""
    in_dims = tuple(
        [tree_map(lambda found: 0 if found else None, _answers(one, level)) for one in arguments]
    )
    values = [values_at(one, level) for one in arguments]
    returned = function(VmapInfo(level.size, level.randomness), in_dims, *values, **(by_name or {}))
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            f"vmap: a batching rule must return (result, out_dims), not {type(returned).__name__}"
        )
    results, out_dims = returned
    return in_boxes(level, _batch_first(results, out_dims))


def _answers(argument, level):
    """Is it batched? For a list, a list of answers."""
    found = is_batched(argument, level)
    return list(found) if isinstance(found, tuple) else found


def _batch_first(results, out_dims):
    if isinstance(results, TensorBase):
        return Same(results) if out_dims is None else results.movedim(out_dims, 0)
    if not isinstance(results, (tuple, list)):
        return results
    if not isinstance(out_dims, (tuple, list)):
        out_dims = [out_dims] * len(results)
    if len(out_dims) != len(results):
        raise RuntimeError(
            f"vmap: a batching rule returns {len(results)} results, and out_dims for {len(out_dims)}"
        )
    return type(results)([_batch_first(*one) for one in zip(results, out_dims, strict=True)])

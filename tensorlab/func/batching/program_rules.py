"""Batching rules that a program gives, in the form of PyTorch's: for ops of its own, and
functions with a derivative of their own.

    rule(info, in_dims, *arguments)   ->   (result, out_dims)

`in_dims` has for each argument the dimension of the batch, or None; `out_dims` says so of the
results, one for all or one for each. Arguments by keyword only are given by keyword.
"""

from typing import NamedTuple

from tensorlab._core.dispatch.level_calls import opened
from tensorlab._core.tensor import TensorBase
from tensorlab.func.batching.rules import InParts, Same, in_boxes


class VmapInfo(NamedTuple):
    """What a rule is told of the call of vmap."""

    batch_size: int
    randomness: str


class ProgramRule(InParts):
    """A rule of a program's op."""

    def run(self, level, op, arguments):
        values, batched = opened(level, arguments)
        names = [one.name for one in op.signature.parameters if one.is_keyword_only]
        n = len(values) - len(names)
        by_name = dict(zip(names, values[n:], strict=True))
        in_dims = tuple([_in_dims(one) for one in batched[:n]])
        info = VmapInfo(level.size, level.randomness)
        returned = self.function(info, in_dims, *values[:n], **by_name)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise RuntimeError(
                f"vmap: a batching rule must return (result, out_dims), "
                f"not {type(returned).__name__}"
            )
        results, out_dims = returned
        return in_boxes(level, _batch_first(results, out_dims))


def _in_dims(answer):
    """0 for what is batched; for a list, a list of them."""
    if isinstance(answer, tuple):
        return [_in_dims(one) for one in answer]
    return 0 if answer else None


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

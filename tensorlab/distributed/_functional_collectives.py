"""Collectives that return new tensors and leave their operands as they are.

The names with `_autograd` are followed by autograd. They wait for the result here, so
`wait_tensor` has nothing left to do.
"""

from tensorlab.distributed import collectives
from tensorlab.distributed.nn import functional
from tensorlab.distributed.process_groups import the_group
from tensorlab.distributed.reduce_ops import ReduceOp
from tensorlab.ops.creation import empty
from tensorlab.ops.joining import cat

__all__ = [
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "wait_tensor",
]

OPS = {
    "sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "min": ReduceOp.MIN,
    "max": ReduceOp.MAX, "band": ReduceOp.BAND, "bor": ReduceOp.BOR, "bxor": ReduceOp.BXOR,
}  # fmt: skip


def op_named(name):
    """Return the ReduceOp of a name such as "sum"."""
    try:
        return OPS[name.lower()]
    except (KeyError, AttributeError):
        raise ValueError(f"reduceOp is {name!r}; expected one of {', '.join(OPS)}") from None


def group_of(group):
    """Return the process group for a group, or a mesh of one dimension, or a mesh and its dim."""
    if isinstance(group, tuple):
        mesh, dim = group
        return mesh.get_group(dim)
    return the_group(group.get_group() if hasattr(group, "get_group") else group)


def wait_tensor(tensor):
    """Return a tensor, once it has its values."""
    return tensor


def all_reduce(self, reduceOp, group, tag=""):
    """Return the reduction of the tensors of all ranks, such as "sum"."""
    result = self.detach().clone().contiguous()
    collectives.all_reduce(result, op_named(reduceOp), group_of(group))
    return result


def all_reduce_coalesced(self, reduceOp, group, tag=""):
    """Return the reductions of several tensors."""
    return [all_reduce(x, reduceOp, group) for x in self]


def broadcast(self, src, group, tag=""):
    """Return the tensor of rank `src`."""
    result = self.detach().clone().contiguous()
    collectives.broadcast(result, src, group_of(group))
    return result


def all_gather_tensor(self, gather_dim, group, tag=""):
    """Return the tensors of all ranks, joined along `gather_dim`."""
    return all_gather_tensor_autograd(self.detach(), gather_dim, group)


def all_gather_tensor_autograd(self, gather_dim, group, tag=""):
    """Return the tensors of all ranks, joined along `gather_dim`, with a gradient."""
    return cat(functional.all_gather(self.contiguous(), group_of(group)), gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """Return this rank's part, along `scatter_dim`, of the reduction over all ranks."""
    return scattered(self.detach(), reduceOp, scatter_dim, group, collected)


def reduce_scatter_tensor_autograd(self, reduceOp, scatter_dim, group, tag=""):
    """Return this rank's part of the sum or average over all ranks, with a gradient."""
    return scattered(self, reduceOp, scatter_dim, group, functional.reduce_scatter)


def scattered(x, reduceOp, scatter_dim, group, reduce_scatter):
    group = group_of(group)
    if x.shape[scatter_dim] % group.size():
        raise AssertionError(
            f"input dimension {scatter_dim} ({x.shape[scatter_dim]}) must be a multiple of "
            f"group_size {group.size()}"
        )
    parts = [part.contiguous() for part in x.chunk(group.size(), scatter_dim)]
    return reduce_scatter(None, parts, op_named(reduceOp), group)


def collected(_, parts, op, group):
    out = empty(parts[0].shape, dtype=parts[0].dtype)
    collectives.reduce_scatter(out, parts, op, group)
    return out


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """Cut a tensor along its first dim, send a part to each rank, and return what comes, joined."""
    return all_to_all_single_autograd(self.detach(), output_split_sizes, input_split_sizes, group)


def all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, group, tag=""):
    """Like `all_to_all_single`, with a gradient."""
    group = group_of(group)
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    output = empty((rows, *self.shape[1:]), dtype=self.dtype)
    return functional.all_to_all_single(output, self, output_split_sizes, input_split_sizes, group)

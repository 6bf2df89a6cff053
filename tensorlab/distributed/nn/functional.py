"""Collectives that autograd follows: each returns new tensors, and its backward is one, too.

A collective is a linear map on the values of all ranks together, so its derivative is the
transposed map: what was copied to many ranks comes back as a sum, and a sum comes back as
copies. All ranks must run the same backward.
"""

from tensorlab import _missing
from tensorlab.autograd.function import Function
from tensorlab.distributed import arguments, collectives
from tensorlab.distributed.process_groups import group as group
from tensorlab.distributed.process_groups import the_group
from tensorlab.distributed.reduce_ops import ReduceOp
from tensorlab.errors import DistError
from tensorlab.ops.creation import empty, zeros
from tensorlab.ops.joining import cat

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


def like(x, shape=None):
    return empty(x.shape if shape is None else shape, dtype=x.dtype)


def check_sum(op, where):
    """Refuse reductions that aren't linear."""
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise DistError(
            f"distributed.nn.functional.{where}: the gradient of {op.name} is not here; use "
            "SUM or AVG"
        )


class _Broadcast(Function):
    @staticmethod
    def forward(ctx, src, group, x):
        ctx.src, ctx.group = src, group
        x = x.clone()
        collectives.broadcast(x, src, group)
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        is_root = ctx.group.ranks[ctx.group.rank()] == ctx.src
        return None, None, grad if is_root else grad * 0


class _Reduce(Function):
    @staticmethod
    def forward(ctx, dst, op, group, x):
        ctx.dst, ctx.op, ctx.group = dst, op, group
        x = x.clone()
        collectives.reduce(x, dst, op, group)
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = _Broadcast.apply(ctx.dst, ctx.group, grad)
        return None, None, None, scaled(grad, ctx)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx, op, group, x):
        ctx.op, ctx.group = op, group
        x = x.clone().contiguous()
        collectives.all_reduce(x, op, group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx, group, x):
        ctx.group = group
        parts = [like(x) for _ in range(group.size())]
        collectives.all_gather(parts, x, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, *grads)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx, op, group, *parts):
        ctx.op, ctx.group = op, group
        out = like(parts[group.rank()])
        collectives.reduce_scatter(out, [x.contiguous() for x in parts], op, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        grads = _AllGather.apply(ctx.group, grad)
        return None, None, *[scaled(one, ctx) for one in grads]


class _Gather(Function):
    @staticmethod
    def forward(ctx, dst, group, x):
        ctx.dst, ctx.group = dst, group
        is_root = group.ranks[group.rank()] == dst
        parts = [zeros(x.shape, dtype=x.dtype) for _ in range(group.size())]
        collectives.gather(x.contiguous(), parts if is_root else None, dst, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx, src, group, *parts):
        ctx.src, ctx.group = src, group
        is_root = group.ranks[group.rank()] == src
        out = like(parts[0])
        collectives.scatter(out, [x.contiguous() for x in parts] if is_root else None, src, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx, group, shapes, *parts):
        ctx.group, ctx.shapes = group, [x.shape for x in parts]
        outputs = [like(parts[0], shape) for shape in shapes]
        collectives.all_to_all(outputs, [x.contiguous() for x in parts], group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


def scaled(grad, ctx):
    """Return the gradient of a sum, or of an average over the ranks."""
    return grad / ctx.group.size() if ctx.op == ReduceOp.AVG else grad


def broadcast(tensor, src, group=None):
    """Return the tensor of rank `src`, at all ranks; its gradient is the sum of theirs."""
    return _Broadcast.apply(src, the_group(group, "broadcast"), tensor)


def gather(tensor, dst=0, group=None):
    """Return the tensors of all ranks as a tuple at rank `dst`, and zeros elsewhere."""
    return _Gather.apply(dst, the_group(group, "gather"), tensor)


def scatter(tensors, src=0, group=None):
    """Return one of the tensors of rank `src`: each rank gives a list, of which only that counts."""
    return _Scatter.apply(src, the_group(group, "scatter"), *tensors)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """Return the sum of the tensors of all ranks at rank `dst`, and the tensor elsewhere."""
    check_sum(op, "reduce")
    return _Reduce.apply(dst, op, the_group(group, "reduce"), tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """Return this rank's part of a sum over ranks; `output`, as large, isn't written."""
    check_sum(op, "reduce_scatter")
    return _ReduceScatter.apply(op, the_group(group, "reduce_scatter"), *input_list)


def all_gather(tensor, group=None):
    """Return the tensors of all ranks, as a tuple, which have one shape.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.nn import functional
    >>> def slope(rank):
    ...     x = tensorlab.tensor([1.0 + rank], requires_grad=True)
    ...     first, second = functional.all_gather(x)
    ...     (first * second).sum().backward()
    ...     return x.grad.item()  # of both ranks' losses
    >>> dist.threads.spawn(slope, nprocs=2)
    [4.0, 2.0]
    """
    return _AllGather.apply(the_group(group, "all_gather"), tensor)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """Send one tensor to each rank, and return those that come, as a tuple.

    `output_tensor_list` gives their shapes; it isn't written.
    """
    shapes = [x.shape for x in output_tensor_list]
    return _AllToAll.apply(the_group(group, "all_to_all"), shapes, *input_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """Cut a tensor along its first dim, send a part to each rank, and return what comes, joined.

    `output` gives the shape; it isn't written.
    """
    group = the_group(group, "all_to_all_single")
    parts = arguments.split_sizes(
        input, input_split_sizes, group.size(), "all_to_all_single", "input"
    )
    into = arguments.split_sizes(
        output, output_split_sizes, group.size(), "all_to_all_single", "output"
    )
    return cat(_AllToAll.apply(group, [x.shape for x in into], *parts))


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """Return the sum of the tensors of all ranks, at all ranks.

    The gradient is a sum over ranks as well: of the losses of all of them.
    """
    check_sum(op, "all_reduce")
    return _AllReduce.apply(op, the_group(group, "all_reduce"), tensor)


__getattr__ = _missing.refusing(__name__)

"""The collectives: every rank of a group calls one, and each gets its part of what all gave.

Each function checks its arguments, says in words what all ranks must agree on, and submits a
`Call`. Nothing in here knows how values get from rank to rank.
"""

import warnings

from tensorlab._tensor import Tensor
from tensorlab.distributed import world
from tensorlab.distributed.arguments import (
    check_list,
    check_numel,
    check_same_dtype,
    check_tensor,
    of,
    outside,
    pieces,
    root_of,
    split_sizes,
)
from tensorlab.distributed.membership import GroupMember, the_group
from tensorlab.distributed.reduce_ops import ReduceOp, checked_op

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
]


def submit(group, async_op, kind, inputs, outputs, **details):
    """Begin a call; return its Work if it is to be waited for later, else wait and return None."""
    if async_op:
        return group.submit(kind, inputs, outputs, **details)
    group.run(kind, inputs, outputs, **details)
    return None


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Copy a tensor of one rank to all others, in place.

    Parameters
    ----------
    tensor : Tensor, at `src` what is sent, elsewhere what is written
    src : int, a rank of the default group; or `group_src`, a place in `group`
    group : ProcessGroup, by default all ranks
    async_op : bool; True returns a Work to wait for, and False waits

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def speak(rank):
    ...     x = tensorlab.full((2,), float(rank))
    ...     dist.broadcast(x, src=1)
    ...     return x.tolist()
    >>> dist.threads.spawn(speak, nprocs=2)
    [[1.0, 1.0], [1.0, 1.0]]
    """
    check_tensor(tensor, "broadcast")
    if outside(group, "broadcast"):
        return None
    group = the_group(group, "broadcast")
    root = root_of(group, src, group_src, "broadcast", "src")
    agreed = f"broadcast {of(tensor)} from rank {root}"
    return submit(group, async_op, "broadcast", (), (tensor,), root=root, agreed=agreed)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Replace a tensor by the reduction of the tensors of all ranks, in place.

    Parameters
    ----------
    tensor : Tensor, of one shape and dtype at all ranks
    op : ReduceOp
    group : ProcessGroup, by default all ranks
    async_op : bool; True returns a Work to wait for, and False waits

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def add(rank):
    ...     x = tensorlab.full((2,), float(rank))
    ...     dist.all_reduce(x)
    ...     return x.tolist()
    >>> dist.threads.spawn(add, nprocs=3)[0]
    [3.0, 3.0]
    """
    check_tensor(tensor, "all_reduce")
    if outside(group, "all_reduce"):
        return None
    group = the_group(group, "all_reduce")
    kind, factor = checked_op(op, "all_reduce", tensor.dtype)
    if kind in (ReduceOp.SUM, ReduceOp.AVG):
        warn_of_second_average(tensor)
    agreed = f"all_reduce({kind.name}) {of(tensor)}"
    return submit(group, async_op, "all_reduce", (tensor,), (tensor,), op=kind, factor=factor,
                  agreed=agreed)  # fmt: skip


def warn_of_second_average(tensor):
    """Warn if a gradient that is an average over the ranks already is reduced once more."""
    averaged = world.current().averaged
    reference, version = averaged.get(id(tensor), (None, None)) if averaged else (None, None)
    if reference is None or reference() is not tensor or tensor._version != version:
        return
    averaged.clear()
    warnings.warn(
        "all_reduce: this gradient has been averaged by DistributedDataParallel already; one "
        "more sum makes "
        "the step as many times too large as there are ranks. Leave the all_reduce out",
        stacklevel=3,
    )


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Replace the tensor of one rank by the reduction of the tensors of all ranks.

    Parameters
    ----------
    tensor : Tensor; written at `dst` alone
    dst : int, a rank of the default group; or `group_dst`, a place in `group`
    op : ReduceOp

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def add(rank):
    ...     x = tensorlab.full((2,), float(rank + 1))
    ...     dist.reduce(x, dst=0)
    ...     return x.tolist()
    ...
    >>> dist.threads.spawn(add, nprocs=2)[0]  # only rank 0 has the sum
    [3.0, 3.0]
    """
    check_tensor(tensor, "reduce")
    if outside(group, "reduce"):
        return None
    group = the_group(group, "reduce")
    root = root_of(group, dst, group_dst, "reduce", "dst")
    kind, factor = checked_op(op, "reduce", tensor.dtype)
    outputs = (tensor,) if group.rank() == root else ()
    agreed = f"reduce({kind.name}) {of(tensor)} to rank {root}"
    return submit(group, async_op, "reduce", (tensor,), outputs, root=root, op=kind, factor=factor,
                  agreed=agreed)  # fmt: skip


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Bring the tensors of all ranks to all ranks.

    Parameters
    ----------
    tensor_list : list of Tensor, one for each rank: what is written. Their sizes may differ
        from rank to rank, if all ranks give the same sizes
    tensor : Tensor, this rank's

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def gather(rank):
    ...     parts = [tensorlab.zeros(1) for _ in range(2)]
    ...     dist.all_gather(parts, tensorlab.ones(1) * rank)
    ...     return tensorlab.cat(parts).tolist()
    >>> dist.threads.spawn(gather, nprocs=2)[0]
    [0.0, 1.0]
    """
    check_tensor(tensor, "all_gather")
    if outside(group, "all_gather"):
        return None
    group = the_group(group, "all_gather")
    check_list(tensor_list, group.size(), "all_gather", "tensor_list")
    check_same_dtype("all_gather", tensor, tensor_list)
    check_numel("all_gather", tensor, tensor_list[group.rank()].numel(), "tensor")
    sizes = {tuple(x.shape) for x in tensor_list}
    shapes = "" if len(sizes) == 1 else f" into sizes {[x.numel() for x in tensor_list]}"
    agreed = f"all_gather {of(tensor_list[0])}{shapes}"
    return submit(group, async_op, "all_gather", (tensor,), tensor_list, agreed=agreed)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Bring the tensors of all ranks into one tensor at all ranks.

    Parameters
    ----------
    output_tensor : Tensor of shape (ranks * n, ...) or (ranks, n, ...)
    input_tensor : Tensor of shape (n, ...), of one shape at all ranks

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def gather(rank):
    ...     every = tensorlab.empty(2)
    ...     dist.all_gather_into_tensor(every, tensorlab.full((1,), float(rank)))
    ...     return every.tolist()
    ...
    >>> dist.threads.spawn(gather, nprocs=2)
    [[0.0, 1.0], [0.0, 1.0]]
    """
    where = "all_gather_into_tensor"
    check_tensor(output_tensor, where, "output_tensor")
    check_tensor(input_tensor, where, "input_tensor")
    if outside(group, where):
        return None
    group = the_group(group, where)
    check_same_dtype(where, input_tensor, [output_tensor])
    check_numel(where, output_tensor, input_tensor.numel() * group.size(), "output_tensor")
    parts, finish = pieces(output_tensor, group.size())
    agreed = f"all_gather_into_tensor {of(input_tensor)}"
    return submit(group, async_op, "all_gather", (input_tensor,), parts, agreed=agreed, **finish)


all_gather_single = all_gather_into_tensor


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Bring the tensors of all ranks to one rank.

    Parameters
    ----------
    tensor : Tensor, this rank's
    gather_list : list of Tensor, one for each rank, at `dst` alone: what is written
    dst : int, a rank of the default group, by default 0; or `group_dst`, a place in `group`

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def collect(rank):
    ...     parts = [tensorlab.empty(1) for _ in range(2)] if rank == 0 else None
    ...     dist.gather(tensorlab.full((1,), float(rank)), parts, dst=0)
    ...     return parts
    ...
    >>> dist.threads.spawn(collect, nprocs=2)
    [[tensor([0.]), tensor([1.])], None]
    """
    check_tensor(tensor, "gather")
    if outside(group, "gather"):
        return None
    group = the_group(group, "gather")
    dst = group.ranks[0] if dst is None and group_dst is None else dst
    root = root_of(group, dst, group_dst, "gather", "dst")
    if group.rank() == root:
        if gather_list is None:
            raise ValueError(
                "gather: Argument `gather_list` must be specified on destination rank."
            )
        check_list(gather_list, group.size(), "gather", "gather_list")
        check_same_dtype("gather", tensor, gather_list)
        for place, x in enumerate(gather_list):
            check_numel("gather", x, tensor.numel(), f"gather_list[{place}]")
    elif gather_list:
        raise ValueError(
            "gather: Argument `gather_list` must NOT be specified on non-destination ranks."
        )
    agreed = f"gather {of(tensor)} to rank {root}"
    return submit(group, async_op, "gather", (tensor,), gather_list or (), root=root, agreed=agreed)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Give each rank one of the tensors of one rank.

    Parameters
    ----------
    tensor : Tensor, what is written
    scatter_list : list of Tensor, one for each rank, at `src` alone
    src : int, a rank of the default group, by default 0; or `group_src`, a place in `group`

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def hand_out(rank):
    ...     x = tensorlab.empty(1)
    ...     parts = [tensorlab.tensor([10.0]), tensorlab.tensor([20.0])]
    ...     dist.scatter(x, parts if rank == 0 else None)
    ...     return x.item()
    ...
    >>> dist.threads.spawn(hand_out, nprocs=2)
    [10.0, 20.0]
    """
    check_tensor(tensor, "scatter")
    if outside(group, "scatter"):
        return None
    group = the_group(group, "scatter")
    src = group.ranks[0] if src is None and group_src is None else src
    root = root_of(group, src, group_src, "scatter", "src")
    if group.rank() == root:
        if scatter_list is None:
            raise ValueError("scatter: Argument `scatter_list` must be specified on source rank.")
        check_list(scatter_list, group.size(), "scatter", "scatter_list")
        check_same_dtype("scatter", tensor, scatter_list)
        for place, x in enumerate(scatter_list):
            check_numel("scatter", x, tensor.numel(), f"scatter_list[{place}]")
    elif scatter_list:
        raise ValueError(
            "scatter: Argument `scatter_list` must NOT be specified on non-source ranks."
        )
    agreed = f"scatter {of(tensor)} from rank {root}"
    return submit(
        group, async_op, "scatter", scatter_list or (), (tensor,), root=root, agreed=agreed
    )


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce one tensor for each rank over all ranks, and give each rank its own.

    Parameters
    ----------
    output : Tensor, what is written
    input_list : list of Tensor, one for each rank
    op : ReduceOp

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def add(rank):
    ...     x = tensorlab.empty(1)
    ...     dist.reduce_scatter(x, [tensorlab.tensor([1.0]), tensorlab.tensor([10.0 * rank])])
    ...     return x.item()
    ...
    >>> dist.threads.spawn(add, nprocs=2)
    [2.0, 10.0]
    """
    where = "reduce_scatter"
    check_tensor(output, where, "output")
    if outside(group, where):
        return None
    group = the_group(group, where)
    check_list(input_list, group.size(), where, "input_list")
    check_same_dtype(where, output, input_list)
    check_numel(where, output, input_list[group.rank()].numel(), "output")
    kind, factor = checked_op(op, where, output.dtype)
    agreed = f"reduce_scatter({kind.name}) {of(input_list[0])}"
    if len({x.numel() for x in input_list}) > 1:
        agreed += f" and sizes {[x.numel() for x in input_list]}"
    return submit(
        group, async_op, where, input_list, (output,), op=kind, factor=factor, agreed=agreed
    )


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce a tensor over all ranks, and give each rank its part of the result.

    Parameters
    ----------
    output : Tensor of shape (n, ...)
    input : Tensor of shape (ranks * n, ...) or (ranks, n, ...)
    op : ReduceOp
    """
    where = "reduce_scatter_tensor"
    check_tensor(output, where, "output")
    check_tensor(input, where, "input")
    if outside(group, where):
        return None
    group = the_group(group, where)
    check_same_dtype(where, output, [input])
    check_numel(where, input, output.numel() * group.size(), "input")
    kind, factor = checked_op(op, where, output.dtype)
    parts, _ = pieces(input, group.size())
    agreed = f"reduce_scatter_tensor({kind.name}) {of(output)}"
    return submit(group, async_op, "reduce_scatter", parts, (output,), op=kind, factor=factor,
                  agreed=agreed)  # fmt: skip


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Send one tensor to each rank, and get one from each.

    Parameters
    ----------
    output_tensor_list : list of Tensor, one for each rank: what is written
    input_tensor_list : list of Tensor, one for each rank; `input_tensor_list[j]` at rank i has
        as many elements as `output_tensor_list[i]` at rank j

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def exchange(rank):
    ...     received = [tensorlab.empty(1) for _ in range(2)]
    ...     dist.all_to_all(received, [tensorlab.tensor([10.0 * rank + i]) for i in range(2)])
    ...     return tensorlab.cat(received).tolist()
    ...
    >>> dist.threads.spawn(exchange, nprocs=2)
    [[0.0, 10.0], [1.0, 11.0]]
    """
    if outside(group, "all_to_all"):
        return None
    group = the_group(group, "all_to_all")
    check_list(output_tensor_list, group.size(), "all_to_all", "output_tensor_list")
    check_list(input_tensor_list, group.size(), "all_to_all", "input_tensor_list")
    check_same_dtype("all_to_all", input_tensor_list[0], [*input_tensor_list, *output_tensor_list])
    agreed = f"all_to_all of {str(input_tensor_list[0].dtype).removeprefix('tensorlab.')}"
    return submit(
        group, async_op, "all_to_all", input_tensor_list, output_tensor_list, agreed=agreed
    )


def all_to_all_single(
    output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
):
    """Cut a tensor along its first dim, send a part to each rank, and join what comes.

    Parameters
    ----------
    output, input : Tensor; equal sizes but for the first dim
    output_split_sizes, input_split_sizes : list of int, sizes along the first dim, one for each
        rank; None cuts into equal parts

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def exchange(rank):
    ...     received = tensorlab.empty(2)
    ...     dist.all_to_all_single(received, 10.0 * rank + tensorlab.arange(2.0))
    ...     return received.tolist()
    ...
    >>> dist.threads.spawn(exchange, nprocs=2)
    [[0.0, 10.0], [1.0, 11.0]]
    """
    where = "all_to_all_single"
    check_tensor(output, where, "output")
    check_tensor(input, where, "input")
    if outside(group, where):
        return None
    group = the_group(group, where)
    check_same_dtype(where, input, [output])
    joined = output.detach().contiguous()
    parts = split_sizes(joined, output_split_sizes, group.size(), where, "output")
    sent = split_sizes(input.detach().contiguous(), input_split_sizes, group.size(), where, "input")
    finish = {} if output.is_contiguous() else {"finish": lambda: output.detach().copy_(joined)}
    agreed = f"all_to_all_single of {str(input.dtype).removeprefix('tensorlab.')}"
    return submit(group, async_op, "all_to_all", sent, parts, agreed=agreed, **finish)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Wait until all ranks of the group have come here.

    Parameters
    ----------
    group : ProcessGroup, by default all ranks
    async_op : bool; True returns a Work to wait for, and False waits
    device_ids : accepted for PyTorch's sake
    timeout : timedelta, by default the group's

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def meet(rank):
    ...     dist.barrier()  # no rank goes on before the others are here
    ...     return rank
    ...
    >>> dist.threads.spawn(meet, nprocs=2)
    [0, 1]
    """
    if outside(group, "barrier"):
        return None
    group = the_group(group, "barrier")
    return submit(group, async_op, "barrier", (), (), agreed="barrier", timeout=timeout)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Wait until all ranks have come here; the error after the timeout names those that haven't.

    `barrier` does that here as well. `wait_all_ranks` is accepted for PyTorch's sake: the error
    always names all.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def meet(rank):
    ...     dist.monitored_barrier()
    ...     return rank
    ...
    >>> dist.threads.spawn(meet, nprocs=2)
    [0, 1]
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    barrier(group, timeout=timeout)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduce each of several tensors over all ranks, in place.

    Parameters
    ----------
    tensors : list of Tensor, of one dtype
    op : ReduceOp

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def add(rank):
    ...     x, y = tensorlab.ones(1), tensorlab.full((2,), 3.0)
    ...     dist.all_reduce_coalesced([x, y])
    ...     return x.tolist(), y.tolist()
    ...
    >>> dist.threads.spawn(add, nprocs=2)[0]
    ([2.0], [6.0, 6.0])
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    works = [all_reduce(x, op, group, async_op=True) for x in tensors]
    return together(works, async_op)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """Gather each of several tensors of all ranks.

    Parameters
    ----------
    output_tensor_lists : list with one list of tensors for each rank
    input_tensor_list : list of Tensor, this rank's

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def gather(rank):
    ...     parts = [[tensorlab.empty(1)], [tensorlab.empty(1)]]
    ...     dist.all_gather_coalesced(parts, [tensorlab.full((1,), float(rank))])
    ...     return [part.item() for (part,) in parts]
    ...
    >>> dist.threads.spawn(gather, nprocs=2)[0]
    [0.0, 1.0]
    """
    if outside(group, "all_gather_coalesced"):
        return None
    works = [
        all_gather([outputs[place] for outputs in output_tensor_lists], x, group, async_op=True)
        for place, x in enumerate(input_tensor_list)
    ]
    return together(works, async_op)


def together(works, async_op):
    """Return a future of several works, or wait for all of them."""
    works = [work for work in works if work is not None]
    if async_op:
        return works[-1].get_future() if works else None
    for work in works:
        work.wait()
    return None

"""Messages: from one rank to one other."""

from tensorlab.distributed.arguments import check_tensor, of, root_of
from tensorlab.distributed.process_groups import is_member, the_group

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to another rank, and return when it may be changed again.

    Parameters
    ----------
    tensor : Tensor
    dst : int, a rank of the default group; or `group_dst`, a place in `group`
    tag : int; the receiver asks for the same one

    Raises
    ------
    ValueError
        If the rank is this one.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def talk(rank):
    ...     x = tensorlab.tensor([3.0 + rank])
    ...     dist.send(x, dst=1) if rank == 0 else dist.recv(x, src=0)
    ...     return x.item()
    >>> dist.threads.spawn(talk, nprocs=2)
    [3.0, 3.0]
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive a tensor from another rank, and return its rank, or -1 outside the group.

    Parameters
    ----------
    tensor : Tensor, what is written
    src : int, a rank of the default group; or `group_src`, a place in `group`; without either,
        the message of any rank is taken
    tag : int, the sender's

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def talk(rank):
    ...     x = tensorlab.full((1,), float(rank))
    ...     if rank == 0:
    ...         dist.send(x, dst=1)
    ...     else:
    ...         sender = dist.recv(x)
    ...         return sender, x.item()
    ...
    >>> dist.threads.spawn(talk, nprocs=2)
    [None, (0, 0.0)]
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return the_group(group).ranks[work.call.root]


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Begin to send a tensor; return a Work. Until it has ended the tensor mustn't be changed.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def talk(rank):
    ...     x = tensorlab.full((1,), float(rank))
    ...     work = dist.isend(x, dst=1) if rank == 0 else dist.irecv(x, src=0)
    ...     work.wait()  # before it, x mustn't be changed or read
    ...     return x.item()
    ...
    >>> dist.threads.spawn(talk, nprocs=2)
    [0.0, 0.0]
    """
    check_tensor(tensor, "send")
    if not is_member(group):
        return None
    group = the_group(group, "send")
    root = root_of(group, dst, group_dst, "send", "dst")
    if root == group.rank():
        raise ValueError("send: Invalid destination rank: destination rank should not be the same as "
                         "the rank of the current process.")  # fmt: skip
    return group.submit(
        "send", (tensor,), (), root=root, tag=tag, agreed=f"send {of(tensor)} to rank {root}"
    )


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Begin to receive a tensor; return a Work. Until it has ended the tensor mustn't be used.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def talk(rank):
    ...     x = tensorlab.full((1,), float(rank))
    ...     work = dist.isend(x, dst=1) if rank == 0 else dist.irecv(x, src=0)
    ...     work.wait()  # before it, x mustn't be changed or read
    ...     return x.item()
    ...
    >>> dist.threads.spawn(talk, nprocs=2)
    [0.0, 0.0]
    """
    check_tensor(tensor, "recv")
    if not is_member(group):
        return None
    group = the_group(group, "recv")
    root = None
    if src is not None or group_src is not None:
        root = root_of(group, src, group_src, "recv", "src")
    source = "any rank" if root is None else f"rank {root}"
    return group.submit(
        "recv", (), (tensor,), root=root, tag=tag, agreed=f"recv {of(tensor)} from {source}"
    )


class P2POp:
    """A message for `batch_isend_irecv`.

    Parameters
    ----------
    op : isend or irecv
    tensor : Tensor
    peer : int, the other rank, of the default group; or `group_peer`, a place in `group`
    group : ProcessGroup, by default all ranks
    tag : int

    Raises
    ------
    ValueError
        If `op` is neither.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def swap(rank):
    ...     mine, other = tensorlab.full((1,), float(rank)), tensorlab.empty(1)
    ...     there = dist.P2POp(dist.isend, mine, 1 - rank)
    ...     back = dist.P2POp(dist.irecv, other, 1 - rank)
    ...     for work in dist.batch_isend_irecv([there, back]):
    ...         work.wait()
    ...     return other.item()
    ...
    >>> dist.threads.spawn(swap, nprocs=2)
    [1.0, 0.0]
    """

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError(
                "P2POp: Invalid ``op``. Expected ``op`` to be of type ``isend`` or ``irecv``."
            )
        check_tensor(tensor, "P2POp")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.peer, self.group_peer = peer, group_peer

    def __repr__(self):
        return f"P2POp({self.op.__name__} {of(self.tensor)}, peer={self.peer}, tag={self.tag})"


def batch_isend_irecv(p2p_op_list):
    """Begin several messages at once; return a list of their Works.

    Parameters
    ----------
    p2p_op_list : list of P2POp, none of them twice

    Raises
    ------
    ValueError
        If it's empty, or holds something else.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def swap(rank):
    ...     mine, other = tensorlab.full((1,), float(rank)), tensorlab.empty(1)
    ...     there = dist.P2POp(dist.isend, mine, 1 - rank)
    ...     back = dist.P2POp(dist.irecv, other, 1 - rank)
    ...     for work in dist.batch_isend_irecv([there, back]):
    ...         work.wait()
    ...     return other.item()
    ...
    >>> dist.threads.spawn(swap, nprocs=2)
    [1.0, 0.0]
    """
    if not p2p_op_list or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ValueError(
            "batch_isend_irecv: Invalid ``p2p_op_list``. Each op is expected to be of type P2POp."
        )
    works = [
        one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in p2p_op_list
    ]
    return [work for work in works if work is not None]

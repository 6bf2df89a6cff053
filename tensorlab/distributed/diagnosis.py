"""What an error of several ranks says: which rank, which call, and where the others stand."""

from tensorlab.errors import DistBackendError


def by_rank(lines):
    """Return "rank 0: ..." for each rank of a dict, a line each, and equal lines once."""
    ranks_of = {}
    for rank, text in sorted(lines.items()):
        ranks_of.setdefault(text, []).append(str(rank))
    return "\n".join(
        f"  rank{'s' if len(ranks) > 1 else ''} {', '.join(ranks)}: {text}"
        for text, ranks in ranks_of.items()
    )


def they_differ(call, texts):
    """Return the error for ranks that called different things at the same place.

    Parameters
    ----------
    call : Call, of the rank that raises
    texts : dict of int to str, what each rank called, by its rank in the group
    """
    return DistBackendError(
        f"{call.kind}: the ranks of group {call.group!r} don't agree on call {call.number}:\n"
        f"{by_rank(texts)}\n"
        "All ranks must call the same collectives in the same order, with tensors of equal "
        "shape "
        "and dtype. Look for a branch that differs by rank."
    )


def waited_in_vain(call, seconds, missing, standing):
    """Return the error for a wait that took longer than its timeout.

    Parameters
    ----------
    call : Call
    seconds : float, how long it was
    missing : collection of int, the ranks in the group that didn't come, as far as is known
    standing : dict of int to str, where each rank stands
    """
    who = f"rank {sorted(missing)[0]}" if len(missing) == 1 else f"ranks {sorted(missing)}"
    lacking = f"; {who} did not come" if missing else ""
    return DistBackendError(
        f"{call.kind}: {call} waited {seconds:.1f} s in vain (timeout {call.timeout:g} "
        f"s){lacking}."
        f" Where each rank stands:\n{by_rank(standing)}\n"
        "Look for a branch that differs by rank, a rank that is slow, or one that hangs; a "
        "longer "
        "timeout is given to init_process_group(timeout=)."
    )


def is_gone(call, rank, reason):
    """Return the error for a rank that left while others wait for it."""
    return DistBackendError(f"{call.kind}: rank {rank} is gone ({reason}), so {call} can't end")


def does_not_fit(call, dtype, numel):
    """Return the error for a message that isn't what its receiver has room for."""
    target = call.outputs[0]
    return DistBackendError(
        f"recv: the message from rank {call.root} has {numel} elements of {dtype}, and the "
        f"tensor {target.numel()} of {target.dtype}; both ends must agree"
    )

"""PowerSGD: a gradient travels as a product of two narrow matrices.

One step of power iteration finds a matrix of low rank near the gradient. What it misses is
kept, and added to the gradient of the next pass (error feedback).

Source: Vogels, Karimireddy, Jaggi 2019, PowerSGD: Practical Low-Rank Gradient Compression for
Distributed Optimization, algorithms 1 and 2.
"""

from tensorlab import _missing
from tensorlab._core.random import Generator
from tensorlab.distributed import collectives
from tensorlab.distributed.algorithms.ddp_comm_hooks import default_hooks
from tensorlab.distributed.process_groups import the_group
from tensorlab.futures import Future
from tensorlab.ops.creation import zeros
from tensorlab.ops.linalg.orthogonal import qr
from tensorlab.ops.random_factories import randn

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What PowerSGD remembers from pass to pass.

    Parameters
    ----------
    process_group : ProcessGroup, or None for all ranks
    matrix_approximation_rank : int, the rank of the products
    start_powerSGD_iter : int, how many passes are averaged plainly before; at least 2 with
        error feedback or warm start, as buckets are ordered anew after the first
    min_compression_rate : number; a matrix travels as a product where that has fewer numbers by
        this factor
    use_error_feedback : bool, whether what is missed is added to the next gradient
    warm_start : bool, whether the iteration begins with the last pass's matrix
    orthogonalization_epsilon : accepted for PyTorch's sake; columns are made orthogonal by QR
    random_seed : int, of the first matrices; equal at all ranks
    compression_stats_logging_frequency, batch_tensors_with_same_shape : accepted for PyTorch's
        sake

    Attributes
    ----------
    sent, would_be : int, numbers that travelled, and that would have without compression
    """

    def __init__(
        self,
        process_group,
        matrix_approximation_rank=1,
        start_powerSGD_iter=1000,
        min_compression_rate=2,
        use_error_feedback=True,
        warm_start=True,
        orthogonalization_epsilon=0,
        random_seed=0,
        compression_stats_logging_frequency=10_000,
        batch_tensors_with_same_shape=False,
    ):
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.generator = Generator().manual_seed(random_seed)
        self.iter = 0
        self.errors, self.right = {}, {}  # by bucket, and by bucket and place in it
        self.sent = self.would_be = 0

    def is_worth_it(self, rows, columns):
        """Return whether a matrix travels as a product."""
        numbers = (rows + columns) * self.matrix_approximation_rank
        return numbers * self.min_compression_rate < rows * columns


def powerSGD_hook(state, bucket):
    """Average a bucket, with each of its matrices as a product of two narrow ones.

    Parameters
    ----------
    state : PowerSGDState
    bucket : GradBucket

    Returns
    -------
    Future of the averaged buffer

    Examples
    --------
    >>> from tensorlab import distributed as dist, nn
    >>> import tensorlab
    >>> def train(rank):
    ...     model = nn.parallel.DistributedDataParallel(nn.Linear(40, 40))
    ...     state = PowerSGDState(None, start_powerSGD_iter=2)
    ...     model.register_comm_hook(state, powerSGD_hook)
    ...     for _ in range(4):
    ...         model(tensorlab.ones(1, 40)).sum().backward()
    ...     return state.sent < state.would_be
    >>> dist.threads.spawn(train, nprocs=2)
    [True, True]
    """
    return compressed(state, bucket, lambda buffer: bucket.gradients())


def batched_powerSGD_hook(state, bucket):
    """Average a bucket as one square matrix: faster than `powerSGD_hook`, and less exact."""

    def as_square(buffer):
        side = int(buffer.numel() ** 0.5)
        square = buffer[: side * side].view(side, side)
        return [square, buffer[side * side :]]

    return compressed(state, bucket, as_square)


def compressed(state, bucket, parts_of):
    """Average a bucket's buffer, whose parts that are matrices travel as products."""
    group = the_group(state.process_group)
    buffer = bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        future = default_hooks.allreduce_hook(group, bucket)
    else:
        key = bucket.index()
        if state.use_error_feedback:
            error = state.errors.setdefault(key, zeros(buffer.shape, dtype=buffer.dtype))
            buffer.add_(error)
            given = buffer.clone()
        for place, part in enumerate(parts_of(buffer)):
            average(state, (key, place), part, group)
        if state.use_error_feedback:
            state.errors[key] = given.sub_(buffer)
        future = Future()
        future.set_result(buffer)
    if bucket.is_last():
        state.iter += 1
    return future


def average(state, key, part, group):
    """Average one part of a bucket, in place."""
    state.would_be += part.numel()
    matrix = part.view(part.shape[0], -1) if part.dim() > 1 else None
    if matrix is None or not state.is_worth_it(*matrix.shape):
        part.div_(group.size())
        collectives.all_reduce(part, group=group)
        state.sent += part.numel()
        return
    rows, columns = matrix.shape
    rank = min(state.matrix_approximation_rank, rows, columns)
    right = state.right.get(key) if state.warm_start else None
    if right is None:
        right = randn(columns, rank, generator=state.generator, dtype=matrix.dtype)
    left = matrix @ qr(right)[0]
    collectives.all_reduce(left, group=group)
    left = qr(left)[0]
    right = matrix.t() @ left
    right.div_(group.size())
    collectives.all_reduce(right, group=group)
    matrix.copy_(left @ right.t())
    state.right[key] = right
    state.sent += (rows + columns) * rank


__getattr__ = _missing.refusing(__name__)

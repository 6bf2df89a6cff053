"""ShardedGradScaler: a GradScaler that leaves a step out at all ranks, or at none."""

from tensorlab import _missing
from tensorlab.amp.grad_scaler import GradScaler
from tensorlab.distributed.collectives import all_reduce
from tensorlab.distributed.process_groups import ProcessGroup, is_initialized
from tensorlab.distributed.reduce_ops import ReduceOp
from tensorlab.distributed.tensor.tensors import DTensor

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A GradScaler for models that are shared out: what one rank finds infinite, all know of.

    Gradients that are DTensors are looked at as a whole by any GradScaler; this one is for
    plain tensors beside them, too.

    Parameters
    ----------
    device, init_scale, backoff_factor, growth_factor, growth_interval, enabled : see GradScaler
    process_group : ProcessGroup, by default all ranks

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn
    >>> def step(rank):
    ...     layer, scaler = nn.Linear(1, 1), ShardedGradScaler(init_scale=2.0)
    ...     optimizer = tensorlab.optim.SGD(layer.parameters(), lr=1.0)
    ...     x = tensorlab.full((1, 1), float("inf") if rank else 1.0)
    ...     scaler.scale(layer(x).sum()).backward()
    ...     scaler.step(optimizer)
    ...     scaler.update()
    ...     return scaler.get_scale()
    >>> dist.threads.spawn(step, nprocs=2)
    [1.0, 1.0]
    """

    def __init__(
        self,
        device="cpu",
        init_scale=2.0**16,
        backoff_factor=0.5,
        growth_factor=2.0,
        growth_interval=2000,
        enabled=True,
        process_group=None,
    ):
        super().__init__(
            device,
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        if process_group is not None and not isinstance(process_group, ProcessGroup):
            raise TypeError(
                f"ShardedGradScaler: process_group is a {type(process_group).__name__}; "
                "expected a ProcessGroup"
            )
        self.process_group = process_group

    def unscale_(self, optimizer):
        """Divide the gradients by the factor, and ask all ranks whether one of theirs is infinite."""
        super().unscale_(optimizer)
        found = self._found.get(id(optimizer)) if self.is_enabled() else None
        if found is None or not is_initialized():
            return
        if isinstance(found, DTensor):
            found = found.full_tensor()
        all_reduce(found, ReduceOp.MAX, self.process_group)
        self._found[id(optimizer)] = found


__getattr__ = _missing.refusing(__name__)

"""Averagers: when the parameters of all ranks are averaged."""

from tensorlab import _missing
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.distributed import coalescing, collectives
from tensorlab.distributed.process_groups import the_group

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager:
    """Base of averagers; a subclass defines `average_parameters(params)`.

    Parameters
    ----------
    process_group : ProcessGroup, by default all ranks
    """

    def __init__(self, process_group=None):
        self.process_group = the_group(process_group, type(self).__name__)
        self.step = 0

    def average_parameters(self, params):
        """Average the parameters over the ranks, if it's time."""
        raise NotImplementedError(
            f"{type(self).__name__}.average_parameters: a subclass defines it"
        )


class PeriodicModelAverager(ModelAverager):
    """Average parameters every `period` steps, once `warmup_steps` are over.

    Parameters
    ----------
    period : int, at least 1
    warmup_steps : int; until then, gradients are what is averaged
    process_group : ProcessGroup, by default all ranks

    Raises
    ------
    ValueError
        If a number is too small.
    """

    def __init__(self, period, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError(
                f"PeriodicModelAverager: warmup_steps is {warmup_steps}; it is at least 0"
            )
        if period < 1:
            raise ValueError(f"PeriodicModelAverager: period is {period}; it is at least 1")
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params):
        """Average parameters, or those of an optimizer's groups, if it's time.

        Parameters
        ----------
        params : iterable of Parameter, or of dicts with them under "params"
        """
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average(parameters_in(params), self.process_group)
        self.step += 1


def parameters_in(params):
    """Return the parameters that have a gradient, in or without groups."""
    found = []
    for one in params:
        found.extend(one["params"] if isinstance(one, dict) else [one])
    return [p for p in found if p.grad is not None]


def average(parameters, group):
    """Replace parameters by their average over the ranks of a group."""
    for alike in coalescing.by_dtype(parameters):
        buffer = coalescing.flat(alike).div_(group.size())
        collectives.all_reduce(buffer, group=group)
        with no_grad():
            for p, part in zip(alike, coalescing.unflatten(buffer, alike), strict=True):
                p.copy_(part)


__getattr__ = _missing.refusing(__name__)

"""Schedulers made of others: one after another, or all at once."""

import bisect
import warnings

from ..optimizer import copied
from .base import LRScheduler, are_close, set_option
from .plateau import ReduceLROnPlateau

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Combined(LRScheduler):
    def _common_optimizer(self, schedulers, optimizer=None):
        """Check the schedulers; return their optimizer, which has to be the one that is given, if one is."""
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name}: expects at least one scheduler, but got no scheduler")
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(
                    f"{name}: expects schedulers, but number {i} is of type {type(scheduler).__name__}, "
                    "which has no `optimizer`"
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name}: scheduler {i} is a ReduceLROnPlateau, whose step needs what was measured; call its "
                    "step(metrics) yourself, beside this one"
                )
            optimizer = optimizer or scheduler.optimizer
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name}: all schedulers must change the same optimizer, but scheduler {i} belongs to "
                    "another optimizer"
                )
        return optimizer

    def state_dict(self):
        """Return everything but the optimizer, each scheduler as its own state."""
        own = "optimizer", "_schedulers", "_before"
        kept = {k: v for k, v in vars(self).items() if k not in own}
        return {**kept, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned."""
        found = self._found_before() if self._has_just_been_made() else []
        vars(self).update(copied({k: v for k, v in state_dict.items() if k != "_schedulers"}))
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)
        for before in found:
            self._put_back(before)

    def _has_just_been_made(self):
        return not self._has_stepped() and are_close(self._rates(), self._last_lr)

    def _parts(self):
        """Yield the schedulers that this one is made of in the end."""
        for scheduler in self._schedulers:
            if isinstance(scheduler, _Combined):
                yield from scheduler._parts()
            else:
                yield scheduler

    def _found_before(self):
        """Return what the groups had before each of the schedulers was made, as far as that is known."""
        found = [getattr(scheduler, "_before", None) for scheduler in self._parts()]
        return [before for before in found if before is not None]


class SequentialLR(_Combined):
    """Several schedulers, one after another; the next one takes over at each milestone.

    Parameters
    ----------
    optimizer : Optimizer, that of all schedulers
    schedulers : list of LRScheduler
    milestones : list of int, one less than schedulers
    last_epoch : int, the last epoch that is done; the schedulers, made without it, take the
        steps up to the next one

    Raises
    ------
    ValueError
        If there are not as many milestones, or a scheduler belongs to another optimizer or needs what was measured.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.optim.lr_scheduler import ExponentialLR, LinearLR
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> warmup = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> scheduler = SequentialLR(optimizer, [warmup, ExponentialLR(optimizer, gamma=0.5)], [2])
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.5 0.75 1.0 0.5 0.25
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self.optimizer = self._common_optimizer(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got {len(schedulers)} schedulers and {len(milestones)} milestones"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = 0
        for group in optimizer.param_groups:  # undo what making the schedulers did
            set_option(group, "lr", group["initial_lr"])
        undo(self)
        first = schedulers[bisect.bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the optimizer took the steps before
            for _ in range(last_epoch + 1):
                self.step()

    def _has_stepped(self):
        return self.last_epoch > 0

    def step(self):
        """Go on by one epoch."""
        self.last_epoch += 1
        k = bisect.bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[k]
        if k > 0 and self._milestones[k - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def undo(scheduler):
    """Take back the step that making each scheduler took."""
    if hasattr(scheduler, "_schedulers"):
        for one in scheduler._schedulers:
            undo(one)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class ChainedScheduler(_Combined):
    """Several schedulers at once: each changes the rates that the one before it left.

    Parameters
    ----------
    schedulers : sequence of LRScheduler of one optimizer
    optimizer : Optimizer, that of the first unless given

    Raises
    ------
    ValueError
        If there is none, or one belongs to another optimizer or needs what was measured.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.optim.lr_scheduler import ConstantLR, ExponentialLR
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> halved = ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> scheduler = ChainedScheduler([halved, ExponentialLR(optimizer, gamma=0.5)])
    >>> for epoch in range(4):
    ...     print(round(scheduler.get_last_lr()[0], 4), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.5 0.25 0.25 0.125
    """

    def __init__(self, schedulers, optimizer=None):
        self.optimizer = self._common_optimizer(schedulers, optimizer)
        self._schedulers = schedulers
        self._last_lr = self._rates()

    def _has_stepped(self):
        return any(getattr(one, "_step_count", 0) > 1 for one in self._parts())

    def step(self):
        """Go on by one epoch, all schedulers in their order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()

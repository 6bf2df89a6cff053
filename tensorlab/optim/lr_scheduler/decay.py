"""Rates that rise or fall by a rule: in steps, in a line, by a power."""

import bisect
from collections import Counter

from .base import LRScheduler

__all__ = ["ConstantLR", "ExponentialLR", "LinearLR", "MultiStepLR", "PolynomialLR", "StepLR"]


class StepLR(LRScheduler):
    """The rate times gamma every `step_size` epochs.

    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for epoch in range(4):
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 1.0 0.5 0.5
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_of_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self):
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times gamma at each epoch in `milestones`.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = MultiStepLR(optimizer, milestones=[1, 3])
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.1 0.1 0.01 0.01
    """

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_of_step()
        if self.last_epoch not in self.milestones:
            return self._rates()
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self._rates()]

    def _get_closed_form_lr(self):
        passed = bisect.bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times gamma every epoch.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ExponentialLR(optimizer, gamma=0.5)
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 0.25 0.125 0.062
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_of_step()
        if self._is_initial:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The initial rate times `factor` for the first `total_iters` epochs.

    Raises ValueError if `factor` is not from 0 to 1.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.5 0.5 1.0 1.0 1.0
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor is {factor}; expected a number from 0 to 1")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_of_step()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch == self.total_iters:
            return [rate * (1.0 / self.factor) for rate in self._rates()]
        return self._rates()

    def _get_closed_form_lr(self):
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The initial rate times a factor that goes in a straight line over `total_iters` epochs.

    Parameters
    ----------
    optimizer : Optimizer
    start_factor, end_factor : float from 0 (excluded) to 1, and from 0 to 1
    total_iters : int
    last_epoch : int

    Raises
    ------
    ValueError
        If a factor is out of its range.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.5 0.75 1.0 1.0 1.0
    """

    def __init__(
        self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1
    ):
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR: start_factor is {start_factor}; expected 0 < factor <= 1")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: end_factor is {end_factor}; expected 0 <= factor <= 1")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_of_step()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        slope = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * slope
        return [rate * (1.0 + slope / before) for rate in self._rates()]

    def _get_closed_form_lr(self):
        slope = self.end_factor - self.start_factor
        passed = min(self.total_iters, self.last_epoch)
        factor = self.start_factor + slope * passed / self.total_iters
        return [base * factor for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - epoch / total_iters) to a power, and 0 from `total_iters` on.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = PolynomialLR(optimizer, total_iters=4, power=2)
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.562 0.25 0.062 0.0
    """

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_of_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        now, before = (
            1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1)
        )
        factor = (now / before) ** self.power
        return [rate * factor for rate in self._rates()]

    def _get_closed_form_lr(self):
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]

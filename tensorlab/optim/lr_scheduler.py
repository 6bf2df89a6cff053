"""Schedulers: they change the learning rate of an optimizer from epoch to epoch, one `step()` at a time.

A scheduler knows how many steps it has taken, `last_epoch`, and says the rate of each parameter group
for it.  Where PyTorch derives a rate from the one before, so does this module, to the last bit; so a
rate that another scheduler or the user has changed meanwhile goes on being changed.
"""

import bisect
import math
from collections import Counter

from .. import _missing
from .optimizer import Optimizer

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


class LRScheduler:
    """Base class of schedulers.

    Parameters
    ----------
    optimizer : Optimizer
    last_epoch : int, steps taken before; -1 to start, else groups must have "initial_lr"

    Notes
    -----
    A subclass defines `get_lr()`, the rates of all groups for `self.last_epoch`. Where these follow from the rates of
    the epoch before, the first ones of a scheduler that goes on are those that the groups have.
    """

    _is_initial = False  # True in the step that `__init__` makes

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: parameter group {i} has no 'initial_lr', which a "
                    f"scheduler that goes on from epoch {last_epoch} needs"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._is_initial = True
        self.step()
        del self._is_initial

    def get_lr(self):
        """Return the rate of each group for this epoch; every subclass defines its own."""
        raise NotImplementedError(f"{type(self).__name__}: has no get_lr; define it")

    def get_last_lr(self):
        """Return the rates that the last step set."""
        return self._last_lr

    def step(self, epoch=None):
        """Go on by one epoch and set the rates.

        Parameters
        ----------
        epoch : int or None, go to this epoch instead; deprecated in PyTorch
        """
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.set_rates(self.get_lr())

    def set_rates(self, rates):
        """Write rates into the optimizer's groups."""
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def rates(self):
        """Return the rates that the groups have now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """Return everything but the optimizer."""
        return {key: value for key, value in vars(self).items() if key != "optimizer"}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned."""
        vars(self).update(state_dict)


# ------------------------------------------------------------------------------ by a function
def functions_for_groups(scheduler, functions, optimizer):
    given = functions if isinstance(functions, (list, tuple)) else None
    if given is not None and len(given) != len(optimizer.param_groups):
        raise ValueError(
            f"{scheduler}: {len(given)} functions for {len(optimizer.param_groups)} parameter "
            f"groups; expected one, or one for each"
        )
    return [functions] * len(optimizer.param_groups) if given is None else list(given)


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
    lr_lambda : function from epoch to factor, or a list of them, one for each group
    last_epoch : int
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = functions_for_groups("LambdaLR", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [
            base * function(self.last_epoch)
            for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]

    def state_dict(self):
        """Return everything but the optimizer and the functions, which the program has."""
        kept = super().state_dict()
        del kept["lr_lambdas"]
        return kept


class MultiplicativeLR(LambdaLR):
    """The rate of the epoch before times a function of the epoch; parameters as for LambdaLR."""

    def get_lr(self):
        if self._is_initial or self.last_epoch == 0:
            return self.rates()
        pairs = zip(self.lr_lambdas, self.rates(), strict=True)
        return [rate * function(self.last_epoch) for function, rate in pairs]


# ------------------------------------------------------------------------------ in steps
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
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self.rates()
        return [rate * self.gamma for rate in self.rates()]


class MultiStepLR(LRScheduler):
    """The rate times gamma at each epoch in `milestones`."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        times = self.milestones[self.last_epoch]
        return [rate * self.gamma**times if times else rate for rate in self.rates()]


class ExponentialLR(LRScheduler):
    """The rate times gamma every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch == 0:
            return self.rates()
        return [rate * self.gamma for rate in self.rates()]


# ------------------------------------------------------------------------------ warming up
class ConstantLR(LRScheduler):
    """The initial rate times `factor` for the first `total_iters` epochs."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor is {factor}; expected a number from 0 to 1")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self.rates()]
        if self.last_epoch == self.total_iters:
            return [rate * (1.0 / self.factor) for rate in self.rates()]
        return self.rates()


class LinearLR(LRScheduler):
    """The initial rate times a factor that goes in a straight line over `total_iters` epochs.

    Parameters
    ----------
    optimizer : Optimizer
    start_factor, end_factor : float from 0 (excluded) to 1, and from 0 to 1
    total_iters : int
    last_epoch : int
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
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self.rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self.rates()
        slope = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * slope
        return [rate * (1.0 + slope / before) for rate in self.rates()]


# ------------------------------------------------------------------------------ along a cosine
class CosineAnnealingLR(LRScheduler):
    """Half a cosine wave from the initial rate to `eta_min` in `T_max` epochs, and back in as many.

    Notes
    -----
    Each rate follows from the one before, except at the end of a wave.
    Source: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts",
    equation 5, without the restarts.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        epoch, period, low = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial or epoch == 0:
            return self.rates()
        if (epoch - 1 - period) % (2 * period) == 0:
            return [
                rate + (base - low) * (1 - math.cos(math.pi / period)) / 2
                for base, rate in zip(self.base_lrs, self.rates(), strict=True)
            ]
        now, before = (1 + math.cos(math.pi * t / period) for t in (epoch, epoch - 1))
        return [now / before * (rate - low) + low for rate in self.rates()]


# ------------------------------------------------------------------------------ one after another
class SequentialLR(LRScheduler):
    """Several schedulers, one after another; the next one takes over at each milestone.

    Parameters
    ----------
    optimizer : Optimizer, that of all schedulers
    schedulers : list of LRScheduler
    milestones : list of int, one less than schedulers
    last_epoch : int

    Raises
    ------
    ValueError
        If there are not as many milestones, or a scheduler belongs to another optimizer.
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(milestones)} milestones for {len(schedulers)} schedulers; "
                f"expected one less than schedulers"
            )
        if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
            raise ValueError("SequentialLR: a scheduler belongs to another optimizer")
        self.optimizer = optimizer
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        schedulers[0].set_rates(schedulers[0].base_lrs)  # undo what making the schedulers did
        schedulers[0].step(0)
        self._last_lr = schedulers[0].get_last_lr()

    def step(self):
        """Go on by one epoch."""
        self.last_epoch += 1
        k = bisect.bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[k]
        if k > 0 and self._milestones[k - 1] == self.last_epoch:
            scheduler.set_rates(scheduler.base_lrs)  # each begins at the initial rates
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self):
        """Return everything but the optimizer, each scheduler as its own state."""
        kept = {k: v for k, v in vars(self).items() if k not in ("optimizer", "_schedulers")}
        return {**kept, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned."""
        states = state_dict["_schedulers"]
        vars(self).update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, states, strict=True):
            scheduler.load_state_dict(state)


# ------------------------------------------------------------------------------ by what is measured
class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` when a measured value has not become better for `patience` epochs.

    Parameters
    ----------
    optimizer : Optimizer
    mode : "min" or "max", which values are better
    factor : float below 1
    patience : int, epochs without improvement that are let pass
    threshold : float, how much better counts
    threshold_mode : "rel" (a share of the best) or "abs"
    cooldown : int, epochs after a reduction that do not count
    min_lr : float, or one for each group
    eps : float, smaller changes of the rate are not made
    """

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
    ):
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau: factor is {factor}; expected less than 1")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceLROnPlateau: mode {mode!r} and threshold_mode {threshold_mode!r}; expected "
                f"'min' or 'max', and 'rel' or 'abs'"
            )
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        groups = len(optimizer.param_groups)
        self.optimizer = optimizer
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ValueError(
                f"ReduceLROnPlateau: {len(self.min_lrs)} min_lr for {groups} parameter groups"
            )
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.last_epoch = 0
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        self._last_lr = self.rates()

    def step(self, metrics, epoch=None):
        """Go on by one epoch in which `metrics`, a number, was measured."""
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            reduced = [
                max(rate * self.factor, least)
                for rate, least in zip(self.rates(), self.min_lrs, strict=True)
            ]
            pairs = zip(self.rates(), reduced, strict=True)
            self.set_rates([new if old - new > self.eps else old for old, new in pairs])
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self.rates()

    def is_better(self, value):
        """Is a value better than the best one by more than the threshold?"""
        margin = self.threshold if self.mode == "min" else -self.threshold
        is_relative = self.threshold_mode == "rel"
        border = self.best * (1.0 - margin) if is_relative else self.best - margin
        return value < border if self.mode == "min" else value > border

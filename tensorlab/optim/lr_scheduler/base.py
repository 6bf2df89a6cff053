"""LRScheduler: what all schedulers share, so that each of them only has to say its rates."""

import contextlib
import math
import warnings

from ..._tensor import Tensor
from ...errors import what_was_meant
from ..optimizer import Optimizer, copied, number

__all__ = ["LRScheduler", "_LRScheduler"]

DEPRECATED_EPOCH = (
    "scheduler.step(epoch): the epoch parameter is deprecated. Call scheduler.step() once per epoch; to begin "
    "elsewhere, load the scheduler's state_dict"
)


def check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"a scheduler changes the rates of an Optimizer, but got {type(optimizer).__name__}, which is "
            f"not an Optimizer{what_was_meant(optimizer) if isinstance(optimizer, type) else ''}"
        )


CHANGED = "lr", "momentum", "betas"  # the options of a group that a scheduler may change


def values_of(optimizer, option):
    """Return an option of each parameter group, a tensor as a copy: the group's own is filled in place."""
    values = [group[option] for group in optimizer.param_groups]
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def for_each_group(name, value, optimizer):
    """Return a list with one value for each parameter group, from such a list or a single value."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(groups)]
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {groups}."
        )
    return [copied(one) for one in value]


def set_option(group, option, value):
    """Set an option of a group; a tensor stays the same object and is filled."""
    if isinstance(group[option], Tensor):
        group[option].fill_(number(value))
    else:
        group[option] = value


def is_close(one, other):
    return math.isclose(number(one), number(other), rel_tol=1e-5)


def are_close(rates, others):
    """Whether two lists of rates are equal but for rounding; rates may be tensors."""
    return len(rates) == len(others) and all(map(is_close, rates, others))


def resumed(rate, now, before, initial, changed):
    """Return the rate of this epoch for a scheduler that goes on, by what the optimizer has."""
    if is_close(rate, now):
        return rate
    return now if is_close(rate, before) or is_close(rate, initial) else changed


class LRScheduler:
    """Base class of schedulers.

    Parameters
    ----------
    optimizer : Optimizer
    last_epoch : int, the last epoch that is done; -1 to start, else groups must have "initial_lr". Making the scheduler
        takes the step to the next one: what had `scheduler.last_epoch == n` goes on with `last_epoch=n - 1`.

    Raises
    ------
    TypeError
        If it is not an Optimizer.
    KeyError
        If a scheduler goes on and a group has no "initial_lr".

    Notes
    -----
    A subclass defines `get_lr()`, the rates of all groups for `self.last_epoch`; most derive them from the rates
    before, so that schedulers can be chained. `_get_closed_form_lr()`, if there is one, gives the same from
    `base_lrs` and the epoch alone. A rate that is a tensor is filled in place.

    A scheduler that is made to go on sets the rate of its epoch, whether the optimizer has that already (it was loaded
    after `scheduler.step()`), that of the epoch before (it was loaded before) or the initial one. A rate that is none
    of these has been changed by something else, and is changed further.

    Examples
    --------
    >>> import tensorlab
    >>> class Halving(LRScheduler):
    ...     def get_lr(self):
    ...         return [rate * 0.5**self.last_epoch for rate in self.base_lrs]
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _before = None  # what the groups had before the scheduler was made, until a state is loaded
    _is_initial = _get_lr_called_within_step = False

    def _repr_html_(self):
        from tensorlab import _display

        return _display.scheduler(self)

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        self._remember(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: parameter group {i} has no 'initial_lr', which going on "
                    f"from epoch {last_epoch} needs; load the optimizer's state first"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        if not getattr(optimizer, "_is_scheduled", False):
            optimizer._is_scheduled, optimizer._opt_called = True, False
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = (
            True  # for get_lr: no step has been taken, so there is nothing to go on from
        )
        try:
            self.step()
        finally:
            self._is_initial = False

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
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the optimizer never uses the first "
                "rate of the schedule. Call `optimizer.step()` first",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(DEPRECATED_EPOCH, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        with self._within_step():
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            is_closed = epoch is not None and hasattr(self, "_get_closed_form_lr")
            if self._is_initial and self.last_epoch > 0:
                rates = self._resumed_rates()
            else:
                rates = self._get_closed_form_lr() if is_closed else self.get_lr()
        self._set_rates(rates)

    def _resumed_rates(self):
        """Return the rates of a scheduler that is made to go on."""
        changed = self.get_lr()
        if not hasattr(self, "_get_closed_form_lr"):
            return changed
        epoch, rates = self.last_epoch, self._rates()
        now, self.last_epoch = self._get_closed_form_lr(), epoch - 1
        before, self.last_epoch = self._get_closed_form_lr(), epoch
        return [
            resumed(*numbers)
            for numbers in zip(rates, now, before, self.base_lrs, changed, strict=True)
        ]

    def _set_rates(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = self._rates()

    def _rates(self):
        """Return the rates that the groups have now."""
        return values_of(self.optimizer, "lr")

    @contextlib.contextmanager
    def _within_step(self):
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_of_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn(
                "get_lr() computes the rates of a step that is being taken; `get_last_lr()` returns those that the "
                "last step set",
                UserWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------ saving and loading
    def state_dict(self):
        """Return everything but the optimizer."""
        own = "optimizer", "_before"
        return {key: value for key, value in vars(self).items() if key not in own}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned, as a copy.

        The rates are the optimizer's to load, before or after. If it was loaded before the scheduler was made, which
        has changed its rates, they are put back.
        """
        is_new = self._has_just_been_made()
        vars(self).update(copied(state_dict))
        if is_new:
            self._put_back(self._before)
        self._before = None

    def _remember(self, optimizer):
        """Note what the groups have before this scheduler changes it."""
        if self._before is None:
            self._before = [
                {option: copied(group[option]) for option in CHANGED if option in group}
                for group in optimizer.param_groups
            ]

    def _has_just_been_made(self):
        """Whether nothing has changed the rates since this scheduler was made."""
        return (
            self._before is not None
            and self._step_count <= 1
            and are_close(self._rates(), self._last_lr)
        )

    def _put_back(self, before):
        """Give the groups what they had, if that belongs to the state that was loaded."""
        if not are_close([options.get("lr") for options in before], self._last_lr):
            return
        for group, options in zip(self.optimizer.param_groups, before, strict=True):
            for option, value in options.items():
                set_option(group, option, value)


class _LRScheduler(LRScheduler):
    """The name of before, which older programs inherit."""

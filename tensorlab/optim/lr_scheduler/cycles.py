"""Rates that rise and fall, and momentum against them: cyclic, and in one cycle."""

import math
import types
from functools import partial

from ..optimizer import copied
from .base import LRScheduler, check_optimizer, for_each_group, set_option

__all__ = ["CyclicLR", "OneCycleLR"]


class _WithMomentum(LRScheduler):
    """What both share: momentum, or Adam's first beta, that goes the other way."""

    def _use_momentum(self, base_momentum, max_momentum, last_epoch):
        """Note the bounds in the groups; return lists of them."""
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                f"{type(self).__name__}: the optimizer has neither momentum nor betas to cycle; "
                "give cycle_momentum=False"
            )
        self.use_beta1 = "betas" in defaults
        low = for_each_group("base_momentum", base_momentum, self.optimizer)
        high = for_each_group("max_momentum", max_momentum, self.optimizer)
        if last_epoch == -1:
            for group, least, most in zip(self.optimizer.param_groups, low, high, strict=True):
                self._set_momentum(group, most)
                group["max_momentum"], group["base_momentum"] = most, least
        return low, high

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """The rate goes up from `base_lr` to `max_lr` in a line, and down again, and so on; step it after each batch.

    Parameters
    ----------
    optimizer : Optimizer
    base_lr, max_lr : float, or one for each group
    step_size_up, step_size_down : int, batches of the way up and of the way down (as many
        unless given)
    mode : "triangular", "triangular2" (the height is halved in each cycle) or "exp_range"
        (times gamma**batch)
    gamma : float
    scale_fn : function that gives the height instead of `mode`
    scale_mode : "cycle" or "iterations", what `scale_fn` is called with
    cycle_momentum : bool, whether momentum goes down while the rate goes up
    base_momentum, max_momentum : float, or one for each group
    last_epoch : int

    Raises
    ------
    ValueError
        If the mode is not known, or the optimizer has no momentum to cycle.

    Notes
    -----
    Source: Smith 2017, "Cyclical Learning Rates for Training Neural Networks".

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2, cycle_momentum=False)
    >>> for epoch in range(6):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.1 0.3 0.5 0.3 0.1 0.3
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self._remember(optimizer)
        self.optimizer = optimizer
        base_lrs = for_each_group("base_lr", base_lr, optimizer)
        self.max_lrs = for_each_group("max_lr", max_lr, optimizer)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"CyclicLR: mode is {mode!r}, which is invalid, and scale_fn is None; expected 'triangular', "
                "'triangular2' or 'exp_range'"
            )
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            bounds = self._use_momentum(base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = bounds
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", rate)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self):
        if self._scale_fn_custom is None:
            self._scale_fn_ref = {
                "triangular": same_height,
                "triangular2": half_the_height,
                "exp_range": partial(decaying_height, self.gamma),
            }[self.mode]
            self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x):
        """Return the height of a cycle, or after a number of batches, relative to the first."""
        return (self._scale_fn_custom or self._scale_fn_ref)(x)

    def get_lr(self):
        self._warn_outside_of_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        is_up = x <= self.step_ratio
        share = x / self.step_ratio if is_up else (x - 1) / (self.step_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, bounds, strict=True):
                self._set_momentum(group, high - (high - low) * share * height)
        return [
            low + (high - low) * share * height
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self):
        """Return everything but the optimizer; of a `scale_fn` that is an object its attributes."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state.pop("_scale_fn_custom")
        is_object = custom is not None and not isinstance(custom, types.FunctionType)
        return {**state, "_scale_fn_custom": vars(custom).copy() if is_object else None}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned; a `scale_fn` stays, and gets its attributes."""
        rest = {key: state_dict[key] for key in state_dict if key != "_scale_fn_custom"}
        super().load_state_dict(rest)
        if state_dict.get("_scale_fn_custom") is not None:
            vars(self._scale_fn_custom).update(copied(state_dict["_scale_fn_custom"]))
        self._init_scale_fn()


def same_height(x):
    return 1.0


def half_the_height(cycle):
    return 2.0 ** (1 - cycle)


def decaying_height(gamma, x):
    return gamma**x


class OneCycleLR(_WithMomentum):
    """The rate rises once to `max_lr` and falls far below where it began; step it after each batch.

    Parameters
    ----------
    optimizer : Optimizer
    max_lr : float, or one for each group
    total_steps : int, or `epochs` and `steps_per_epoch`, both int
    pct_start : float from 0 to 1, the share of the way up
    anneal_strategy : "cos" or "linear"
    cycle_momentum : bool, whether momentum goes down while the rate goes up
    base_momentum, max_momentum : float, or one for each group
    div_factor : float, max_lr over the first rate
    final_div_factor : float, the first rate over the last
    three_phase : bool; down to the first rate in as many steps, and then to the last
    last_epoch : int

    Raises
    ------
    ValueError
        If an argument is out of its range, the number of steps is not given, or more steps are taken.

    Notes
    -----
    Source: Smith and Topin 2019, "Super-Convergence: Very Fast Training of Neural Networks Using Large Learning Rates".

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = OneCycleLR(optimizer, max_lr=1.0, total_steps=5, cycle_momentum=False)
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    0.04 0.95 0.611 0.188 0.0
    """

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self._remember(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            check_positive("total_steps", total_steps)
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            check_positive("epochs", epochs)
            check_positive("steps_per_epoch", steps_per_epoch)
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError(
                "OneCycleLR: needs the number of steps; give total_steps, or epochs and steps_per_epoch"
            )
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(
                f"OneCycleLR: pct_start is {pct_start!r}; expected a float from 0 to 1"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR: anneal_strategy is {anneal_strategy!r}; expected 'cos' or 'linear'"
            )
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = phases(pct_start, self.total_steps, three_phase)
        highest = for_each_group("max_lr", max_lr, optimizer)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._use_momentum(base_momentum, max_momentum, last_epoch)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start, end, share):
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start

    def get_lr(self):
        self._warn_outside_of_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"OneCycleLR: this is step {step} of a schedule of {self.total_steps} steps; give "
                "total_steps as many as the loop takes"
            )
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        share = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._anneal(*ends, share))
        return rates


def check_positive(name, value):
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"OneCycleLR: {name} is {value}; expected a positive int")


def phases(pct_start, total, three_phase):
    """Return for each phase its last step, and which options of a group it goes between."""
    up = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
    down = ("max_lr", "min_lr", "base_momentum", "max_momentum")
    back = ("max_lr", "initial_lr", "base_momentum", "max_momentum")
    last = ("initial_lr", "min_lr", "max_momentum", "max_momentum")
    first = float(pct_start * total) - 1
    if three_phase:
        rows = [(first, up), (float(2 * pct_start * total) - 2, back), (total - 1, last)]
    else:
        rows = [(first, up), (total - 1, down)]
    names = "start_lr", "end_lr", "start_momentum", "end_momentum"
    return [{"end_step": end, **dict(zip(names, options, strict=True))} for end, options in rows]

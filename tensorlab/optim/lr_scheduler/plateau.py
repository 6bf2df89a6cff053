"""A rate that falls when what is measured no longer gets better."""

import math
import warnings

from .base import DEPRECATED_EPOCH, LRScheduler, check_optimizer, set_option

__all__ = ["ReduceLROnPlateau"]


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

    Raises
    ------
    ValueError
        If `factor` is 1 or more, a mode is not known, or there are not as many `min_lr` as groups.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (5.0, 4.0, 4.0, 4.0, 4.0):
    ...     optimizer.step()
    ...     scheduler.step(loss)
    ...     print(optimizer.param_groups[0]["lr"], end=" ")
    1.0 1.0 1.0 0.5 0.5
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
        check_optimizer(optimizer)
        self.factor = factor
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        is_list = isinstance(min_lr, (list, tuple))
        if is_list and len(min_lr) != groups:
            raise ValueError(
                f"ReduceLROnPlateau: expected {groups} min_lrs, got {len(min_lr)}; give one, or one for each group"
            )
        self.default_min_lr = None if is_list else min_lr
        self.min_lrs = list(min_lr) if is_list else [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceLROnPlateau: mode {mode!r} and threshold_mode {threshold_mode!r}; expected "
                f"'min' or 'max', and 'rel' or 'abs'"
            )
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self._reset()

    def _reset(self):
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self):
        """Whether a reduction was so recent that bad epochs do not count."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
        """Go on by one epoch in which `metrics`, a number, was measured."""
        value = float(metrics)
        if epoch is not None:
            warnings.warn(DEPRECATED_EPOCH, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value, self.best):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _reduce(self):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"ReduceLROnPlateau: The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}); change `min_lrs` to match"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            rate = float(group["lr"])
            reduced = max(rate * self.factor, least)
            if rate - reduced > self.eps:
                set_option(group, "lr", reduced)

    def _is_better(self, value, best):
        """Say whether a value is better than the best one by more than the threshold."""
        margin = self.threshold if self.mode == "min" else -self.threshold
        is_relative = self.threshold_mode == "rel"
        border = best * (1.0 - margin) if is_relative else best - margin
        return value < border if self.mode == "min" else value > border

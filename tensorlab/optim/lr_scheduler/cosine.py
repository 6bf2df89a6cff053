"""Rates along a cosine, once or again and again."""

import math

from .base import LRScheduler

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine wave from the initial rate to `eta_min` in `T_max` epochs, and back in as many.

    Notes
    -----
    Each rate follows from the one before, except at the end of a wave.
    Source: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts",
    equation 5, without the restarts.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CosineAnnealingLR(optimizer, T_max=4)
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.854 0.5 0.146 0.0
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_of_step()
        epoch, period, low = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and epoch > 0:
            return [
                low + (base - low) * (1 + math.cos(epoch * math.pi / period)) / 2
                for base in self.base_lrs
            ]
        if (epoch - 1 - period) % (2 * period) == 0:
            return [
                rate + (base - low) * (1 - math.cos(math.pi / period)) / 2
                for base, rate in zip(self.base_lrs, self._rates(), strict=True)
            ]
        now, before = (1 + math.cos(math.pi * t / period) for t in (epoch, epoch - 1))
        return [now / before * (rate - low) + low for rate in self._rates()]

    def _get_closed_form_lr(self):
        wave = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * wave / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine wave from the initial rate to `eta_min`, and from the start again, each time longer.

    Parameters
    ----------
    optimizer : Optimizer
    T_0 : int, epochs of the first wave
    T_mult : int, how much longer each wave is than the one before
    eta_min : float
    last_epoch : int

    Raises
    ------
    ValueError
        If `T_0` or `T_mult` is not a positive int, or `eta_min` not a number.

    Notes
    -----
    Source: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts", section 3.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
    >>> for epoch in range(7):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 1.0 0.854 0.5 0.146 1.0
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(
                f"CosineAnnealingWarmRestarts: T_0 is {T_0}; expected a positive int, the epochs of the first wave"
            )
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(
                f"CosineAnnealingWarmRestarts: T_mult is {T_mult}; expected an int from 1 up"
            )
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"CosineAnnealingWarmRestarts: eta_min is {eta_min!r}; expected a number"
            )
        self.T_0 = self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        if last_epoch >= 0:
            self._jump(last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_of_step()
        wave = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * wave / 2 for base in self.base_lrs]

    def step(self, epoch=None):
        """Go on by one epoch, or to an epoch, which may be a fraction: epoch + batch / batches.

        Raises ValueError for a negative epoch.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: epoch is {epoch}; expected 0 or more")
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        with self._within_step():
            self._set_rates(self.get_lr())

    def _jump(self, epoch):
        """Find the wave that an epoch is in, and the place in it."""
        self.T_i = self.T_0
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
            return
        self.T_cur = epoch
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult

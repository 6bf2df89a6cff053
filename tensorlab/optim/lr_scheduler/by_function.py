"""Rates that a function of the program gives."""

import math
import types

from ..optimizer import copied
from .base import LRScheduler, check_optimizer, resumed

__all__ = ["LambdaLR", "MultiplicativeLR"]


class _ByFunction(LRScheduler):
    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        check_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            lr_lambda = [lr_lambda] * groups
        elif len(lr_lambda) != groups:
            raise ValueError(
                f"{type(self).__name__}: Expected {groups} lr_lambdas, but got {len(lr_lambda)}; give one function, "
                "or one for each parameter group"
            )
        self.lr_lambdas = list(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """Return everything but the optimizer; of a callable object its attributes, of a function None."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(one, types.FunctionType) else vars(one).copy()
            for one in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned; functions stay, callable objects get their attributes."""
        super().load_state_dict({key: state_dict[key] for key in state_dict if key != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                vars(function).update(copied(attributes))


class LambdaLR(_ByFunction):
    """The initial rate times a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
    lr_lambda : function from epoch to factor, or a list of them, one for each group
    last_epoch : int

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 0.333 0.25 0.2
    """

    def get_lr(self):
        self._warn_outside_of_step()
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self.last_epoch) for function, base in pairs]


class MultiplicativeLR(_ByFunction):
    """The rate of the epoch before times a function of the epoch; parameters as for LambdaLR.

    Raises TypeError if `lr_lambda` is not callable.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> for epoch in range(5):
    ...     print(round(scheduler.get_last_lr()[0], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.5 0.25 0.125 0.062
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        for one in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(one):
                raise TypeError(
                    f"MultiplicativeLR: lr_lambda should be a function, but got {type(one).__name__}"
                )
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self):
        self._warn_outside_of_step()
        if self._is_initial:
            return self._rates()
        pairs = zip(self.lr_lambdas, self._rates(), strict=True)
        return [rate * function(self.last_epoch) for function, rate in pairs]

    def _resumed_rates(self):
        """Return the rates of a scheduler that is made to go on; they need all factors up to here."""
        rates = []
        for function, rate, base in zip(self.lr_lambdas, self._rates(), self.base_lrs, strict=True):
            before = base * math.prod(function(epoch) for epoch in range(1, self.last_epoch))
            now = before * function(self.last_epoch)
            rates.append(resumed(rate, now, before, base, changed=rate))
        return rates

"""Averages of a model's weights over training: the plain mean of some, or one in which old weights fade."""

import copy
import math
from itertools import chain

from .. import _missing
from ..autograd import no_grad
from ..nn.batch_norm import _BatchNorm
from ..nn.module import Module
from ..ops.creation import zeros
from .lr_scheduler.base import LRScheduler, check_optimizer, for_each_group, values_of

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


# ------------------------------------------------------------ ways to average
def check_decay(decay):
    if not 0 <= decay <= 1:
        raise ValueError(f"decay is {decay}; expected a number from 0 to 1")


def get_ema_avg_fn(decay=0.999):
    """Return a function of (average, current, count): decay * average + (1 - decay) * current.

    Raises ValueError if `decay` is not from 0 to 1.

    Examples
    --------
    >>> import tensorlab
    >>> average = get_ema_avg_fn(0.9)
    >>> average(tensorlab.tensor(1.0), tensorlab.tensor(2.0), 5)
    tensor(1.1000)
    """
    check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay=0.999):
    """Return the same for lists of tensors, in place; raises as `get_ema_avg_fn` does.

    Examples
    --------
    >>> import tensorlab
    >>> averages = [tensorlab.tensor(1.0)]
    >>> get_ema_multi_avg_fn(0.9)(averages, [tensorlab.tensor(2.0)], 5)
    >>> averages
    [tensor(1.1000)]
    """
    check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_avg_fn():
    """Return a function of (average, current, count): the mean of `count + 1` values.

    Examples
    --------
    >>> import tensorlab
    >>> average = get_swa_avg_fn()  # of two values, when there was one
    >>> average(tensorlab.tensor(1.0), tensorlab.tensor(2.0), 1)
    tensor(1.5000)
    """

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn():
    """Return the same for lists of tensors, in place.

    Examples
    --------
    >>> import tensorlab
    >>> averages = [tensorlab.tensor(1.0)]
    >>> get_swa_multi_avg_fn()(averages, [tensorlab.tensor(2.0)], 1)
    >>> averages
    [tensor(1.5000)]
    """

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        share = 1 / (int(num_averaged) + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point():
                average.lerp_(current, share)
            else:
                average.copy_(average + (current - average) * share)

    return swa_update


# ------------------------------------------------------------ the averaged model
class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's.

    Parameters
    ----------
    model : Module, which is copied
    device : where the copy is put; the model's unless given
    avg_fn : function of (average, current, count) that returns the new average; the plain mean
        unless given
    multi_avg_fn : function of two lists of tensors and the count that writes into the first
    use_buffers : bool, whether buffers are averaged too; else they are copied

    Raises
    ------
    AssertionError
        If both functions are given.

    Notes
    -----
    Source: Izmailov et al. 2018, "Averaging Weights Leads to Wider Optima and Better Generalization"; with
    `multi_avg_fn=get_ema_multi_avg_fn()`, the exponential average of Polyak 1992.

    Examples
    --------
    >>> import tensorlab
    >>> model = tensorlab.nn.Linear(1, 1, bias=False)
    >>> average = AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     with tensorlab.no_grad():
    ...         model.weight.fill_(value)
    ...     average.update_parameters(model)
    Parameter containing:
    tensor([[1.]], requires_grad=True)
    Parameter containing:
    tensor([[2.]], requires_grad=True)
    Parameter containing:
    tensor([[6.]], requires_grad=True)
    >>> average.module.weight
    Parameter containing:
    tensor([[3.]], requires_grad=True)
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError(
                "AveragedModel: got both avg_fn and multi_avg_fn; give one of them"
            )
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", zeros((), dtype=int, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, model):
        return (
            chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()
        )

    @no_grad()
    def update_parameters(self, model):
        """Take the parameters of a model into the averages."""
        averages = [x.detach() for x in self._averaged(self.module)]
        current = [x.detach() for x in self._averaged(model)]
        if self.n_averaged == 0:
            for average, x in zip(averages, current, strict=True):
                average.copy_(x)
        elif self.avg_fn is not None:
            for average, x in zip(averages, current, strict=True):
                average.copy_(self.avg_fn(average, x, self.n_averaged))
        else:
            average_all = self.multi_avg_fn or get_swa_multi_avg_fn()
            for dtype in dict.fromkeys(x.dtype for x in averages):
                pairs = [(a, x) for a, x in zip(averages, current, strict=True) if a.dtype == dtype]
                average_all(*map(list, zip(*pairs, strict=True)), self.n_averaged)
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.copy_(theirs)
        self.n_averaged += 1


@no_grad()
def update_bn(loader, model, device=None):
    """Compute the running statistics of a model's batch normalizations anew, as the plain mean over a loader.

    Parameters
    ----------
    loader : iterable of batches; of a list or tuple the first element is the input
    model : Module
    device : where batches are moved, if given

    Examples
    --------
    >>> import tensorlab
    >>> net = tensorlab.nn.BatchNorm1d(1)
    >>> update_bn([tensorlab.tensor([[1.0], [3.0]]), tensorlab.tensor([[5.0], [7.0]])], net)
    >>> net.running_mean
    tensor([4.])
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta, was_training = [norm.momentum for norm in norms], model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    for batch in loader:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(x if device is None else x.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


# ------------------------------------------------------------ the rate while averaging
class SWALR(LRScheduler):
    """From the rate that there is to `swa_lr` in `anneal_epochs` epochs, and then constant.

    Parameters
    ----------
    optimizer : Optimizer
    swa_lr : float, or one for each group
    anneal_epochs : int from 0 up
    anneal_strategy : "cos" or "linear"
    last_epoch : int

    Raises
    ------
    ValueError
        If the strategy is not known, or `anneal_epochs` is negative or not an int.

    Examples
    --------
    >>> import tensorlab
    >>> optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = SWALR(optimizer, swa_lr=0.2, anneal_epochs=2, anneal_strategy="linear")
    >>> for epoch in range(4):
    ...     print(round(optimizer.param_groups[0]["lr"], 3), end=" ")
    ...     optimizer.step()
    ...     scheduler.step()
    1.0 0.6 0.2 0.2
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        check_optimizer(optimizer)
        rates = for_each_group("swa_lr", swa_lr, optimizer)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"SWALR: anneal_strategy is {anneal_strategy!r}; expected 'cos' or 'linear'"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                f"SWALR: anneal_epochs is {anneal_epochs!r}; expected an int from 0 up"
            )
        self.anneal_epochs = anneal_epochs
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def _share(self, step):
        """How much of the way to `swa_lr` is gone after some steps."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self):
        self._warn_outside_of_step()
        step = self.last_epoch
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            target, rate = group["swa_lr"], group["lr"]
            start = target if before == 1 else (rate - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates

    def _resumed_rates(self):
        """Return the rates that the optimizer has: from what rate they came is not known any more."""
        is_there = self._share(self.last_epoch) == 1 or self.anneal_epochs == 0
        return values_of(self.optimizer, "swa_lr" if is_there else "lr")

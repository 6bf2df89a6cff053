"""Losses: modules that compare a prediction with a target and give one number to minimise.

`reduction` says what is made of the losses of all elements: "mean", "sum", or "none" for all.
PyTorch's older arguments for the same, `size_average` and `reduce`, are left out.
"""

from . import functional as F
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
]


class _Loss(Module):
    """What all losses share."""

    def __init__(self, *, reduction="mean"):
        super().__init__()
        self.reduction = reduction


class MSELoss(_Loss):
    """Squared difference of `input` and `target`, tensors of one shape."""

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Absolute difference of `input` and `target`, tensors of one shape."""

    def forward(self, input, target):
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_Loss):
    """Minus the log probability of the right class.

    Parameters
    ----------
    weight : Tensor, shape (classes,), or None, how much each class counts
    ignore_index : int, a target that counts for nothing
    reduction : "mean", "sum" or "none"

    Notes
    -----
    Called with `input`, log probabilities of shape (batch, classes), and `target`, int64 of shape
    (batch,).
    """

    def __init__(self, weight=None, *, ignore_index=-100, reduction="mean"):
        super().__init__(reduction=reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index

    def forward(self, input, target):
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_Loss):
    """Minus the log of the softmax's probability of the right class.

    Parameters
    ----------
    weight : Tensor, shape (classes,), or None, how much each class counts
    ignore_index : int, a target that counts for nothing
    reduction : "mean", "sum" or "none"
    label_smoothing : float from 0 to 1, the share of the target spread evenly over all classes

    Notes
    -----
    Called with `input`, logits of shape (batch, classes), and `target`, int64 of shape (batch,).
    """

    def __init__(self, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        super().__init__(reduction=reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input, target):
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCEWithLogitsLoss(_Loss):
    """Cross-entropy of yes-or-no targets, from logits.

    Parameters
    ----------
    weight : Tensor or None, how much each element counts; broadcasts
    reduction : "mean", "sum" or "none"
    pos_weight : Tensor or None, how much more a yes counts; broadcasts
    """

    def __init__(self, weight=None, *, reduction="mean", pos_weight=None):
        super().__init__(reduction=reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(
            input,
            target,
            weight=self.weight,
            pos_weight=self.pos_weight,
            reduction=self.reduction,
        )


class BCELoss(_Loss):
    """Cross-entropy of yes-or-no targets, from probabilities; BCEWithLogitsLoss is more exact.

    Parameters
    ----------
    weight : Tensor or None, how much each element counts; broadcasts
    reduction : "mean", "sum" or "none"
    """

    def __init__(self, weight=None, *, reduction="mean"):
        super().__init__(reduction=reduction)
        self.register_buffer("weight", weight)

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Half the squared difference over beta where it is below beta, else the absolute one less beta / 2."""

    def __init__(self, *, reduction="mean", beta=1.0):
        super().__init__(reduction=reduction)
        self.beta = beta

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """SmoothL1Loss times delta: half the squared difference below delta, a straight line above.

    Source: Huber 1964, "Robust Estimation of a Location Parameter".
    """

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input, target):
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """How much the distribution `target` says that `input`, log probabilities, did not expect.

    Parameters
    ----------
    reduction : "mean", "sum", "none" or, as the definition has it, "batchmean"
    log_target : bool, whether the target is log probabilities too
    """

    def __init__(self, *, reduction="mean", log_target=False):
        super().__init__(reduction=reduction)
        self.log_target = log_target

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """Minus the log probability of counts, of which the mean is predicted.

    Parameters
    ----------
    log_input : bool, whether the mean's logarithm is given, not the mean
    full : bool, whether to add log(target!), which does not depend on the input, by Stirling's formula
    eps : float, added to the mean before its logarithm is taken, if `log_input` is False
    reduction : "mean", "sum" or "none"
    """

    def __init__(self, log_input=True, full=False, *, eps=1e-8, reduction="mean"):
        super().__init__(reduction=reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input, target):
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )

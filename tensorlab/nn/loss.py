"""Losses: modules that compare a prediction with a target and give one number to minimise.

`reduction` says what is made of the losses of all elements: "mean", "sum", or "none" for all.
PyTorch's older arguments for the same, `size_average` and `reduce`, are taken with a warning.
Losses that ask for a margin are in `margin_loss.py`.
"""

import math
import warnings

from ..errors import ShapeError
from ..ops.reductions_of_losses import named_reduction
from . import functional as F
from .linear import Linear
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
]


class _Loss(Module):
    """What all losses share."""

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self.reduction = named_reduction(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with a factor for each class or element, which is a buffer."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(_Loss):
    """Squared difference of `input` and `target`, tensors of one shape.

    Parameters
    ----------
    reduction : "mean", "sum" or "none"

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Examples
    --------
    >>> import tensorlab
    >>> loss = MSELoss()
    >>> loss(tensorlab.tensor([1.0, 4.0]), tensorlab.tensor([1.0, 1.0]))
    tensor(4.5000)
    """

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Absolute difference of `input` and `target`, tensors of one shape.

    Parameters
    ----------
    reduction : "mean", "sum" or "none"

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Examples
    --------
    >>> import tensorlab
    >>> loss = L1Loss()
    >>> loss(tensorlab.tensor([1.0, 4.0]), tensorlab.tensor([1.0, 1.0]))
    tensor(1.5000)
    """

    def forward(self, input, target):
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Minus the log probability of the right class.

    Parameters
    ----------
    weight : Tensor, shape (classes,), or None, how much each class counts
    ignore_index : int, a target that counts for nothing
    reduction : "mean", "sum" or "none"

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Notes
    -----
    Called with `input`, log probabilities of shape (batch, classes), and `target`, int64 of shape
    (batch,).

    Examples
    --------
    >>> import tensorlab
    >>> loss = NLLLoss()
    >>> loss(tensorlab.tensor([[0.5, 0.25, 0.25]]).log(), tensorlab.tensor([1]))
    tensor(1.3863)
    """

    def __init__(
        self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
    ):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input, target):
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """The older name of `NLLLoss` for images; deprecated, with a FutureWarning."""

    def __init__(
        self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
    ):
        warnings.warn(
            "NLLLoss2d has been deprecated; NLLLoss takes images, too", FutureWarning, stacklevel=2
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Minus the log of the softmax's probability of the right class.

    Parameters
    ----------
    weight : Tensor, shape (classes,), or None, how much each class counts
    ignore_index : int, a target that counts for nothing
    reduction : "mean", "sum" or "none"
    label_smoothing : float from 0 to 1, the share of the target spread evenly over all classes

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Notes
    -----
    Called with `input`, logits of shape (batch, classes), and `target`, int64 of shape (batch,).

    Examples
    --------
    >>> import tensorlab
    >>> loss = CrossEntropyLoss()
    >>> loss(tensorlab.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), tensorlab.tensor([0, 1]))
    tensor(0.3955)
    """

    def __init__(
        self,
        weight=None,
        size_average=None,
        ignore_index=-100,
        reduce=None,
        reduction="mean",
        label_smoothing=0.0,
    ):
        super().__init__(weight, size_average, reduce, reduction)
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


class BCEWithLogitsLoss(_WeightedLoss):
    """Cross-entropy of yes-or-no targets, from logits.

    Parameters
    ----------
    weight : Tensor or None, how much each element counts; broadcasts
    reduction : "mean", "sum" or "none"
    pos_weight : Tensor or None, how much more a yes counts; broadcasts

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Examples
    --------
    >>> import tensorlab
    >>> loss = BCEWithLogitsLoss()
    >>> loss(tensorlab.tensor([2.0, -1.0]), tensorlab.tensor([1.0, 0.0]))
    tensor(0.2201)
    """

    def __init__(
        self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
    ):
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(
            input,
            target,
            weight=self.weight,
            pos_weight=self.pos_weight,
            reduction=self.reduction,
        )


class BCELoss(_WeightedLoss):
    """Cross-entropy of yes-or-no targets, from probabilities; BCEWithLogitsLoss is more exact.

    Parameters
    ----------
    weight : Tensor or None, how much each element counts; broadcasts
    reduction : "mean", "sum" or "none"

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Examples
    --------
    >>> import tensorlab
    >>> loss = BCELoss()
    >>> loss(tensorlab.tensor([0.9, 0.2]), tensorlab.tensor([1.0, 0.0]))
    tensor(0.1643)
    """

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Half the squared difference over beta where it is below beta, else the absolute one less beta / 2.

    Parameters
    ----------
    reduction : "mean", "sum" or "none"
    beta : float, where the square ends and the line begins

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Examples
    --------
    >>> import tensorlab
    >>> loss = SmoothL1Loss(beta=1.0)
    >>> loss(tensorlab.tensor([0.5, 3.0]), tensorlab.zeros(2))
    tensor(1.3125)
    """

    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """SmoothL1Loss times delta: half the squared difference below delta, a straight line above.

    Source: Huber 1964, "Robust Estimation of a Location Parameter".

    Parameters
    ----------
    reduction : "mean", "sum" or "none"
    delta : float above 0, where the square ends and the line begins

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Examples
    --------
    >>> import tensorlab
    >>> loss = HuberLoss(delta=1.0)
    >>> loss(tensorlab.tensor([0.5, 3.0]), tensorlab.zeros(2))
    tensor(1.3125)
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

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Examples
    --------
    >>> import tensorlab
    >>> loss = KLDivLoss(reduction="batchmean")
    >>> loss(tensorlab.tensor([[0.5, 0.5]]).log(), tensorlab.tensor([[0.75, 0.25]]))
    tensor(0.1308)
    """

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(size_average, reduce, reduction)
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

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Examples
    --------
    >>> import tensorlab
    >>> loss = PoissonNLLLoss()
    >>> loss(tensorlab.tensor([0.0, 1.0]), tensorlab.tensor([1.0, 3.0]))
    tensor(0.3591)
    """

    def __init__(
        self,
        log_input=True,
        full=False,
        size_average=None,
        eps=1e-8,
        reduce=None,
        reduction="mean",
    ):
        super().__init__(size_average, reduce, reduction)
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


class GaussianNLLLoss(_Loss):
    """Minus the log density of the target under a normal distribution of which mean and variance are predicted.

    Parameters
    ----------
    full : bool, whether to add log(2 pi) / 2, which does not depend on the input
    eps : float, the least variance
    reduction : "mean", "sum" or "none"

    Raises
    ------
    ValueError
        When it is called, if `reduction` is none of the three.

    Notes
    -----
    Called with `input`, `target` and `var`: see `functional.gaussian_nll_loss`.

    Examples
    --------
    >>> import tensorlab
    >>> loss = GaussianNLLLoss()
    >>> loss(tensorlab.tensor([1.0, 2.0]), tensorlab.tensor([1.0, 4.0]), tensorlab.tensor([1.0, 4.0]))
    tensor(0.5966)
    """

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class CTCLoss(_Loss):
    """Minus the log probability of all alignments that spell a sequence of labels.

    Parameters
    ----------
    blank : int, the class that stands for nothing
    reduction : "mean", "sum" or "none"
    zero_infinity : bool, whether losses of targets that are too long for their input are 0, not infinite

    Notes
    -----
    Called with `log_probs`, `targets`, `input_lengths` and `target_lengths`: see `functional.ctc_loss`.

    Examples
    --------
    >>> import tensorlab
    >>> log_probs = tensorlab.log_softmax(tensorlab.zeros(4, 1, 3), dim=2)  # 4 steps, 1 sample, 3 symbols
    >>> loss = CTCLoss(blank=0)
    >>> loss(log_probs, tensorlab.tensor([[1, 2]]), [4], [2])
    tensor(0.8432)
    """

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """A Linear without bias, and the cross-entropy of its scores.

    Parameters
    ----------
    in_features, num_classes : int
    out_features : tuple of int, for several scores of each class
    bias : bool
    reduction, weight, label_smoothing : as for CrossEntropyLoss
    ignore_index : int, a target that counts for nothing; -100 unless given
    options : accepted for PyTorch's sake; here it changes nothing

    Raises
    ------
    ShapeError
        If there is not a weight for each class, or `label_smoothing` is not from 0 to 1.

    Examples
    --------
    >>> import tensorlab
    >>> loss = LinearCrossEntropyLoss(8, 5)
    >>> loss(tensorlab.zeros(4, 8), tensorlab.tensor([0, 1, 2, 3])).shape
    tensorlab.Size([])
    """

    def __init__(
        self,
        in_features,
        num_classes,
        *,
        out_features=(),
        bias=False,
        device=None,
        dtype=None,
        reduction="mean",
        weight=None,
        ignore_index=None,
        label_smoothing=0.0,
        options=None,
    ):
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(
                f"LinearCrossEntropyLoss: weight has shape {tuple(weight.shape)}; expected ({num_classes},)"
            )
        if not 0 <= label_smoothing <= 1:
            raise ShapeError(
                f"LinearCrossEntropyLoss: label_smoothing is {label_smoothing}; expected a number from 0 to 1"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input, target):
        sizes, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*sizes, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self):
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )

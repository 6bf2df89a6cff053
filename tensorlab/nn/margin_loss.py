"""Losses that ask for a margin, as modules; what they compute is in `ops/margin_losses.py`."""

from . import functional as F
from .distance import PairwiseDistance
from .loss import _Loss, _WeightedLoss

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _MarginLoss(_Loss):
    """What those with a margin alone share."""

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_MarginLoss):
    """max(0, margin - target * (input1 - input2)) for targets 1 and -1.

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
    >>> loss = MarginRankingLoss(margin=0.5)
    >>> loss(tensorlab.tensor([2.0]), tensorlab.tensor([1.8]), tensorlab.tensor([1]))
    tensor(0.3000)
    """

    def forward(self, input1, input2, target):
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cos of two vectors that should be alike (target 1), max(0, cos - margin) of others (-1).

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
    >>> loss = CosineEmbeddingLoss()
    >>> loss(tensorlab.tensor([[1.0, 0.0]]), tensorlab.tensor([[0.0, 1.0]]), tensorlab.tensor([1]))
    tensor(1.)
    """

    def forward(self, input1, input2, target):
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class HingeEmbeddingLoss(_MarginLoss):
    """A distance where target is 1, and max(0, margin - distance) where it is -1.

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
    >>> loss = HingeEmbeddingLoss()
    >>> loss(tensorlab.tensor([0.5, 0.3]), tensorlab.tensor([1, -1]))
    tensor(0.6000)
    """

    def __init__(self, margin=1.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input, target):
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)) for targets 1 and -1.

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
    >>> loss = SoftMarginLoss()
    >>> loss(tensorlab.tensor([2.0, -1.0]), tensorlab.tensor([1.0, 1.0]))
    tensor(0.7201)
    """

    def forward(self, input, target):
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """How far the scores of wrong classes come within `margin` of the right one's, as a mean over the classes.

    Parameters
    ----------
    p : 1 or 2, the power of each distance
    margin : float
    weight : Tensor, shape (classes,), or None, a factor for each right class
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean", "sum" or "none"

    Raises
    ------
    ValueError
        If `p` is not 1 or 2, or `weight` does not have one dimension.

    Examples
    --------
    >>> import tensorlab
    >>> loss = MultiMarginLoss()
    >>> loss(tensorlab.tensor([[0.1, 0.2, 0.4, 0.8]]), tensorlab.tensor([3]))
    tensor(0.3250)
    """

    def __init__(
        self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
    ):
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: p is {p}; expected 1 or 2")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: weight has shape {tuple(weight.shape)}; expected (classes,)"
            )
        self.p = p
        self.margin = margin

    def forward(self, input, target):
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class MultiLabelMarginLoss(_Loss):
    """How far wrong classes come within 1 of right ones, of which there may be several.

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
    >>> loss = MultiLabelMarginLoss()
    >>> loss(tensorlab.tensor([[0.1, 0.2, 0.4, 0.8]]), tensorlab.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """

    def forward(self, input, target):
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The cross-entropy of a yes or no for each class, from scores, as a mean over the classes.

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
    >>> loss = MultiLabelSoftMarginLoss()
    >>> loss(tensorlab.tensor([[2.0, -1.0]]), tensorlab.tensor([[1.0, 0.0]]))
    tensor(0.2201)
    """

    def forward(self, input, target):
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with the p-norm as distance.

    Parameters
    ----------
    margin : float above 0
    p, eps : see `functional.pairwise_distance`
    swap : bool, whether d(positive, negative) counts if it is smaller
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean", "sum" or "none"

    Raises
    ------
    ValueError
        If `margin` is not above 0.

    Examples
    --------
    >>> import tensorlab
    >>> loss = TripletMarginLoss()
    >>> loss(tensorlab.tensor([[0.0, 0.0]]), tensorlab.tensor([[1.0, 0.0]]), tensorlab.tensor([[0.0, 1.5]]))
    tensor(0.5000)
    """

    def __init__(
        self,
        margin=1.0,
        p=2.0,
        eps=1e-6,
        swap=False,
        size_average=None,
        reduce=None,
        reduction="mean",
    ):
        super().__init__(size_average, reduce, reduction)
        check_margin(type(self).__name__, margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with a distance of your own.

    Parameters
    ----------
    distance_function : function of two tensors; `functional.pairwise_distance` unless given
    margin, swap, reduction : as for TripletMarginLoss

    Raises
    ------
    ValueError
        If `margin` is not above 0.

    Examples
    --------
    >>> import tensorlab
    >>> loss = TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1))
    >>> loss(tensorlab.tensor([[0.0, 0.0]]), tensorlab.tensor([[1.0, 0.0]]), tensorlab.tensor([[0.0, 1.5]]))
    tensor(0.5000)
    """

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(reduction=reduction)
        check_margin(type(self).__name__, margin)
        self.distance_function = distance_function or PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


def check_margin(name, margin):
    if margin <= 0:
        raise ValueError(f"{name}: margin is {margin}; expected a number above 0")

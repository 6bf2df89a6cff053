"""Losses that ask for a margin: between two scores, between the right class and others, between distances.

All are made of other operations, so they need no derivatives of their own. Each takes `reduction`, "mean", "sum" or
"none", and PyTorch's older names for it, `size_average` and `reduce`.
"""

from tensorlab._core.dispatch.autocast import in_float32
from tensorlab._core.dispatch.levels import without_boxes
from tensorlab.errors import DTypeError, PositionOutOfRange, ShapeError
from tensorlab.ops.composite import pairwise_distance
from tensorlab.ops.creation import zeros
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.pointwise.smooth import logsigmoid
from tensorlab.ops.ranges import arange
from tensorlab.ops.reductions_of_losses import (
    check_floating,
    check_reduction,
    named_reduction,
    reduced,
)


def shape_of(x):
    return tuple(x.shape)


# ------------------------------------------------------------------------------ two scores, or one
def margin_ranking_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """max(0, margin - target * (input1 - input2)): the first score should be above the second, where target is 1.

    Parameters
    ----------
    input1, input2, target : Tensor of one number of dimensions; they broadcast. `target` holds
        1 and -1
    margin : float, by how much it should be above

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ.

    >>> import tensorlab
    >>> high, low = tensorlab.tensor([3., 1.]), tensorlab.tensor([1., 1.5])
    >>> tensorlab.nn.functional.margin_ranking_loss(high, low, tensorlab.ones(2), reduction="none")
    tensor([0.0000, 0.5000])
    """
    input1, input2, target = in_float32((input1, input2, target))
    reduction = named_reduction(size_average, reduce, reduction, level=3)
    if not input1.dim() == input2.dim() == target.dim():
        raise ShapeError(
            f"margin_ranking_loss: the inputs have shapes {shape_of(input1)} and {shape_of(input2)}, and the target "
            f"{shape_of(target)}; expected as many dimensions in all three"
        )
    losses = (margin - target * (input1 - input2)).clamp_min(0)
    return reduced("margin_ranking_loss", losses, reduction)


def hinge_embedding_loss(
    input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"
):
    """A distance itself where target is 1, and max(0, margin - distance) where it is -1.

    Parameters
    ----------
    input : Tensor of distances
    target : Tensor of 1 (should be near) and -1 (should be far); they broadcast
    margin : float, how far is far enough

    >>> import tensorlab
    >>> distances, target = tensorlab.tensor([0.5, 0.25]), tensorlab.tensor([1, -1])
    >>> tensorlab.nn.functional.hinge_embedding_loss(distances, target, reduction="none")
    tensor([0.5000, 0.7500])
    """
    input, target = in_float32((input, target))
    reduction = named_reduction(size_average, reduce, reduction, level=3)
    zero = zeros((), dtype=input.dtype, device=input.device)
    far = where(target != 1, (margin - input).clamp_min(0), zero)
    near = where(target != -1, input, zero)
    if reduction == "mean":
        check_floating("hinge_embedding_loss", input=input)
    return reduced("hinge_embedding_loss", far + near, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)): a smooth margin for targets 1 and -1.

    Parameters
    ----------
    input : Tensor of scores
    target : Tensor of 1 and -1; they broadcast

    >>> import tensorlab
    >>> tensorlab.nn.functional.soft_margin_loss(tensorlab.tensor([0., 200.]), tensorlab.tensor([1., -1.]))
    tensor(100.3466)
    """
    input, target = in_float32((input, target))
    reduction = named_reduction(size_average, reduce, reduction, level=3)
    check_floating("soft_margin_loss", input=input)
    return reduced("soft_margin_loss", -logsigmoid(input * target), reduction)


def cosine_embedding_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """1 - cos of the angle between two vectors where target is 1, and max(0, cos - margin) where it is -1.

    Parameters
    ----------
    input1, input2 : Tensor, shape (batch, features) or (features,); they broadcast
    target : Tensor, shape (batch,) or (), of 1 and -1
    margin : float from -1 to 1

    Raises
    ------
    ShapeError
        If the dimensions are others.

    >>> import tensorlab
    >>> x, y = tensorlab.tensor([[1., 0.], [1., 0.]]), tensorlab.tensor([[0., 2.], [2., 0.]])
    >>> tensorlab.nn.functional.cosine_embedding_loss(x, y, tensorlab.tensor([1, -1]), reduction="none")
    tensor([1., 1.])
    """
    input1, input2, target = in_float32((input1, input2, target))
    reduction = named_reduction(size_average, reduce, reduction, level=3)
    dims = target.dim()
    if dims > 1 or input1.dim() != dims + 1 or input2.dim() != dims + 1:
        raise ShapeError(
            f"cosine_embedding_loss: the inputs have shapes {shape_of(input1)} and {shape_of(input2)}, and the target "
            f"{shape_of(target)}; expected (batch, features) twice and (batch,), or (features,) twice and ()"
        )
    lengths = ((x * x).sum(-1) + 1e-12 for x in (input1, input2))
    one, other = lengths
    cosine = (input1 * input2).sum(-1) / (one * other).sqrt()
    zero = zeros((), dtype=cosine.dtype, device=cosine.device)
    losses = where(target == 1, 1 - cosine, zero)
    losses = losses + where(target == -1, (cosine - margin).clamp_min(0), zero)
    return reduced("cosine_embedding_loss", losses, reduction)


# ------------------------------------------------------------------------------ classes
def as_rows(name, input, target, shapes):
    """Return the input with shape (batch, classes), after raising unless the target has one of the shapes for it."""
    if input.dim() > 2 or (input.dim() and input.size(-1) == 0):
        raise ShapeError(
            f"{name}: the input has shape {shape_of(input)}; expected (classes,) or (batch, classes), with classes"
        )
    if shape_of(target) not in shapes:
        raise ShapeError(
            f"{name}: the target has shape {shape_of(target)} for an input {shape_of(input)}; expected "
            f"{' or '.join(map(str, shapes))}"
        )
    if target.dtype != arange(0).dtype:
        raise DTypeError(f"{name}: the target is of type {target.dtype}; expected int64")
    return input.reshape(-1, input.size(-1) if input.dim() else 1)


def check_range(name, target, least, classes):
    if target.is_meta:
        return
    target = without_boxes(target)
    if target.numel() and not (least <= int(target.min()) and int(target.max()) < classes):
        raise PositionOutOfRange(
            f"{name}: a target is {int(target.min())} or {int(target.max())}; expected classes from {least} to "
            f"{classes - 1}"
        )


def multi_margin_loss(
    input,
    target,
    p=1,
    margin=1.0,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """The mean over all wrong classes i of max(0, margin - score[right] + score[i])**p, divided by all classes.

    Parameters
    ----------
    input : Tensor of scores, shape (batch, classes) or (classes,)
    target : Tensor of int64, shape (batch,) or (), the right classes
    p : 1 or 2
    margin : float
    weight : Tensor, shape (classes,), a factor for each right class

    Raises
    ------
    ValueError
        If `p` is another number, or `weight` does not have one dimension.
    ShapeError, DTypeError, PositionOutOfRange
        If the shapes do not fit, or the target is not of int64 or not a class.

    >>> import tensorlab
    >>> scores = tensorlab.tensor([[0.5, 1., 0.]])
    >>> tensorlab.nn.functional.multi_margin_loss(scores, tensorlab.tensor([1]))
    tensor(0.1667)
    """
    input, target, weight = in_float32((input, target, weight))
    reduction = named_reduction(size_average, reduce, reduction, level=3)
    check_reduction("multi_margin_loss", reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p is {p}; expected 1 or 2")
    if weight is not None and weight.dim() != 1:
        raise ValueError(
            f"multi_margin_loss: weight has shape {shape_of(weight)}; expected (classes,)"
        )
    shapes = [(input.size(0),)] if input.dim() == 2 else [(), (1,)]
    rows = as_rows("multi_margin_loss", input, target, shapes)
    classes = rows.size(1)
    check_range("multi_margin_loss", target, 0, classes)
    if weight is not None and shape_of(weight) != (classes,):
        raise ShapeError(
            f"multi_margin_loss: weight has shape {shape_of(weight)}; expected ({classes},), a factor for each class"
        )
    if weight is not None and weight.dtype != input.dtype:
        raise DTypeError(
            f"multi_margin_loss: weight is {weight.dtype} and the input {input.dtype}; they must have one type"
        )
    right = target.reshape(-1, 1)
    losses = (margin - rows.gather(1, right) + rows).clamp_min(0)
    if p == 2:
        losses = losses * losses
    if weight is not None:
        losses = losses * weight[right]
    is_wrong = arange(classes, device=input.device) != right
    losses = where(is_wrong, losses, zeros((), dtype=losses.dtype, device=input.device))
    return reduced("multi_margin_loss", (losses.sum(1) / classes).reshape(target.shape), reduction)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The sum over right classes j and wrong classes i of max(0, 1 - (score[j] - score[i])), divided by all classes.

    Parameters
    ----------
    input : Tensor of scores, shape (batch, classes) or (classes,)
    target : Tensor of int64 of the same shape: in each row the right classes, and after the
        last one -1

    Raises
    ------
    ShapeError, DTypeError, PositionOutOfRange
        If the shapes differ, or the target is not of int64 or not a class.

    >>> import tensorlab
    >>> scores, right = tensorlab.tensor([0.1, 0.2, 0.4, 0.8]), tensorlab.tensor([3, 0, -1, 1])
    >>> tensorlab.nn.functional.multilabel_margin_loss(scores, right)
    tensor(0.8500)
    """
    input, target = in_float32((input, target))
    reduction = named_reduction(size_average, reduce, reduction, level=3)
    check_reduction("multilabel_margin_loss", reduction)
    shapes = [shape_of(input)] if input.numel() != 1 or input.dim() == 2 else [(), (1,)]
    rows = as_rows("multilabel_margin_loss", input, target, shapes)
    classes = rows.size(1)
    check_range("multilabel_margin_loss", target, -1, classes)
    listed = target.reshape(rows.shape)
    is_listed = (listed < 0).cumsum(1) == 0  # what stands after the first -1 does not count
    named = listed.clamp_min(0)
    is_right = zeros(rows.shape, dtype=target.dtype, device=input.device)
    is_right = is_right.scatter_add(1, named, is_listed.to(target.dtype))
    gaps = 1 - (rows.gather(1, named).unsqueeze(2) - rows.unsqueeze(1))
    counts = is_listed.unsqueeze(2) & (is_right == 0).unsqueeze(1)
    losses = where(counts, gaps.clamp_min(0), zeros((), dtype=rows.dtype, device=input.device))
    losses = losses.sum((1, 2)) / classes
    return reduced("multilabel_margin_loss", losses if input.dim() == 2 else losses[0], reduction)


def multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The mean over the classes of the cross-entropy of a yes or no for each of them, from scores.

    Parameters
    ----------
    input : Tensor of scores, shape (..., classes)
    target : Tensor of the same shape, 1 for yes and 0 for no
    weight : Tensor, a factor of each loss; broadcasts

    >>> import tensorlab
    >>> tensorlab.nn.functional.multilabel_soft_margin_loss(tensorlab.zeros(2, 3), tensorlab.ones(2, 3))
    tensor(0.6931)
    """
    reduction = named_reduction(size_average, reduce, reduction, level=3)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced("multilabel_soft_margin_loss", losses.sum(-1) / input.size(-1), reduction)


# ------------------------------------------------------------------------------ distances
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), where d is the p-norm of the difference.

    Parameters
    ----------
    anchor, positive, negative : Tensor, shape (batch, features) or (features,); they broadcast
    margin : float above 0
    p, eps : the norm of `pairwise_distance`, and what it adds to each difference
    swap : bool; take d(positive, negative) if it is smaller than d(anchor, negative)

    Raises
    ------
    ValueError
        If `margin` is not above 0.
    ShapeError
        If the numbers of dimensions differ.

    Notes
    -----
    Source: Balntas et al. 2016, "Learning local feature descriptors with triplets and shallow convolutional neural
    networks", equation 1, and section 3.2 for `swap`.

    >>> import tensorlab
    >>> a, p, n = (tensorlab.tensor([[x, 0.]]) for x in (0., 1., 1.5))
    >>> tensorlab.nn.functional.triplet_margin_loss(a, p, n)
    tensor(0.5000)
    """
    anchor, positive, negative = in_float32((anchor, positive, negative))
    reduction = named_reduction(size_average, reduce, reduction, level=3)
    check_triplet("triplet_margin_loss", anchor, positive, negative, margin)

    def distance(x, y):
        return pairwise_distance(x, y, p, eps)

    return triplet(
        "triplet_margin_loss", distance, anchor, positive, negative, margin, swap, reduction
    )


def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
):
    """`triplet_margin_loss` with a distance of your own: a function of two tensors, `pairwise_distance` unless given.

    >>> import tensorlab
    >>> a, p, n = (tensorlab.tensor([[x, 0.]]) for x in (0., 1., 1.5))
    >>> far = lambda x, y: (x - y).abs().amax(1)
    >>> tensorlab.nn.functional.triplet_margin_with_distance_loss(a, p, n, distance_function=far)
    tensor(0.5000)
    """
    name = "triplet_margin_with_distance_loss"
    check_triplet(name, anchor, positive, negative, margin)
    distance = pairwise_distance if distance_function is None else distance_function
    return triplet(name, distance, anchor, positive, negative, margin, swap, reduction)


def check_triplet(name, anchor, positive, negative, margin):
    if margin <= 0:
        raise ValueError(f"{name}: margin is {margin}; expected a number above 0")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise ShapeError(
            f"{name}: anchor, positive and negative have shapes {shape_of(anchor)}, {shape_of(positive)} and "
            f"{shape_of(negative)}; expected as many dimensions in all three"
        )


def triplet(name, distance, anchor, positive, negative, margin, swap, reduction):
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced(name, (margin + near - far).clamp_min(0), reduction)

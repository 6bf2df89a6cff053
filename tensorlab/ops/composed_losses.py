"""Losses of predicted distributions and of scores that a matrix makes, from other operations."""

import math

from tensorlab._core.dispatch.levels import without_boxes
from tensorlab.errors import ShapeError
from tensorlab.ops.creation import full_like
from tensorlab.ops.linalg.affine import linear
from tensorlab.ops.losses import cross_entropy
from tensorlab.ops.reductions_of_losses import reduced


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Minus the log density of `target` under a normal distribution: (log var + (input - target)**2 / var) / 2.

    Parameters
    ----------
    input : Tensor, the predicted means
    target : Tensor, the samples; they broadcast
    var : Tensor, the predicted variances: of the input's shape, without its last size, or with
        one size 1; or a float
    full : bool, whether to add the constant log(2 pi) / 2
    eps : float, the least variance; no gradient flows through the limit
    reduction : "mean", "sum" or "none"

    Raises
    ------
    ValueError
        If a variance is negative, or their shape is another.

    Notes
    -----
    Source: Nix and Weigend 1994, "Estimating the mean and variance of the target probability distribution".

    >>> import tensorlab
    >>> x = tensorlab.tensor([1., 2.])
    >>> tensorlab.nn.functional.gaussian_nll_loss(x, x + 1, tensorlab.ones(2))
    tensor(0.5000)
    """
    if isinstance(var, float):
        var = full_like(input, var)
    if without_boxes(var < 0).any():
        raise ValueError(
            f"gaussian_nll_loss: var has negative entries, the least is "
            f"{without_boxes(var).min().item()}; expected variances"
        )
    var = fitting(input, var)
    limited = var.clone()
    limited.detach().clamp_(min=eps)
    losses = 0.5 * (limited.log() + (input - target) ** 2 / limited)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced("gaussian_nll_loss", losses, reduction)


def fitting(input, var):
    """Return the variances in a shape that broadcasts to the input's."""
    if var.shape == input.shape:
        return var
    if var.shape == input.shape[:-1]:
        return var.unsqueeze(-1)
    if var.dim() == input.dim():
        others = [b for a, b in zip(input.shape, var.shape, strict=True) if a != b]
        if sum(others) == 1:
            return var
    raise ValueError(
        f"gaussian_nll_loss: var has shape {tuple(var.shape)} for an input {tuple(input.shape)}; expected the same, "
        "the same without the last size, or the same with one size 1"
    )


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """The cross-entropy of the scores that a matrix makes of the input.

    Parameters
    ----------
    input : Tensor, shape (batch, features) or (features,)
    linear_weight : Tensor, shape (classes, features) or (classes, ..., features), with several
        scores for each class
    target : Tensor, classes or probabilities, as for `cross_entropy`
    linear_bias : Tensor, shape (classes,) or (classes, ...), or None
    weight, reduction, label_smoothing : as for `cross_entropy`
    ignore_index : int, a target that counts for nothing; -100 unless given, and not for probabilities
    options : accepted for PyTorch's sake, where it saves memory; here it changes nothing

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    >>> import tensorlab
    >>> x, weight = tensorlab.ones(2, 3), tensorlab.zeros(4, 3)
    >>> tensorlab.nn.functional.linear_cross_entropy(x, weight, tensorlab.tensor([0, 1]))
    tensor(1.3863)
    """
    sizes, bias_shape = linear_weight.shape, None if linear_bias is None else linear_bias.shape
    fits = input.dim() in (1, 2) and len(sizes) >= 2 and input.shape[-1] == sizes[-1]
    if not fits or bias_shape not in (None, sizes[:-1]) or (len(sizes) > 2 and input.dim() == 1):
        raise ShapeError(
            f"linear_cross_entropy: the input has shape {tuple(input.shape)}, linear_weight {tuple(sizes)} and "
            f"linear_bias {bias_shape and tuple(bias_shape)}; expected (batch, features) or (features,), "
            "(classes, features), and (classes,) or None; with more sizes after the classes, the input has a batch"
        )
    shape = (*input.shape[:-1], *sizes[:-1])
    if target.shape == shape and ignore_index is not None:
        raise ShapeError(
            "linear_cross_entropy: the target holds probabilities, so ignore_index has no meaning"
        )
    bias = None if linear_bias is None else linear_bias.flatten()
    scores = linear(input, linear_weight.flatten(0, -2), bias).reshape(shape)
    return cross_entropy(
        scores,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )

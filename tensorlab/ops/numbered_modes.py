"""Functions of networks as PyTorch has them at its front: reductions and modes are numbers, and the order is another.

`torch.kl_div(x, y, 2)` is `nn.functional.kl_div(x, y, reduction="sum")`. Older programs and those that were
written out of a graph call these; `nn.functional` has the same functions with names for the numbers, and explains them.
As in PyTorch, a loss that is called without a reduction gives all its terms.
"""

from tensorlab.errors import ShapeError
from tensorlab.ops import (
    composite,
    ctc,
    grids,
    margin_losses,
    normalization,
    padding,
    pointwise_losses,
)
from tensorlab.ops.batch_norm import batch_norm as channel_norm
from tensorlab.ops.indexing.embedding import embedding as rows_of
from tensorlab.ops.reductions_of_losses import reduced

REDUCTIONS = "none", "mean", "sum"
MODES = "bilinear", "nearest", "bicubic"
PADDINGS = "zeros", "border", "reflection"


def named(where, what, number, names):
    """Return the name that a number stands for, or raise ValueError."""
    if number not in range(len(names)):
        listed = ", ".join(f"{i} ({name})" for i, name in enumerate(names))
        raise ValueError(f"{where}: {what} is {number!r}; expected one of {listed}")
    return names[number]


# ------------------------------------------------------------------------------ losses
def binary_cross_entropy_with_logits(
    input, target, weight=None, pos_weight=None, reduction: int = 0
):
    """`nn.functional.binary_cross_entropy_with_logits`; `reduction` is 0 for none, 1 for mean and 2 for sum.

    Examples
    --------
    >>> import tensorlab
    >>> binary_cross_entropy_with_logits(tensorlab.zeros(2), tensorlab.ones(2), reduction=1)
    tensor(0.6931)
    """
    reduction = named("binary_cross_entropy_with_logits", "reduction", reduction, REDUCTIONS)
    return pointwise_losses.binary_cross_entropy_with_logits(
        input, target, weight, reduction=reduction, pos_weight=pos_weight
    )


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction: int = 0):
    """`nn.functional.cosine_embedding_loss`; `reduction` is 0 for none, 1 for mean and 2 for sum.

    Examples
    --------
    >>> import tensorlab
    >>> x, y = tensorlab.tensor([[1.0, 0.0]]), tensorlab.tensor([[0.0, 1.0]])
    >>> cosine_embedding_loss(x, y, tensorlab.tensor([1]), reduction=1)
    tensor(1.)
    """
    reduction = named("cosine_embedding_loss", "reduction", reduction, REDUCTIONS)
    return margin_losses.cosine_embedding_loss(input1, input2, target, margin, reduction=reduction)


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction: int = 0,
    zero_infinity=False,
):
    """`nn.functional.ctc_loss`; `reduction` is 0 for none, 1 for mean and 2 for sum.

    Examples
    --------
    >>> import tensorlab
    >>> log_probs = tensorlab.zeros(4, 1, 3).log_softmax(2)  # (times, batch, classes)
    >>> targets, all_of_it = tensorlab.tensor([[1, 2]]), tensorlab.tensor([4])
    >>> ctc_loss(log_probs, targets, all_of_it, tensorlab.tensor([2]), reduction=2)
    tensor(1.6864)
    """
    reduction = named("ctc_loss", "reduction", reduction, REDUCTIONS)
    return ctc.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
    )


def hinge_embedding_loss(input, target, margin=1.0, reduction: int = 0):
    """`nn.functional.hinge_embedding_loss`; `reduction` is 0 for none, 1 for mean and 2 for sum.

    Examples
    --------
    >>> import tensorlab
    >>> hinge_embedding_loss(tensorlab.tensor([0.2, 0.2]), tensorlab.tensor([1, -1]))
    tensor([0.2000, 0.8000])
    """
    reduction = named("hinge_embedding_loss", "reduction", reduction, REDUCTIONS)
    return margin_losses.hinge_embedding_loss(input, target, margin, reduction=reduction)


def kl_div(input, target, reduction: int = 0, *, log_target=False):
    """`nn.functional.kl_div`, without its warning; `reduction` is 0 for none, 1 for mean and 2 for sum.

    Examples
    --------
    >>> import tensorlab
    >>> p = tensorlab.tensor([0.5, 0.5])
    >>> kl_div(tensorlab.tensor([0.25, 0.75]).log(), p, 2)
    tensor(0.1438)
    """
    reduction = named("kl_div", "reduction", reduction, REDUCTIONS)
    terms = pointwise_losses.kl_div(input, target, reduction="none", log_target=log_target)
    return reduced("kl_div", terms, reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction: int = 0):
    """`nn.functional.margin_ranking_loss`; `reduction` is 0 for none, 1 for mean and 2 for sum.

    Examples
    --------
    >>> import tensorlab
    >>> x, y = tensorlab.tensor([1.0, 2.0]), tensorlab.tensor([2.0, 1.0])
    >>> margin_ranking_loss(x, y, tensorlab.tensor([1, 1]))
    tensor([1., 0.])
    """
    reduction = named("margin_ranking_loss", "reduction", reduction, REDUCTIONS)
    return margin_losses.margin_ranking_loss(input1, input2, target, margin, reduction=reduction)


def poisson_nll_loss(input, target, log_input: bool, full: bool, eps, reduction: int):
    """`nn.functional.poisson_nll_loss`; `reduction` is 0 for none, 1 for mean and 2 for sum.

    Examples
    --------
    >>> import tensorlab
    >>> poisson_nll_loss(tensorlab.zeros(2), tensorlab.ones(2), True, False, 1e-8, 1)
    tensor(1.)
    """
    reduction = named("poisson_nll_loss", "reduction", reduction, REDUCTIONS)
    return pointwise_losses.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=reduction
    )


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction: int = 0
):
    """`nn.functional.triplet_margin_loss`; `reduction` is 0 for none, 1 for mean and 2 for sum.

    Examples
    --------
    >>> import tensorlab
    >>> one = tensorlab.ones(1, 2)
    >>> triplet_margin_loss(0 * one, one, 3 * one, margin=5.0, reduction=1)
    tensor(2.1716)
    """
    reduction = named("triplet_margin_loss", "reduction", reduction, REDUCTIONS)
    return margin_losses.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=reduction
    )


# ------------------------------------------------------------------------------ normalization
def batch_norm(
    input,
    weight,
    bias,
    running_mean,
    running_var,
    training: bool,
    momentum,
    eps,
    cudnn_enabled: bool,
):
    """`nn.functional.batch_norm`, with weight and bias first; `cudnn_enabled` changes nothing.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0], [3.0]])
    >>> batch_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[-1.],
            [ 1.]])
    """
    return channel_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input,
    weight,
    bias,
    running_mean,
    running_var,
    use_input_stats: bool,
    momentum,
    eps,
    cudnn_enabled: bool,
):
    """`nn.functional.instance_norm`, with weight and bias first; `cudnn_enabled` changes nothing.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[[1.0, 3.0]]])
    >>> instance_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    return composite.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def layer_norm(
    input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable: bool = True
):
    """`nn.functional.layer_norm`; `cudnn_enable` changes nothing.

    Examples
    --------
    >>> import tensorlab
    >>> layer_norm(tensorlab.tensor([[1.0, 3.0]]), (2,), eps=0.0)
    tensor([[-1.,  1.]])
    """
    return normalization.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input, num_groups: int, weight=None, bias=None, eps=1e-5, cudnn_enabled: bool = True
):
    """`nn.functional.group_norm`; `cudnn_enabled` changes nothing.

    Examples
    --------
    >>> import tensorlab
    >>> group_norm(tensorlab.tensor([[[1.0], [3.0], [5.0], [9.0]]]), 2, eps=0.0).flatten()
    tensor([-1.,  1., -1.,  1.])
    """
    return normalization.group_norm(input, num_groups, weight, bias, eps)


# ------------------------------------------------------------------------------ tables, grids and edges
def embedding(
    weight,
    indices,
    padding_idx=-1,
    scale_grad_by_freq=False,
    sparse=False,
):
    """`nn.functional.embedding`, with the table first; a negative `padding_idx` stands for none.

    Parameters
    ----------
    weight : Tensor, shape (n, size)
    indices : Tensor of int64 or int32
    padding_idx : int
    scale_grad_by_freq, sparse : bool

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.embedding(tensorlab.tensor([[1.0], [2.0]]), tensorlab.tensor([1, 0, 1])).flatten()
    tensor([2., 1., 2.])
    """
    padding_idx = None if padding_idx < 0 else padding_idx
    return rows_of(
        indices, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


def affine_grid_generator(theta, size, align_corners: bool):
    """`nn.functional.affine_grid`.

    Examples
    --------
    >>> import tensorlab
    >>> same = tensorlab.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> affine_grid_generator(same, (1, 1, 2, 2), True)[0, 0]
    tensor([[-1., -1.],
            [ 1., -1.]])
    """
    return grids.affine_grid(theta, size, align_corners)


def grid_sampler(input, grid, interpolation_mode: int, padding_mode: int, align_corners: bool):
    """`nn.functional.grid_sample` with numbers.

    Parameters
    ----------
    input, grid : Tensor, as for `nn.functional.grid_sample`
    interpolation_mode : int; 0 is bilinear, 1 nearest, 2 bicubic
    padding_mode : int; 0 is zeros, 1 border, 2 reflection
    align_corners : bool

    Raises
    ------
    ValueError
        If a number stands for no mode.

    >>> import tensorlab
    >>> x, grid = tensorlab.tensor([[[[0., 4.]]]]), tensorlab.tensor([[[[0.25, 0.]]]])
    >>> tensorlab.grid_sampler(x, grid, 0, 0, True)
    tensor([[[[2.5000]]]])
    """
    mode = named("grid_sampler", "interpolation_mode", interpolation_mode, MODES)
    beyond = named("grid_sampler", "padding_mode", padding_mode, PADDINGS)
    return grids.grid_sample(input, grid, mode, beyond, bool(align_corners))


def grid_sampler_2d(input, grid, interpolation_mode: int, padding_mode: int, align_corners: bool):
    """`grid_sampler` of pictures, (batch, channels, height, width).

    Examples
    --------
    >>> import tensorlab
    >>> picture = tensorlab.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> grid_sampler_2d(picture, tensorlab.zeros(1, 1, 1, 2), 0, 0, True)  # its middle
    tensor([[[[2.5000]]]])
    """
    _check_dims("grid_sampler_2d", input, 4)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input, grid, interpolation_mode: int, padding_mode: int, align_corners: bool):
    """`grid_sampler` of volumes, (batch, channels, depth, height, width).

    Examples
    --------
    >>> import tensorlab
    >>> volume = tensorlab.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> grid_sampler_3d(volume, tensorlab.zeros(1, 1, 1, 1, 3), 0, 0, True).item()  # its middle
    3.5
    """
    _check_dims("grid_sampler_3d", input, 5)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def _check_dims(where, input, ndim):
    if input.dim() != ndim:
        raise ShapeError(
            f"{where}: the input has shape {tuple(input.shape)}; expected {ndim} dimensions"
        )


def constant_pad_nd(input, pad, value=0):
    """`nn.functional.pad` with mode "constant".

    Examples
    --------
    >>> import tensorlab
    >>> constant_pad_nd(tensorlab.tensor([1, 2]), (1, 2), value=7)
    tensor([7, 1, 2, 7, 7])
    """
    return padding.pad(input, pad, "constant", value)

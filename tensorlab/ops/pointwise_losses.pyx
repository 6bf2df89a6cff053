"""Losses of regression and of probabilities: each compares input and target element by element.

Every loss is a pointwise op and what `reduction` makes of it: the mean, the sum, or (none) all of them.
"""
from tensorlab._core.dispatch.autocast cimport in_float32
from tensorlab._core.dispatch.dispatch cimport run_2, run_binary, run_ternary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport check_same_place, same_numbers
from tensorlab._core.dtypes cimport FLOATING, is_in
from tensorlab._core.layout cimport shape_text
from tensorlab._core.tensor cimport TensorBase, alias, is_meta

import math
import warnings

from tensorlab.errors import DTypeError, ShapeError, TargetError
from tensorlab.ops.reductions_of_losses import check_floating, named_reduction, reduced

cdef extern from "pointwise_losses_loops.h":  # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


cdef int warn_of_broadcast(str where, TensorBase input, TensorBase target) except -1:
    """Shapes that differ are broadcast, which is rarely meant."""
    if input.ndim_ != target.ndim_ or not same_numbers(input.ndim_, input.sizes, target.sizes):
        warnings.warn(f"{where}: the target has shape {shape_text(target.ndim_, target.sizes)}, but the input "
                      f"{shape_text(input.ndim_, input.sizes)}; they are broadcast, which is rarely meant. Give them the same "
                      f"shape", UserWarning)
    return 0


cdef object weighted(str where, object losses, TensorBase input, TensorBase weight):
    """Each loss times its weight, of the input's shape."""
    if weight.ndim_ != input.ndim_ or not same_numbers(input.ndim_, input.sizes, weight.sizes):
        raise ValueError(f"{where}: weight has shape {shape_text(weight.ndim_, weight.sizes)}, but the input "
                         f"{shape_text(input.ndim_, input.sizes)}; they must be the same")
    return losses * weight


cdef object weighted_mean(str where, object losses, TensorBase input, TensorBase weight, object reduction):
    """`reduced`; with weights, the mean is divided by their sum."""
    if weight is None:
        return reduced(where, losses, reduction)
    losses = weighted(where, losses, input, weight)
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(where, losses, reduction)


cdef object times(object losses, object weight):
    """Each loss times its weight, broadcast; of the type of the losses."""
    return (losses * weight).to(losses.dtype)


cdef int check_same_shape(str where, TensorBase input, TensorBase target) except -1:
    if input.ndim_ != target.ndim_ or not same_numbers(input.ndim_, input.sizes, target.sizes):
        raise TargetError(f"{where}: the target has shape {shape_text(target.ndim_, target.sizes)}, but the input "
                          f"{shape_text(input.ndim_, input.sizes)}; they must be the same")
    return 0


# ---------------------------------------------------------------- mse_loss
cdef Op MSE_LOSS = Op("mse_loss(Tensor x, Tensor y) -> Tensor", aten=None, dtype="promote",
                      scalar={"floating": "(x - y) * (x - y)"})

@MSE_LOSS.derivative("x")
def mse_loss_derivative_x(grad, x, y):
    return run_ternary(MSE_LOSS_BACKWARD, grad, x, y)

@MSE_LOSS.derivative("y")
def mse_loss_derivative_y(grad, x, y):
    return run_ternary(MSE_LOSS_BACKWARD, grad, y, x)

def mse_loss(TensorBase input not None, TensorBase target not None, size_average=None, reduce=None, reduction="mean",
             TensorBase weight=None):
    """Squared difference of input and target.

    Parameters
    ----------
    input, target : Tensor of one shape, floating
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean", "sum" or "none"
    weight : Tensor of the same shape, how much each element counts; the mean is then that of the weights

    >>> import tensorlab
    >>> tensorlab.nn.functional.mse_loss(tensorlab.tensor([1., 2.]), tensorlab.tensor([1., 4.]))
    tensor(2.)
    """
    reduction = named_reduction(size_average, reduce, reduction)
    warn_of_broadcast("mse_loss", input, target)
    return weighted_mean("mse_loss", run_binary(MSE_LOSS, input, target), input, weight, reduction)


# ---------------------------------------------------------------- mse_loss_backward
cdef Op MSE_LOSS_BACKWARD = Op("mse_loss_backward(Tensor grad, Tensor x, Tensor y) -> Tensor",
                               dtype="promote", scalar={"inexact": "grad * ((T)2 * (x - y))"})

@MSE_LOSS_BACKWARD.derivative("grad")
def mse_loss_backward_derivative_grad(grad, x, y):
    return run_ternary(MSE_LOSS_BACKWARD, grad, x, y)

@MSE_LOSS_BACKWARD.derivative("x")
def mse_loss_backward_derivative_x(grad, grad_):
    return grad * grad_ * 2

@MSE_LOSS_BACKWARD.derivative("y")
def mse_loss_backward_derivative_y(grad, grad_):
    return grad * grad_ * -2


# ---------------------------------------------------------------- l1_loss: from other ops
def l1_loss(TensorBase input not None, TensorBase target not None, size_average=None, reduce=None, reduction="mean",
            TensorBase weight=None):
    """Absolute difference of input and target.

    Parameters
    ----------
    input, target : Tensor of one shape
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean", "sum" or "none"
    weight : Tensor of the same shape, how much each element counts; the mean is then that of the weights

    >>> import tensorlab
    >>> tensorlab.nn.functional.l1_loss(tensorlab.tensor([1., 2.]), tensorlab.tensor([1., 4.]))
    tensor(1.)
    """
    input, target = in_float32((input, target))
    reduction = named_reduction(size_average, reduce, reduction)
    warn_of_broadcast("l1_loss", input, target)
    return weighted_mean("l1_loss", (input - target).abs(), input, weight, reduction)


# ---------------------------------------------------------------- huber_loss
cdef Op HUBER_LOSS = Op("huber_loss(Tensor x, Tensor y, float delta=1.0) -> Tensor", aten=None,
                        dtype="promote", scalar={"floating": "huber#(x - y, delta)"})

@HUBER_LOSS.derivative("x")
def huber_loss_derivative_x(grad, x, y, delta):
    return grad * (x - y).clamp(-delta, delta)

@HUBER_LOSS.derivative("y")
def huber_loss_derivative_y(grad, x, y, delta):
    return grad * (y - x).clamp(-delta, delta)

def huber_loss(TensorBase input not None, TensorBase target not None, reduction="mean", double delta=1.0,
               TensorBase weight=None):
    """Half the squared difference where it is smaller than delta, else a straight line of slope delta.

    Parameters
    ----------
    input, target : Tensor of one shape, floating
    reduction : "mean", "sum" or "none"
    delta : float, above 0
    weight : Tensor of the same shape, which each loss is multiplied by; the mean is that of the products

    Notes
    -----
    Source: Huber 1964, "Robust Estimation of a Location Parameter".

    >>> import tensorlab
    >>> tensorlab.nn.functional.huber_loss(tensorlab.tensor([1., 2.]), tensorlab.tensor([1., 5.]))
    tensor(1.2500)
    """
    if delta <= 0:
        raise ShapeError(f"huber_loss: delta is {delta}; expected a number above 0")
    warn_of_broadcast("huber_loss", input, target)
    check_floating("huber_loss", input=input)
    losses = run_ternary(HUBER_LOSS, input, target, delta)
    return reduced("huber_loss", losses if weight is None else weighted("huber_loss", losses, input, weight), reduction)


# ---------------------------------------------------------------- smooth_l1_loss: from other ops
def smooth_l1_loss(TensorBase input not None, TensorBase target not None, size_average=None, reduce=None,
                   reduction="mean", double beta=1.0):
    """The Huber loss divided by its delta, here called beta: a line of slope 1 beyond beta.

    Parameters
    ----------
    input, target : Tensor of one shape, floating
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean", "sum" or "none"
    beta : float, 0 or above; 0 makes it `l1_loss`

    >>> import tensorlab
    >>> tensorlab.nn.functional.smooth_l1_loss(tensorlab.tensor([1., 2.]), tensorlab.tensor([1., 5.]), beta=2.)
    tensor(1.)
    """
    input, target = in_float32((input, target))
    reduction = named_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise ShapeError(f"smooth_l1_loss: beta is {beta}; expected 0 or a number above")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    warn_of_broadcast("smooth_l1_loss", input, target)
    if not is_in(target.dtype_, FLOATING):
        check_floating("smooth_l1_loss", input=input)
    return reduced("smooth_l1_loss", run_ternary(HUBER_LOSS, input, target, beta) / beta, reduction)


# ---------------------------------------------------------------- binary_cross_entropy
# The losses alone, and the op, which looks at x first:
cdef Op BCE_OF_PROBABILITIES = Op(
    "binary_cross_entropy_of_probabilities(Tensor x, Tensor y) -> Tensor", aten=None,
    dtype="promote", scalar={"floating": "cross_entropy#(x, y)"},
    grain=8192)

cdef Op BINARY_CROSS_ENTROPY = Op("binary_cross_entropy(Tensor x, Tensor y) -> Tensor",
                                  aten=None, checks_values=True)

@BINARY_CROSS_ENTROPY.compose
def binary_cross_entropy_of(TensorBase x, TensorBase y):
    values = alias(x)                                   # without its history
    check_same_place(x, y, "binary_cross_entropy")
    if not is_meta(x) and not ((values >= 0) & (values <= 1)).all().item():
        raise ShapeError("binary_cross_entropy: the input must hold probabilities, from 0 to 1; for logits use "
                         "binary_cross_entropy_with_logits")
    return run_binary(BCE_OF_PROBABILITIES, values, alias(y))

@BINARY_CROSS_ENTROPY.derivative("x")
def binary_cross_entropy_derivative_x(grad, x, y):
    return grad * (x - y) / ((1 - x) * x).clamp(min=1e-12)

@BINARY_CROSS_ENTROPY.derivative("y")
def binary_cross_entropy_derivative_y(grad, x):
    return grad * ((-x).log1p().clamp(min=-100) - x.log().clamp(min=-100))

def binary_cross_entropy(TensorBase input not None, TensorBase target not None, weight=None, size_average=None, reduce=None,
                         reduction="mean"):
    """-(y * log(x) + (1 - y) * log(1 - x)): the cost of probability x of a yes, where y says how much of a yes it is.

    Parameters
    ----------
    input : Tensor of probabilities x, from 0 to 1
    target : Tensor of the same shape, y from 0 to 1
    weight : Tensor, a factor of each loss; broadcasts
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean", "sum" or "none"

    Raises
    ------
    TargetError
        If the shapes differ.
    ShapeError
        If the input has a number outside 0 to 1.

    Notes
    -----
    log is kept above -100.  With logits instead of probabilities, `binary_cross_entropy_with_logits` is more accurate.

    >>> import tensorlab
    >>> tensorlab.nn.functional.binary_cross_entropy(tensorlab.tensor([0.5, 0.75]), tensorlab.tensor([0., 1.]))
    tensor(0.4904)
    """
    reduction = named_reduction(size_average, reduce, reduction)
    check_same_shape("binary_cross_entropy", input, target)
    check_floating("binary_cross_entropy", input=input, target=target)
    if input.dtype_ != target.dtype_:
        raise DTypeError(f"binary_cross_entropy: the input is {input.dtype} and the target {target.dtype}; they must have one "
                         f"type")
    losses = run_2(BINARY_CROSS_ENTROPY, input, target)
    return reduced("binary_cross_entropy", losses if weight is None else times(losses, weight), reduction)


# ---------------------------------------------------------------- binary_cross_entropy_with_logits
# log(1 + exp(x)) - x * y, where log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), whose exp cannot overflow.
cdef Op BCE_WITH_LOGITS = Op(
    "binary_cross_entropy_with_logits(Tensor x, Tensor y) -> Tensor", aten=None,
    dtype="promote",
    scalar={"floating": "((x > 0 ? x : (T)0) - x * y) + tl_softplus@(-(x > 0 ? x : -x))"},
    grain=8192)

@BCE_WITH_LOGITS.derivative("x")
def binary_cross_entropy_with_logits_derivative_x(grad, x, y):
    return grad * (x.sigmoid() - y)

@BCE_WITH_LOGITS.derivative("y")
def binary_cross_entropy_with_logits_derivative_y(grad, x):
    return -(grad * x)

def binary_cross_entropy_with_logits(TensorBase input not None, TensorBase target not None, weight=None,
                                     size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """-(p * y * log s(x) + (1 - y) * log(1 - s(x))), where s is the sigmoid and p the pos_weight.

    Parameters
    ----------
    input : Tensor of logits x
    target : Tensor of the same shape, y from 0 to 1
    weight : Tensor, a factor of each loss; broadcasts
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean", "sum" or "none"
    pos_weight : Tensor p, how much more a yes counts; broadcasts

    Raises
    ------
    TargetError
        If the shapes differ.

    >>> import tensorlab
    >>> from tensorlab.nn.functional import binary_cross_entropy_with_logits
    >>> binary_cross_entropy_with_logits(tensorlab.tensor([0., 200.]), tensorlab.tensor([0., 1.]))
    tensor(0.3466)
    """
    reduction = named_reduction(size_average, reduce, reduction)
    check_same_shape("binary_cross_entropy_with_logits", input, target)
    check_floating("binary_cross_entropy_with_logits", input=input, target=target)
    losses = run_binary(BCE_WITH_LOGITS, input, target)
    if pos_weight is not None:                          # -log s(x), the cost of a yes, counts p - 1 times more
        more = (pos_weight - 1) * target * run_binary(BCE_WITH_LOGITS, input, 1)
        losses = losses + more.to(losses.dtype)
    return reduced("binary_cross_entropy_with_logits", losses if weight is None else times(losses, weight), reduction)


# ---------------------------------------------------------------- kl_div: from other ops
def kl_div(TensorBase input not None, TensorBase target not None, size_average=None, reduce=None, reduction="mean",
           bint log_target=False):
    """Kullback-Leibler divergence, target * (log(target) - input), of each element.

    Parameters
    ----------
    input : Tensor of log probabilities
    target : Tensor of the same shape: probabilities, or (log_target) their logarithms
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean", "sum", "none", or "batchmean": the sum divided by the first size, which is the mathematical one
    log_target : bool

    >>> import tensorlab
    >>> p = tensorlab.tensor([[0.5, 0.5]])
    >>> tensorlab.nn.functional.kl_div(p.log(), tensorlab.tensor([[1., 0.]]), reduction="batchmean")
    tensor(0.6931)
    """
    input, target = in_float32((input, target))
    reduction = named_reduction(size_average, reduce, reduction)
    check_floating("kl_div", input=input, target=target)
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = target * target.masked_fill(target == 0, 1).log() - target * input        # 0 * log(0) is 0
    if reduction == "batchmean":
        return losses.sum() / (input.size(0) if input.ndim_ else 1)
    if reduction == "mean":
        warnings.warn("kl_div: reduction='mean' divides by the number of elements; 'batchmean' gives the divergence",
                      UserWarning)
    return reduced("kl_div", losses, reduction)


# ---------------------------------------------------------------- poisson_nll_loss: from other ops
def poisson_nll_loss(TensorBase input not None, TensorBase target not None, bint log_input=True, bint full=False,
                     size_average=None, double eps=1e-8, reduce=None, reduction="mean"):
    """Minus the log probability of counts, where the mean number of events, m, is predicted: m - target * log(m).

    Parameters
    ----------
    input : Tensor, any shape: log(m), or m itself if `log_input` is False
    target : Tensor of the same shape, counts, floating or ints; broadcasts
    log_input : bool
    full : bool; add log(target!), which does not depend on the input, by Stirling's formula where target is above 1
    eps : float, added to m before its logarithm is taken, if `log_input` is False
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean", "sum" or "none"

    Returns
    -------
    Tensor of the floating dtype of both, 0-d; with "none" of the shape of both

    Notes
    -----
    Source of the formula log(n!) = n log(n) - n + log(2 pi n) / 2: Abramowitz and Stegun 1964, 6.1.41.

    >>> import tensorlab
    >>> tensorlab.nn.functional.poisson_nll_loss(tensorlab.tensor([0., 1.]), tensorlab.tensor([2., 3.]))
    tensor(0.3591)
    """
    input, target = in_float32((input, target))
    reduction = named_reduction(size_average, reduce, reduction)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduced("poisson_nll_loss", losses, reduction)


set_loops(tl_loops)

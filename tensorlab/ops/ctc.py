"""Connectionist temporal classification: the loss of a sequence of labels whose places in time are not known.

Notation is that of Graves et al. 2006, "Connectionist Temporal Classification: Labelling Unsegmented Sequence Data
with Recurrent Neural Networks", section 4.1: alpha[t, s] is the probability that steps 0 to t spell the first s
symbols of the labels with blanks between them. All of it is in logarithms, and a probability of 0 is `NEVER`, finite,
so that gradients stay numbers.
"""

from tensorlab._core.dispatch.autocast import in_float32
from tensorlab._core.interop.exchange import tensor
from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType
from tensorlab.ops.creation import full, zeros
from tensorlab.ops.joining import cat
from tensorlab.ops.pointwise.elementary import logaddexp
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.ranges import arange
from tensorlab.ops.reductions_of_losses import reduced

NEVER = -1e30


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """Minus the log probability of all alignments that spell the targets when repeats and then blanks are removed.

    Parameters
    ----------
    log_probs : Tensor, shape (steps, batch, classes) or (steps, classes), of `log_softmax`
    targets : Tensor of ints, shape (batch, longest), or (sum of target_lengths,), one after another
    input_lengths, target_lengths : Tensor or sequence of ints, shape (batch,), or () without batch
    blank : int, the class that stands for nothing
    reduction : "mean" (each loss is divided by its target's length first), "sum" or "none"
    zero_infinity : bool; losses of targets that are too long for their input are 0 instead of infinite

    Raises
    ------
    ShapeError
        If shapes, lengths or the blank do not fit.
    DTypeError
        If the types are others.

    Notes
    -----
    As in PyTorch, the gradient is that of the scores before `log_softmax`: its sum over the classes is 0.

    >>> import tensorlab
    >>> uniform = tensorlab.full((2, 3), 1 / 3).log()
    >>> tensorlab.nn.functional.ctc_loss(uniform, tensorlab.tensor([1]), [2], [1]).exp()
    tensor(3.)
    """
    (log_probs,) = in_float32((log_probs,))
    log_probs, targets, steps, lengths, is_batch = checked(
        log_probs, targets, input_lengths, target_lengths, blank
    )
    losses = minus_log_likelihood(log_probs, targets, steps, lengths, blank)
    losses = losses + of_the_scores(log_probs, steps)
    is_impossible = losses.detach() > -NEVER / 2
    if zero_infinity:
        losses = where(is_impossible, 0.0, losses)
    else:
        losses = where(is_impossible, infinite(losses, is_impossible), losses)
    if reduction == "mean":
        losses = losses / lengths.clamp_min(1)
    return reduced("ctc_loss", losses if is_batch or reduction != "none" else losses[0], reduction)


def minus_log_likelihood(log_probs, targets, steps, lengths, blank):
    """Return a number for each sequence of the batch."""
    count, batch, _ = log_probs.shape
    symbols = targets.new_full((batch, 2 * targets.size(1) + 1), blank)
    symbols[:, 1::2] = targets  # blank, first label, blank, second label, ..., blank
    places = arange(symbols.size(1))
    may_skip = symbols != symbols.roll(2, 1)  # the blank between two different labels
    of_symbols = log_probs.gather(2, symbols.unsqueeze(0).expand(count, batch, places.numel()))
    never = full((batch, places.numel()), NEVER, dtype=log_probs.dtype)
    start = zeros((batch, 1), dtype=log_probs.dtype)
    alpha = cat([start, never[:, 1:]], 1)  # before the first step, nothing is spelt
    for t in range(count):
        if t == 0:
            following = where(places < 2, of_symbols[0], never)
        else:
            one = cat([never[:, :1], alpha[:, :-1]], 1)
            two = where(may_skip, cat([never[:, :2], alpha[:, :-2]], 1)[:, : places.numel()], never)
            following = logaddexp(logaddexp(alpha, one), two) + of_symbols[t]
        alpha = where((steps > t).unsqueeze(1), following, alpha)
    last = (2 * lengths).unsqueeze(1)
    ends = alpha.gather(1, last), alpha.gather(1, (last - 1).clamp_min(0))
    with_label = where(lengths.unsqueeze(1) > 0, ends[1], never[:, :1])
    return -logaddexp(ends[0], with_label).squeeze(1)


def infinite(losses, is_impossible):
    """Return inf, whose gradient is nan where a loss is impossible: the slope of a root at 0, times 0."""
    nothing = where(is_impossible, losses - losses.detach(), 1.0)
    return float("inf") + 0 * nothing.sqrt()


def of_the_scores(log_probs, steps):
    """Return zeros whose gradient is exp(log_probs), which makes the loss's gradient that of the scores.

    If log_probs come from log_softmax, its derivative takes that part away again, so nothing changes.
    """
    is_used = (arange(log_probs.size(0)).unsqueeze(1) < steps).unsqueeze(2)
    used = where(is_used, log_probs.exp(), 0.0)
    return (used - used.detach()).sum((0, 2))


def checked(log_probs, targets, input_lengths, target_lengths, blank):
    """Return log_probs and targets with a batch, both lengths, and whether there was a batch."""
    if log_probs.dim() not in (2, 3):
        raise ShapeError(
            f"ctc_loss: log_probs has shape {tuple(log_probs.shape)}; expected (steps, batch, classes) or (steps, "
            "classes)"
        )
    if log_probs.numel() == 0:
        raise ShapeError(
            f"ctc_loss: log_probs has shape {tuple(log_probs.shape)}; expected sizes above 0"
        )
    if log_probs.element_size() < 4 or not log_probs.is_floating_point():
        raise UnsupportedDType(
            f"ctc_loss: log_probs is of type {log_probs.dtype}; expected float32 or float64"
        )
    if targets.is_floating_point():
        raise DTypeError(f"ctc_loss: targets is of type {targets.dtype}; expected ints")
    is_batch = log_probs.dim() == 3
    if not is_batch:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.reshape(1, -1) if targets.dim() < 2 else targets
    count, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise ShapeError(f"ctc_loss: blank is {blank}; expected a class from 0 to {classes - 1}")
    steps = lengths_of("input_lengths", input_lengths, batch, count)
    most = targets.size(1) if targets.dim() == 2 else targets.numel()
    lengths = lengths_of("target_lengths", target_lengths, batch, most)
    return log_probs, padded(targets, lengths, batch), steps, lengths, is_batch


def lengths_of(name, lengths, batch, most):
    """Return lengths as a tensor of shape (batch,)."""
    numbers = lengths.tolist() if hasattr(lengths, "tolist") else list(lengths)
    numbers = numbers if isinstance(numbers, list) else [numbers]
    if len(numbers) != batch:
        raise ShapeError(f"ctc_loss: {name} holds {len(numbers)} lengths for a batch of {batch}")
    wrong = [n for n in numbers if not isinstance(n, int) or not 0 <= n <= most]
    if wrong:
        raise ShapeError(f"ctc_loss: {name} holds {wrong[0]}; expected ints from 0 to {most}")
    return tensor(numbers)


def padded(targets, lengths, batch):
    """Return the targets with shape (batch, longest)."""
    numbers = lengths.tolist()
    longest = max(numbers)
    if targets.dim() == 2 and targets.size(0) == batch:
        return targets[:, :longest].to(lengths.dtype)
    if targets.dim() != 1 or targets.numel() != sum(numbers):
        raise ShapeError(
            f"ctc_loss: targets has shape {tuple(targets.shape)}; expected ({batch}, longest), or ({sum(numbers)},), "
            "as the lengths add up"
        )
    rows, place = zeros((batch, longest), dtype=lengths.dtype), 0
    for i, length in enumerate(numbers):
        rows[i, :length] = targets[place : place + length]
        place += length
    return rows

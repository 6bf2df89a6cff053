"""Values by their rank among the others: quantile, nanquantile; and the most frequent one: mode.

Made of sort, gather and arithmetic, whose derivatives are theirs.
"""

from tensorlab import return_types
from tensorlab._core.dispatch.autocast import in_float32
from tensorlab._core.dispatch.levels import without_boxes
from tensorlab._core.dispatch.numpy_aliases import accepts_numpy_names
from tensorlab._core.dispatch.out_argument import NO_OVERLAP, store_out, store_outs
from tensorlab._core.interop.exchange import tensor
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.joining import stack
from tensorlab.ops.ranges import arange
from tensorlab.ops.sorted_values import values_of_ranks
from tensorlab.ops.sorting import sort

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def checked_dim(x, dim, where):
    n = max(x.ndim, 1)
    if not -n <= dim < n:
        raise IndexError(
            f"{where}: dimension {dim} is out of range for a tensor of {x.ndim} dimensions"
        )
    return dim % n


def wanted_ranks(x, q, where):
    """The quantiles as a tensor of x's type, whose numbers must lie between 0 and 1."""
    if not x.dtype.is_floating_point or x.dtype.itemsize < 4:
        raise DTypeError(f"{where}: the tensor must be of type float32 or float64, not {x.dtype}")
    if x.numel() == 0:
        raise ShapeError(f"{where}: the tensor has no elements")
    if not isinstance(q, TensorBase):
        q = tensor(q, dtype=x.dtype, device="cpu")
    elif q.dtype != x.dtype:
        raise DTypeError(f"{where}: q has type {q.dtype}, but the tensor has type {x.dtype}")
    if q.ndim > 1:
        raise ShapeError(f"{where}: q must be a number or one row, not of shape {tuple(q.shape)}")
    if not q.is_meta and not bool(without_boxes((q >= 0) & (q <= 1)).all()):
        raise RuntimeError(
            f"{where}: q must be between 0 and 1, but it is {without_boxes(q).tolist()}"
        )
    return q.to(x.device)


def at_quantiles(x, q, dim, keepdim, interpolation, skips_nan, where):
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: argument 'input' must be a Tensor, not {type(x).__name__}")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{where}: interpolation must be one of {', '.join(INTERPOLATIONS)}, not {interpolation!r}"
        )
    x, q = in_float32((x, q))
    wanted = wanted_ranks(x, q, where)
    ndim = x.ndim
    if dim is None:
        kept, lines = [1] * ndim, x.reshape(-1)
    else:
        dim = checked_dim(x, dim, where)
        kept = [1 if d == dim else size for d, size in enumerate(x.shape)]
        lines = x.movedim(dim, -1) if ndim > 0 else x.reshape(1)
    is_nan = lines.isnan()
    if skips_nan:  # which come last in order
        last = (~is_nan).sum(-1, keepdim=True) - 1
        ranks = (wanted * last).clamp(min=0)
    else:
        last = lines.shape[-1] - 1
        ranks = (wanted * last).expand((*lines.shape[:-1], wanted.numel()))
        ranks = ranks.masked_fill(is_nan.any(-1, keepdim=True), last)
    if interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.long()
    if interpolation in ("linear", "midpoint"):
        pairs = stack([below, ranks.ceil().long()], -1)
        found = values_of_ranks(lines, pairs.flatten(-2)).reshape(pairs.shape)
        share = ranks - below if interpolation == "linear" else 0.5
        values = found[..., 0].lerp(found[..., 1], share)
    else:
        values = values_of_ranks(lines, below)
    values = values.movedim(-1, 0)  # (quantiles, the other dimensions)
    if keepdim:
        values = values.reshape((wanted.numel(), *kept))
    return values.squeeze(0) if wanted.ndim == 0 else values


@accepts_numpy_names
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """Return the values below which a share `q` of the elements lies.

    Parameters
    ----------
    input : Tensor of float32 or float64
    q : number, or Tensor, shape (n,), between 0 and 1
    dim : int; without it, over all elements
    keepdim : bool, keep the dimension with size 1
    interpolation : "linear", "lower", "higher", "midpoint" or "nearest", between two neighbours

    Returns
    -------
    Tensor; with a row of quantiles, they are its first dimension. nan where a line has one

    >>> import tensorlab
    >>> tensorlab.quantile(tensorlab.tensor([1.0, 2.0, 4.0]), 0.75)
    tensor(3.)
    """
    result = at_quantiles(input, q, dim, keepdim, interpolation, False, "quantile")
    return store_out("quantile", result, out, (input, q))


@accepts_numpy_names
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """Return `quantile` of the elements that are not nan.

    >>> import tensorlab
    >>> tensorlab.nanquantile(tensorlab.tensor([1.0, float("nan"), 2.0]), 0.5)
    tensor(1.5000)
    """
    result = at_quantiles(input, q, dim, keepdim, interpolation, True, "nanquantile")
    return store_out("nanquantile", result, out, (input, q))


@accepts_numpy_names
def mode(input, dim=-1, keepdim=False, *, out=None):
    """Return the most frequent value along a dimension, the smallest of several, and where its last one stands.

    Parameters
    ----------
    input : Tensor
    dim : int
    keepdim : bool, keep the dimension with size 1

    Returns
    -------
    (values, indices) : Tensor, and Tensor of int64

    >>> import tensorlab
    >>> tensorlab.mode(tensorlab.tensor([3, 1, 3, 2])).values
    tensor(3)
    """
    if not isinstance(input, TensorBase):
        raise TypeError(f"mode: argument 'input' must be a Tensor, not {type(input).__name__}")
    dim = checked_dim(input, dim, "mode")
    if input.ndim > 0 and input.shape[dim] == 0:
        raise IndexError(f"mode: dimension {dim} has size 0, so no value is the most frequent")
    lines = input.detach().movedim(dim, -1) if input.ndim > 0 else input.detach().reshape(1)
    ordered, order = sort(lines, -1, stable=True)
    n = ordered.shape[-1]
    at = arange(n, device=input.device).expand(ordered.shape)
    starts = at.masked_fill(
        (ordered.roll(1, -1) == ordered) & (at > 0), 0
    )  # where a run of equal values begins, else 0
    lengths = at - starts.cummax(-1)[0]
    last = lengths.argmax(-1, keepdim=True)  # the first of the longest runs: the smallest value
    indices = order.gather(-1, last).squeeze(-1) if input.ndim > 0 else order.reshape(())
    if input.ndim == 0:
        values = input.clone()
    else:
        values = input.gather(dim, indices.unsqueeze(dim))
        values, indices = (
            (values, indices.unsqueeze(dim)) if keepdim else (values.squeeze(dim), indices)
        )
    if out is not None:
        values, indices = store_outs("mode", (values, indices), out, (input,), NO_OVERLAP)
    return return_types.mode((values, indices))

"""histogramdd: how many points fall into each box of a grid."""

import math

from tensorlab import return_types
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType
from tensorlab.ops.ranges import linspace
from tensorlab.ops.searching import searchsorted


def histogramdd(input, bins, range=None, weight=None, density=False):
    """Return how many points fall into each box of a grid, and the edges of the boxes.

    Parameters
    ----------
    input : floating Tensor, shape (..., d), points in d dimensions
    bins : int, ranges of equal width in each dimension; or a list of d of them; or a list of d
        Tensors, the edges in ascending order
    range : list of 2 * d numbers, the lowest and the highest edge of each dimension; without it
        the extremes of the points
    weight : Tensor of the shape of `input` without its last dimension, what each point counts
    density : bool, divide by the sizes of the boxes and the total, so that the integral is 1

    Returns
    -------
    (hist, bin_edges) : Tensor with a dimension for each of the d, and a tuple of d Tensors. Neither has a gradient

    Raises
    ------
    ShapeError
        If the numbers of bins, edges or weights do not fit the points, or an edge is not finite.
    DTypeError
        If the edges or the weights have another type than the points.

    >>> import tensorlab
    >>> points = tensorlab.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> tensorlab.histogramdd(points, [2, 2]).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    check_points(input)
    points = input.detach().reshape(math.prod(input.shape[:-1]), input.shape[-1])
    edges = edges_of(points, bins, range)
    counted = weights_of(input, weight)
    sizes = [len(row) - 1 for row in edges]
    inside = points.new_ones(points.shape[:1]).bool()
    box = inside.long() * 0
    for column, row, size in zip(points.unbind(-1), edges, sizes, strict=True):
        inside &= (column >= row[0]) & (column <= row[-1])
        at = searchsorted(row, column.contiguous(), right=True) - 1
        box = box * size + at.clamp(max=size - 1)  # the last range has both its edges
    hist = points.new_zeros(math.prod(sizes)).index_add(0, box[inside], counted[inside])
    hist = hist.reshape(sizes)
    if density:
        hist = hist / hist.sum()
        for dim, row in enumerate(edges):
            shape = [1] * len(edges)
            shape[dim] = -1
            hist = hist / row.diff().reshape(shape)
    return return_types.histogramdd((hist, tuple(edges)))


def check_points(input):
    if not isinstance(input, TensorBase):
        raise TypeError(
            f"histogramdd: argument 'input' must be a Tensor, not {type(input).__name__}"
        )
    if not input.dtype.is_floating_point:
        raise UnsupportedDType(
            f"histogramdd: not implemented for {input.dtype}; a floating dtype is needed"
        )
    if input.ndim < 2:
        raise ShapeError(
            f"histogramdd: points must have shape (..., d), at least 2 dimensions, not {tuple(input.shape)}"
        )


def edges_of(points, bins, limits):
    """The edges in each dimension, as a list of rows."""
    dims = points.shape[1]
    if not isinstance(bins, (int, list, tuple)):
        raise TypeError(
            f"histogramdd: bins must be an int, or a list of ints or Tensors, not {type(bins).__name__}"
        )
    bins = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(bins) != dims:
        raise ShapeError(
            f"histogramdd: {len(bins)} bins are given, and the points have {dims} dimensions; give as many"
        )
    if limits is not None and len(limits) != 2 * dims:
        raise ShapeError(
            f"histogramdd: range has {len(limits)} numbers; for {dims} dimensions, give {2 * dims}"
        )
    return [edges_along(points, d, given, limits) for d, given in enumerate(bins)]


def edges_along(points, dim, bins, limits):
    if isinstance(bins, TensorBase):
        if bins.dtype != points.dtype:
            raise DTypeError(
                f"histogramdd: the edges of dimension {dim} have type {bins.dtype}, the points {points.dtype}"
            )
        if bins.ndim != 1 or bins.numel() < 2:
            raise ShapeError(
                f"histogramdd: the edges of dimension {dim} must be a row of at least 2, not of shape "
                f"{tuple(bins.shape)}"
            )
        return bins.detach()
    if not isinstance(bins, int):
        raise TypeError(
            f"histogramdd: the bins of dimension {dim} must be an int or a Tensor, not {type(bins).__name__}"
        )
    if bins < 1:
        raise ShapeError(f"histogramdd: dimension {dim} has {bins} bins; expected at least 1")
    if limits is not None:
        low, high = limits[2 * dim], limits[2 * dim + 1]
    elif points.shape[0] > 0:
        low, high = points[:, dim].min().item(), points[:, dim].max().item()
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ShapeError(
            f"histogramdd: the range of dimension {dim}, {low} to {high}, is not finite"
        )
    if low > high:
        raise ShapeError(f"histogramdd: dimension {dim} begins at {low}, above its end {high}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=points.dtype, device=points.device)


def weights_of(input, weight):
    """What each point counts, as a row."""
    shape = input.shape[:-1]
    if weight is None:
        return input.detach().new_ones(math.prod(shape))
    if weight.dtype != input.dtype:
        raise DTypeError(
            f"histogramdd: the weights have type {weight.dtype}, and the points {input.dtype}"
        )
    if weight.shape != shape:
        raise ShapeError(
            f"histogramdd: the weights have shape {tuple(weight.shape)}; expected {tuple(shape)}, one of each point"
        )
    return weight.detach().reshape(-1)

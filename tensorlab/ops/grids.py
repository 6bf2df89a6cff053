"""Pictures read at places that a grid names: `grid_sample`, and `affine_grid`, which makes grids."""

import itertools
import math
import warnings

from tensorlab._core.dispatch.autocast import in_float32
from tensorlab.errors import ShapeError
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.ranges import linspace


def given_corners(name, align_corners):
    if align_corners is None:
        warnings.warn(
            f"{name}: align_corners is not given, so it is False; it was True before PyTorch 1.3",
            UserWarning,
            stacklevel=3,
        )
    return bool(align_corners)


def affine_grid(theta, size, align_corners=None):
    """Make a grid for `grid_sample` from matrices: where each new pixel lies in the old picture.

    Parameters
    ----------
    theta : Tensor, shape (batch, 2, 3) or (batch, 3, 4), floating
    size : sequence of int, the new shape: (batch, channels, height, width), or with depth in
        front of height
    align_corners : bool; whether -1 and 1 are the middles of the corner pixels rather than
        their outer edges

    Returns
    -------
    Tensor, shape (batch, height, width, 2) or (batch, depth, height, width, 3)

    Raises
    ------
    ValueError
        If `theta` is not floating or has another shape, or a size is not above 0.
    NotImplementedError
        If there are not four or five sizes.

    >>> import tensorlab
    >>> same = tensorlab.tensor([[[1., 0., 0.], [0., 1., 0.]]])
    >>> tensorlab.nn.functional.affine_grid(same, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    align_corners = given_corners("affine_grid", align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: theta is of type {theta.dtype}; expected a floating type")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid: size is {tuple(size)}; expected four or five sizes, with batch and channels"
        )
    axes = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (axes, axes + 1):
        raise ValueError(
            f"affine_grid: theta has shape {tuple(theta.shape)}; expected (batch, {axes}, {axes + 1}) for {axes} axes"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: size is {tuple(size)}; expected numbers above 0")
    # half types are calculated in float32 and rounded once
    rows = theta.float() if theta.itemsize == 2 else theta
    rows = rows.reshape(theta.size(0), *[1] * axes, axes, axes + 1)
    grid = None
    for k, n in enumerate(reversed(size[2:])):  # x first
        line = linspace(-1, 1, n, dtype=theta.dtype, device=theta.device)
        line = line if align_corners and n > 1 else line * (n - 1) / n
        term = (
            line.to(rows.dtype).reshape(-1, *[1] * (k + 1)) * rows[..., k]
        )  # broadcast along the other axes
        grid = term if grid is None else grid + term
    return (grid + rows[..., axes]).to(theta.dtype)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Read pictures at the places of a grid, from -1 at one edge to 1 at the other.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or with depth in front of height; floating
    grid : Tensor, shape (batch, new height, new width, 2) of (x, y), or with depth (..., 3) of
        (x, y, z)
    mode : "bilinear" (with depth trilinear), "nearest", or "bicubic" for pictures
    padding_mode : what is read outside: "zeros", "border" (the nearest pixel) or "reflection"
    align_corners : bool; whether -1 and 1 are the middles of the corner pixels rather than
        their outer edges

    Returns
    -------
    Tensor, shape (batch, channels, new height, new width), or with depth

    Raises
    ------
    ValueError
        If a mode is not known.
    ShapeError
        If the shapes do not fit, the input is empty, or "bicubic" is asked for with depth.

    Notes
    -----
    Source: Jaderberg et al. 2015, "Spatial Transformer Networks", section 3.3.

    >>> import tensorlab
    >>> x, grid = tensorlab.tensor([[[[0., 4.]]]]), tensorlab.tensor([[[[0.25, 0.]]]])
    >>> tensorlab.nn.functional.grid_sample(x, grid, align_corners=True)
    tensor([[[[2.5000]]]])
    """
    input, grid = in_float32((input, grid))
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"grid_sample: mode is {mode!r}; expected 'bilinear', 'nearest' or 'bicubic'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample: padding_mode is {padding_mode!r}; expected 'zeros', 'border' or 'reflection'"
        )
    align_corners = given_corners("grid_sample", align_corners)
    check_shapes(input, grid, mode)
    sizes = list(input.shape[2:])[::-1]  # in the grid's order, x first
    places = [in_pixels(grid[..., i], n, align_corners) for i, n in enumerate(sizes)]
    if mode == "bicubic":
        return of_terms(
            input, sizes, cubic_axes(places, sizes, padding_mode, align_corners), padding_mode
        )
    places = [inside(x, n, padding_mode, align_corners) for x, n in zip(places, sizes, strict=True)]
    if mode == "nearest":
        axes = [[(x.detach().round(), flat_weight(x) if x.requires_grad else None)] for x in places]
    else:
        axes = [linear_axis(x) for x in places]
    return of_terms(input, sizes, axes, padding_mode)


def check_shapes(input, grid, mode):
    axes = input.dim() - 2
    expected = (input.size(0), axes) if axes in (2, 3) else None
    if expected is None or grid.dim() != input.dim() or (grid.size(0), grid.size(-1)) != expected:
        raise ShapeError(
            f"grid_sample: the input has shape {tuple(input.shape)} and the grid {tuple(grid.shape)}; expected (batch, "
            "channels, height, width) and (batch, new height, new width, 2), or both with depth and 3"
        )
    if input.dtype != grid.dtype:
        raise ShapeError(
            f"grid_sample: the input is of type {input.dtype} and the grid of {grid.dtype}; convert one of them"
        )
    if 0 in input.shape[2:]:
        raise ShapeError(
            f"grid_sample: the input has shape {tuple(input.shape)}; expected sizes above 0 after the channels"
        )
    if mode == "bicubic" and axes == 3:
        raise ShapeError("grid_sample: mode 'bicubic' is for 4 dimensions, but the input has 5")


def in_pixels(x, n, align_corners):
    """Return places counted in pixels, from places between -1 and 1."""
    return (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2


def inside(x, n, padding_mode, align_corners):
    """Return places that border or reflection have brought into the picture."""
    if padding_mode == "reflection":
        x = reflected(x, 0, 2 * (n - 1)) if align_corners else reflected(x, -1, 2 * n - 1)
    return x if padding_mode == "zeros" else x.clamp(0, n - 1)


def reflected(x, low, high):
    """Mirror at low / 2 and high / 2 as often as needed."""
    if low == high:  # the only pixel of an axis whose corners are aligned: in_pixels gives 0
        return x
    start, span = low / 2, (high - low) / 2
    distance = (x - start).abs()
    flips = (distance / span).detach().floor()
    rest = distance - flips * span
    return where(flips % 2 == 0, rest + start, span - rest + start)


def flat_weight(x):
    """Return weights of 1 whose gradient is zeros: the nearest pixel stays so if its place moves a little."""
    pixel = x.round()
    return (pixel - pixel.detach()).nan_to_num(0) + 1


def linear_axis(x):
    """Return the pixel before each place and the one after it, each with its weight."""
    left = x.detach().floor()
    return [(left, left + 1 - x), (left + 1, x - left)]


def cubic_axes(places, sizes, padding_mode, align_corners):
    """Return four pixels for each place and axis; each of them is brought into the picture by itself."""
    axes = []
    for x, n in zip(places, sizes, strict=True):
        left = x.detach().floor()
        share = x - left
        terms = []
        for k in (-1, 0, 1, 2):
            pixel = inside(left + k, n, padding_mode, align_corners)
            terms.append((pixel, cubic(share - k if k < 1 else k - share, k in (0, 1))))
        axes.append(terms)
    return axes


def cubic(distance, is_near, a=-0.75):
    """Keys' cubic for distances below 1, or from 1 to 2."""
    if is_near:
        return ((a + 2) * distance - (a + 3)) * distance * distance + 1
    return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a


def of_terms(input, sizes, axes, padding_mode):
    """Return the weighted sum over all combinations of the axes' terms."""
    batch, channels = input.shape[:2]
    new = axes[0][0][0].shape[1:]
    flat, out = input.flatten(2), None
    strides = [math.prod(sizes[:i]) for i in range(len(sizes))]
    for terms in itertools.product(*axes):
        index, weight, is_inside = 0, None, True
        for (pixel, share), n, stride in zip(terms, sizes, strides, strict=True):
            is_inside = is_inside & (pixel >= 0) & (pixel <= n - 1)
            index = index + pixel.nan_to_num(0).clamp(0, n - 1).long() * stride
            if share is not None:
                weight = share if weight is None else weight * share
        rows = index.flatten(1).unsqueeze(1).expand(-1, channels, -1)
        term = flat.gather(2, rows).reshape(batch, channels, *new)
        if padding_mode == "zeros":
            factor = is_inside.to(input.dtype)
            weight = factor if weight is None else weight * factor
        if weight is not None:
            term = term * weight.unsqueeze(1)
        out = term if out is None else out + term
    return out

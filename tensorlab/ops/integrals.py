"""Areas and slopes of sampled functions: trapezoid, cumulative_trapezoid, gradient."""

from tensorlab._core.dispatch.numpy_aliases import accepts_numpy_names
from tensorlab._core.interop.exchange import as_tensor
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import ShapeError
from tensorlab.ops.joining import cat


def widths(x, dx, y, dim, where):
    """The distances between neighbours along `dim`, as a number or a tensor that broadcasts."""
    if x is None:
        return dx
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: x must be a Tensor, not {type(x).__name__}")
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise ShapeError(
                f"{where}: there are {x.shape[0]} places x for {y.shape[dim]} values along dimension {dim}"
            )
        distances = x.diff()
        return distances.reshape([-1 if d == dim else 1 for d in range(y.ndim)])
    return x.diff(dim=dim - y.ndim)


def areas(y, x, dx, dim, where):
    """The area between each two neighbours: width times the mean of the heights."""
    if not isinstance(y, TensorBase):
        raise TypeError(f"{where}: y must be a Tensor, not {type(y).__name__}")
    if y.ndim == 0 or not -y.ndim <= dim < y.ndim:
        raise IndexError(
            f"{where}: dimension {dim} is out of range for a tensor of {y.ndim} dimensions"
        )
    dim %= y.ndim
    n = y.shape[dim]
    if n == 0:
        return y
    return (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)) * widths(x, dx, y, dim, where) / 2


@accepts_numpy_names
def trapezoid(y, x=None, *, dx=1, dim=-1):
    """Return the area under samples of a function, by the trapezoidal rule.

    Parameters
    ----------
    y : Tensor, the heights
    x : Tensor, shape (n,) or that of `y`, the places; without it they are `dx` apart
    dim : int

    >>> import tensorlab
    >>> tensorlab.trapezoid(tensorlab.tensor([1.0, 5.0, 10.0]))
    tensor(10.5000)
    """
    return areas(y, x, dx, dim, "trapezoid").sum(dim)


trapz = trapezoid


@accepts_numpy_names
def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """Return the area under samples of a function up to each of them but the first.

    >>> import tensorlab
    >>> tensorlab.cumulative_trapezoid(tensorlab.tensor([1.0, 5.0, 10.0]))
    tensor([ 3.0000, 10.5000])
    """
    return areas(y, x, dx, dim, "cumulative_trapezoid").cumsum(dim)


def slope(y, spacing, dim, edge_order):
    """Second-order differences along one dimension; one-sided ones at its ends."""
    n = y.shape[dim]
    if n <= edge_order:
        raise RuntimeError(
            f"gradient: dimension {dim} has size {n}; edge_order={edge_order} needs at least {edge_order + 1}"
        )

    def part(start, length):
        return y.narrow(dim, start, length)

    if isinstance(spacing, TensorBase) and spacing.ndim > 0:
        if spacing.ndim != 1 or spacing.shape[0] != n:
            raise ShapeError(
                f"gradient: the places have shape {tuple(spacing.shape)}, but dimension {dim} has size {n}"
            )
        steps = spacing.diff().reshape([-1 if d == dim else 1 for d in range(y.ndim)])
    else:
        steps = (
            as_tensor(spacing)
            .to(y.device, y.dtype)
            .reshape([1] * y.ndim)
            .expand([n - 1 if d == dim else 1 for d in range(y.ndim)])
        )

    def step(start, length):
        return steps.narrow(dim, start, length)

    left, right = step(0, n - 2), step(1, n - 2)
    middle = (
        part(2, n - 2) * (left / (right * (left + right)))
        + part(1, n - 2) * ((right - left) / (left * right))
        - part(0, n - 2) * (right / (left * (left + right)))
    )
    if edge_order == 1:
        first = (part(1, 1) - part(0, 1)) / step(0, 1)
        last = (part(n - 1, 1) - part(n - 2, 1)) / step(n - 2, 1)
    else:
        a, b = step(0, 1), step(1, 1)
        first = (
            -part(0, 1) * (2 * a + b) / (a * (a + b))
            + part(1, 1) * (a + b) / (a * b)
            - part(2, 1) * a / (b * (a + b))
        )
        a, b = step(n - 3, 1), step(n - 2, 1)
        last = (
            part(n - 3, 1) * b / (a * (a + b))
            - part(n - 2, 1) * (a + b) / (a * b)
            + part(n - 1, 1) * (2 * b + a) / (b * (a + b))
        )
    return cat([first, middle, last], dim)


@accepts_numpy_names
def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Return the slopes of a sampled function along each dimension, by differences of second order.

    Parameters
    ----------
    input : Tensor, floating
    spacing : number, the distance between samples, 1 unless given; or a sequence of one for
        each dimension, each a number or a Tensor of places
    dim : int or sequence of int; without it, all dimensions
    edge_order : 1 or 2, the order at the ends

    Returns
    -------
    tuple of Tensor of the shape of `input`, one for each dimension

    Notes
    -----
    The weights come from the parabola through three points. Source: Fornberg 1988, "Generation of
    finite difference formulas on arbitrarily spaced grids".

    >>> import tensorlab
    >>> tensorlab.gradient(tensorlab.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    if not isinstance(input, TensorBase):
        raise TypeError(f"gradient: argument 'input' must be a Tensor, not {type(input).__name__}")
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: edge_order must be 1 or 2, not {edge_order}")
    dims = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    for d in dims:
        if not -input.ndim <= d < input.ndim:
            raise IndexError(
                f"gradient: dimension {d} is out of range for a tensor of {input.ndim} dimensions"
            )
    dims = [d % input.ndim for d in dims]
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"gradient: dim is {tuple(dim)}, which names a dimension twice")
    if isinstance(spacing, (list, tuple)):
        if len(spacing) != len(dims):
            raise RuntimeError(
                f"gradient: {len(spacing)} spacings are given for {len(dims)} dimensions; they must be as many"
            )
        spacings = list(spacing)
    else:
        spacings = [1 if spacing is None else spacing] * len(dims)
    return tuple(slope(input, one, d, edge_order) for one, d in zip(spacings, dims, strict=True))

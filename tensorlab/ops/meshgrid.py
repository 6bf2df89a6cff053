"""Shapes brought together, and all combinations.

broadcast_tensors, broadcast_shapes, meshgrid, cartesian_prod, combinations. Made of other ops, so
none needs a derivative of its own.
"""

import itertools
from collections.abc import Sequence

from tensorlab._core.graph.saved import call_unpacked
from tensorlab._core.interop.exchange import tensor
from tensorlab._core.state.warning import warn_once
from tensorlab._core.tensor import Size, TensorBase
from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.joining import stack


def broadcast_shapes(*shapes):
    """Return the shape to which all of `shapes` broadcast.

    Parameters
    ----------
    shapes : tuples of int, or ints

    Raises
    ------
    ShapeError
        If sizes differ and none of them is 1.

    >>> import tensorlab
    >>> tensorlab.broadcast_shapes((2, 1), (3,))
    tensorlab.Size([2, 3])
    """
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    out = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for i in range(-1, -len(shape) - 1, -1):
            if shape[i] < 0:
                raise ValueError(f"broadcast_shapes: size {shape[i]} in {shape} is negative")
            if out[i] == 1:
                out[i] = shape[i]
            elif shape[i] not in (1, out[i]):
                raise ShapeError(
                    f"broadcast_shapes: {' and '.join(map(str, shapes))} cannot be broadcast "
                    f"together: counted from the right, sizes must be equal or 1"
                )
    return Size(out)


def given_tensors(tensors, where):
    """The tensors of f(x, y) or f([x, y])."""
    if len(tensors) == 1 and isinstance(tensors[0], Sequence):
        tensors = tuple(tensors[0])
    for one in tensors:
        if not isinstance(one, TensorBase):
            raise TypeError(f"{where}: tensors are needed, not {type(one).__name__}")
    return tensors


def broadcast_tensors(*tensors):
    """Return the tensors in the shape to which they broadcast: those that have it as they are, of the others views.

    Parameters
    ----------
    *tensors : Tensors whose shapes fit together

    Examples
    --------
    >>> import tensorlab
    >>> a, b = tensorlab.broadcast_tensors(tensorlab.ones(3, 1), tensorlab.ones(2))
    >>> a.shape == b.shape
    True
    """
    tensors = given_tensors(tensors, "broadcast_tensors")
    try:
        shape = broadcast_shapes(*[one.shape for one in tensors])
    except ShapeError as error:
        raise ShapeError(str(error).replace("broadcast_shapes", "broadcast_tensors")) from None
    return tuple(one if one.shape == shape else one.expand(shape) for one in tensors)


def meshgrid(*tensors, indexing=None):
    """Return views that hold the coordinates of all points of a grid.

    Parameters
    ----------
    tensors : 1-d or 0-d tensors of one dtype, the coordinates along each axis
    indexing : "ij", axis i of the results belongs to tensor i; or "xy", the first two
        exchanged. Not given, it is "ij", with one warning: NumPy's default is "xy"

    Returns
    -------
    tuple of Tensor, one for each axis

    >>> import tensorlab
    >>> tensorlab.meshgrid(tensorlab.tensor([1, 2]), tensorlab.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    tensors = given_tensors(tensors, "meshgrid")
    if not tensors:
        raise ShapeError("meshgrid: no tensors are given; at least one is needed")
    if indexing not in (None, "ij", "xy"):
        raise ShapeError(f"meshgrid: indexing must be 'ij' or 'xy', not {indexing!r}")
    for one in tensors:
        if one.ndim > 1:
            raise ShapeError(
                f"meshgrid: 0-d or 1-d tensors are needed, not one of shape {tuple(one.shape)}"
            )
        if one.dtype != tensors[0].dtype:
            raise DTypeError(
                f"meshgrid: the tensors have types {tensors[0].dtype} and {one.dtype}; "
                f"all must be equal"
            )
    if indexing is None:
        warn_once(
            'meshgrid: indexing is not given; write indexing="ij", which it is then, or "xy"', 3
        )
    swaps = indexing == "xy" and len(tensors) >= 2
    if swaps:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = [one.numel() for one in tensors]
    grids = [
        one.view([-1 if i == axis else 1 for i in range(len(shape))]).expand(shape)
        for axis, one in enumerate(tensors)
    ]
    if swaps:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors):
    """Return all ways to take one element of each tensor, as the rows of a matrix.

    >>> import tensorlab
    >>> tensorlab.cartesian_prod(tensorlab.tensor([1, 2]), tensorlab.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    tensors = given_tensors(tensors, "cartesian_prod")
    if not tensors:
        raise ShapeError("cartesian_prod: no tensors are given; at least one is needed")
    for one in tensors:
        if one.ndim != 1:
            raise ShapeError(
                f"cartesian_prod: 1-d tensors are needed, not one of shape {tuple(one.shape)}"
            )
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.flatten() for grid in meshgrid(*tensors, indexing="ij")], 1)


def combinations(input, r=2, with_replacement=False):
    """Return all ways to choose `r` elements of a vector, in order, as the rows of a matrix.

    >>> import tensorlab
    >>> tensorlab.combinations(tensorlab.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1:
        raise ShapeError(
            f"combinations: a 1-d tensor is needed, not one of shape {tuple(input.shape)}"
        )
    if r < 0:
        raise ShapeError(f"combinations: r must be at least 0, not {r}")
    if r == 0:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.numel()), r))
    indices = (
        tensor(rows).long().reshape(-1, r)
    )  # without rows, too, the result follows from the input
    columns = [call_unpacked(input.index_select, 0, column) for column in indices.unbind(1)]
    return stack(columns, 1)

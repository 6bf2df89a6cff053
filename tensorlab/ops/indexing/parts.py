"""Copies with one part replaced, and other names for indexing.

select_scatter, slice_scatter, diagonal_scatter and as_strided_scatter are `clone`, a view and `copy_`:
a program without in-place writes. put writes to positions in the tensor read as one row. All are
made of other ops, so none needs a derivative of its own.
"""

from tensorlab._core.dispatch.levels import box_of
from tensorlab._core.dispatch.numpy_aliases import accepts_numpy_names
from tensorlab._core.dispatch.out_argument import NO_DERIVATIVE, store_out
from tensorlab._core.interop.exchange import tensor
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import DTypeError, MemoryLayoutError, ShapeError
from tensorlab.ops.indexing.advanced import index_put_
from tensorlab.ops.indexing.gather import wrap_index
from tensorlab.ops.indexing.index_iterator import apart_from
from tensorlab.ops.indexing.nonzero import nonzero
from tensorlab.ops.joining import cat


def check_tensor(value, name, where):
    if not isinstance(value, TensorBase):
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {type(value).__name__}")
    return value


def beside(x, *others):
    """x as one for each example if others are so, within vmap: what they hold can be written into it then."""
    for other in others:
        if box_of(other) is not None:
            x = x.masked_fill(other.new_zeros((), dtype=bool), 0)
    return x


# ------------------------------------------------------------------------------------------------ one part replaced
def replaced(input, view_of, src, where):
    """A copy of `input` in which the part that `view_of` shows is `src`."""
    check_tensor(input, "input", where)
    check_tensor(src, "src", where)
    overlaps = 0 in input.stride() and input.numel() > 0
    out = input.clone() if overlaps else input.new_empty_strided(input.shape, input.stride())
    out.copy_(input)
    out = beside(out, src)
    view = view_of(out)
    if view.shape != src.shape:
        raise ShapeError(
            f"{where}: the source has shape {tuple(src.shape)}, but the part that it replaces "
            f"has {tuple(view.shape)}"
        )
    view.copy_(src)
    return out


@accepts_numpy_names
def select_scatter(input, src, dim, index):
    """Return a copy of `input` with `src` at one index of a dimension.

    >>> import tensorlab
    >>> tensorlab.select_scatter(tensorlab.zeros(2, 2), tensorlab.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    return replaced(input, lambda out: out.select(dim, index), src, "select_scatter")


@accepts_numpy_names
def slice_scatter(input, src, dim=0, start=None, end=None, step=1, *, out=None):
    """Return a copy of `input` with `src` in a slice of a dimension.

    >>> import tensorlab
    >>> tensorlab.slice_scatter(tensorlab.zeros(4), tensorlab.ones(2), 0, 0, 4, 2)
    tensor([1., 0., 1., 0.])
    """

    def view_of(out):
        d = dim if dim >= 0 else dim + out.ndim
        if not 0 <= d < out.ndim:
            raise IndexError(
                f"slice_scatter: dimension {dim} is out of range for a tensor of {out.ndim} dimensions"
            )
        return out[(slice(None),) * d + (slice(start, end, step),)]

    result = replaced(input, view_of, src, "slice_scatter")
    return store_out("slice_scatter", result, out, (input, src))


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """Return a copy of `input` with `src` on a diagonal.

    >>> import tensorlab
    >>> tensorlab.diagonal_scatter(tensorlab.zeros(2, 2), tensorlab.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return replaced(input, lambda out: out.diagonal(offset, dim1, dim2), src, "diagonal_scatter")


def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """Return a copy of `input` with `src` where as_strided(size, stride, storage_offset) would look.

    >>> import tensorlab
    >>> tensorlab.as_strided_scatter(tensorlab.zeros(4), tensorlab.ones(2), (2,), (3,))
    tensor([1., 0., 0., 1.])
    """

    def view_of(out):
        return out.as_strided(size, stride, 0 if storage_offset is None else storage_offset)

    return replaced(input, view_of, src, "as_strided_scatter")


@accepts_numpy_names
def narrow_copy(input, dim, start, length, *, out=None):
    """Return `narrow` as a tensor with memory of its own.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.narrow_copy(x, 1, 0, 2)
    tensor([[0, 1],
            [3, 4]])
    """
    part = check_tensor(input, "input", "narrow_copy").narrow(dim, start, length)
    return store_out("narrow_copy", part.new_empty(part.shape).copy_(part), out, (input,))


# ------------------------------------------------------------------------------------------------ positions in one row
def unravel_index(indices, shape):
    """Return the index along each dimension of positions in a tensor read as one row.

    Parameters
    ----------
    indices : Tensor of integers, from 0 to the number of elements
    shape : int or tuple of int

    Returns
    -------
    tuple of Tensor of the shape of `indices`, one for each dimension

    >>> import tensorlab
    >>> tensorlab.unravel_index(tensorlab.tensor([5, 0]), (2, 3))
    (tensor([1, 0]), tensor([2, 0]))
    """
    check_tensor(indices, "indices", "unravel_index")
    if indices.dtype.is_floating_point or str(indices.dtype) == "tensorlab.bool":
        raise TypeError(f"unravel_index: the indices must be integers, not {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index: sizes must not be negative, but the shape is {sizes}")
    steps = [1]
    for size in sizes[:0:-1]:
        steps.insert(0, size * steps[0])
    if not sizes:
        return ()
    whole = indices.unsqueeze(-1).div(tensor(steps, device=indices.device), rounding_mode="floor")
    return (whole % tensor(sizes, device=indices.device)).unbind(-1)


def put_arguments(input, index, source, where):
    check_tensor(index, "index", where)
    check_tensor(source, "source", where)
    if source.dtype != input.dtype:
        raise DTypeError(
            f"{where}: the source has type {source.dtype}, but the tensor has type {input.dtype}; "
            f"convert it with .to() first"
        )
    if index.numel() != source.numel():
        raise IndexError(
            f"{where}: {index.numel()} indices, but the source has {source.numel()} elements"
        )
    if input.numel() == 0 and index.numel() > 0:
        raise IndexError(f"{where}: the tensor has no element that could be written")
    return index.reshape(-1), source.reshape(-1)


def put(input, index, source, accumulate=False):
    """Return a copy of `input` with elements of `source` at positions in the tensor read as one row.

    Parameters
    ----------
    index : Tensor of int64; negative ones count from the end
    source : Tensor of the same dtype and as many elements as `index`
    accumulate : bool, add to what is there

    >>> import tensorlab
    >>> tensorlab.put(tensorlab.zeros(2, 2), tensorlab.tensor([0, -1]), tensorlab.tensor([5.0, 7.0]))
    tensor([[5., 0.],
            [0., 7.]])
    """
    check_tensor(input, "input", "put")
    index, source = put_arguments(input, index, source, "put")
    return written(beside(input.clone(), index, source), index, source, accumulate, "put")


def put_(input, index, source, accumulate=False):
    """Write `put` over `input`; a call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, 3)
    >>> x.put_(tensorlab.tensor([0, 4]), tensorlab.tensor([1.0, 2.0]))
    tensor([[1., 0., 0.],
            [0., 2., 0.]])
    """
    index, source = put_arguments(input, index, source, "put_")
    apart_from(input, index, "put_", "the index")
    if any(step == 0 and size > 1 for step, size in zip(input.stride(), input.shape, strict=True)):
        raise MemoryLayoutError(
            f"put_: several elements of the tensor share one place in memory (strides "
            f"{input.stride()}); clone it first"
        )
    return written(input, index, source, accumulate, "put_")


def written(input, at, values, accumulate, where):
    at = wrap_index(at, input.numel(), True, where)
    if input.is_contiguous():
        index_put_(input.view(-1), (at,), values, accumulate)
    else:
        index_put_(input, unravel_index(at, input.shape), values, accumulate)
    return input


def nonzero_static(input, *, size, fill_value=-1, out=None):
    """Return the first `size` rows of `nonzero`, filled up with `fill_value`.

    >>> import tensorlab
    >>> tensorlab.nonzero_static(tensorlab.tensor([0, 5]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: size is {size}; expected at least 0")
    found = nonzero(check_tensor(input, "input", "nonzero_static"))[:size]
    rest = found.new_full((size - found.shape[0], found.shape[1]), fill_value)
    return store_out("nonzero_static", cat([found, rest]), out, (input,), NO_DERIVATIVE)


def reverse(self):
    """Return the tensor with its first dimension backwards: `reversed(x)`."""
    return self.flip(0) if self.ndim > 0 else self

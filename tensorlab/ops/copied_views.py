"""Views in memory of their own: `permute_copy` and others; and the functions `unsafe_split`, ...

PyTorch's transformations of graphs replace a view by its copy where nothing may share memory.
The copies are row-major. The *unsafe* functions are `split`, `chunk` and `split_with_sizes`;
PyTorch's autograd forgets that their results are views, and here they are ordinary ones.
"""

from tensorlab._core.device import contiguous_format
from tensorlab._core.dispatch.numpy_aliases import accepts_numpy_names
from tensorlab._core.dispatch.out_argument import NO_DERIVATIVE, store_out, store_outs
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import DimensionError, ShapeError
from tensorlab.ops.complex_views import view_as_complex, view_as_real


# ------------------------------------------------------------------------------ one view
def copied(where, view, out, input):
    """The view's elements in row-major order."""
    made = view.clone(memory_format=contiguous_format)
    return made if out is None else store_out(where, made, out, (input,), NO_DERIVATIVE)


def check_tensor(where, input):
    if not isinstance(input, TensorBase):
        raise TypeError(f"{where}: argument 'input' must be a Tensor, not {type(input).__name__}")


def in_dim(input, dim, start, end, step):
    """The subscript of a slice in a dimension."""
    n = input.ndim
    if not -n <= dim < n:
        raise DimensionError(
            f"slice_copy: dimension {dim} is out of range for a tensor of {n} dimensions"
        )
    if step < 1:
        raise ShapeError(f"slice_copy: step is {step}; it must be at least 1")
    return (*[slice(None)] * (dim % n), slice(start, end, step))


def alias_copy(input, *, out=None):
    """Return the tensor in memory of its own, row-major.

    >>> import tensorlab
    >>> tensorlab.alias_copy(tensorlab.tensor([1, 2]))
    tensor([1, 2])
    """
    check_tensor("alias_copy", input)
    return copied("alias_copy", input, out, input)


def as_strided_copy(input, size, stride, storage_offset=None, *, out=None):
    """Return what `as_strided` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.as_strided_copy(tensorlab.arange(4), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    check_tensor("as_strided_copy", input)
    return copied("as_strided_copy", input.as_strided(size, stride, storage_offset), out, input)


def detach_copy(input, *, out=None):
    """Return what `detach` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.detach_copy(tensorlab.tensor([1, 2]))
    tensor([1, 2])
    """
    check_tensor("detach_copy", input)
    return copied("detach_copy", input.detach(), out, input)


def diagonal_copy(input, offset=0, dim1=0, dim2=1, *, out=None):
    """Return what `diagonal` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.diagonal_copy(tensorlab.eye(2))
    tensor([1., 1.])
    """
    check_tensor("diagonal_copy", input)
    return copied("diagonal_copy", input.diagonal(offset, dim1, dim2), out, input)


def expand_copy(input, size, *, implicit=False, out=None):
    """Return what `expand` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.expand_copy(tensorlab.tensor([1]), (2,))
    tensor([1, 1])
    """
    check_tensor("expand_copy", input)
    return copied("expand_copy", input.expand(size), out, input)


def permute_copy(input, dims, *, out=None):
    """Return what `permute` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.permute_copy(tensorlab.tensor([[1, 2]]), (1, 0))
    tensor([[1],
            [2]])
    """
    check_tensor("permute_copy", input)
    return copied("permute_copy", input.permute(dims), out, input)


@accepts_numpy_names
def select_copy(input, dim, index, *, out=None):
    """Return what `select` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.select_copy(tensorlab.tensor([[1, 2]]), 0, 0)
    tensor([1, 2])
    """
    check_tensor("select_copy", input)
    return copied("select_copy", input.select(dim, index), out, input)


@accepts_numpy_names
def slice_copy(input, dim=0, start=None, end=None, step=1, *, out=None):
    """Return a slice of a dimension, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.slice_copy(tensorlab.arange(5), 0, 1, 4, 2)
    tensor([1, 3])
    """
    check_tensor("slice_copy", input)
    return copied("slice_copy", input[in_dim(input, dim, start, end, step)], out, input)


@accepts_numpy_names
def squeeze_copy(input, dim=None, *, out=None):
    """Return what `squeeze` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.squeeze_copy(tensorlab.tensor([[1, 2]]))
    tensor([1, 2])
    """
    check_tensor("squeeze_copy", input)
    return copied(
        "squeeze_copy", input.squeeze() if dim is None else input.squeeze(dim), out, input
    )


def t_copy(input, *, out=None):
    """Return what `t` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.t_copy(tensorlab.tensor([[1, 2]]))
    tensor([[1],
            [2]])
    """
    check_tensor("t_copy", input)
    return copied("t_copy", input.t(), out, input)


def transpose_copy(input, dim0, dim1, *, out=None):
    """Return what `transpose` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.transpose_copy(tensorlab.tensor([[1, 2]]), 0, 1)
    tensor([[1],
            [2]])
    """
    check_tensor("transpose_copy", input)
    return copied("transpose_copy", input.transpose(dim0, dim1), out, input)


def unfold_copy(input, dimension, size, step, *, out=None):
    """Return what `unfold` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.unfold_copy(tensorlab.arange(3), 0, 2, 1)
    tensor([[0, 1],
            [1, 2]])
    """
    check_tensor("unfold_copy", input)
    return copied("unfold_copy", input.unfold(dimension, size, step), out, input)


@accepts_numpy_names
def unsqueeze_copy(input, dim, *, out=None):
    """Return what `unsqueeze` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.unsqueeze_copy(tensorlab.tensor([1, 2]), 0)
    tensor([[1, 2]])
    """
    check_tensor("unsqueeze_copy", input)
    return copied("unsqueeze_copy", input.unsqueeze(dim), out, input)


def view_copy(input, size=None, *, dtype=None, out=None):
    """Return what `view` shows, in memory of its own.

    >>> import tensorlab
    >>> tensorlab.view_copy(tensorlab.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    check_tensor("view_copy", input)
    return copied("view_copy", input.view(size if dtype is None else dtype), out, input)


# ------------------------------------------------------------------------------ several views
def all_copied(where, views, out, input):
    made = tuple([view.clone(memory_format=contiguous_format) for view in views])
    return made if out is None else store_outs(where, made, out, (input,), NO_DERIVATIVE)


@accepts_numpy_names
def split_copy(input, split_size, dim=0, *, out=None):
    """Return the parts that `split` shows, each in memory of its own.

    >>> import tensorlab
    >>> tensorlab.split_copy(tensorlab.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """
    check_tensor("split_copy", input)
    return all_copied("split_copy", input.split(split_size, dim), out, input)


@accepts_numpy_names
def split_with_sizes_copy(input, split_sizes, dim=0, *, out=None):
    """Return the parts that `split_with_sizes` shows, each in memory of its own.

    >>> import tensorlab
    >>> tensorlab.split_with_sizes_copy(tensorlab.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    check_tensor("split_with_sizes_copy", input)
    return all_copied("split_with_sizes_copy", input.split_with_sizes(split_sizes, dim), out, input)


@accepts_numpy_names
def unbind_copy(input, dim=0, *, out=None):
    """Return the parts that `unbind` shows, each in memory of its own.

    >>> import tensorlab
    >>> tensorlab.unbind_copy(tensorlab.arange(2))
    (tensor(0), tensor(1))
    """
    check_tensor("unbind_copy", input)
    return all_copied("unbind_copy", input.unbind(dim), out, input)


# ------------------------------------------------------------------------------ unsafe
@accepts_numpy_names
def unsafe_chunk(input, chunks, dim=0):
    """Return what `chunk` returns.

    >>> import tensorlab
    >>> tensorlab.unsafe_chunk(tensorlab.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    check_tensor("unsafe_chunk", input)
    return input.chunk(chunks, dim)


@accepts_numpy_names
def unsafe_split(input, split_size, dim=0):
    """Return what `split` returns.

    >>> import tensorlab
    >>> tensorlab.unsafe_split(tensorlab.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    check_tensor("unsafe_split", input)
    return input.split(split_size, dim)


@accepts_numpy_names
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """Return what `split_with_sizes` returns.

    >>> import tensorlab
    >>> tensorlab.unsafe_split_with_sizes(tensorlab.arange(4), [1, 3])
    (tensor([0]), tensor([1, 2, 3]))
    """
    check_tensor("unsafe_split_with_sizes", input)
    return input.split_with_sizes(split_sizes, dim)


def view_as_complex_copy(input, *, out=None):
    """`view_as_complex`, and then a copy.

    >>> import tensorlab
    >>> tensorlab.view_as_complex_copy(tensorlab.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    check_tensor("view_as_complex_copy", input)
    return copied("view_as_complex_copy", view_as_complex(input), out, input)


def view_as_real_copy(input, *, out=None):
    """`view_as_real`, and then a copy.

    >>> import tensorlab
    >>> tensorlab.view_as_real_copy(tensorlab.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    check_tensor("view_as_real_copy", input)
    return copied("view_as_real_copy", view_as_real(input), out, input)

"""Rules of ops that copy, convert, or make a tensor like another one."""

from tensorlab.sparse import forms
from tensorlab.sparse.tensors import (
    SparseCompressedTensor,
    SparseCooTensor,
    SparseTensor,
    rule,
)


def with_parts(x, change, change_indices=None):
    """A tensor of the same layout around changed parts."""
    held = x._parts
    indices = change_indices or change
    values = change(held.values)
    if x.is_sparse:
        return SparseCooTensor(indices(held.indices), values, tuple(x.shape), held.is_coalesced)
    return SparseCompressedTensor(
        x.layout, indices(held.compressed), indices(held.plain), values, tuple(x.shape)
    )


@rule("detach", "data")
def detach(func, x):
    """The same elements, in the same memory."""
    return x.alias()


@rule("clone")
def clone(func, x, **kwargs):
    """A copy."""
    return with_parts(x, lambda one: one.clone())


@rule("to_copy", "to_integers")
def to_copy(func, x, *, dtype=None, device=None, memory_format=None):
    """A copy of another type, or on another device."""
    return with_parts(
        x,
        lambda values: func(values, dtype=dtype, device=device),
        lambda indices: indices if device is None else indices.to(device),
    )


@rule("tensor")
def tensor(func, data, *, dtype=None, device=None):
    """What the function `tensor` makes of a sparse one: a copy."""
    return clone(
        func,
        to_copy(lambda values, **options: values.to(**options), data, dtype=dtype, device=device),
    )


@rule("lend")
def lend(func, x, to):
    """An error: other packages can't read such a tensor."""
    raise BufferError(
        f"a tensor of layout {x.layout} can't be handed to {to}; hand on its indices and values, or "
        f"to_dense()"
    )


@rule("copy_")
def copy_(func, x, src, non_blocking=False):
    """Take over the elements of another tensor."""
    if not isinstance(x, SparseTensor):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Use x.copy_(y.to_dense())"
        )
    if not isinstance(src, SparseTensor):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Use x.copy_(y.to_sparse())"
        )
    same = src.alias() if src.layout == x.layout else forms.like(forms.as_coo(src.alias()), x)
    return x.assign(
        with_parts(same, lambda one: one.to(x.dtype, copy=True), lambda one: one.clone())
    )


@rule("set_data")
def set_data(func, x, source):
    """Let a tensor be another one of its layout, keeping its identity: x.data = source."""
    if x.layout != source.layout:
        raise RuntimeError(
            f"data: a tensor of layout {x.layout} can't become one of layout {source.layout}"
        )
    func(x, source)  # goes on to the kernel for any tensor, which takes over shape and type
    x._parts = source._parts
    return x


@rule("zero_")
def zero_(func, x):
    """Hold nothing."""
    return x.assign(nothing_like(x))


def nothing_like(x, size=None, dtype=None):
    """A tensor of the same layout that holds nothing."""
    size = tuple(x.shape if size is None else size)
    if not x.is_sparse and len(size) < 2:
        raise RuntimeError(
            f"new_zeros: a tensor of layout {x.layout} has a matrix in it, and the size {size} has none"
        )
    if x.is_sparse:
        dense = x.dense_dim() if size == tuple(x.shape) or x.dense_dim() < len(size) else 0
        return forms.empty_coo(size, len(size) - dense, x, dtype)
    coo = forms.empty_coo(size, len(size) - x.dense_dim(), x, dtype)
    return forms.like(coo, x)


@rule("zeros_like", "empty_like")
def zeros_like(
    func, x, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    """A tensor of the same layout that holds nothing; or a dense one, if that is asked for."""
    if layout is not None and layout != x.layout:
        made = x._parts.values.new_zeros(tuple(x.shape), dtype=dtype)
        return (
            made
            if str(layout).endswith("strided")
            else forms.in_layout(forms.dense_to_coo(made), layout)
        )
    return nothing_like(x, dtype=dtype)


@rule("new_zeros", "new_empty", "new_empty_strided")
def new_zeros(func, x, size, stride=None, *, dtype=None, layout=None, device=None, pin_memory=None):
    """A tensor of this layout and another shape that holds nothing."""
    return nothing_like(x, size, dtype)


@rule("ones_like", "rand_like", "randn_like", "full_like")
def filled_like(func, x, *args, **kwargs):
    """The held elements with other values: those of a compressed layout, where the places are given."""
    if x.is_sparse:
        raise NotImplementedError(
            f"{func.op.name}: all elements would be held; use {func.op.name}(x.to_dense()), or give x.values() new ones"
        )
    kwargs.pop("layout", None)
    return x.with_values(func(x._parts.values, *args, **kwargs))

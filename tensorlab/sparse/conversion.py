"""Methods of sparse tensors through which gradients flow, and conversions between layouts."""

from tensorlab._core.device import sparse_coo
from tensorlab.ops.creation import zeros
from tensorlab.ops.sparse.methods import set_makers
from tensorlab.sparse import forms
from tensorlab.sparse.autograd import Coalesce, SparseMask, ToDense, ToLayout, Values
from tensorlab.sparse.copying import nothing_like
from tensorlab.sparse.gradients import attach_gradient
from tensorlab.sparse.tensors import (
    BLOCKED,
    SparseCompressedTensor,
    SparseCooTensor,
    SparseTensor,
)


def in_other_layout(x, layout, blocksize, sparse_dim):
    """A tensor, dense or sparse, in a sparse layout."""
    if isinstance(x, SparseTensor):
        same_block = layout not in BLOCKED or (x.layout == layout and x.blocksize() == blocksize)
        if x.layout == layout and same_block:
            return x
    return ToLayout.apply(x, layout, blocksize, sparse_dim)


def empty_sparse(where, size, layout, dtype, device, requires_grad):
    """A tensor of a sparse layout that holds nothing; `size` may be a tensor of that size."""
    if isinstance(size, SparseTensor):
        block = size.blocksize() if layout in BLOCKED and size.layout in BLOCKED else None
        made = forms.as_coo(nothing_like(size, dtype=dtype))
        made = forms.in_layout(made, layout, block)
        return made.requires_grad_() if requires_grad else made
    size = getattr(size, "shape", size)
    if layout in BLOCKED:
        raise RuntimeError(f"{where}: layout {layout} needs the shape of a block; use to_sparse")
    if layout != sparse_coo and len(size) != 2:
        raise RuntimeError(
            f"{where}: a tensor of layout {layout} is a matrix, and the size is {tuple(size)}"
        )
    values = zeros(0, dtype=dtype, device=device)
    indices = zeros(len(size), 0, dtype=forms.int64, device=device)
    made = SparseCooTensor(indices, values, tuple(size), True)
    made = forms.in_layout(made, layout)
    return made.requires_grad_() if requires_grad else made


set_makers(in_other_layout, attach_gradient, empty_sparse)


def method_of(cls, name=None):
    """Make the decorated function a method of a class, under its own name unless another is given."""

    def attach(function):
        setattr(cls, name or function.__name__, function)
        return function

    return attach


@method_of(SparseTensor)
def to_dense(self, dtype=None, *, masked_grad=None):
    """All elements, as a dense tensor. The gradient has only the elements that are held here, unless
    `masked_grad` is False.
    """
    dense = ToDense.apply(self, masked_grad is not False)
    return dense if dtype is None else dense.to(dtype)


@method_of(SparseTensor)
def all_elements(self):
    """The elements as a dense tensor; unlike `to_dense` not seen by autograd."""
    return forms.to_dense(self)


@method_of(SparseCooTensor)
def coalesce(self):
    """The same tensor with each index once, in rising order; values of one index are added up."""
    return self if self.is_coalesced() else Coalesce.apply(self)


@method_of(SparseCooTensor, "values")
def values_of_coalesced(self):
    """The elements that are held, shape (nnz, *dense); gradients flow through it.

    Raises
    ------
    RuntimeError
        If the tensor is not coalesced.
    """
    self._check_coalesced("values")
    return Values.apply(self)


@method_of(SparseCompressedTensor)
def values(self):
    """The elements that are held; gradients flow through it."""
    return Values.apply(self)


@method_of(SparseTensor)
def _places_in(self, x):
    return SparseMask.apply(x, self.detach())


@method_of(SparseTensor)
def to_sparse_coo(self):
    """The same tensor in layout sparse_coo."""
    return in_other_layout(self, sparse_coo, None, None)

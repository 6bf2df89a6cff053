"""The ops that only sparse tensors have, with their gradients.

The gradient of a sparse tensor may be dense or sparse. Where an op looks at held elements only, its
gradient is held at the same places.
"""

from tensorlab.autograd.function import Function
from tensorlab.sparse import forms
from tensorlab.sparse.products import sampled, times_dense, times_sparse
from tensorlab.sparse.sums import sum_coo, wrapped_dims
from tensorlab.sparse.tensors import BLOCKED, SparseCompressedTensor, SparseCooTensor, SparseTensor


def at_places_of(grad, x):
    """The values of a gradient, dense or sparse, where `x` holds elements; differentiable."""
    if not isinstance(grad, SparseTensor):
        return TakeValues.apply(grad, x)
    return Values.apply(SparseMask.apply(grad, x))


class MakeCoo(Function):
    """A tensor of layout sparse_coo from indices and values."""

    @staticmethod
    def forward(ctx, indices, values, size, is_coalesced):
        made = SparseCooTensor(indices.detach(), values.detach(), size, is_coalesced)
        ctx.pattern = made
        return made.detach()

    @staticmethod
    def backward(ctx, grad):
        return None, at_places_of(grad, ctx.pattern), None, None


class MakeCompressed(Function):
    """A tensor of a compressed layout from indices and values."""

    @staticmethod
    def forward(ctx, layout, compressed, plain, values, size):
        parts = (compressed.detach(), plain.detach(), values.detach())
        made = SparseCompressedTensor(layout, *parts, size)
        ctx.pattern = made
        return made.detach()

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, at_places_of(grad, ctx.pattern), None


class Values(Function):
    """The held elements."""

    @staticmethod
    def forward(ctx, x):
        ctx.pattern = x.detach()
        return x._parts.values.detach()

    @staticmethod
    def backward(ctx, grad):
        return like_pattern(grad, ctx.pattern)


class TakeValues(Function):
    """The elements of a dense tensor at the places of a sparse one."""

    @staticmethod
    def forward(ctx, dense, pattern):
        ctx.pattern = pattern
        return take_values(dense, pattern)

    @staticmethod
    def backward(ctx, grad):
        return ToDense.apply(like_pattern(grad, ctx.pattern)), None


def like_pattern(values, pattern):
    """A sparse tensor with these values at the places of another one; differentiable."""
    held, size = pattern._parts, tuple(pattern.shape)
    if pattern.is_sparse:
        return MakeCoo.apply(held.indices, values, size, held.is_coalesced)
    return MakeCompressed.apply(pattern.layout, held.compressed, held.plain, values, size)


def take_values(dense, pattern):
    """The elements of a dense tensor where a sparse one holds some, in its order."""
    if pattern.is_sparse:
        return forms.gather_values(dense, pattern)
    return forms.gather_values(dense, forms.compressed_to_coo(pattern)).reshape(
        pattern._parts.values.shape
    )


class ToDense(Function):
    """All elements. Its gradient is held where `x` holds elements, unless that is unwanted."""

    @staticmethod
    def forward(ctx, x, masked_grad=True):
        ctx.pattern, ctx.masked_grad = x.detach(), masked_grad
        return forms.to_dense(x)

    @staticmethod
    def backward(ctx, grad):
        pattern = ctx.pattern
        if ctx.masked_grad:
            return SparseMask.apply(grad, coalesced_pattern(pattern)), None
        block = pattern.blocksize() if pattern.layout in BLOCKED else None
        dims = pattern.sparse_dim() if pattern.is_sparse else None
        return ToLayout.apply(grad, pattern.layout, block, dims), None


def coalesced_pattern(pattern):
    """The tensor itself, or its coalesced form if that differs."""
    return forms.coalesced(pattern.alias()) if pattern.is_sparse else pattern


class ToLayout(Function):
    """A tensor in another layout."""

    @staticmethod
    def forward(ctx, x, layout, blocksize, sparse_dim):
        ctx.pattern = x.detach() if isinstance(x, SparseTensor) else None
        if ctx.pattern is None:
            x = forms.dense_to_coo(x, sparse_dim)
        return forms.in_layout(forms.as_coo(x), layout, blocksize)

    @staticmethod
    def backward(ctx, grad):
        pattern = ctx.pattern
        if pattern is None:
            grad = ToDense.apply(grad) if isinstance(grad, SparseTensor) else grad
        elif isinstance(grad, SparseTensor):
            grad = SparseMask.apply(grad, coalesced_pattern(pattern))
        return grad, None, None, None


class Coalesce(Function):
    """The same tensor, with each index once."""

    @staticmethod
    def forward(ctx, x):
        return forms.coalesced(x).detach()

    @staticmethod
    def backward(ctx, grad):
        return grad


class SparseMask(Function):
    """The elements of a tensor, dense or sparse, where another one holds some."""

    @staticmethod
    def forward(ctx, x, mask):
        ctx.pattern, ctx.is_sparse = mask.detach(), isinstance(x, SparseTensor)
        if ctx.is_sparse:
            return sparse_at(x, ctx.pattern)
        return ctx.pattern.with_values(take_values(x, ctx.pattern))

    @staticmethod
    def backward(ctx, grad):
        if isinstance(grad, SparseTensor):
            return (grad if ctx.is_sparse else ToDense.apply(grad)), None
        masked = SparseMask.apply(grad, ctx.pattern)
        return (masked if ctx.is_sparse else ToDense.apply(masked)), None


def sparse_at(x, pattern):
    """The elements of a sparse tensor at the places of another one; 0 where it holds none."""
    mask, held = forms.as_coo(pattern.alias()), forms.coalesced(forms.as_coo(x))
    if held.sparse_dim() < mask.sparse_dim():
        return pattern.with_values(take_values(forms.to_dense(held), pattern))
    values = forms.look_up(forms.with_sparse_dims(held, mask.sparse_dim()), mask)
    return pattern.with_values(
        values.reshape(
            (*pattern._parts.values.shape[:1], *values.shape[1:])
            if pattern.is_sparse
            else pattern._parts.values.shape
        )
    )


class SparseProduct(Function):
    """beta * input + alpha * (sparse @ dense); the gradient of the sparse matrix is held where it
    holds elements.
    """

    @staticmethod
    def forward(ctx, sparse, dense, input, beta, alpha):
        ctx.save_for_backward(sparse, dense)
        ctx.factors, ctx.shape = (beta, alpha), None if input is None else input.shape
        product = times_dense(sparse, dense)
        if alpha != 1:
            product = product * alpha
        return product if input is None or beta == 0 else product + input * beta

    @staticmethod
    def backward(ctx, grad):
        sparse, dense = ctx.saved_tensors
        beta, alpha = ctx.factors
        of_sparse = of_dense = of_input = None
        if ctx.needs_input_grad[0]:
            pattern = coalesced_pattern(sparse.detach())
            of_sparse = SampledProduct.apply(pattern, grad * alpha, dense.mH)
        if ctx.needs_input_grad[1]:
            of_dense = SparseProduct.apply(sparse.mH, grad, None, 1, alpha)
        if ctx.shape is not None and ctx.needs_input_grad[2]:
            of_input = (grad * beta).sum_to_size(ctx.shape)
        return of_sparse, of_dense, of_input, None, None


class ProductOfSparse(Function):
    """A product of two sparse matrices; their gradients are held where they hold elements."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return times_sparse(x, y)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        of_x = SparseMask.apply(grad @ y.mH, coalesced_pattern(x.detach()))
        of_y = SparseMask.apply(x.mH @ grad, coalesced_pattern(y.detach()))
        return of_x, of_y


class SampledProduct(Function):
    """(first @ second) where a sparse tensor holds elements; its values are not looked at."""

    @staticmethod
    def forward(ctx, pattern, first, second):
        ctx.save_for_backward(first, second)
        ctx.pattern = pattern.detach()
        return pattern.with_values(sampled(ctx.pattern, first, second))

    @staticmethod
    def backward(ctx, grad):
        first, second = ctx.saved_tensors
        if not isinstance(grad, SparseTensor):
            grad = SparseMask.apply(grad, ctx.pattern)
        of_first = SparseProduct.apply(grad, second.mH, None, 1, 1)
        of_second = SparseProduct.apply(grad.mH, first, None, 1, 1).mH
        return None, of_first, of_second


class SparseSum(Function):
    """The sum over some dimensions of a tensor of layout sparse_coo; its gradient is held where the
    tensor holds elements.
    """

    @staticmethod
    def forward(ctx, x, dim):
        ctx.dims, ctx.pattern = wrapped_dims(x, dim), forms.coalesced(x).detach()
        return sum_coo(ctx.pattern, ctx.dims, False, None)

    @staticmethod
    def backward(ctx, grad):
        pattern, dims = ctx.pattern, ctx.dims
        n = pattern.sparse_dim()
        left = [d for d in range(n) if d not in dims]
        held = pattern._parts
        if isinstance(grad, SparseTensor) or left:
            places = SparseCooTensor(
                held.indices[left],
                held.values.new_zeros((pattern._nnz(), *grad.shape[len(left) :])),
                tuple(grad.shape),
            )
            values = take_from(grad, places)
        else:
            values = grad.unsqueeze(0).expand(pattern._nnz(), *grad.shape)
        for d in dims:
            if d >= n:
                values = values.unsqueeze(d - n + 1)
        return like_pattern(values.expand(held.values.shape), pattern), None


def take_from(grad, places):
    """The elements of a gradient, dense or sparse, at indices that may come several times."""
    if not isinstance(grad, SparseTensor):
        return TakeValues.apply(grad, places)
    return TakeValues.apply(ToDense.apply(grad), places)


def values_of_gradient(grad, pattern):
    """The elements of a gradient at the places of a sparse tensor."""
    if not isinstance(grad, SparseTensor):
        return take_values(grad, pattern)
    return sparse_at(grad, pattern)._parts.values

"""Functions of matrices that are made of other operations: powers, long products, tensors as matrices."""

import itertools
import math
import operator

from tensorlab._core.device import contiguous_format
from tensorlab._core.dispatch.autocast import in_lower
from tensorlab._core.dispatch.out_argument import store_out
from tensorlab.errors import DimensionError, DTypeError, ShapeError
from tensorlab.ops.joining import cat
from tensorlab.ops.linalg.checks import (
    check_inexact,
    check_square_matrices,
    check_tensors,
)
from tensorlab.ops.linalg.composed import cross as cross_of_any
from tensorlab.ops.linalg.matrices import matmul
from tensorlab.ops.linalg.matrix_exponential import identity_like
from tensorlab.ops.linalg.solving import inv, solve
from tensorlab.ops.slicing import diagonal as diagonal_of


# ------------------------------------------------------------------------------ matrix_power
def matrix_power(A, n, *, out=None):
    """A @ A @ ... @ A, of n factors; of the inverse for negative n.

    Parameters
    ----------
    A : Tensor, shape (*, m, m)
    n : int

    Raises
    ------
    LinAlgError
        If n is negative and a matrix is singular.

    >>> import tensorlab
    >>> tensorlab.linalg.matrix_power(tensorlab.tensor([[1., 1.], [0., 1.]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    check_tensors("linalg.matrix_power", A=A)
    if A.dim() < 2 or A.size(-1) != A.size(-2):
        raise ShapeError(
            f"linalg.matrix_power: A has shape {tuple(A.shape)}; expected square matrices"
        )
    n = operator.index(n)
    if A.element_size() < 4 and A.is_floating_point():  # half types: rounded once, at the end
        power = matrix_power(A.float(), n).to(A.dtype)
        return store_out("linalg.matrix_power", power, out, (A,))
    if n < 0:
        check_square_matrices("linalg.matrix_power", A)
        A, n = inv(A), -n
    if n == 0:
        result = identity_like(A)
        if A.requires_grad:  # a history, in which the gradient is 0
            result = result + A.masked_fill(result == result, 0)
    else:
        result = None
        while True:  # by the bits of n: a factor A, A^2, A^4, ... for each that is set
            if n & 1:
                result = A if result is None else result @ A
            n >>= 1
            if n == 0:
                break
            A = A @ A
        if result is A:
            result = A.clone(memory_format=contiguous_format)
    return store_out("linalg.matrix_power", result, out, (A,))


# ------------------------------------------------------------------------------ multi_dot
def multi_dot(tensors, *, out=None):
    """The product of several matrices, in the order of multiplications that takes the least work.

    Parameters
    ----------
    tensors : two matrices or more; the first may be a vector, a row, and the last one, a column

    >>> import tensorlab
    >>> a, b = tensorlab.ones(1, 3), tensorlab.ones(3, 1)
    >>> tensorlab.linalg.multi_dot([b, a, b])
    tensor([[3.],
            [3.],
            [3.]])
    """
    tensors = list(tensors)
    if len(tensors) < 2:
        raise ShapeError(
            f"linalg.multi_dot: {len(tensors)} tensors are given; expected two or more"
        )
    check_tensors("linalg.multi_dot", **{f"tensors[{i}]": one for i, one in enumerate(tensors)})
    first, last = tensors[0], tensors[-1]
    _check_dims(tensors)
    factors = list(tensors)
    if first.dim() == 1:
        factors[0] = first.unsqueeze(0)
    if last.dim() == 1:
        factors[-1] = last.unsqueeze(1)
    for i, (x, y) in enumerate(itertools.pairwise(factors)):
        if x.dtype is not y.dtype:
            raise DTypeError(
                f"linalg.multi_dot: tensor {i} is of {x.dtype} and tensor {i + 1} of {y.dtype}; expected one type"
            )
        if x.size(1) != y.size(0):
            raise ShapeError(
                f"linalg.multi_dot: tensor {i} has shape {tuple(tensors[i].shape)} and tensor {i + 1} "
                f"{tuple(tensors[i + 1].shape)}; the inner sizes {x.size(1)} and {y.size(0)} must match"
            )
    result = _multiplied(
        factors, *_best_splits([x.size(0) for x in factors] + [factors[-1].size(1)])
    )
    if first.dim() == 1:
        result = result.squeeze(0)
    if last.dim() == 1:
        result = result.squeeze(-1)
    return store_out("linalg.multi_dot", result, out, tuple(tensors))


def _check_dims(tensors):
    for i, one in enumerate(tensors):
        is_end = i in (0, len(tensors) - 1)
        if not (one.dim() == 2 or (is_end and one.dim() == 1)):
            expected = "a matrix or a vector" if is_end else "a matrix"
            raise ShapeError(
                f"linalg.multi_dot: tensor {i} has shape {tuple(one.shape)}; expected {expected}"
            )


def _best_splits(sizes):
    """Where to split each product of neighbours i to j, by dynamic programming over their lengths.

    Source: T. Cormen and others, "Introduction to algorithms", section on matrix-chain multiplication.
    """
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return split, 0, n - 1


def _multiplied(factors, split, i, j):
    if i == j:
        return factors[i]
    k = split[i][j]
    return _multiplied(factors, split, i, k) @ _multiplied(factors, split, k + 1, j)


def chain_matmul(*matrices, out=None):
    """The product of several matrices, in the order that takes the least work: `linalg.multi_dot`.

    >>> import tensorlab
    >>> tensorlab.chain_matmul(tensorlab.ones(1, 3), tensorlab.ones(3, 1), tensorlab.ones(1, 1))
    tensor([[3.]])
    """
    check_tensors("chain_matmul", **{f"matrices[{i}]": one for i, one in enumerate(matrices)})
    if len(matrices) == 1:
        return store_out("chain_matmul", matrices[0], out, matrices)
    for i, one in enumerate(matrices):
        if one.dim() != 2:
            raise ShapeError(
                f"chain_matmul: tensor {i} has shape {tuple(one.shape)}; expected a matrix"
            )
    return multi_dot(matrices, out=out)


# ------------------------------------------------------------------------------ tensorinv, tensorsolve
def tensorinv(A, ind=2, *, out=None):
    """The inverse of a tensor for `tensordot`: tensordot(tensorinv(A, ind), A, ind) is an identity.

    Parameters
    ----------
    A : Tensor, of which the product of the first `ind` sizes is the product of the others
    ind : int, above 0

    Returns
    -------
    Tensor, shape A.shape[ind:] + A.shape[:ind]

    >>> import tensorlab
    >>> tensorlab.linalg.tensorinv(tensorlab.eye(4).reshape(4, 2, 2), ind=1).shape
    tensorlab.Size([2, 2, 4])
    """
    check_tensors("linalg.tensorinv", A=A)
    check_inexact("linalg.tensorinv", A)
    ind = operator.index(ind)
    if ind <= 0:
        raise ShapeError(f"linalg.tensorinv: ind is {ind}; expected a number above 0")
    rows, columns = A.shape[:ind], A.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ShapeError(
            f"linalg.tensorinv: A has shape {tuple(A.shape)}, and ind={ind} makes it a matrix of "
            f"{math.prod(rows)} x {math.prod(columns)}; expected a square one"
        )
    result = inv(A.reshape(math.prod(rows), math.prod(columns))).reshape(*columns, *rows)
    return store_out("linalg.tensorinv", result, out, (A,))


def tensorsolve(A, B, dims=None, *, out=None):
    """Solve tensordot(A, X, X.ndim) = B.

    Parameters
    ----------
    A : Tensor, shape B.shape + X.shape, whose parts have equal products
    B : Tensor
    dims : tuple of int, dimensions of A that are moved to its end first

    >>> import tensorlab
    >>> A = tensorlab.eye(4).reshape(4, 2, 2)
    >>> tensorlab.linalg.tensorsolve(A, tensorlab.arange(4.))
    tensor([[0., 1.],
            [2., 3.]])
    """
    check_tensors("linalg.tensorsolve", A=A, B=B)
    check_inexact("linalg.tensorsolve", A)
    given = A
    if dims is not None:
        dims = [dims] if not isinstance(dims, (tuple, list)) else list(dims)
        dims = [_wrapped(one, A.dim(), "linalg.tensorsolve") for one in dims]
        A = A.movedim(dims, list(range(A.dim() - len(dims), A.dim())))
    shape = A.shape[B.dim() :]
    if math.prod(shape) != math.prod(B.shape) or math.prod(A.shape) != math.prod(shape) ** 2:
        raise ShapeError(
            f"linalg.tensorsolve: A has shape {tuple(A.shape)} and B {tuple(B.shape)}; expected A.shape = "
            f"B.shape + X.shape, with as many elements in X as in B"
        )
    size = math.prod(shape)
    result = solve(A.reshape(size, size), B.flatten()).reshape(shape)
    return store_out("linalg.tensorsolve", result, out, (given, B))


def _wrapped(dim, ndim, where):
    dim = operator.index(dim)
    if not -ndim <= dim < ndim:
        raise DimensionError(
            f"{where}: dimension {dim} is out of range for a tensor of {ndim} dimensions"
        )
    return dim % ndim


# ------------------------------------------------------------------------------ of vectors
def vander(x, N=None):
    """The powers of each element as a row: 1, x, x**2, ..., x**(N - 1).

    Parameters
    ----------
    x : Tensor, shape (*, n)
    N : int, how many powers, 2 or more; n unless given

    Returns
    -------
    Tensor, shape (*, n, N)

    >>> import tensorlab
    >>> tensorlab.linalg.vander(tensorlab.tensor([2, 3]), 3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    check_tensors("linalg.vander", x=x)
    x = x.unsqueeze(0) if x.dim() == 0 else x
    count = x.size(-1) if N is None else operator.index(N)
    if count <= 1:
        raise ShapeError(f"linalg.vander: N is {count}; expected 2 or more")
    powers = x.unsqueeze(-1).expand(*x.shape, count - 1).cumprod(-1)
    return cat([powers.detach().new_ones((*x.shape, 1)), powers], -1)


def vecdot(x, y, *, dim=-1, out=None):
    """The inner products of vectors along a dimension: sum(conj(x) * y).

    Parameters
    ----------
    x, y : Tensor; their shapes broadcast
    dim : int

    >>> import tensorlab
    >>> tensorlab.linalg.vecdot(tensorlab.tensor([[1., 2.], [3., 4.]]), tensorlab.tensor([1., 1.]))
    tensor([3., 7.])
    """
    check_tensors("linalg.vecdot", x=x, y=y)
    x, y = in_lower((x, y))
    check_inexact("linalg.vecdot", x, "x")
    dim = operator.index(dim)
    if x.dtype is not y.dtype:
        raise DTypeError(f"linalg.vecdot: x is of {x.dtype} and y of {y.dtype}; expected one type")
    if out is None and x.dim() == 1 and y.dim() == 1 and x.shape == y.shape:
        return matmul(x.conj(), y)
    return store_out("linalg.vecdot", (x.conj() * y).sum(dim), out, (x, y))


def cross(input, other, *, dim=-1, out=None):
    """The product of vectors in space, orthogonal to both, that lie along a dimension of size 3.

    >>> import tensorlab
    >>> tensorlab.linalg.cross(tensorlab.tensor([1., 0., 0.]), tensorlab.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
    """
    return cross_of_any(input, other, dim, out=out)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonal of each matrix, a view: `tensorlab.diagonal` of the last two dimensions.

    >>> import tensorlab
    >>> tensorlab.linalg.diagonal(tensorlab.ones(2, 3, 3)).shape
    tensorlab.Size([2, 3])
    """
    check_tensors("linalg.diagonal", A=A)
    return diagonal_of(A, offset, dim1, dim2)

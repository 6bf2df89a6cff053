"""Three differentiable maps onto orthogonal matrices: exponential, Cayley and Householder.

SciPy computes the exponential and its derivative, NumPy solves systems; each is a Function with both ways.
"""

import numpy as np

from ..._core.interop.arrays import from_numpy
from ...autograd.function import Function, once_differentiable
from ...ops.ranges import eye

__all__ = ["cayley", "householder_product", "matrix_exp"]


def for_each_matrix(function, *batches):
    """Apply a function of matrices along the dimensions in front."""
    shape = batches[0].shape
    matrices = [array.reshape(-1, *array.shape[-2:]) for array in batches]
    return np.stack([function(*one) for one in zip(*matrices, strict=True)]).reshape(shape)


class MatrixExp(Function):
    """exp(A) of matrices; the gradient is the Fréchet derivative at the transpose, in its direction.

    Source: Al-Mohy and Higham 2009, "Computing the Fréchet Derivative of the Matrix Exponential".
    """

    @staticmethod
    def forward(ctx, x):
        from scipy.linalg import expm  # 70 ms, which not every program should pay

        ctx.save_for_backward(x)
        return from_numpy(for_each_matrix(expm, x.detach().numpy()))

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        from scipy.linalg import expm_frechet

        (x,) = ctx.saved_tensors
        return from_numpy(
            for_each_matrix(
                lambda a, g: expm_frechet(a, g, compute_expm=False),
                x.detach().mT.contiguous().numpy(),
                grad.contiguous().numpy(),
            )
        )


class Solve(Function):
    """X with A X = B."""

    @staticmethod
    def forward(ctx, a, b):
        x = from_numpy(np.linalg.solve(a.detach().numpy(), b.detach().numpy()))
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        a, x = ctx.saved_tensors
        by_b = from_numpy(np.linalg.solve(a.detach().mT.numpy(), grad.contiguous().numpy()))
        return -by_b @ x.mT, by_b


def matrix_exp(x):
    """The exponential of square matrices, shape (..., n, n); orthogonal for antisymmetric ones."""
    return MatrixExp.apply(x)


def cayley(x):
    """(I - x / 2)^-1 (I + x / 2) of square matrices; orthogonal for antisymmetric ones."""
    identity = eye(x.size(-1), dtype=x.dtype)
    return Solve.apply(identity - x / 2, identity + x / 2)


def householder_product(vectors, scales):
    """The first columns of the product of reflections I - scale_i v_i v_i^T.

    Parameters
    ----------
    vectors : Tensor, shape (..., n, k), k at most n; below the diagonal the reflections'
        vectors, whose element on it counts as 1
    scales : Tensor, shape (..., k)

    Returns
    -------
    Tensor, shape (..., n, k)
    """
    n, k = vectors.shape[-2:]
    lower = vectors.tril(-1) + eye(n, k, dtype=vectors.dtype)
    product = eye(n, k, dtype=vectors.dtype).expand(vectors.shape)
    for i in reversed(range(k)):
        v = lower[..., i : i + 1]
        product = product - scales[..., i, None, None] * (v @ (v.mT @ product))
    return product

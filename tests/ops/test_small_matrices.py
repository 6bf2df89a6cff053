"""Batches of small matrices, factored side by side: the same results as LAPACK's, as far as they are determined."""

import numpy as np
import pytest

import tensorlab
from tensorlab import linalg

TYPES = ("float32", "float64")
# Batches that fill vectors and that don't, and sizes from which on LAPACK does the work.
SHAPES = [(8, 1), (9, 2), (16, 3), (37, 4), (40, 8), (19, 12), (9, 13)]


def matrices(shape, dtype, scale=1):
    count, n = shape
    return (np.random.default_rng(count + n).standard_normal((count, n, n)) * scale).astype(dtype)


def transposed(x):
    return x.swapaxes(-1, -2)


def check_close(x, y, dtype, size=1.0):
    """Equal, but for some dozens of roundings of numbers of that size."""
    np.testing.assert_allclose(x, y, rtol=0, atol=400 * np.finfo(dtype).eps * size)


def as_float64(tensors):
    return [x.numpy().astype("float64") for x in tensors]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_LU_factors_multiply_to_the_matrix(shape, dtype):
    A = matrices(shape, dtype)
    P, L, U = as_float64(linalg.lu(tensorlab.tensor(A)))
    check_close(P @ L @ U, A, dtype)
    assert (np.abs(L) <= 1).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("columns", [1, 3, 30])
def test_solutions_fulfil_the_equations(shape, columns, dtype):
    count, n = shape
    A = matrices(shape, dtype) + 3 * n * np.eye(n, dtype=dtype)
    B = np.random.default_rng(1).standard_normal((count, n, columns)).astype(dtype)
    X = linalg.solve(tensorlab.tensor(A), tensorlab.tensor(B)).numpy()
    check_close(A @ X, B, dtype)
    X = linalg.lu_solve(*linalg.lu_factor(tensorlab.tensor(A)), tensorlab.tensor(B), adjoint=True)
    check_close(transposed(A) @ X.numpy(), B, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_inverses_and_determinants_are_those_of_numpy(shape, dtype):
    n = shape[1]
    A = matrices(shape, dtype) + 3 * n * np.eye(n, dtype=dtype)
    check_close(linalg.inv(tensorlab.tensor(A)).numpy(), np.linalg.inv(A), dtype)
    expected = np.linalg.det(A.astype("float64"))
    check_close(linalg.det(tensorlab.tensor(A)).numpy() / expected, np.ones(shape[0]), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_reads_one_triangle_and_fills_the_other_with_zeros(shape, upper, dtype):
    A = matrices(shape, dtype)
    A = A @ transposed(A) + np.eye(shape[1], dtype=dtype)
    triangle, others = (np.triu, np.tril) if upper else (np.tril, np.triu)
    L = linalg.cholesky(tensorlab.tensor(triangle(A)), upper=upper).numpy()
    check_close(transposed(L) @ L if upper else L @ transposed(L), A, dtype, np.abs(A).max())
    assert (others(L, -1 if upper else 1) == 0).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1, 1e-20, 1e15])
def test_eigenvectors_are_orthonormal_and_turn_to_multiples(shape, scale, dtype):
    """At all sizes of the numbers: their squares may be out of range."""
    n = shape[1]
    A = matrices(shape, dtype, scale)
    A = A + transposed(A)
    size = max(np.abs(A).max() * n, 1e-30)
    L, V = as_float64(linalg.eigh(tensorlab.tensor(np.triu(A)), "U"))
    check_close(A @ V, V * L[:, None], dtype, size)
    check_close(transposed(V) @ V, np.broadcast_to(np.eye(n), A.shape), dtype)
    check_close(linalg.eigvalsh(tensorlab.tensor(A)).numpy(), np.linalg.eigvalsh(A), dtype, size)
    assert (np.diff(L) >= 0).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1, 1e-20, 1e15])
def test_singular_vectors_are_orthonormal_and_multiply_to_the_matrix(shape, scale, dtype):
    n = shape[1]
    A = matrices(shape, dtype, scale)
    size = np.abs(A).max() * n
    U, S, Vh = as_float64(linalg.svd(tensorlab.tensor(A)))
    check_close((U * S[:, None]) @ Vh, A, dtype, size)
    for vectors in (U, Vh):
        check_close(transposed(vectors) @ vectors, np.broadcast_to(np.eye(n), A.shape), dtype)
    singular = np.linalg.svd(A.astype("float64"), compute_uv=False)
    check_close(linalg.svdvals(tensorlab.tensor(A)).numpy(), singular, dtype, size)
    assert (np.diff(S) <= 0).all()


def batch_with_singular_ones():
    A = matrices((20, 4), "float64")
    A[3] = 0
    A[11, :, 2] = 0
    return tensorlab.tensor(A)


def test_matrices_that_fail_are_told_apart_from_their_neighbours():
    A = batch_with_singular_ones()
    expected = [1 if i == 3 else 3 if i == 11 else 0 for i in range(20)]
    assert linalg.lu_factor_ex(A).info.tolist() == expected
    assert linalg.inv_ex(A).info.tolist() == expected
    assert [i for i, det in enumerate(linalg.det(A).tolist()) if det == 0] == [3, 11]
    squares = A @ A.mT
    squares[6] *= -1
    failed = [i for i, info in enumerate(linalg.cholesky_ex(squares).info.tolist()) if info != 0]
    assert failed[:2] == [3, 6]
    with pytest.raises(linalg.LinAlgError, match="matrix 3 of the batch is singular"):
        linalg.inv(A)


def test_singular_matrices_have_singular_vectors():
    A = batch_with_singular_ones()
    U, S, Vh = linalg.svd(A)
    check_close(((U * S.unsqueeze(-2)) @ Vh).numpy(), A.numpy(), "float64")
    check_close((U.mT @ U).numpy(), np.broadcast_to(np.eye(4), A.shape), "float64")
    assert S[3].tolist() == [0, 0, 0, 0]
    L, V = linalg.eigh(A + A.mT)
    assert L[3].tolist() == [0, 0, 0, 0]
    check_close(((V * L.unsqueeze(-2)) @ V.mT).numpy(), (A + A.mT).numpy(), "float64")


@pytest.mark.parametrize("place", [(0, 0), (3, 1), (2, 2)])
def test_a_matrix_that_holds_nan_is_named(place):
    A = matrices((20, 4), "float32")
    A = A + transposed(A)
    A[7][place] = np.nan
    for function in (linalg.eigh, linalg.svd):
        with pytest.raises(linalg.LinAlgError, match="matrix 7 of the batch"):
            function(tensorlab.tensor(A))
    dets = linalg.det(tensorlab.tensor(A)).isnan()
    assert [i for i in range(20) if dets[i]] == [7]


def test_infinity_stays_in_its_matrix():
    A = matrices((20, 4), "float64")
    expected = linalg.inv(tensorlab.tensor(A))
    A[7, 2, 1] = np.inf
    others = [i for i in range(20) if i != 7]
    assert linalg.inv_ex(tensorlab.tensor(A)).inverse[others].equal(expected[others])
    assert not linalg.det(tensorlab.tensor(A))[7].isfinite()

"""Linear algebra of complex matrices: what defines each result, derivatives of both orders, and phases."""

import numpy as np
import pytest

import tensorlab
from tensorlab import linalg
from tensorlab.autograd import gradcheck, gradgradcheck
from tensorlab.errors import GradientError

EPS = {"complex64": 1.2e-7, "complex128": 2.2e-16}


def numbers(*shape, seed=0, dtype="complex128"):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return tensorlab.from_numpy(found.astype(dtype))


def regular(x):
    return x + 3 * tensorlab.eye(x.shape[-1], dtype=x.dtype)


def hermitian(x):
    return x + x.mH


def definite(x):
    return x @ x.mH + tensorlab.eye(x.shape[-1], dtype=x.dtype)


def of_size_1(x):
    """Vectors made unique, as far as a phase goes: their first elements become real."""
    first = x[..., :1, :]
    return x * (first.conj() / first.abs())


def eigenvectors(A):
    L, V = linalg.eigh(hermitian(A))
    return L, of_size_1(V)


def singular_vectors(A):
    U, S, Vh = linalg.svd(A, False)
    phases = U[..., :1, :] / U[..., :1, :].abs()
    return U * phases.conj(), S, phases.mT * Vh


def general_eigenvectors(A):
    L, V = linalg.eig(A)
    return L, of_size_1(V)


FUNCTIONS = {
    "solve": (lambda A, B: linalg.solve(regular(A), B), (2, 3, 3), (2, 3, 2)),
    "solve left=False": (lambda A, B: linalg.solve(regular(A), B, left=False), (3, 3), (2, 3)),
    "solve vector": (lambda A, B: linalg.solve(regular(A), B), (3, 3), (3,)),
    "inv": (lambda A: linalg.inv(regular(A)), (2, 3, 3)),
    "det": (linalg.det, (2, 3, 3)),
    "slogdet": (linalg.slogdet, (2, 3, 3)),
    "lu": (lambda A: linalg.lu(A)[1:], (3, 3)),
    "lu wide": (lambda A: linalg.lu(A)[1:], (2, 4)),
    "lu tall": (lambda A: linalg.lu(A)[1:], (4, 2)),
    "cholesky": (lambda A: linalg.cholesky(definite(A)), (2, 3, 3)),
    "cholesky upper": (lambda A: linalg.cholesky(definite(A), upper=True), (3, 3)),
    "cholesky_solve": (lambda B, L: tensorlab.cholesky_solve(B, regular(L).tril()), (3, 2), (3, 3)),
    "cholesky_solve upper": (
        lambda B, L: tensorlab.cholesky_solve(B, regular(L).triu(), True),
        (3, 2),
        (3, 3),
    ),
    "qr": (linalg.qr, (2, 3, 3)),
    "qr tall": (linalg.qr, (4, 3)),
    "qr wide": (linalg.qr, (2, 4)),
    "householder_product": (linalg.householder_product, (4, 3), (2,)),
    "ormqr": (tensorlab.ormqr, (3, 2), (2,), (3, 2)),
    "ormqr adjoint": (lambda *x: tensorlab.ormqr(*x, transpose=True), (3, 2), (2,), (3, 2)),
    "ormqr right": (lambda *x: tensorlab.ormqr(*x, left=False), (3, 2), (2,), (2, 3)),
    "eigh": (eigenvectors, (3, 3)),
    "eigvalsh": (lambda A: linalg.eigvalsh(hermitian(A)), (2, 3, 3)),
    "svd": (singular_vectors, (3, 3)),
    "svd tall": (singular_vectors, (4, 2)),
    "svd wide": (singular_vectors, (2, 3)),
    "svdvals": (linalg.svdvals, (2, 3, 4)),
    "eig": (general_eigenvectors, (3, 3)),
    "eigvals": (linalg.eigvals, (2, 3, 3)),
    "pinv": (linalg.pinv, (4, 3)),
    "pinv hermitian": (lambda A: linalg.pinv(hermitian(A), hermitian=True), (3, 3)),
    "lstsq": (lambda A, B: linalg.lstsq(A, B).solution, (4, 3), (4, 2)),
    "matrix_exp": (linalg.matrix_exp, (2, 3, 3)),
    "matrix_power": (lambda A: linalg.matrix_power(A, 3), (3, 3)),
    "nuclear norm": (lambda A: linalg.matrix_norm(A, "nuc"), (2, 3, 4)),
    "spectral norm": (lambda A: linalg.matrix_norm(A, 2), (3, 3)),
}
for upper in (False, True):
    for left in (False, True):

        def solve_triangular(A, B, upper=upper, left=left):
            A = regular(A)
            A = A.triu() if upper else A.tril()
            return linalg.solve_triangular(A, B, upper=upper, left=left)

        FUNCTIONS[f"solve_triangular upper={upper} left={left}"] = (
            solve_triangular,
            (3, 3),
            (3, 3),
        )
for left in (False, True):
    for adjoint in (False, True):

        def lu_solve(A, B, left=left, adjoint=adjoint):
            LU, pivots = linalg.lu_factor(regular(A))
            return linalg.lu_solve(LU, pivots, B, left=left, adjoint=adjoint)

        FUNCTIONS[f"lu_solve left={left} adjoint={adjoint}"] = (lu_solve, (3, 3), (3, 3))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_both_orders(name):
    function, *shapes = FUNCTIONS[name]
    inputs = [numbers(*shape, seed=3 + i).requires_grad_() for i, shape in enumerate(shapes)]
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs, atol=1e-4)


def check_close(x, y, dtype):
    np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=0, atol=500 * EPS[dtype])


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("n", [1, 4, 9, 40])
def test_results_are_what_they_are_defined_by(n, dtype):
    A, B = numbers(2, n, n, dtype=dtype) / n**0.5, numbers(2, n, 3, seed=1, dtype=dtype)
    R, eye = regular(A), tensorlab.eye(n, dtype=A.dtype).expand(2, n, n)
    check_close(R @ linalg.solve(R, B), B, dtype)
    check_close(linalg.solve(R, B.mT, left=False) @ R, B.mT, dtype)
    check_close(R @ linalg.inv(R), eye, dtype)
    factors = linalg.lu_factor(R)
    check_close(R.mH @ linalg.lu_solve(*factors, B, adjoint=True), B, dtype)
    right = linalg.lu_solve(*factors, B.mT, left=False, adjoint=True)
    check_close(right @ R.mH, B.mT, dtype)
    P, L, U = linalg.lu(A)
    check_close(P.to(A.dtype) @ L @ U, A, dtype)
    L = linalg.cholesky(definite(A))
    check_close(L @ L.mH, definite(A), dtype)
    check_close(definite(A) @ tensorlab.cholesky_solve(B, L), B, dtype)
    check_close(definite(A) @ tensorlab.cholesky_inverse(L), eye, dtype)
    Q, R = linalg.qr(A)
    check_close(Q @ R, A, dtype)
    check_close(Q.mH @ Q, eye, dtype)
    check_close(tensorlab.ormqr(*tensorlab.geqrf(A), A, transpose=True), R, dtype)
    values, V = linalg.eigh(hermitian(A))
    check_close(hermitian(A) @ V, V * values.unsqueeze(-2), dtype)
    U, S, Vh = linalg.svd(A)
    check_close((U * S.unsqueeze(-2)) @ Vh, A, dtype)
    values, V = linalg.eig(A)
    check_close(A @ V, V * values.unsqueeze(-2), dtype)
    check_close(linalg.det(A), linalg.slogdet(A).sign * linalg.slogdet(A).logabsdet.exp(), dtype)


@pytest.mark.parametrize("hermitian_", [False, True])
def test_symmetric_and_hermitian_factorisations_differ(hermitian_):
    A, B = numbers(3, 5, 5), numbers(3, 5, 2)
    A = A + (A.mH if hermitian_ else A.mT)
    factors = linalg.ldl_factor(A, hermitian=hermitian_)
    check_close(A @ linalg.ldl_solve(*factors, B, hermitian=hermitian_), B, "complex128")


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_leave_residuals_orthogonal_to_the_columns(driver):
    A, B = numbers(2, 6, 3), numbers(2, 6, 2)
    found = linalg.lstsq(A, B, driver=driver)
    rest = A @ found.solution - B
    check_close(A.mH @ rest, tensorlab.zeros(2, 3, 2, dtype=A.dtype), "complex128")
    if driver != "gelsy":
        check_close(found.residuals, rest.abs().square().sum(-2), "complex128")
    if driver in ("gelsd", "gelss"):
        check_close(found.singular_values, linalg.svdvals(A), "complex128")


def test_values_that_are_real_by_nature_have_a_real_type():
    A = numbers(3, 3, dtype="complex64")
    real = [
        linalg.eigh(A).eigenvalues,
        linalg.eigvalsh(A),
        linalg.svd(A).S,
        linalg.slogdet(A).logabsdet,
        linalg.matrix_norm(A),
        linalg.cond(A),
        A.norm(p="nuc"),
    ]
    assert all(one.dtype == tensorlab.float32 for one in real)
    assert linalg.det(A).dtype == linalg.slogdet(A).sign.dtype == tensorlab.complex64


def test_eigenvalues_of_a_real_matrix_are_complex():
    """A rotation by 90 degrees turns every real vector; the last axis stays."""
    A = tensorlab.tensor(
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]], dtype=tensorlab.float64
    )
    L, V = linalg.eig(A)
    assert sorted(L.tolist(), key=lambda z: (z.real, z.imag)) == [-1j, 1j, 2]
    check_close(A.to(V.dtype) @ V, V * L, "complex128")
    x = tensorlab.randn(4, 4, dtype=tensorlab.float64).requires_grad_()
    assert gradcheck(linalg.eigvals, (x,))
    assert gradgradcheck(linalg.eigvals, (x,), atol=1e-4)


@pytest.mark.parametrize(
    "loss",
    [
        lambda A: linalg.eigh(hermitian(A)).eigenvectors[0].sum(),
        lambda A: linalg.eig(A).eigenvectors[0].sum(),
        lambda A: linalg.svd(A).U[0].sum(),
        lambda A: linalg.svd(A).Vh[0].sum(),
    ],
)
def test_a_loss_that_depends_on_phases_has_no_gradient(loss):
    A = numbers(3, 3).requires_grad_()
    with pytest.raises(GradientError, match="phases"):
        tensorlab.autograd.grad(loss(A).imag, A)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1j * np.inf])
def test_eig_refuses_what_is_not_finite(bad):
    A = numbers(2, 3, 3)
    A[1, 2, 0] = complex(bad)
    with pytest.raises(linalg.LinAlgError, match="infinities or nan"):
        linalg.eig(A)


def test_lobpcg_finds_the_largest_eigenvalues_of_a_hermitian_matrix():
    tensorlab.manual_seed(0)
    A = definite(numbers(20, 20))
    values, vectors = tensorlab.lobpcg(A, k=2)
    check = linalg.eigvalsh(A).flip(0)[:2]
    np.testing.assert_allclose(values.numpy(), check.numpy(), rtol=1e-6)
    np.testing.assert_allclose((A @ vectors).numpy(), (vectors * values).numpy(), atol=1e-3)

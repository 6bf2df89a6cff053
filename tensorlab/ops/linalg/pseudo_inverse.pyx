"""The pseudo-inverse of matrices, and which singular values count as 0."""
from tensorlab._core.dispatch.autocast cimport in_float32
from tensorlab._core.dispatch.dispatch cimport run_4
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out
from tensorlab._core.tensor cimport TensorBase

from tensorlab._core.dtypes import finfo
from tensorlab.errors import ShapeError
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.linalg.checks import check_matrices, check_square_matrices
from tensorlab.ops.linalg.spectral import eigh, svd


def tolerance(A, values, atol, rtol, where):
    """The size from which a singular value counts: max(atol, rtol * the largest), a column to compare with."""
    for name, one in (("atol", atol), ("rtol", rtol)):
        if isinstance(one, TensorBase) and one.is_complex():
            raise ShapeError(f"{where}: {name} is of {one.dtype}; expected a real number")
    if rtol is None:
        default = finfo(A.dtype).eps * max(A.size(-2), A.size(-1))
        if isinstance(atol, TensorBase):
            rtol = (atol <= 0).to(values.dtype) * default
        else:
            rtol = 0.0 if atol is not None and atol > 0 else default
    atol = 0.0 if atol is None else atol
    largest = values.amax(-1, True)
    atol, rtol = (
        one.to(values.dtype).unsqueeze(-1) if isinstance(one, TensorBase) else one
        for one in (atol, rtol)
    )
    relative = rtol * largest
    if isinstance(atol, TensorBase):
        return atol.maximum(relative)
    return relative.clamp(min=atol)


# ---------------------------------------------------------------- pinv
cdef Op PINV = Op("linalg_pinv(Tensor A, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
                  aten="linalg_pinv.atol_rtol_tensor", public={"A": "self"}, checks_values=True, holomorphic=False)

@PINV.compose
def pinv_of(A, atol, rtol, hermitian):
    A = A.detach()
    if A.numel() == 0:
        return A.new_zeros(A.transpose(-2, -1).shape)
    if hermitian:
        values, V = eigh(A)
        sizes = values.abs()
        kept = sizes > tolerance(A, sizes, atol, rtol, "linalg.pinv")
        return (V * values.reciprocal().where(kept, 0).unsqueeze(-2)) @ adjoint(V)
    U, S, Vh = svd(A, False)
    kept = S > tolerance(A, S, atol, rtol, "linalg.pinv")
    return (adjoint(Vh) * S.reciprocal().where(kept, 0).unsqueeze(-2)) @ adjoint(U)

@PINV.derivative("A")
def pinv_derivative(grad, A, out):
    """Of a matrix whose rank doesn't change nearby.

    Source: G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
    squares problems whose variables separate", 1973.
    """
    P, P_h, grad_h = out, adjoint(out), adjoint(grad)
    if A.size(-2) <= A.size(-1):
        K = grad_h @ P
        K_P_h = K @ P_h
        return K_P_h - adjoint(P @ K) - (A @ P) @ K_P_h + (P_h @ P) @ (grad_h - K @ A)
    K = P @ grad_h
    P_h_K = P_h @ K
    return P_h_K - adjoint(K @ P) + ((grad_h - A @ K) @ P) @ P_h - (P_h_K @ P) @ A


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """The pseudo-inverse of matrices (Moore-Penrose): of all X that make A X closest to the identity, the smallest.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    atol, rtol : float or Tensor, from which size on a singular value counts: from `max(atol, rtol * largest)`. With neither,
        rtol is eps * max(m, n); with atol alone, 0
    rcond : another name of rtol
    hermitian : bool, whether A is symmetric, which is faster; only its lower triangle is read then

    Returns
    -------
    Tensor, shape (*, n, m)

    >>> import tensorlab
    >>> tensorlab.linalg.pinv(tensorlab.tensor([[2., 0.], [0., 0.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    check_matrices("linalg.pinv", A)
    if hermitian:
        check_square_matrices("linalg.pinv", A)
    if rcond is not None:
        rtol = rcond
    result = run_4(PINV, A, as_tensor(A, atol), as_tensor(A, rtol), bool(hermitian))
    return store_out("linalg.pinv", result, out, (A,))


def as_tensor(A, number):
    if number is None or isinstance(number, TensorBase):
        return number
    return A.detach().new_full((), number, dtype=real_dtype(A))


def real_dtype(A):
    return A.real.dtype if A.is_complex() else A.dtype


def pinverse(input, rcond=1e-15):
    """The pseudo-inverse of matrices: `linalg.pinv`.

    >>> import tensorlab
    >>> tensorlab.pinverse(tensorlab.tensor([[2.], [0.]]))
    tensor([[0.5000, 0.0000]])
    """
    (input,) = in_float32((input,))
    return pinv(input, rcond)

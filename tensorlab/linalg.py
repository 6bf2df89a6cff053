"""Linear algebra: still to come, but for what the package has under other names."""

from tensorlab import _missing, _planned
from tensorlab.ops.linalg.matrices import matmul

__all__ = ["matmul"]

globals().update(
    _planned.names(
        __name__,
        """LinAlgError cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh
        householder_product inv inv_ex ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor
        lu_factor_ex lu_solve matrix_exp matrix_norm matrix_power matrix_rank multi_dot norm
        pinv qr slogdet solve solve_ex solve_triangular svd svdvals tensorinv tensorsolve vander
        vecdot vector_norm""",
        until="where no gradient is needed, give x.numpy() to numpy.linalg or scipy.linalg, "
        "and its result to "
        "tensorlab.from_numpy.",
        diagonal="call tensorlab.diagonal(x, dim1=-2, dim2=-1).",
        multi_dot="write a @ b @ c.",
        norm="call tensorlab.norm(x) for vectors and the Frobenius norm of matrices.",
        vecdot="write (x * y).sum(-1).",
        vector_norm="call tensorlab.norm(x, p, dim).",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)

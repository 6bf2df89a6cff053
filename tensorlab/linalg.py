"""Linear algebra: systems of equations, factorisations, eigenvalues and singular values, norms.

All functions take batches: the last two dimensions of a tensor are a matrix. LAPACK does the work,
SciPy's, one matrix after the other, shared out over the threads of the package.
"""

from tensorlab import _missing
from tensorlab.errors import LinAlgError
from tensorlab.ops.linalg.cholesky import cholesky, cholesky_ex
from tensorlab.ops.linalg.conditioning import cond, matrix_rank
from tensorlab.ops.linalg.determinants import det, slogdet
from tensorlab.ops.linalg.eigenvalues import eig, eigvals
from tensorlab.ops.linalg.indefinite import ldl_factor, ldl_factor_ex, ldl_solve
from tensorlab.ops.linalg.least_squares import lstsq
from tensorlab.ops.linalg.lu import lu, lu_factor, lu_factor_ex, lu_solve
from tensorlab.ops.linalg.matrices import matmul
from tensorlab.ops.linalg.matrix_exponential import matrix_exp
from tensorlab.ops.linalg.matrix_functions import (
    cross,
    diagonal,
    matrix_power,
    multi_dot,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from tensorlab.ops.linalg.matrix_norms import matrix_norm, norm, vector_norm
from tensorlab.ops.linalg.orthogonal import householder_product, qr
from tensorlab.ops.linalg.pseudo_inverse import pinv
from tensorlab.ops.linalg.solving import inv, inv_ex, solve, solve_ex
from tensorlab.ops.linalg.spectral import eigh, eigvalsh, svd, svdvals
from tensorlab.ops.linalg.triangular import solve_triangular

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

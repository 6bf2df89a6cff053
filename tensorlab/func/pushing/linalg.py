"""Forward rules of linear algebra, where they are shorter than two backward passes, or follow another convention."""

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab.func.pushing.rules import pushing


@pushing("linalg_inv_ex")
def inverse(op, primals, tangents, out):
    """0 = d(A inv(A)), so d inv(A) = -inv(A) dA inv(A)."""
    return -(out[0] @ tangents[0] @ out[0])


@pushing("linalg_cholesky_ex")
def cholesky(op, primals, tangents, out):
    """With A = L L^H: inv(L) dA inv(L)^H = S + S^H, where S = inv(L) dL is lower triangular.

    The lower triangle of this product counts, which is all of it for a hermitian tangent.
    """
    upper = primals[op.params.index("upper")]
    lower = out[0].mH if upper else out[0]
    solve = REGISTRY["linalg_solve_triangular"]
    half = solve(lower, tangents[0], upper=False)
    half = solve(lower.mH, half, upper=True, left=False).tril()
    half = half - half.diagonal(0, -2, -1).diag_embed() * 0.5
    moved = lower @ half
    return moved.mH if upper else moved

"""Samples of the factorisations, and of what is made of them.

Eigenvectors and singular vectors are compared by their absolute values: their signs are as LAPACK leaves them, and
PyTorch's LAPACK is another one. A matrix becomes symmetric or positive definite within the call, so that derivatives
can be taken by each element.
"""

import math
import warnings

from tests.ops.samples import Sample, normal, uniform

DTYPES = ("float32", "float16", "int64")
TOLERANCE = 300  # float32: how much a solution loses, of which PyTorch's loses as much


def sample(name, call, *inputs, **options):
    return Sample(name, call, *inputs, **{"dtypes": DTYPES, "tolerance": TOLERANCE, **options})


def quietly(call):
    """A call of a function that PyTorch calls deprecated."""

    def call_quietly(T, *tensors):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(T, *tensors)

    return call_quietly


def symmetric(x):
    return x + x.transpose(-2, -1)


def hermitian(x):
    return x + x.mH


def definite(T, x):
    """x x^H + 1 on the diagonal."""
    return x @ x.mH + T.ones(x.shape[-1], dtype=x.dtype, device=x.device).diag_embed()


def regular(T, x):
    """Far from singular."""
    return x + 3 * T.ones(x.shape[-1], dtype=x.dtype, device=x.device).diag_embed()


def triangle(x, upper):
    return x.triu() if upper else x.tril()


def sizes(results):
    return tuple(one.abs() for one in results)


def without_order(values, vectors):
    """What doesn't depend on the order of eigenvalues, nor on the phases of vectors."""
    return values.abs().sort().values, (vectors.abs() ** 3).sum(-1)


def square(*batch, n=3):
    return normal(*batch, n, n)


BATCHES = [[square(2)], [square(2, 1, n=2)], [square(n=1)], [square(0)], [square(2, n=0)]]
SHAPES = [[normal(2, 3, 4)], [normal(4, 3)], [normal(3, 3)], [normal(1, 4)], [normal(0, 3, 4)]]


def not_square(name):
    """Bad calls of a function of one square matrix."""
    return [
        lambda T, x: getattr(T.linalg, name)(x[:2]),
        lambda T, x: getattr(T.linalg, name)(x[0]),
        lambda T, x: getattr(T.linalg, name)(x.long()),
    ]


def _systems():
    for left in (True, False):
        yield sample(
            f"linalg.solve{'' if left else ' right'}",
            lambda T, a, b, left=left: T.linalg.solve(regular(T, a), b, left=left),
            square(2),
            square(2),
            more=[[square(), square(2)], [square(2), square()], [square(2, 1), square(4)]],
            bad=[
                lambda T, a, b: T.linalg.solve(a, b[:, :2]),
                lambda T, a, b: T.linalg.solve(a[:, :2], b),
                lambda T, a, b: T.linalg.solve(a, b.float()),
                lambda T, a, b: T.linalg.solve(a.long(), b.long()),
                lambda T, a, b: T.linalg.solve(a * 0, b),
                lambda T, a, b: T.linalg.solve(a, b[0, 0, 0]),
                lambda T, a, b: T.linalg.solve(a, b[0, 0], left=False),
                lambda T, a, b: T.linalg.solve(a, T.ones(5, 3, 3, dtype=a.dtype)),
            ],
        )
        for adjoint in (True, False):
            yield sample(
                f"linalg.lu_solve {left} {adjoint}",
                lambda T, a, b, left=left, adjoint=adjoint: T.linalg.lu_solve(
                    *T.linalg.lu_factor(regular(T, a)), b, left=left, adjoint=adjoint
                ),
                square(2),
                square(2),
                more=[[square(), square(2)], [square(2), square()]],
            )
        for upper in (True, False):
            yield sample(
                f"linalg.solve_triangular {left} {upper}",
                lambda T, a, b, left=left, upper=upper: T.linalg.solve_triangular(
                    regular(T, a), b, left=left, upper=upper
                ),
                square(2),
                square(2),
                more=[[square(), square(2)], [square(2), square()], [square(0), square(0)]],
            )
    yield sample(
        "linalg.solve vector",
        lambda T, a, b: T.linalg.solve(regular(T, a), b),
        square(2),
        normal(2, 3),
        more=[[square(), normal(3)], [square(2), normal(3)], [square(0), normal(0, 3)]],
    )
    yield sample(
        "linalg.solve_triangular unit",
        lambda T, a, b: T.linalg.solve_triangular(a, b, upper=True, unitriangular=True),
        square(2),
        normal(2, 3, 2),
        bad=[
            lambda T, a, b: T.linalg.solve_triangular(a, b[:, :2], upper=True),
            lambda T, a, b: T.linalg.solve_triangular(a[:, :2], b, upper=True),
            lambda T, a, b: T.linalg.solve_triangular(a, b[0, 0], upper=True),
        ],
    )
    yield sample(
        "linalg.solve_ex",
        lambda T, a, b: T.linalg.solve_ex(regular(T, a), b),
        square(),
        square(),
        more=[[square(2), square(2)]],
    )
    yield sample(
        "lu_solve",
        quietly(lambda T, b, a: T.lu_solve(b, *T.linalg.lu_factor(regular(T, a)))),
        normal(3, 2),
        square(),
    )
    yield sample(
        "triangular_solve",
        quietly(lambda T, b, a: T.triangular_solve(b, regular(T, a), transpose=True)),
        normal(2, 3, 2),
        square(2),
        more=[[normal(3, 2), square(2)]],
        bad=[quietly(lambda T, b, a: T.triangular_solve(b[:, :2], a))],
    )


def _of_one_matrix():
    for name in ("inv", "det", "slogdet", "lu_factor", "lu", "inv_ex"):
        yield sample(
            f"linalg.{name}",
            lambda T, x, name=name: getattr(T.linalg, name)(regular(T, x)),
            square(),
            more=BATCHES,
            bad=[*not_square(name)]
            if not name.startswith("lu")
            else [lambda T, x: T.linalg.lu(x[0])],
        )
    yield sample("linalg.lu_factor wide", lambda T, x: T.linalg.lu_factor(x), normal(2, 3, 5))
    yield sample("linalg.lu_factor tall", lambda T, x: T.linalg.lu_factor(x), normal(2, 5, 3))
    yield sample("linalg.lu_factor_ex", lambda T, x: T.linalg.lu_factor_ex(x), square(2))
    yield sample(
        "lu_unpack",
        lambda T, x: T.lu_unpack(x, T.tensor([3, 2, 3], dtype=T.int32)),
        square(),
        bad=[
            lambda T, x: T.lu_unpack(x, T.tensor([3, 2, 3])),
            lambda T, x: T.lu_unpack(x[0], T.tensor([3, 2, 3], dtype=T.int32)),
            lambda T, x: T.lu_unpack(x, T.tensor([3, 2, 4], dtype=T.int32)),
        ],
    )
    yield sample("linalg.det singular", lambda T, x: T.linalg.det(x - x), square(), derivatives=0)
    yield sample("det", lambda T, x: T.det(x), square(), more=BATCHES[:2])
    yield sample("slogdet", lambda T, x: T.slogdet(x), square())
    yield sample("logdet", lambda T, x: T.logdet(definite(T, x)), square(), more=BATCHES)
    yield sample("inverse", lambda T, x: T.inverse(regular(T, x)), square())
    for name in ("cholesky", "cholesky_ex"):
        for upper in (False, True):
            yield sample(
                f"linalg.{name} {upper}",
                lambda T, x, name=name, upper=upper: getattr(T.linalg, name)(
                    definite(T, x), upper=upper
                ),
                square(),
                more=BATCHES,
                bad=not_square(name)
                + ([lambda T, x: T.linalg.cholesky(x * 0 - 1)] if name == "cholesky" else []),
            )
    yield sample("cholesky", quietly(lambda T, x: T.cholesky(definite(T, x), upper=True)), square())
    for upper in (False, True):
        yield sample(
            f"cholesky_solve {upper}",
            lambda T, b, x, upper=upper: T.cholesky_solve(b, triangle(regular(T, x), upper), upper),
            normal(2, 3, 2),
            square(2),
            more=[[normal(3, 2), square(2)], [normal(2, 3, 2), square()]],
            bad=[
                lambda T, b, x: T.cholesky_solve(b[:, :2], x),
                lambda T, b, x: T.cholesky_solve(b.float(), x),
                lambda T, b, x: T.cholesky_solve(b, x[:, :2]),
            ],
        )
        yield sample(
            f"cholesky_inverse {upper}",
            lambda T, x, upper=upper: T.cholesky_inverse(
                T.linalg.cholesky(definite(T, x), upper=upper), upper
            ),
            square(2),
            bad=[lambda T, x: T.cholesky_inverse(x[:, :2])],
        )
    yield sample(
        "linalg.ldl_factor",
        lambda T, x: T.linalg.ldl_factor(symmetric(x)),
        square(),
        derivatives=0,
        more=BATCHES[:2],
        bad=not_square("ldl_factor"),
    )
    yield sample(
        "linalg.ldl_factor_ex",
        lambda T, x: T.linalg.ldl_factor_ex(hermitian(x), hermitian=True),
        square(),
        derivatives=0,
    )
    yield sample(
        "linalg.ldl_solve",
        lambda T, x, b: T.linalg.ldl_solve(*T.linalg.ldl_factor(symmetric(x).detach()), b),
        square(2),
        normal(2, 3, 2),
        derivatives=0,
        more=[[square(), normal(2, 3, 2)], [square(2), normal(3, 2)]],
    )


def _factors():
    for mode in ("reduced", "complete", "r"):
        yield sample(
            f"linalg.qr {mode}",
            lambda T, x, mode=mode: T.linalg.qr(x, mode),
            normal(3, 4),
            derivatives=0 if mode == "r" else 2,
            more=SHAPES if mode == "reduced" else SHAPES[:1],
            bad=[
                lambda T, x: T.linalg.qr(x[0]),
                lambda T, x: T.linalg.qr(x, "all"),
                lambda T, x: T.linalg.qr(x.long()),
            ],
        )
    yield sample("linalg.qr tall", lambda T, x: T.linalg.qr(x), normal(4, 3))
    yield sample("qr", quietly(lambda T, x: T.qr(x)), normal(4, 3))
    yield sample("geqrf", lambda T, x: T.geqrf(x), normal(4, 3), derivatives=0, more=SHAPES)
    yield sample(
        "linalg.householder_product",
        lambda T, x, tau: T.linalg.householder_product(x, tau),
        normal(4, 3),
        normal(2),
        more=[[normal(2, 3, 3), normal(2, 3)], [normal(4, 3), normal(0)]],
        bad=[
            lambda T, x, tau: T.linalg.householder_product(x.t(), tau),
            lambda T, x, tau: T.linalg.householder_product(x, tau.float()),
            lambda T, x, tau: T.linalg.householder_product(x[:, :1], tau),
            lambda T, x, tau: T.linalg.householder_product(x[None], tau),
        ],
    )
    yield sample("orgqr", lambda T, x, tau: T.orgqr(x, tau), normal(4, 3), normal(3))
    for left, transpose in ((True, False), (True, True), (False, False), (False, True)):
        yield sample(
            f"ormqr {left} {transpose}",
            lambda T, x, tau, y, left=left, transpose=transpose: T.ormqr(
                x, tau, y, left, transpose
            ),
            normal(4, 3),
            normal(3),
            normal(4, 2) if left else normal(2, 4),
            more=[[normal(2, 3, 3), normal(2, 3), normal(2, 3, 3)]],
            bad=[
                lambda T, x, tau, y: T.ormqr(x, tau, y[:1, :1]),
                lambda T, x, tau, y: T.ormqr(x, tau[:, None], y),
            ],
        )
    for triangle in "LU":
        yield sample(
            f"linalg.eigh {triangle}",
            lambda T, x, triangle=triangle: sizes(T.linalg.eigh(hermitian(x), triangle)),
            square(),
            more=BATCHES,
            bad=[*not_square("eigh"), lambda T, x: T.linalg.eigh(x, "X")],
            same_strides=False,  # abs() of what is stored by columns
        )
    yield sample(
        "linalg.eigvalsh", lambda T, x: T.linalg.eigvalsh(hermitian(x)), square(), more=BATCHES
    )
    yield sample(
        "linalg.eig",
        lambda T, x: without_order(*T.linalg.eig(x)),
        square(),
        more=BATCHES,
        bad=not_square("eig"),
    )
    yield sample(
        "linalg.eigvals",
        lambda T, x: T.linalg.eigvals(x).abs().sort().values,
        square(),
        more=BATCHES,
        bad=not_square("eigvals"),
    )
    for full in (True, False):
        yield sample(
            f"linalg.svd {full}",
            lambda T, x, full=full: sizes(T.linalg.svd(x, full)),
            square() if full else normal(3, 4),
            more=[] if full else SHAPES,
            bad=[
                lambda T, x: T.linalg.svd(x[0]),
                lambda T, x: T.linalg.svd(x.long()),
                lambda T, x: T.linalg.svd(x, driver="gesvd"),
            ],
            same_strides=False,
        )
    yield sample(
        "linalg.svd tall",
        lambda T, x: sizes(T.linalg.svd(x, False)),
        normal(4, 3),
        same_strides=False,
    )
    yield sample("linalg.svdvals", lambda T, x: T.linalg.svdvals(x), normal(3, 4), more=SHAPES)
    yield sample("svd", quietly(lambda T, x: sizes(T.svd(x))), normal(3, 4), same_strides=False)
    yield sample("svd values", quietly(lambda T, x: T.svd(x, compute_uv=False)[1]), normal(3, 4))


def _made_of_them():
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        yield sample(
            f"linalg.lstsq {driver}",
            lambda T, a, b, driver=driver: T.linalg.lstsq(a, b, driver=driver).solution,
            normal(4, 3),
            normal(4, 2),
            more=[[normal(2, 3, 4), normal(2, 3, 2)], [normal(2, 4, 3), normal(2, 4)]],
            bad=[
                lambda T, a, b: T.linalg.lstsq(a, b[:2]),
                lambda T, a, b: T.linalg.lstsq(a, b.float()),
                lambda T, a, b: T.linalg.lstsq(a, b, driver="best"),
                lambda T, a, b: T.linalg.lstsq(a[0], b),
            ],
        )
    yield sample(
        "linalg.lstsq results",
        lambda T, a, b: tuple(T.linalg.lstsq(a, b, driver="gelsd")),
        normal(4, 3),
        normal(4, 2),
        derivatives=0,
    )
    yield sample("linalg.pinv", lambda T, x: T.linalg.pinv(x), normal(3, 4), more=SHAPES)
    yield sample("linalg.pinv tall", lambda T, x: T.linalg.pinv(x, atol=0.1), normal(4, 3))
    yield sample(
        "linalg.pinv hermitian",
        lambda T, x: T.linalg.pinv(hermitian(x), hermitian=True),
        square(),
    )
    yield sample("pinverse", lambda T, x: T.pinverse(x), normal(3, 4))
    yield sample(
        "linalg.matrix_rank",
        lambda T, x: (
            T.linalg.matrix_rank(x),
            T.linalg.matrix_rank(x - x, hermitian=True, atol=0.1),
        ),
        square(2),
        derivatives=0,
        more=BATCHES,
        bad=[lambda T, x: T.linalg.matrix_rank(x[0, 0])],
    )
    for p in (None, -2, "fro", "nuc", math.inf, -1):
        yield sample(
            f"linalg.cond {p}",
            lambda T, x, p=p: T.linalg.cond(x, p),
            square(),
            derivatives=2
            if p in (None, -2)
            else 0,  # PyTorch's own fail: it writes over the inverse
            more=BATCHES[:4],
            bad=[lambda T, x: T.linalg.cond(x, 3), lambda T, x: T.linalg.cond(x[:2], "fro")],
        )
    for n in (-2, 0, 1, 2, 5):
        yield sample(
            f"linalg.matrix_power {n}",
            lambda T, x, n=n: T.linalg.matrix_power(x, n),
            square(2),
            dtypes=("float32",),
            bad=[lambda T, x: T.linalg.matrix_power(x[0, 0], 2)],
        )
    yield sample("matrix_power", lambda T, x: T.matrix_power(x, 3), square(), dtypes=("float32",))
    yield sample(
        "linalg.matrix_exp",
        lambda T, x: T.linalg.matrix_exp(x),
        square(),
        more=[*BATCHES, [uniform(-9, 9, 3, 3)]],
        bad=not_square("matrix_exp"),
        dtypes=("float32", "int64"),
    )
    yield sample("matrix_exp", lambda T, x: T.matrix_exp(x), square(), dtypes=("float32",))
    for ord in ("fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2):
        yield sample(
            f"linalg.matrix_norm {ord}",
            lambda T, x, ord=ord: T.linalg.matrix_norm(x, ord, (0, 1), True),
            normal(3, 4),
            more=[[normal(3, 4, 2)]],
            dtypes=("float32", "int64"),
            bad=[
                lambda T, x: T.linalg.matrix_norm(x, 3),
                lambda T, x: T.linalg.matrix_norm(x, "max"),
                lambda T, x: T.linalg.matrix_norm(x, dim=(0, 0)),
                lambda T, x: T.linalg.matrix_norm(x, dim=(0, 2)),
                lambda T, x: T.linalg.matrix_norm(x, dim=(0,)),
            ],
        )
    yield sample(
        "linalg.vector_norm",
        lambda T, x: T.linalg.vector_norm(x, 3, 1),
        normal(3, 4),
        dtypes=("float32", "int64"),
    )
    yield sample("linalg.norm", lambda T, x: T.linalg.norm(x), normal(3, 4), dtypes=("float32",))
    yield sample(
        "linalg.norm matrix", lambda T, x: T.linalg.norm(x, 1), normal(3, 4), dtypes=("float32",)
    )
    yield sample(
        "linalg.norm vector", lambda T, x: T.linalg.norm(x, 1, 0), normal(3, 4), dtypes=("float32",)
    )
    yield sample(
        "frobenius_norm",
        quietly(lambda T, x: T.frobenius_norm(x, (0, 1))),
        normal(3, 4),
        dtypes=("float32",),
    )
    yield sample(
        "nuclear_norm", quietly(lambda T, x: T.nuclear_norm(x)), normal(3, 4), dtypes=("float32",)
    )
    yield sample(
        "linalg.multi_dot",
        lambda T, *tensors: T.linalg.multi_dot(tensors),
        normal(4),
        normal(4, 2),
        normal(2, 5),
        normal(5),
        dtypes=("float32",),
        bad=[
            lambda T, a, b, c, d: T.linalg.multi_dot([a]),
            lambda T, a, b, c, d: T.linalg.multi_dot([a, c]),
            lambda T, a, b, c, d: T.linalg.multi_dot([b, d, c]),
        ],
    )
    yield sample(
        "chain_matmul",
        quietly(lambda T, *tensors: T.chain_matmul(*tensors)),
        normal(3, 4),
        normal(4, 2),
        normal(2, 5),
        dtypes=("float32",),
    )
    yield sample(
        "linalg.tensorinv",
        lambda T, x: T.linalg.tensorinv(x, 1),
        normal(4, 2, 2),
        bad=[lambda T, x: T.linalg.tensorinv(x, 0), lambda T, x: T.linalg.tensorinv(x, 2)],
        same_strides=False,
    )
    yield sample(
        "linalg.tensorsolve",
        lambda T, a, b: T.linalg.tensorsolve(a, b),
        normal(2, 2, 4),
        normal(2, 2),
        bad=[lambda T, a, b: T.linalg.tensorsolve(a, b[0])],
    )
    yield sample(
        "linalg.vander",
        lambda T, x: T.linalg.vander(x, N=4),
        normal(2, 3),
        dtypes=("float32", "int64"),
    )
    yield sample(
        "linalg.vecdot",
        lambda T, x, y: T.linalg.vecdot(x, y, dim=0),
        normal(3, 4),
        normal(3, 4),
        dtypes=("float32", "int64"),
        bad=[lambda T, x, y: T.linalg.vecdot(x, y.float())],
    )
    yield sample(
        "linalg.cross",
        lambda T, x, y: T.linalg.cross(x, y),
        normal(2, 3),
        normal(2, 3),
        dtypes=("float32",),
    )
    yield sample(
        "linalg.diagonal", lambda T, x: T.linalg.diagonal(x), normal(2, 3, 3), dtypes=("float32",)
    )


SAMPLES = [*_systems(), *_of_one_matrix(), *_factors(), *_made_of_them()]

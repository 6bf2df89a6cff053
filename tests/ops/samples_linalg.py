"""Samples of the products of matrices and their relatives."""

from tests.ops.samples import Sample, normal

NUMBERS = ("float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")


def functional(name):
    """A function of torch.nn.functional."""
    return lambda T, *tensors: getattr(T.nn.functional, name)(*tensors)


def product(name, *shapes, more=(), bad=(), out=True):
    """A product that is called by the same name on tensors of these shapes."""
    return Sample(
        name,
        lambda T, *tensors: getattr(T, name.split()[0])(*tensors),
        *[normal(*shape) for shape in shapes],
        out=out,
        more=[[normal(*shape) for shape in one] for one in more],
        bad=bad,
        tolerance=20,  # half types: PyTorch sums in another order
    )


SAMPLES = (
    [
        product(
            "mm",
            (3, 4),
            (4, 5),
            more=[
                [(0, 4), (4, 5)],
                [(3, 0), (0, 5)],
                [(3, 4), (4, 0)],
                [(1, 40), (40, 50)],
                [(50, 40), (40, 1)],
                [(40, 50), (50, 60)],
                [(17, 33), (33, 16)],
            ],
            bad=[
                lambda T, x, y: T.mm(x, x),
                lambda T, x, y: T.mm(x[0], y),
                lambda T, x, y: T.mm(x, 2),
                lambda T, x, y: T.mm(x, y.float()),
            ],
        ),
        product(
            "bmm",
            (2, 3, 4),
            (2, 4, 5),
            more=[[(0, 3, 4), (0, 4, 5)], [(2, 3, 0), (2, 0, 5)], [(3, 40, 50), (3, 50, 20)]],
            bad=[lambda T, x, y: T.bmm(x, y[:1]), lambda T, x, y: T.bmm(x[0], y[0])],
        ),
        product(
            "mv",
            (3, 4),
            (4,),
            more=[[(0, 4), (4,)], [(3, 0), (0,)], [(40, 50), (50,)]],
            bad=[lambda T, x, y: T.mv(x, x), lambda T, x, y: T.mv(x, y[:2])],
        ),
        product(
            "dot",
            (5,),
            (5,),
            more=[[(0,), (0,)], [(1,), (1,)], [(100,), (100,)]],
            bad=[lambda T, x, y: T.dot(x, y[:2]), lambda T, x, y: T.dot(x[:, None], y)],
        ),
        product(
            "matmul",
            (2, 3, 4),
            (4, 5),
            more=[
                [(4,), (4,)],
                [(3, 4), (4,)],
                [(4,), (4, 5)],
                [(3, 4), (2, 4, 5)],
                [(4,), (2, 4, 5)],
                [(2, 3, 4), (4,)],
                [(2, 1, 3, 4), (5, 4, 6)],
                [(2, 3, 4), (1, 4, 5)],
                [(2, 0, 4), (4, 5)],
                [(0, 3, 4), (0, 4, 5)],
                [(2, 3, 0), (2, 0, 5)],
                [(2, 3, 0), (0, 5)],
                [(2, 3, 4), (4, 0)],
                [(2, 3, 0), (0,)],
                [(0,), (2, 0, 5)],
            ],
            bad=[
                lambda T, x, y: T.matmul(x, x),
                lambda T, x, y: T.matmul(x, 2),
                lambda T, x, y: T.matmul(T.ones(()), y.float()),
                lambda T, x, y: T.matmul(T.ones(3, 3, 4), T.ones(2, 4, 5)),
            ],
        ),
        product("matmul batches", (2, 3, 4), (2, 4, 5), out=False),
        Sample("matmul operator", lambda T, x, y: x @ y, normal(3, 4), normal(4, 2), tolerance=20),
        Sample(
            "addmm",
            lambda T, x, a, b: T.addmm(x, a, b, beta=0.5, alpha=2),
            normal(3, 5),
            normal(3, 4),
            normal(4, 5),
            dtypes=NUMBERS[:3],
            inplace=lambda T, x, a, b: x.addmm_(a, b, beta=0.5, alpha=2),
            more=[
                [normal(5), normal(3, 4), normal(4, 5)],
                [normal(), normal(3, 4), normal(4, 5)],
                [normal(3, 1), normal(3, 0), normal(0, 5)],
            ],
            bad=[
                lambda T, x, a, b: T.addmm(a, a, b),
                lambda T, x, a, b: T.addmm(x, b, a),
                lambda T, x, a, b: T.addmm(x, a[0], b),
            ],
            tolerance=20,
        ),
        Sample(
            "baddbmm",
            lambda T, x, a, b: T.baddbmm(x, a, b, beta=2, alpha=3),
            normal(2, 3, 5),
            normal(2, 3, 4),
            normal(2, 4, 5),
            dtypes=NUMBERS[:1],
            inplace=lambda T, x, a, b: x.baddbmm_(a, b, beta=2, alpha=3),
            more=[[normal(5), normal(2, 3, 4), normal(2, 4, 5)]],
            tolerance=20,
        ),
        Sample(
            "addbmm",
            lambda T, x, a, b: T.addbmm(x, a, b),
            normal(3, 5),
            normal(2, 3, 4),
            normal(2, 4, 5),
            inplace=True,
            dtypes=NUMBERS[:1],
            bad=[
                lambda T, x, a, b: T.addbmm(x, a[0], b),
                lambda T, x, a, b: T.addbmm(x, a[..., None], b),
                lambda T, x, a, b: T.addbmm(x, a, b[..., None]),
                lambda T, x, a, b: T.addbmm(x, a, b[:1]),
                lambda T, x, a, b: T.addbmm(x, a, b[:, :2]),
            ],
        ),
        Sample(
            "addmv",
            lambda T, x, a, b: T.addmv(x, a, b, beta=2, alpha=3),
            normal(3),
            normal(3, 4),
            normal(4),
            inplace=lambda T, x, a, b: x.addmv_(a, b, beta=2, alpha=3),
            dtypes=NUMBERS[:1],
            more=[[normal(), normal(3, 4), normal(4)]],
            bad=[lambda T, x, a, b: T.addmv(b, a, b)],
        ),
        Sample(
            "addr",
            lambda T, x, a, b: T.addr(x, a, b),
            normal(3, 4),
            normal(3),
            normal(4),
            inplace=True,
            dtypes=NUMBERS[:1],
        ),
        product(
            "outer", (3,), (4,), more=[[(0,), (4,)]], bad=[lambda T, x, y: T.outer(x[None], y)]
        ),
        product(
            "inner",
            (2, 3, 4),
            (5, 4),
            more=[[(4,), (4,)], [(), (4,)], [(3, 4), (4,)], [(2, 3, 0), (5, 0)]],
            bad=[lambda T, x, y: T.inner(x, y[:, :2])],
            out=False,  # PyTorch takes out= there even if a gradient is wanted
        ),
        Sample(
            "kron",
            lambda T, x, y: T.kron(x, y),
            normal(3),
            normal(4),
            dtypes=NUMBERS[:1],
            more=[[normal(2, 3), normal(4)], [normal(2, 3), normal(3, 2)], [normal(), normal(2)]],
        ),
        Sample(
            "tensordot",
            lambda T, x, y: T.tensordot(x, y, ([0, 2], [0, 1])),
            normal(2, 3, 4),
            normal(2, 4, 5),
            dtypes=NUMBERS[:1],
            bad=[
                lambda T, x, y: T.tensordot(x, y, 2),
                lambda T, x, y: T.tensordot(x, y, ([0, 1], [0])),
            ],
        ),
        Sample(
            "tensordot count",
            lambda T, x, y: T.tensordot(x, y, 1),
            normal(2, 4),
            normal(4, 5),
            dtypes=NUMBERS[:1],
            more=[[normal(2, 0), normal(0, 5)]],
        ),
        Sample(
            "linear",
            functional("linear"),
            normal(3, 4),
            normal(5, 4),
            normal(5),
            dtypes=NUMBERS[:3],
            more=[
                [normal(4), normal(5, 4), normal(5)],
                [normal(2, 3, 4), normal(5, 4), normal(5)],
                [normal(2, 3, 4), normal(5, 4)],
                [normal(4), normal(5, 4)],
                [normal(0, 4), normal(5, 4), normal(5)],
                [normal(3, 0), normal(5, 0), normal(5)],
                [normal(2, 3, 0), normal(5, 0), normal(5)],
                [normal(2, 3, 4), normal(0, 4), normal(0)],
                [normal(40, 50), normal(20, 50), normal(20)],
                [normal(2, 3, 4), normal(4)],
            ],
            bad=[
                lambda T, x, w, b: T.nn.functional.linear(x, w[:, :2], b),
                lambda T, x, w, b: T.nn.functional.linear(x, w, b[:2]),
                lambda T, x, w, b: T.nn.functional.linear(x, w, b.float()),
            ],
            tolerance=20,
        ),
    ]
    + [
        Sample(
            "cross",
            lambda T, x, y: T.cross(x, y, 1),
            normal(2, 3, 4),
            normal(2, 3, 1),
            dtypes=NUMBERS,
            out=lambda T, x, y, out: T.cross(x, y, 1, out=out),
            more=[[normal(0, 3), normal(1, 3)]],
            bad=[
                lambda T, x, y: T.cross(x, y[0]),
                lambda T, x, y: T.cross(x, y, 2),
                lambda T, x, y: T.cross(x, y.float(), 1),
            ],
            same_strides=False,
        ),
        Sample(
            "dist",
            lambda T, x, y: T.dist(x, y, 3),
            normal(3, 4),
            normal(4),
            dtypes=NUMBERS[:3],
            more=[[normal(0, 4), normal(4)]],
            bad=[lambda T, x, y: T.dist(x, 2.0), lambda T, x, y: T.dist(x, y[:3])],
            tolerance=4,
        ),
        *[
            Sample(
                f"cdist {what}",
                lambda T, x, y, p=p, mode=mode: T.cdist(x, y, p, mode),
                normal(2, 3, 4),
                normal(5, 4),
                derivatives=1,  # PyTorch has no second: test_composed_linalg.py
                dtypes=NUMBERS[:1],
                more=[
                    [normal(0, 4), normal(5, 4)],
                    [normal(3, 4), normal(0, 4)],
                    [normal(3, 0), normal(5, 0)],
                    [normal(30, 4), normal(5, 4)],
                ],
                bad=[
                    lambda T, x, y: T.cdist(x, y[:, :2]),
                    lambda T, x, y: T.cdist(x, y.float()),
                    lambda T, x, y: T.cdist(x, y, -1),
                ],
                tolerance=20,
                same_strides=False,
            )
            for what, p, mode in (
                ("1", 1, "donot_use_mm_for_euclid_dist"),
                ("2", 2, "donot_use_mm_for_euclid_dist"),
                ("2, product", 2, "use_mm_for_euclid_dist"),
                ("1.5", 1.5, "donot_use_mm_for_euclid_dist"),
                ("inf", float("inf"), "donot_use_mm_for_euclid_dist"),
            )
        ],
        Sample(
            "norm nuc",
            lambda T, x: T.norm(x, "nuc", (1, 2)),
            normal(2, 3, 4),
            dtypes=NUMBERS[:1],
            more=[[normal(2, 4, 3)], [normal(0, 4, 3)], [normal(2, 3, 0)]],
            bad=[lambda T, x: T.norm(x, "nuc"), lambda T, x: T.norm(x, "nuc", (0, 0))],
            tolerance=20,
        ),
        Sample(
            "renorm",
            lambda T, x: T.renorm(x, 2, 1, 1.5),
            normal(3, 4, 2),
            dtypes=NUMBERS[:3],
            inplace=lambda T, x: x.renorm_(2, 1, 1.5),
            out=lambda T, x, out: T.renorm(x, 2, 1, 1.5, out=out),
            more=[[normal(3, 0)], [normal(5, 5)]],
            bad=[
                lambda T, x: T.renorm(x, 0, 1, 1.5),
                lambda T, x: T.renorm(x, 2, 1, -1),
                lambda T, x: T.renorm(x[0, 0], 2, 0, 1.5),
            ],
        ),
        Sample(
            "vander",
            lambda T, x: T.vander(x, 4),
            normal(3),
            derivatives=0,  # PyTorch's raises: test_composed_linalg.py
            dtypes=NUMBERS,
            more=[[normal(0)]],
            bad=[lambda T, x: T.vander(x[None]), lambda T, x: T.vander(x, -1)],
            tolerance=20,
            same_strides=False,
        ),
        Sample(
            "fill_diagonal_",
            lambda T, x: x.clone().fill_diagonal_(2, True),
            normal(5, 2),
            dtypes=NUMBERS,
            more=[[normal(2, 5)], [normal(3, 3, 3)], [normal(0, 2)]],
            bad=[lambda T, x: x[0].fill_diagonal_(2), lambda T, x: x[None].fill_diagonal_(2)],
        ),
        Sample(
            "cov",
            lambda T, x, a: T.cov(x, aweights=a.abs() + 1),
            normal(3, 5),
            normal(5),
            dtypes=NUMBERS[:1],
            bad=[
                lambda T, x, a: T.cov(x[None]),
                lambda T, x, a: T.cov(x, aweights=a[:2]),
                lambda T, x, a: T.cov(x, fweights=a),
            ],
            tolerance=20,
        ),
        Sample(
            "cov plain",
            lambda T, x: T.cov(x),
            normal(3, 5),
            dtypes=NUMBERS[:1],
            more=[[normal(6)], [normal(0, 5)]],
            tolerance=20,
        ),
        Sample(
            "corrcoef",
            lambda T, x: T.corrcoef(x),
            normal(3, 5),
            dtypes=NUMBERS[:1],
            more=[[normal(6)]],
            bad=[lambda T, x: T.corrcoef(x[None])],
            tolerance=20,
        ),
    ]
    + [
        Sample(
            f"einsum {equation.replace(' ', '')}",
            lambda T, *tensors, equation=equation: T.einsum(equation, *tensors),
            *[normal(*shape) for shape in shapes],
            dtypes=NUMBERS[:1],
            tolerance=20,
        )
        for equation, *shapes in (
            ("ij,jk->ik", (3, 4), (4, 5)),
            ("ij, kj", (3, 4), (5, 4)),
            ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
            ("bihd,bjhd->bhij", (2, 3, 4, 5), (2, 6, 4, 5)),
            ("...ij,jk->...ik", (2, 3, 4), (4, 5)),
            ("ii->i", (3, 3)),
            ("ii", (3, 3)),
            ("iij->ij", (3, 3, 2)),
            ("ij->ji", (3, 4)),
            ("ij->", (3, 4)),
            ("i,j->ji", (3,), (4,)),
            ("ij,ij->ji", (3, 4), (3, 4)),
            ("bij,jk,bkl->il", (2, 3, 4), (4, 4), (2, 4, 5)),
            ("ab,bc->ac", (3, 4), (1, 5)),
            ("ab,ab->b", (3, 4), (1, 4)),
            ("...j->j...", (2, 3, 4)),
            (",ij->ij", (), (3, 4)),
            ("ij,i->", (3, 4), (3,)),
            ("pq,qr->pr", (3, 0), (0, 5)),
        )
    ]
)

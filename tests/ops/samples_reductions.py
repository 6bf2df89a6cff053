"""Samples of the reductions and of everything else that works along a dimension."""

import math

from tests.ops.samples import FLOATING_DTYPES, Sample, normal, values

# Shapes whose reductions take different ways: in between, columns, rows, empty, one element.
SHAPES = [[normal(4, 3, 5)], [normal(70, 33)], [normal(2, 300)], [normal(3, 0)], [normal(1, 1)]]
FULL = [*SHAPES, [normal()], [normal(0)], [normal(130)]]


def reduction(name, call, *inputs, out=None, **options):
    """A sample of a reduction; `out` says with which arguments the out= form is called."""
    if out is not None:
        arguments = out

        def out(T, x, out):
            return getattr(T, name.split()[0])(x, *arguments, out=out)

    return Sample(name, call, *(inputs or [normal(3, 4)]), out=out or False, **options)


def bad_dims(name, *after):
    """Dimensions that do not exist, or that are no numbers."""
    return [
        lambda T, x: getattr(x, name)(2, *after),
        lambda T, x: getattr(x, name)(-3, *after),
        lambda T, x: getattr(x, name)("a", *after),
    ]


def bad_tuples(name):
    return [
        *bad_dims(name),
        lambda T, x: getattr(x, name)((0, 2)),
        lambda T, x: getattr(x, name)((0, 0)),
        lambda T, x: getattr(x, name)((0, -2)),
    ]


SUMS = [
    reduction("sum", lambda T, x: x.sum(), more=FULL, bad=bad_tuples("sum")),
    reduction("sum dim", lambda T, x: x.sum(1), more=SHAPES, out=[1]),
    reduction("sum first dim", lambda T, x: x.sum(0), more=SHAPES),
    reduction("sum keepdim", lambda T, x: x.sum(-1, keepdim=True), more=SHAPES),
    reduction("sum dims", lambda T, x: x.sum((0, -1)), more=SHAPES),
    reduction("sum of a list of dims", lambda T, x: T.sum(x, [-1], True), more=SHAPES),
    reduction("sum of no dims", lambda T, x: x.sum(()), more=FULL),
    reduction("sum dtype", lambda T, x: x.sum(0, dtype=T.float64), more=SHAPES),
    reduction("sum to float32", lambda T, x: x.sum(dtype=T.float32), tolerance=1e4),
    reduction("sum to int32", lambda T, x: x.sum(1, dtype=T.int32), derivatives=0),
    reduction("sum middle", lambda T, x: x.sum(1), normal(3, 4, 5)),
    reduction("sum outer", lambda T, x: x.sum((0, 2)), normal(3, 4, 5)),
    reduction("sum permuted", lambda T, x: x.permute(2, 0, 1).sum((0, 1)), normal(3, 4, 5)),
    reduction("sum stepped", lambda T, x: x[:, ::2].sum(0), normal(5, 40)),
    reduction("sum expanded", lambda T, x: x[:, :1].expand(3, 7).sum(1), normal(3, 4)),
    reduction("sum 0-d", lambda T, x: x.sum(0), normal(), bad=[lambda T, x: x.sum(1)]),
    reduction(
        "sum_to_size",
        lambda T, x: x.sum_to_size(4, 1),
        normal(2, 4, 3),
        bad=[lambda T, x: x.sum_to_size(4, 2), lambda T, x: x.sum_to_size(1, 2, 4, 3)],
    ),
    reduction(
        "mean",
        lambda T, x: x.mean(),
        more=FULL,
        bad=[*bad_tuples("mean"), lambda T, x: x.mean(dtype=T.int64)],
    ),
    reduction("mean dim", lambda T, x: x.mean(1), more=SHAPES, out=[1]),
    reduction("mean keepdim", lambda T, x: x.mean((0, 1), keepdim=True), more=SHAPES),
    reduction("mean dtype", lambda T, x: x.mean(0, dtype=T.float64), more=SHAPES),
    reduction("mean strided", lambda T, x: x.t().mean(0), more=[[normal(2, 5)]]),
    reduction("nansum", lambda T, x: T.nansum(x, 1), more=SHAPES),
    reduction(
        "nansum of nan", lambda T, x: x.nansum(), values(1.0, math.nan, 2.0), dtypes=FLOATING_DTYPES
    ),
    reduction(
        "nanmean", lambda T, x: T.nanmean(x, 0), values(1.0, math.nan, 2.0), dtypes=FLOATING_DTYPES
    ),
    reduction("count_nonzero", lambda T, x: T.count_nonzero(x, 1), derivatives=0, more=SHAPES),
    reduction("count_nonzero all", lambda T, x: (x > 0).count_nonzero(), derivatives=0, more=FULL),
    reduction("sum of bools", lambda T, x: (x > 0).sum(0), derivatives=0, more=SHAPES),
    reduction("sum of all bools", lambda T, x: (x > 0).sum(), derivatives=0, more=FULL),
]

PRODUCTS = [
    reduction("prod", lambda T, x: x.prod(), more=FULL[:1] + FULL[3:]),
    reduction(
        "prod dim",
        lambda T, x: x.prod(1),
        more=[[normal(2, 20)], [normal(3, 0)]],
        out=[1],
        bad=bad_dims("prod"),
    ),
    reduction("prod keepdim", lambda T, x: T.prod(x, 0, keepdim=True), more=[[normal(4, 3, 5)]]),
    reduction("prod dtype", lambda T, x: x.prod(0, dtype=T.float64)),
    reduction("prod with a zero", lambda T, x: x.prod(), values(2.0, 0.0, 3.0)),
    reduction("prod with zeros", lambda T, x: x.prod(0), values(2.0, 0.0, 3.0, 0.0)),
    reduction(
        "any", lambda T, x: (x > 1).any(1), derivatives=0, more=SHAPES, bad=bad_tuples("any")
    ),
    reduction("any all", lambda T, x: x.any(), derivatives=0, more=FULL),
    reduction("any dims", lambda T, x: (x > 1).any((0, 1), True), derivatives=0, more=SHAPES),
    reduction(
        "all", lambda T, x: (x > -1.0).all(0), derivatives=0, more=SHAPES, bad=bad_tuples("all")
    ),
    reduction("all all", lambda T, x: x.all(), derivatives=0, more=FULL),
]

NOT_EMPTY = [shapes for shapes in SHAPES if shapes is not SHAPES[3]]

EXTREMES = [
    reduction("amax", lambda T, x: x.amax(1), more=SHAPES[:3], out=[1], bad=bad_tuples("amax")),
    reduction("amax all", lambda T, x: x.amax(), more=[*NOT_EMPTY, [normal()]]),
    reduction("amax dims", lambda T, x: x.amax((0, 1), keepdim=True), more=NOT_EMPTY),
    reduction("amin", lambda T, x: x.amin(0), more=NOT_EMPTY, out=[0]),
    reduction("amax of ties", lambda T, x: x.amax(0), values(2.0, 1.0, 2.0)),
    reduction("max", lambda T, x: x.max(), more=NOT_EMPTY, bad=[lambda T, x: x[:0].max()]),
    reduction("max of ties", lambda T, x: x.max(), values(2.0, 1.0, 2.0)),
    reduction(
        "max dim",
        lambda T, x: x.max(1),
        more=NOT_EMPTY,
        bad=[*bad_dims("max")[:2], lambda T, x: x[:0].max(0)],
    ),
    reduction("max first dim", lambda T, x: tuple(T.max(x, 0, True)), more=SHAPES),
    reduction("max named", lambda T, x: x.max(dim=0).values, more=SHAPES[:3]),
    reduction("max of two", lambda T, x, y: T.max(x, y), normal(3, 4), normal(3, 4)),
    reduction("min", lambda T, x: x.min(), more=NOT_EMPTY),
    reduction("min dim", lambda T, x: x.min(-1), more=NOT_EMPTY, bad=bad_dims("min")[:2]),
    reduction("min keepdim", lambda T, x: x.min(0, keepdim=True), more=NOT_EMPTY),
    reduction("min of two", lambda T, x, y: T.min(x, y), normal(3, 4), normal(3, 4)),
    reduction("max 0-d", lambda T, x: x.max(0), normal()),
    reduction(
        "max of nan",
        lambda T, x: x.max(0),
        values(1.0, math.nan, 3.0, math.nan),
        dtypes=FLOATING_DTYPES,
    ),
    reduction(
        "amin of nan",
        lambda T, x: x.amin(0),
        values(1.0, math.nan, 3.0),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    reduction(
        "argmax",
        lambda T, x: x.argmax(),
        derivatives=0,
        more=NOT_EMPTY,
        bad=[*bad_dims("argmax"), lambda T, x: x[:0].argmax(), lambda T, x: x[:0].argmax(0)],
    ),
    reduction("argmax dim", lambda T, x: x.argmax(1), derivatives=0, more=NOT_EMPTY, out=[1]),
    reduction("argmax keepdim", lambda T, x: x.argmax(keepdim=True), derivatives=0, more=NOT_EMPTY),
    reduction("argmin", lambda T, x: x.argmin(0, True), derivatives=0, more=NOT_EMPTY),
    reduction(
        "argmin of nan",
        lambda T, x: x.argmin(),
        values(1.0, math.nan, 3.0),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    reduction("aminmax", lambda T, x: tuple(T.aminmax(x, dim=1)), more=NOT_EMPTY),
]

STATISTICS = [
    reduction(
        "var",
        lambda T, x: x.var(),
        more=[*NOT_EMPTY[:3], [normal(100)]],
        bad=bad_tuples("var"),
        tolerance=4,
    ),
    reduction("var dim", lambda T, x: x.var(1), more=NOT_EMPTY[:3], out=[1], tolerance=4),
    reduction("var biased", lambda T, x: x.var(0, False, True), more=NOT_EMPTY, tolerance=4),
    reduction("var of a flag", lambda T, x: x.var(False), tolerance=4),
    reduction(
        "var correction", lambda T, x: x.var((0, 1), correction=3), more=NOT_EMPTY[:3], tolerance=4
    ),
    reduction("std", lambda T, x: x.std(), more=NOT_EMPTY[:3], tolerance=4),
    reduction("std dim", lambda T, x: T.std(x, 0), more=NOT_EMPTY[:3], out=[0], tolerance=4),
    reduction("var_mean", lambda T, x: T.var_mean(x, 1), more=NOT_EMPTY[:3], tolerance=4),
    reduction("std_mean", lambda T, x: T.std_mean(x, (0, 1)), more=NOT_EMPTY[:3], tolerance=4),
    reduction(
        "var around a large mean",
        lambda T, x: (x + 1e8).var(0),
        dtypes=[],
        derivatives=0,
        tolerance=1e4,
    ),
    reduction(
        "logsumexp",
        lambda T, x: T.logsumexp(x, 1),
        more=SHAPES,
        out=[1],
        tolerance=4,
        bad=[lambda T, x: x.logsumexp(2), lambda T, x: x.logsumexp((0, 0))],
    ),
    reduction("logsumexp dims", lambda T, x: x.logsumexp((0, 1), True), more=SHAPES, tolerance=4),
    reduction(
        "logsumexp of infinities",
        lambda T, x: x.logsumexp(0),
        values(math.inf, 1.0),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    reduction(
        "logsumexp of nothing",
        lambda T, x: x.logsumexp(0),
        values(-math.inf, -math.inf),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    reduction("logsumexp of large numbers", lambda T, x: (x * 1000).logsumexp(0), dtypes=[]),
]


def norms(p):
    """Samples of one norm."""
    return [
        reduction(
            f"norm {p} of all",
            lambda T, x: x.norm(p),
            dtypes=FLOATING_DTYPES,
            more=NOT_EMPTY,
            tolerance=4,
        ),
        reduction(
            f"norm {p} of rows",
            lambda T, x: T.norm(x, p, 1),
            dtypes=FLOATING_DTYPES,
            more=NOT_EMPTY,
            tolerance=4,
        ),
        reduction(
            f"norm {p} of columns",
            lambda T, x: x.norm(p, 0, True),
            dtypes=FLOATING_DTYPES,
            more=NOT_EMPTY,
            tolerance=4,
        ),
    ]


NORMS = [
    *(sample for p in (2, 1, math.inf, -math.inf, 3, 1.5, 0.5, -2) for sample in norms(p)),
    reduction("norm 0", lambda T, x: x.norm(0, 1), derivatives=0, dtypes=FLOATING_DTYPES),
    reduction(
        "norm",
        lambda T, x: x.norm(),
        more=SHAPES,
        tolerance=4,
        bad=[
            lambda T, x: x.norm(dim=2),
            lambda T, x: x.norm(dim=(0, 0)),
            lambda T, x: x.long().norm(),
            lambda T, x: x[:0].norm(math.inf),
            lambda T, x: x[:0].norm(math.inf, dim=0),
        ],
    ),
    reduction("norm dims", lambda T, x: x.norm(dim=(0, 1), keepdim=True), tolerance=4),
    reduction(
        "norm dtype",
        lambda T, x: x.norm(2, 1, dtype=T.float64),
        dtypes=FLOATING_DTYPES,
        tolerance=4,
    ),
    reduction("norm at zero", lambda T, x: x.norm(), values(0.0, 0.0), derivatives=1),
    reduction("norm 1 at zero", lambda T, x: x.norm(1), values(0.0, 2.0), derivatives=1),
    reduction("norm 3 at zero", lambda T, x: x.norm(3), values(0.0, 0.0), derivatives=1),
]


def along(name, call, *inputs, **options):
    """A sample of an op along a dimension, whose result has the input's shape."""
    return Sample(name, call, *(inputs or [normal(3, 4)]), **options)


SOFTMAXES = [
    along(
        "softmax", lambda T, x: T.softmax(x, 1), more=SHAPES, tolerance=4, bad=bad_dims("softmax")
    ),
    along("softmax first dim", lambda T, x: x.softmax(0), more=SHAPES, tolerance=4),
    along("softmax dtype", lambda T, x: x.softmax(-1, dtype=T.float64), tolerance=4),
    along("softmax of large numbers", lambda T, x: (x * 1000).softmax(0), dtypes=[]),
    along(
        "softmax of infinities",
        lambda T, x: x.softmax(0),
        values(-math.inf, 1.0, 2.0),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    along(
        "softmax of nan",
        lambda T, x: x.softmax(0),
        values(math.nan, 1.0, 2.0),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    along(
        "softmin dtype",
        lambda T, x: T.nn.functional.softmin(x, -1, dtype=T.float64),
        tolerance=4,
    ),
    along("softmax 0-d", lambda T, x: x.softmax(0), normal()),
    along(
        "log_softmax",
        lambda T, x: T.log_softmax(x, 1),
        more=SHAPES,
        tolerance=4,
        bad=bad_dims("log_softmax"),
    ),
    along("log_softmax first dim", lambda T, x: x.log_softmax(0), more=SHAPES, tolerance=4),
    along("log_softmax dtype", lambda T, x: x.log_softmax(-1, dtype=T.float64), tolerance=4),
    along("log_softmax of large numbers", lambda T, x: (x * 1000).log_softmax(0), dtypes=[]),
]

SCANS = [
    along(
        "cumsum",
        lambda T, x: x.cumsum(1),
        more=SHAPES,
        bad=bad_dims("cumsum"),
        tolerance=8,
        inplace=lambda T, x: x.cumsum_(1),
        out=lambda T, x, out: T.cumsum(x, 1, out=out),
    ),
    along(
        "cumsum first dim",
        lambda T, x: T.cumsum(x, 0),
        more=SHAPES,
        tolerance=8,
        inplace=lambda T, x: x.cumsum_(0),
    ),
    along("cumsum dtype", lambda T, x: x.cumsum(0, dtype=T.float64), tolerance=8),
    along("cumsum 0-d", lambda T, x: x.cumsum(0), normal()),
    along(
        "cumprod",
        lambda T, x: x.cumprod(1),
        more=[[normal(4, 3, 5)], [normal(3, 0)]],
        bad=bad_dims("cumprod"),
        tolerance=8,
        inplace=lambda T, x: x.cumprod_(1),
        out=lambda T, x, out: T.cumprod(x, 1, out=out),
    ),
    along("cumprod first dim", lambda T, x: T.cumprod(x, 0), more=[[normal(4, 3, 5)]], tolerance=8),
    along("cumprod with zeros", lambda T, x: x.cumprod(0), values(2.0, 0.0, 3.0, 0.0, 4.0)),
    along("cumprod dtype", lambda T, x: x.cumprod(0, dtype=T.float64), tolerance=8),
    along("cummax", lambda T, x: tuple(T.cummax(x, 1)), more=SHAPES, bad=bad_dims("cummax")),
    along("cummin", lambda T, x: tuple(x.cummin(0)), more=SHAPES),
    along(
        "cummax of ties and nan",
        lambda T, x: tuple(x.cummax(0)),
        values(1.0, 1.0, math.nan, 3.0, math.nan),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    along(
        "diff",
        lambda T, x: x.diff(),
        more=[[normal(2, 5)], [normal(3, 1)], [normal(4)]],
        bad=[lambda T, x: x.diff(dim=2), lambda T, x: x.diff(-1), lambda T, x: x.sum().diff()],
    ),
    along("diff twice", lambda T, x: T.diff(x, 2, 0), more=[[normal(2, 5)]]),
    along(
        "diff prepend",
        lambda T, x, y: T.diff(x, dim=0, prepend=y, append=y),
        normal(3, 4),
        normal(1, 4),
    ),
]

SORTS = [
    along(
        "sort",
        lambda T, x: tuple(x.sort(stable=True)),
        more=[*NOT_EMPTY, [normal(3000)]],
        bad=bad_dims("sort"),
    ),
    along("sort first dim", lambda T, x: tuple(T.sort(x, dim=0, stable=True)), more=NOT_EMPTY),
    along(
        "sort descending",
        lambda T, x: tuple(T.sort(x, dim=1, descending=True, stable=True)),
        more=[*NOT_EMPTY, [normal(1, 3000)]],
    ),
    along(
        "sort of nan",
        lambda T, x: tuple(x.sort(stable=True)),
        values(1.0, math.nan, -0.0, 0.0, -math.inf, math.inf, -1.0),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    along(
        "sort of nan descending",
        lambda T, x: tuple(T.sort(x, descending=True, stable=True)),
        values(1.0, math.nan, -0.0, 0.0, -math.inf, math.inf, -1.0),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    along("sort 0-d", lambda T, x: tuple(x.sort()), normal()),
    along("argsort", lambda T, x: T.argsort(x, stable=True), derivatives=0, more=NOT_EMPTY),
    along(
        "argsort descending",
        lambda T, x: T.argsort(x, dim=0, descending=True, stable=True),
        derivatives=0,
        more=NOT_EMPTY,
    ),
    along("msort", lambda T, x: T.msort(x), more=NOT_EMPTY),
    along(
        "topk",
        lambda T, x: tuple(x.topk(2)),
        dtypes=[],
        more=[[normal(4, 3, 5)], [normal(2, 300)]],
        bad=[lambda T, x: x.topk(5), lambda T, x: x.topk(1, 2), lambda T, x: x.topk(-1)],
    ),
    along("topk values", lambda T, x: x.topk(2, 0)[0], more=[[normal(4, 3, 5)], [normal(300, 2)]]),
    along(
        "topk smallest",
        lambda T, x: tuple(T.topk(x, 3, 1, False)),
        dtypes=[],
        more=[[normal(4, 3, 5)], [normal(2, 300)]],
    ),
    along("topk many", lambda T, x: tuple(T.topk(x, 290)), normal(2, 300), dtypes=[]),
    along("topk of none", lambda T, x: tuple(T.topk(x, 0)), derivatives=0),
    along(
        "topk of nan",
        lambda T, x: tuple(x.topk(3)),
        values(1.0, math.nan, 3.0, -math.inf),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    along(
        "topk smallest of nan",
        lambda T, x: tuple(x.topk(3, largest=False)),
        values(1.0, math.nan, 3.0, -math.inf),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    along(
        "kthvalue",
        lambda T, x: tuple(x.kthvalue(2)),
        dtypes=[],
        more=[[normal(4, 3, 5)], [normal(2, 300)]],
        bad=[lambda T, x: x.kthvalue(0), lambda T, x: x.kthvalue(5), lambda T, x: x.kthvalue(1, 2)],
    ),
    along("kthvalue values", lambda T, x: T.kthvalue(x, 1, 0, True)[0]),
    along("median", lambda T, x: x.median(), more=[[normal(4, 3, 5)], [normal(7)], [normal()]]),
    along(
        "median dim",
        lambda T, x: tuple(x.median(1)),
        dtypes=[],
        more=[[normal(4, 3, 5)], [normal(2, 301)]],
        bad=[lambda T, x: x.median(2), lambda T, x: x[:0].median(0)],
    ),
    along("median values", lambda T, x: T.median(x, 0, True)[0], more=[[normal(4, 3, 5)]]),
    along(
        "median of nan",
        lambda T, x: x.median(),
        values(1.0, math.nan, 3.0),
        dtypes=FLOATING_DTYPES,
        derivatives=0,
    ),
    along(
        "nanmedian",
        lambda T, x: T.nanmedian(x),
        values(1.0, math.nan, 3.0, 2.0),
        dtypes=FLOATING_DTYPES,
        derivatives=1,
    ),
    along(
        "nanmedian dim",
        lambda T, x: T.nanmedian(x, 0)[0],
        values(1.0, math.nan, 3.0, 2.0),
        dtypes=FLOATING_DTYPES,
        derivatives=1,
    ),
    along(
        "unique",
        lambda T, x: T.unique((x * 2).round(), return_inverse=True, return_counts=True),
        derivatives=0,
        more=FULL,
    ),
    along(
        "unique rows",
        lambda T, x: T.unique((x > 0), dim=0, return_inverse=True, return_counts=True),
        normal(20, 3),
        derivatives=0,
        more=[[normal(3)], [normal(0, 2)], [normal(0)]],
        bad=[lambda T, x: T.unique(x[:, :0], dim=0), lambda T, x: T.unique(x[0, 0], dim=0)],
    ),
    along(
        "unique columns",
        lambda T, x: T.unique(x.round(), dim=1, return_inverse=True, return_counts=True),
        normal(2, 20),
        derivatives=0,
    ),
    along(
        "unique_consecutive",
        lambda T, x: T.unique_consecutive((x > 0), return_inverse=True, return_counts=True),
        derivatives=0,
        more=FULL,
    ),
    along(
        "unique_consecutive rows",
        lambda T, x: T.unique_consecutive((x > 0), return_inverse=True, return_counts=True, dim=0),
        normal(20, 2),
        derivatives=0,
        bad=[
            lambda T, x: T.unique_consecutive(x, dim=2),
            lambda T, x: T.unique_consecutive(x[0, 0], dim=0),
            lambda T, x: T.unique_consecutive(x[:, :0], dim=0),
        ],
    ),
    along(
        "unique_consecutive columns",
        lambda T, x: T.unique_consecutive(
            x.round().clamp(-1, 0), return_inverse=True, return_counts=True, dim=-1
        ),
        normal(2, 20),
        derivatives=0,
        more=[[normal(1)], [values(math.nan, math.nan)]],
    ),
]

SAMPLES = [*SUMS, *PRODUCTS, *EXTREMES, *STATISTICS, *NORMS, *SOFTMAXES, *SCANS, *SORTS]

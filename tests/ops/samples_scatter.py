"""Samples of what meets in one place (scatter_reduce and its kin), of parts replaced, and of searching and counting."""

import warnings

import numpy as np

from tests.ops.samples import Sample, integers, normal, positive, values
from tests.ops.samples_indexing import exactly

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
NUMBERS = ("float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8")


def with_zeros(*shape):
    """Numbers of which about a third are exactly 0."""
    return lambda rng: rng.standard_normal(shape) * (rng.random(shape) > 0.35)


def ties(*shape):
    """Few different numbers, so that extremes meet their equals."""
    return lambda rng: rng.integers(-1, 2, shape).astype(float)


def scatter_reduce_samples():
    for reduce in REDUCTIONS:
        for include_self in (True, False):
            name = f"scatter_reduce {reduce}{'' if include_self else ' alone'}"
            yield Sample(
                name,
                lambda T, x, i, src, reduce=reduce, include_self=include_self: T.scatter_reduce(
                    x, 0, i, src, reduce, include_self=include_self
                ),
                normal(4, 3),
                exactly([[0, 1, 2], [0, 0, 2], [3, 1, 2]]),
                normal(3, 3),
                dtypes=NUMBERS,
                inplace=lambda T, x, i, src, reduce=reduce, include_self=include_self: (
                    x.scatter_reduce_(0, i, src, reduce, include_self=include_self)
                ),
                out=lambda T, x, i, src, out, reduce=reduce, include_self=include_self: (
                    T.scatter_reduce(x, 0, i, src, reduce, include_self=include_self, out=out)
                ),
                more=[
                    [with_zeros(5), exactly([0, 0, 0, 2, 2, 3]), with_zeros(6)],
                    # without x, PyTorch lets an equal element of x take its share all the same
                    *([[ties(5), exactly([0, 0, 0, 2, 2, 3]), ties(6)]] if include_self else []),
                    [normal(), exactly(0), normal()],
                    [normal(3, 4), exactly(np.zeros((0, 4), int)), normal(0, 4)],
                    [normal(20, 30), integers(0, 20, 50, 30), normal(50, 30)],
                ],
                bad=[
                    lambda T, x, i, src: T.scatter_reduce(x, 0, i, src, "median"),
                    lambda T, x, i, src: T.scatter_reduce(x, 0, i + 2, src, "sum"),
                    lambda T, x, i, src: T.scatter_reduce(x, 0, i, src.float(), "sum"),
                    lambda T, x, i, src: T.scatter_reduce(x, 0, i, src[:2], "sum"),
                ],
            )


def with_nan(*shape):
    """Numbers of which some are nan."""
    return lambda rng: np.where(
        rng.random(shape) < 0.2, np.nan, rng.integers(-2, 3, shape).astype(float)
    )


def nan_samples():
    """What meets nan becomes nan, whether it was there before or comes later."""
    for reduce in REDUCTIONS:
        for include_self in (True, False):
            inputs = [with_nan(6, 5), integers(0, 6, 20, 5), with_nan(20, 5)]
            yield Sample(
                f"scatter_reduce {reduce} {'nan' if include_self else 'alone nan'}",
                lambda T, x, i, src, reduce=reduce, include_self=include_self: T.scatter_reduce(
                    x, 0, i, src, reduce, include_self=include_self
                ),
                *inputs,
                derivatives=0,
                dtypes=NUMBERS[:3],
            )
        if reduce != "sum":
            yield Sample(
                f"index_reduce {reduce} nan",
                quietly(lambda T, x, i, src, reduce=reduce: T.index_reduce(x, 0, i, src, reduce)),
                with_nan(6, 5),
                integers(0, 6, 9),
                with_nan(9, 5),
                derivatives=0,
                dtypes=NUMBERS[:3],
            )


def quietly(call):
    """PyTorch warns that some of these are new, or old."""

    def run(*arguments, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(*arguments, **options)

    return run


SAMPLES = [
    *scatter_reduce_samples(),
    *nan_samples(),
    *[
        Sample(
            f"index_reduce {reduce}",
            quietly(lambda T, x, i, src, reduce=reduce: T.index_reduce(x, 1, i, src, reduce)),
            normal(3, 4),
            exactly([3, 0, 3]),
            normal(3, 3),
            dtypes=NUMBERS,
            inplace=quietly(lambda T, x, i, src, reduce=reduce: x.index_reduce_(1, i, src, reduce)),
            more=[[ties(3, 4), exactly([3, 0, 3]), ties(3, 3)]],
            bad=[
                lambda T, x, i, src: T.index_reduce(x, 1, i, src, "sum"),
                lambda T, x, i, src: T.index_reduce(x, 1, i + 1, src, "prod"),
                lambda T, x, i, src: T.index_reduce(x, 1, i, src[:, :2], "prod"),
            ],
        )
        for reduce in REDUCTIONS[1:]
    ],
    Sample(
        "scatter add",
        quietly(lambda T, x, i, src: T.scatter(x, 1, i, src, reduce="add")),
        normal(3, 4),
        exactly([[0, 0], [1, 2], [3, 3]]),
        normal(3, 2),
        derivatives=0,
        inplace=quietly(lambda T, x, i, src: x.scatter_(1, i, src, reduce="add")),
        bad=[lambda T, x, i, src: T.scatter(x, 1, i, src, reduce="mean")],
    ),
    Sample(
        "scatter multiply",
        lambda T, x, i: T.scatter(x, 1, i, 3, reduce="multiply"),
        normal(3, 4),
        exactly([[0, 0], [1, 2], [3, 3]]),
        derivatives=0,
        dtypes=NUMBERS,
    ),
    Sample(
        "put",
        lambda T, x, i, src: T.put(x, i, src, accumulate=True),
        normal(3, 4),
        exactly([[0, -1], [0, 5]]),
        normal(2, 2),
        inplace=lambda T, x, i, src: x.put_(i, src, accumulate=True),
        more=[
            [normal(), exactly([0, 0]), normal(2)],
            [normal(3), exactly(np.zeros(0, int)), normal(0)],
        ],
        bad=[
            lambda T, x, i, src: T.put(x, i + 9, src),
            lambda T, x, i, src: T.put(x, i, src[0]),
            lambda T, x, i, src: T.put(x, i, src.float()),
            lambda T, x, i, src: T.put(x, i.int(), src),
            lambda T, x, i, src: T.put(x, i, [1.0]),
        ],
    ),
    Sample(
        "put replace",
        lambda T, x, i, src: T.put(x.t(), i, src),
        normal(3, 4),
        exactly([3, -1, 0]),
        normal(3),
    ),
    Sample(
        "select_scatter",
        lambda T, x, src: T.select_scatter(x, src, 1, -1),
        normal(3, 4),
        normal(3),
        bad=[
            lambda T, x, src: T.select_scatter(x, src[:2], 1, 0),
            lambda T, x, src: T.select_scatter(x, src, 1, 4),
        ],
    ),
    Sample(
        "slice_scatter",
        lambda T, x, src: T.slice_scatter(x, src, 1, 0, 4, 2),
        normal(3, 4),
        normal(3, 2),
        bad=[
            lambda T, x, src: (
                T.slice_scatter(x, src, 1, 0, 4, 3)[:, :5].sum() and T.slice_scatter(x, src, 0)
            ),
            lambda T, x, src: T.slice_scatter(x, src, 2),
        ],
    ),
    Sample(
        "diagonal_scatter",
        lambda T, x, src: T.diagonal_scatter(x, src, 1),
        normal(3, 4),
        normal(3),
        bad=[lambda T, x, src: T.diagonal_scatter(x, src, 3)],
    ),
    Sample(
        "as_strided_scatter",
        lambda T, x, src: T.as_strided_scatter(x, src, (2, 2), (4, 2)),
        normal(3, 4),
        normal(2, 2),
        derivatives=0,  # PyTorch's gradient of the tensor is 0 where it should be 1, and 1 where it should be 0
    ),
    Sample(
        "as_strided_scatter from an offset",
        lambda T, x, src: T.as_strided_scatter(x, src, (2, 2), (4, 2), 1),
        normal(3, 4),
        normal(2, 2),
        derivatives=0,  # as above
    ),
    Sample("narrow_copy", lambda T, x: T.narrow_copy(x, 1, 0, 3), normal(2, 4)),
    Sample("nonzero_static", lambda T, x: T.nonzero_static(x, size=7), ties(3, 4), derivatives=0),
    Sample("reversed", lambda T, x: reversed(x), normal(3, 4), more=[[normal()]]),
    Sample(
        "unravel_index",
        lambda T, i: T.unravel_index(i, (3, 4, 2)),
        integers(0, 24, 5, 2),
        derivatives=0,
        dtypes=(),
        bad=[
            lambda T, i: T.unravel_index(i.double(), (3, 4)),
            lambda T, i: T.unravel_index(i, (3, -4)),
        ],
    ),
    # ---------------------------------------------------------------- searching and counting
    Sample(
        "searchsorted",
        quietly(lambda T, x, y: T.searchsorted(x.sort()[0], y, right=True)),
        ties(3, 7),
        ties(3, 5),
        derivatives=0,
        dtypes=NUMBERS,
        more=[
            [normal(40), normal(5, 6)],
            [normal(0), normal(3)],
            [normal(3), normal()],
            [normal(3), normal(0, 2)],
        ],
        bad=[
            lambda T, x, y: T.searchsorted(x, y[:2]),
            lambda T, x, y: T.searchsorted(x, y, right=True, side="left"),
            lambda T, x, y: T.searchsorted(x, y, side="middle"),
            lambda T, x, y: T.searchsorted(x, 3.0),
            lambda T, x, y: T.searchsorted(x, "3"),
        ],
    ),
    Sample(
        "searchsorted side",
        quietly(lambda T, x, y: T.searchsorted(x.sort()[0], y, side="right")),
        ties(3, 7),
        ties(3, 5),
        derivatives=0,
        dtypes=NUMBERS,
    ),
    Sample(
        "searchsorted sorter",
        quietly(
            lambda T, x, y: T.searchsorted(x, y, sorter=x.argsort(), side="left", out_int32=True)
        ),
        normal(3, 7),
        normal(3, 5),
        derivatives=0,
        dtypes=NUMBERS,
    ),
    Sample(
        "searchsorted number",
        lambda T, x: T.searchsorted(x, 0.5),
        values(-1.0, 0.0, 0.5, 2.0),
        derivatives=0,
        dtypes=NUMBERS[:3],
    ),
    Sample(
        "bucketize",
        lambda T, x, y: T.bucketize(x, y),
        normal(3, 4),
        values(-1.0, 0.0, 0.5, 2.0),
        derivatives=0,
        dtypes=NUMBERS,
        bad=[lambda T, x, y: T.bucketize(x, x)],
    ),
    Sample(
        "isin",
        lambda T, x, y: T.isin(x, y),
        ties(3, 4),
        values(0.0, 1.0),
        derivatives=0,
        dtypes=NUMBERS,
        out=lambda T, x, y, out: T.isin(x, y, out=out),
    ),
    Sample(
        "isin number",
        lambda T, x: T.isin(x, 1, invert=True),
        ties(3, 4),
        derivatives=0,
        dtypes=NUMBERS,
    ),
    Sample(
        "bincount",
        lambda T, x, w: T.bincount(x, w, minlength=3),
        integers(0, 6, 20),
        normal(20),
        derivatives=0,
        more=[[exactly(np.zeros(0, int)), normal(0)]],
        bad=[
            lambda T, x, w: T.bincount(x - 9),
            lambda T, x, w: T.bincount(w),
            lambda T, x, w: T.bincount(x, w[:2]),
        ],
    ),
    Sample("bincount plain", lambda T, x: T.bincount(x), integers(0, 6, 20), derivatives=0),
    Sample(
        "histc",
        lambda T, x: T.histc(x, 5, -1, 1),
        normal(40),
        derivatives=0,
        dtypes=("float32",),
        bad=[
            lambda T, x: T.histc(x, 0),
            lambda T, x: T.histc(x, 5, 1, 0),
            lambda T, x: T.histc(x.long(), 5),
        ],
    ),
    Sample(
        "histc whole", lambda T, x: T.histc(x, 7), normal(4, 9), derivatives=0, dtypes=("float32",)
    ),
    Sample(
        "histogram",
        lambda T, x: T.histogram(x, 4, range=(-2.0, 2.0), density=True),
        normal(40),
        derivatives=0,
        dtypes=("float32",),
    ),
    Sample(
        "histogram edges",
        lambda T, x, w: T.histogram(x, T.tensor([-1.0, 0.0, 0.25, 2.0], dtype=x.dtype), weight=w),
        normal(40),
        positive(40),
        derivatives=0,
        dtypes=("float32",),
    ),
    # ---------------------------------------------------------------- ranks
    *[
        Sample(
            f"quantile {way}",
            lambda T, x, way=way: T.quantile(
                x, T.tensor([0.1, 0.6, 1.0], dtype=x.dtype), 1, interpolation=way
            ),
            normal(3, 8),
            dtypes=("float32", "float16", "int64"),
            more=[[normal(3, 1)], [lambda rng: np.array([[1.0, np.nan], [2.0, 3.0]])]],
            bad=[
                lambda T, x: T.quantile(x, 1.5),
                lambda T, x: T.quantile(x, 0.5, interpolation="cubic"),
                lambda T, x: T.quantile(x, 0.5, 2),
                lambda T, x: T.quantile(x[:0], 0.5),
            ],
        )
        for way in ("linear", "lower", "higher", "midpoint", "nearest")
    ],
    Sample(
        "quantile all",
        lambda T, x: T.quantile(x, 0.3, keepdim=True),
        normal(3, 4),
        more=[[normal()]],
    ),
    Sample(
        "nanquantile",
        lambda T, x: T.nanquantile(x, T.tensor([0.25, 0.5], dtype=x.dtype), 0, keepdim=True),
        normal(5, 4),
        dtypes=("float32",),
        more=[[lambda rng: np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, np.nan]])]],
    ),
    Sample(
        "mode",
        lambda T, x: T.mode(x, 1),
        ties(4, 9),
        derivatives=1,
        dtypes=NUMBERS,
        more=[[normal(3, 1)], [ties(3, 12)]],
        bad=[lambda T, x: T.mode(x, 2), lambda T, x: T.mode(x[:, :0], 1)],
    ),
    Sample("mode keepdim", lambda T, x: T.mode(x, 0, keepdim=True), ties(6, 3), derivatives=0),
    Sample(
        "logcumsumexp",
        lambda T, x: T.logcumsumexp(x, 1),
        normal(3, 5),
        out=lambda T, x, out: T.logcumsumexp(x, 1, out=out),
        more=[
            [normal(2, 0)],
            [lambda rng: np.array([[1000.0, -1000.0, 999.0]])],
            [lambda rng: np.array([[0.0, 1000.0, 2000.0, 1999.0, 0.0, -3000.0]])],
        ],
        bad=[lambda T, x: T.logcumsumexp(x, 2)],
    ),
    # ---------------------------------------------------------------- areas and slopes
    Sample(
        "trapezoid", lambda T, y: T.trapezoid(y, dx=0.5, dim=0), normal(4, 3), dtypes=("float32",)
    ),
    Sample(
        "trapezoid places",
        lambda T, y, x: T.trapezoid(y, x),
        normal(3, 4),
        positive(4),
        dtypes=("float32",),
    ),
    Sample(
        "trapezoid places of each row",
        lambda T, y, x: T.trapezoid(y, x, dim=0),
        normal(3, 4),
        positive(3, 4),
        dtypes=("float32",),
        more=[[normal(1, 4), positive(1, 4)]],
        bad=[lambda T, y, x: T.trapezoid(y, x[0], dim=0), lambda T, y, x: T.trapezoid(3.0)],
    ),
    Sample(
        "cumulative_trapezoid",
        lambda T, y, x: T.cumulative_trapezoid(y, x, dim=1),
        normal(3, 4),
        positive(3, 4),
        dtypes=("float32",),
    ),
    Sample(
        "gradient",
        lambda T, y: T.gradient(y, spacing=0.5),
        normal(4, 5),
        dtypes=("float32",),
        bad=[lambda T, y: T.gradient(y, edge_order=3), lambda T, y: T.gradient(y[:1])],
    ),
    Sample(
        "gradient places",
        lambda T, y, x: T.gradient(y, spacing=(x,), dim=1, edge_order=2),
        normal(4, 5),
        lambda rng: np.array([0.0, 1.0, 1.5, 4.0, 4.25]),
        dtypes=("float32",),
        derivatives=0,
        bad=[
            lambda T, y, x: T.gradient(y, spacing=(x[1:],), dim=1),
            lambda T, y, x: T.gradient(y, spacing=(x,), dim=0),
        ],
    ),
]

"""What the samples of reductions, scans, sorts and products of matrices mean in NumPy and SciPy."""

import numpy as np
import scipy.special

from tests.ops.references import REFERENCES, reference, softmax

INF = np.inf

# ------------------------------------------------------------------------------------------------ reductions
REFERENCES |= {
    "sum": np.sum,
    "sum dim": lambda x: x.sum(1),
    "sum first dim": lambda x: x.sum(0),
    "sum keepdim": lambda x: x.sum(-1, keepdims=True),
    "sum dims": lambda x: x.sum((0, x.ndim - 1)),
    "sum of a list of dims": lambda x: x.sum(-1, keepdims=True),
    "sum of no dims": np.sum,
    "sum dtype": lambda x: x.sum(0),
    "sum to float32": np.sum,
    "sum to int32": lambda x: x.astype("int32").sum(1, dtype="int32"),
    "sum middle": lambda x: x.sum(1),
    "sum outer": lambda x: x.sum((0, 2)),
    "sum permuted": lambda x: x.sum((0, 2)),
    "sum stepped": lambda x: x[:, ::2].sum(0),
    "sum expanded": lambda x: 7 * x[:, 0],
    "sum 0-d": lambda x: x,
    "sum_to_size": lambda x: x.sum((0, 2))[:, None],
    "mean": np.mean,
    "mean dim": lambda x: x.mean(1),
    "mean keepdim": lambda x: x.mean((0, 1), keepdims=True),
    "mean dtype": lambda x: x.mean(0),
    "mean strided": lambda x: x.mean(1),
    "nansum": lambda x: np.nansum(x, 1),
    "nansum of nan": np.nansum,
    "nanmean": lambda x: np.nanmean(x, 0),
    "count_nonzero": lambda x: np.count_nonzero(x, 1),
    "count_nonzero all": lambda x: np.count_nonzero(x > 0),
    "sum of bools": lambda x: (x > 0).sum(0),
    "sum of all bools": lambda x: (x > 0).sum(),
    "prod": np.prod,
    "prod dim": lambda x: x.prod(1),
    "prod keepdim": lambda x: x.prod(0, keepdims=True),
    "prod dtype": lambda x: x.prod(0),
    "prod with a zero": np.prod,
    "prod with zeros": np.prod,
    "any": lambda x: (x > 1).any(1),
    "any all": np.any,
    "any dims": lambda x: (x > 1).any((0, 1), keepdims=True),
    "all": lambda x: (x > -1).all(0),
    "all all": np.all,
    "amax": lambda x: x.max(1),
    "amax all": np.max,
    "amax dims": lambda x: x.max((0, 1), keepdims=True),
    "amin": lambda x: x.min(0),
    "amax of ties": np.max,
    "max": np.max,
    "max of ties": np.max,
    "max dim": lambda x: (x.max(1), x.argmax(1)),
    "max first dim": lambda x: (x.max(0, keepdims=True), x.argmax(0)[None]),
    "max named": lambda x: x.max(0),
    "max of two": np.maximum,
    "min": np.min,
    "min dim": lambda x: (x.min(-1), x.argmin(-1)),
    "min keepdim": lambda x: (x.min(0, keepdims=True), x.argmin(0)[None]),
    "min of two": np.minimum,
    "max 0-d": lambda x: (x, 0),
    "max of nan": lambda x: (x.max(0), x.argmax(0)),
    "amin of nan": np.min,
    "argmax": np.argmax,
    "argmax dim": lambda x: x.argmax(1),
    "argmax keepdim": lambda x: x.argmax().reshape([1] * x.ndim),
    "argmin": lambda x: x.argmin(0)[None],
    "argmin of nan": np.argmin,
    "aminmax": lambda x: (x.min(1), x.max(1)),
    "var": lambda x: x.var(ddof=1),
    "var dim": lambda x: x.var(1, ddof=1),
    "var biased": lambda x: x.var(0, keepdims=True),
    "var of a flag": np.var,
    "var correction": lambda x: x.var((0, 1), ddof=3),
    "std": lambda x: x.std(ddof=1),
    "std dim": lambda x: x.std(0, ddof=1),
    "var_mean": lambda x: (x.var(1, ddof=1), x.mean(1)),
    "std_mean": lambda x: (x.std((0, 1), ddof=1), x.mean((0, 1))),
    "logsumexp": lambda x: np.logaddexp.reduce(x, 1, initial=-INF),
    "logsumexp dims": lambda x: np.logaddexp.reduce(x, (0, 1), keepdims=True, initial=-INF),
    "logsumexp of infinities": lambda x: np.logaddexp.reduce(x),
    "logsumexp of nothing": lambda x: np.logaddexp.reduce(x),
    "logsumexp of large numbers": lambda x: np.logaddexp.reduce(1000 * x, 0),
}


def norm(x, p, axis=None, keepdims=False):
    """(sum |x|^p)^(1/p), and its limits at infinity."""
    if p in (INF, -INF):
        return (np.max if p > 0 else np.min)(np.abs(x), axis=axis, keepdims=keepdims)
    return (np.abs(x) ** float(p)).sum(axis, keepdims=keepdims) ** (1 / p)


for p in (2, 1, INF, -INF, 3, 1.5, 0.5, -2):
    REFERENCES |= {
        f"norm {p} of all": lambda x, p=p: norm(x, p),
        f"norm {p} of rows": lambda x, p=p: norm(x, p, 1),
        f"norm {p} of columns": lambda x, p=p: norm(x, p, 0, True),
    }
REFERENCES |= {
    "norm 0": lambda x: np.count_nonzero(x, 1),
    "norm": lambda x: norm(x, 2),
    "norm dims": lambda x: norm(x, 2, (0, 1), True),
    "norm dtype": lambda x: norm(x, 2, 1),
    "norm at zero": lambda x: norm(x, 2),
    "norm 1 at zero": lambda x: norm(x, 1),
    "norm 3 at zero": lambda x: norm(x, 3),
}

# ------------------------------------------------------------------------------------------------ along a dimension
REFERENCES |= {
    "softmax": lambda x: softmax(x, 1),
    "softmax first dim": lambda x: softmax(x, 0),
    "softmax dtype": lambda x: softmax(x, -1),
    "softmin dtype": lambda x: softmax(-x, -1),
    "softmax of large numbers": lambda x: softmax(1000 * x, 0),
    "softmax of infinities": lambda x: softmax(x, 0),
    "softmax of nan": lambda x: x * np.nan,
    "softmax 0-d": np.ones_like,
    "log_softmax": lambda x: x - np.logaddexp.reduce(x, 1, keepdims=True, initial=-INF),
    "log_softmax first dim": lambda x: x - np.logaddexp.reduce(x, 0, keepdims=True, initial=-INF),
    "log_softmax dtype": lambda x: np.log(softmax(x, -1)),
    "log_softmax of large numbers": lambda x: scipy.special.log_softmax(1000 * x, 0),
    "cumsum": lambda x: x.cumsum(1),
    "cumsum first dim": lambda x: x.cumsum(0),
    "cumsum dtype": lambda x: x.cumsum(0),
    "cumsum 0-d": lambda x: x,
    "cumprod": lambda x: x.cumprod(1),
    "cumprod first dim": lambda x: x.cumprod(0),
    "cumprod with zeros": lambda x: x.cumprod(0),
    "cumprod dtype": lambda x: x.cumprod(0),
    "logcumsumexp": lambda x: np.logaddexp.accumulate(x, 1),
    "diff": np.diff,
    "diff twice": lambda x: np.diff(x, 2, 0),
    "diff prepend": lambda x, y: np.diff(x, axis=0, prepend=y, append=y),
    "trapezoid": lambda y: np.trapezoid(y, dx=0.5, axis=0),
    "trapezoid places": lambda y, x: np.trapezoid(y, x),
    "cumulative_trapezoid": lambda y, x: ((y[:, 1:] + y[:, :-1]) / 2 * np.diff(x)).cumsum(1),
    "gradient": lambda y: np.gradient(y, 0.5),
    "gradient places": lambda y, x: np.gradient(y, x, axis=1, edge_order=2),
}


@reference("cummax", "cummax of ties and nan")
def cummax(x):
    """Where several are largest, the last counts; so does the last nan."""
    axis = x.ndim - 1 if x.ndim == 1 else 1
    values = np.maximum.accumulate(x, axis)
    places = np.arange(x.shape[axis]).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    is_new = (x == values) | np.isnan(x)
    return values, np.maximum.accumulate(np.where(is_new, places, 0), axis)


@reference("cummin")
def cummin(x):
    values, indices = cummax(-np.moveaxis(x, 0, -1)[None].swapaxes(1, -1))
    return np.moveaxis(-values.swapaxes(1, -1)[0], -1, 0), np.moveaxis(
        indices.swapaxes(1, -1)[0], -1, 0
    )


# ------------------------------------------------------------------------------------------------ sorting and counting
def sorted_with_indices(x, axis=-1, descending=False):
    """Equal elements keep their order; nan counts as the largest."""
    if x.ndim == 0:
        return x, 0
    order = np.argsort(
        np.where(np.isnan(x), INF, x) * (-1 if descending else 1), axis, kind="stable"
    )
    return np.take_along_axis(x, order, axis), order


REFERENCES |= {
    "sort": sorted_with_indices,
    "sort first dim": lambda x: sorted_with_indices(x, 0),
    "sort descending": lambda x: sorted_with_indices(x, 1, True),
    "sort 0-d": sorted_with_indices,
    "argsort": lambda x: sorted_with_indices(x)[1],
    "argsort descending": lambda x: sorted_with_indices(x, 0, True)[1],
    "msort": lambda x: np.sort(x, 0),
    "topk": lambda x: [y[..., :2] for y in sorted_with_indices(x, -1, True)],
    "topk values": lambda x: sorted_with_indices(x, 0, True)[0][:2],
    "topk smallest": lambda x: [y[:, :3] for y in sorted_with_indices(x, 1)],
    "topk many": lambda x: [y[:, :290] for y in sorted_with_indices(x, 1, True)],
    "topk of none": lambda x: (x[:, :0], np.zeros((3, 0), "int64")),
    "kthvalue": lambda x: [y[..., 1] for y in sorted_with_indices(x)],
    "kthvalue values": lambda x: x.min(0, keepdims=True),
    "median": lambda x: np.sort(x, None)[(x.size - 1) // 2],
    "median dim": lambda x: [y.take((x.shape[1] - 1) // 2, 1) for y in sorted_with_indices(x, 1)],
    "median values": lambda x: np.sort(x, 0)[(len(x) - 1) // 2][None],
    "median of nan": lambda x: np.nan,
    "nanmedian": lambda x: np.quantile(x[~np.isnan(x)], 0.5, method="lower"),
    "nanmedian dim": lambda x: np.quantile(x[~np.isnan(x)], 0.5, method="lower"),
    "searchsorted number": lambda x: np.searchsorted(x, 0.5),
    "bucketize": lambda x, y: np.searchsorted(y, x),
    "isin": np.isin,
    "isin number": lambda x: x != 1,
    "bincount": lambda x, w: np.bincount(x, w, minlength=3),
    "bincount plain": np.bincount,
    "histc": lambda x: np.histogram(x, 5, (-1, 1))[0],
    "histc whole": lambda x: np.histogram(x, 7)[0],
    "histogram": lambda x: np.histogram(x, 4, (-2, 2), density=True),
    "histogram edges": lambda x, w: np.histogram(x, [-1, 0, 0.25, 2], weights=w),
    "quantile all": lambda x: np.quantile(x, 0.3, keepdims=True),
    "nanquantile": lambda x: np.nanquantile(x, [0.25, 0.5], 0, keepdims=True),
    "unravel_index": lambda i: np.unravel_index(i, (3, 4, 2)),
    "nonzero": np.argwhere,
    "argwhere": np.argwhere,
}
for way in ("linear", "lower", "higher", "midpoint", "nearest"):
    REFERENCES[f"quantile {way}"] = lambda x, way=way: np.quantile(x, [0.1, 0.6, 1], 1, method=way)


# ------------------------------------------------------------------------------------------------ products of matrices
def renorm(x):
    lengths = np.sqrt((x * x).sum(axis=tuple({*range(x.ndim)} - {1}), keepdims=True))
    return np.where(lengths > 1.5, x * 1.5 / (lengths + 1e-7), x)


def fill_diagonal(x):
    x = x.copy()
    np.fill_diagonal(x, 2, wrap=True)
    return x


REFERENCES |= {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "matmul"), np.matmul),
    **dict.fromkeys(("matmul batches", "matmul operator"), np.matmul),
    "addmm": lambda x, a, b: 0.5 * x + 2 * a @ b,
    "baddbmm": lambda x, a, b: 2 * x + 3 * a @ b,
    "addbmm": lambda x, a, b: x + (a @ b).sum(0),
    "addmv": lambda x, a, b: 2 * x + 3 * a @ b,
    "addr": lambda x, a, b: x + np.outer(a, b),
    "outer": np.outer,
    "inner": np.inner,
    "kron": np.kron,
    "tensordot": lambda x, y: np.tensordot(x, y, ([0, 2], [0, 1])),
    "tensordot count": lambda x, y: np.tensordot(x, y, 1),
    "linear": lambda x, w, b=0: x @ w.T + b,
    "cross": lambda x, y: np.cross(x, y, axis=1),
    "dist": lambda x, y: norm(x - y, 3),
    **{
        f"cdist {what}": lambda x, y, p=p: norm(x[..., :, None, :] - y[..., None, :, :], p, -1)
        for what, p in (("1", 1), ("2", 2), ("2, product", 2), ("1.5", 1.5))
    },
    "cdist inf": lambda x, y: np.abs(x[..., :, None, :] - y[..., None, :, :]).max(-1, initial=0),
    "norm nuc": lambda x: np.linalg.svd(x, compute_uv=False).sum(-1),
    "renorm": renorm,
    "vander": lambda x: np.vander(x, 4),
    "fill_diagonal_": fill_diagonal,
    "cov": lambda x, a: np.cov(x, aweights=np.abs(a) + 1),
    "cov plain": np.cov,
    "corrcoef": np.corrcoef,
}
EINSUMS = """
    ij,jk->ik ij,kj bij,bjk->bik bihd,bjhd->bhij ...ij,jk->...ik ii->i ii iij->ij ij->ji ij-> i,j->ji ij,ij->ji
    bij,jk,bkl->il ...j->j... ,ij->ij ij,i-> pq,qr->pr
"""
for equation in EINSUMS.split():
    REFERENCES[f"einsum {equation}"] = lambda *arrays, equation=equation: np.einsum(
        equation, *arrays
    )

"""Functions with many options, in all their combinations, next to PyTorch."""

import itertools

import pytest

import tensorlab
from tests.ops.agreement import is_close, outcome, visible
from tests.oracle import require_torch


def grid(**options):
    """Every combination, as keywords; None leaves an option out."""
    for values in itertools.product(*options.values()):
        yield {
            name: value for name, value in zip(options, values, strict=True) if value is not None
        }


def numbers(T, *shape, seed=3):
    """Spread numbers of both signs without ties, the same in both packages."""
    count = T.empty(shape).numel()
    return (((T.arange(count) * 7919 + seed * 104729) % 1009).double() / 100 - 5).reshape(shape)


def few(T, *shape):
    """Small integers with many ties."""
    count = T.empty(shape).numel()
    return ((T.arange(count) * 7919) % 13 % 5).reshape(shape)


LINEAR = ["linear", "lower", "higher", "nearest", "midpoint"]
GRIDS = {
    "quantile": (
        grid(
            q=[0.3, 0.0, 1.0, [0.25, 0.5, 0.9]],
            dim=[None, 0, -1],
            keepdim=[None, True],
            interpolation=LINEAR,
        ),
        lambda T, q, **o: T.quantile(
            numbers(T, 4, 5), T.tensor(q).double() if isinstance(q, list) else q, **o
        ),
    ),
    "nanquantile": (
        grid(q=[0.3, [0.25, 0.5]], dim=[None, 0, 1], keepdim=[None, True], interpolation=LINEAR),
        lambda T, q, **o: T.nanquantile(
            numbers(T, 4, 5).masked_fill(numbers(T, 4, 5) > 2, float("nan")),
            T.tensor(q).double() if isinstance(q, list) else q,
            **o,
        ),
    ),
    "quantile of a number": (
        grid(q=[0.0, 0.5, 1.0], dim=[None, 0, -1, 1, -2], keepdim=[None, True]),
        lambda T, q, **o: (
            T.quantile(T.tensor(3.0), q, **o).tolist(),
            T.nanquantile(T.tensor(float("nan")), q, **o).tolist(),
            T.nanquantile(T.full((2, 3), float("nan")), q, o.get("dim")).tolist(),
        ),
    ),
    "unique": (
        grid(
            sorted=[True],
            return_inverse=[None, True],
            return_counts=[None, True],
            dim=[None, 0, 1, -1, 2],
            shape=[(6,), (4, 3), (5, 2, 3), (0,), (2, 0), ()],
        ),
        lambda T, shape, **o: T.unique(few(T, *shape), **o),
    ),
    "unique_consecutive": (
        grid(
            return_inverse=[None, True],
            return_counts=[None, True],
            dim=[None, 0, 1, -2],
            shape=[(9,), (4, 3), (0,)],
        ),
        lambda T, shape, **o: T.unique_consecutive(few(T, *shape) // 2, **o),
    ),
    "bincount": (
        grid(minlength=[None, 0, 3, 9, -1], weighted=[False, True, "int"], n=[0, 1, 10]),
        lambda T, weighted, n, **o: T.bincount(
            few(T, n),
            *([numbers(T, n)] if weighted is True else [few(T, n)] if weighted else []),
            **o,
        ),
    ),
    "histc": (
        grid(bins=[None, 1, 4, 0, -1], min=[None, -2, 2, 9], max=[None, 2, 3.1, 8]),
        lambda T, **o: T.histc(numbers(T, 30), **o),
    ),
    "histogram": (
        grid(
            bins=[1, 4],
            range=[None, (-2.0, 3.0), (1.0, 1.0), (3.0, 1.0)],
            density=[None, True],
            weighted=[False, True],
        ),
        lambda T, weighted, **o: T.histogram(
            numbers(T, 30), weight=numbers(T, 30).abs() if weighted else None, **o
        ),
    ),
    "histogram of edges": (
        grid(density=[None, True], weighted=[False, True]),
        lambda T, weighted, **o: T.histogram(
            numbers(T, 30),
            T.tensor([-3.0, -1.0, 0.5, 4.0]).double(),
            weight=numbers(T, 30).abs() if weighted else None,
            **o,
        ),
    ),
    "trapezoid": (
        grid(dx=[None, 0.5, 2], dim=[None, 0, 1, -1, 3]),
        lambda T, **o: (
            T.trapezoid(numbers(T, 4, 5), **o),
            T.cumulative_trapezoid(numbers(T, 4, 5), **o),
        ),
    ),
    "trapezoid of places": (
        grid(shape=[(5,), (4, 5), (1, 5), (4,), (4, 1), (1,), (3,)], dim=[None, 0, 1]),
        lambda T, shape, **o: (
            T.trapezoid(numbers(T, 4, 5), numbers(T, *shape, seed=8), **o),
            T.cumulative_trapezoid(numbers(T, 4, 5), numbers(T, *shape, seed=8), **o),
        ),
    ),
    "trapezoid of few": (
        grid(n=[0, 1, 2], dx=[None, 3.0]),
        lambda T, n, **o: T.trapezoid(numbers(T, 2, n), **o),
    ),
    "gradient": (
        grid(
            spacing=[None, 1, 0.5, [2.0, 0.5]],
            dim=[None, 0, -1, [0, 1], [1, 0]],
            edge_order=[None, 2, 3, 0],
        ),
        lambda T, **o: T.gradient(numbers(T, 4, 5), **o),
    ),
    "gradient of places": (
        grid(dim=[None, 0, 1, [1]], edge_order=[None, 2], both=[False, True]),
        lambda T, both, **o: T.gradient(
            numbers(T, 4, 4),
            spacing=(T.tensor([0.0, 1.0, 3.0, 4.5]).double(),) * (2 if both else 1),
            **o,
        ),
    ),
    "gradient of few": (
        grid(n=[1, 2, 3], edge_order=[1, 2]),
        lambda T, n, **o: T.gradient(numbers(T, n), **o),
    ),
    "bucketize": (
        grid(right=[None, True], out_int32=[None, True], n=[0, 1, 4]),
        lambda T, n, **o: (
            T.bucketize(few(T, 3, 4), T.arange(n), **o),
            T.bucketize(1.5, T.arange(float(n)), **o),
        ),
    ),
    "searchsorted": (
        grid(
            right=[None, True],
            side=[None, "left", "right", "middle"],
            out_int32=[None, True],
            sorter=[None, True],
        ),
        lambda T, sorter=None, **o: T.searchsorted(
            numbers(T, 2, 5) if sorter else numbers(T, 2, 5).sort(-1)[0],
            numbers(T, 2, 7, seed=5),
            sorter=numbers(T, 2, 5).argsort(-1) if sorter else None,
            **o,
        ),
    ),
    "topk": (
        grid(k=[0, 1, 3, 5, 6, -1], dim=[None, 0, -1, 2], largest=[None, False], sorted=[None]),
        lambda T, **o: T.topk(numbers(T, 5, 6), **o),
    ),
    "kthvalue": (
        grid(k=[0, 1, 3, 5, 6], dim=[None, 0, -1, 2], keepdim=[None, True]),
        lambda T, **o: T.kthvalue(numbers(T, 5, 6), **o),
    ),
    "median": (
        grid(dim=[0, -1, 2], keepdim=[None, True]),
        lambda T, **o: [
            getattr(T, name)(numbers(T, 5, 6), **o) for name in ("median", "nanmedian", "mode")
        ],
    ),
    "var": (
        grid(dim=[None, 0, (0, 1), ()], correction=[None, 0, 1, 2, 7, 0.5], keepdim=[None, True]),
        lambda T, **o: [
            getattr(T, name)(numbers(T, 5, 6), **o)
            for name in ("var", "std", "var_mean", "std_mean")
        ],
    ),
    "norm": (
        grid(
            p=[None, 0, 1, 2, 3, 0.5, -1, float("inf"), -float("inf"), "fro"],
            dim=[None, 0, (0, 1), -1],
            keepdim=[None, True],
        ),
        lambda T, **o: T.norm(numbers(T, 5, 6), **o),
    ),
    "one_hot": (
        grid(num_classes=[None, -1, 5, 9, 3, 0], shape=[(), (4,), (2, 3), (0,)]),
        lambda T, shape, **o: T.nn.functional.one_hot(few(T, *shape), **o),
    ),
    "arange": (
        grid(
            start=[0, 2, -3.5, 5],
            end=[0, 3, 4.5, -2],
            step=[1, 2, 0.7, -1, 0, -0.5],
            dtype=[None, "int32", "float16"],
        ),
        lambda T, start, end, step, dtype=None: T.arange(
            start, end, step, dtype=dtype and getattr(T, dtype)
        ),
    ),
    "linspace": (
        grid(
            start=[0, -3.5],
            end=[3, -2.25],
            steps=[0, 1, 2, 7, -1],
            dtype=[None, "int32", "float64"],
        ),
        lambda T, start, end, steps, dtype=None: (
            T.linspace(start, end, steps, dtype=dtype and getattr(T, dtype)),
            T.logspace(start, end, steps, dtype=dtype and getattr(T, dtype)),
            T.logspace(start, end, steps, base=2.0, dtype=T.float64),
        ),
    ),
    "eye": (
        grid(n=[0, 1, 3, -1], m=[None, 0, 2, 4, -1], dtype=[None, "int64", "bool", "float16"]),
        lambda T, n, m=None, dtype=None: T.eye(
            n, *([] if m is None else [m]), dtype=dtype and getattr(T, dtype)
        ),
    ),
    "tril_indices": (
        grid(row=[0, 1, 3, 5], col=[0, 2, 4], offset=[0, 1, -2, 9, -9]),
        lambda T, **o: (T.tril_indices(**o), T.triu_indices(**o)),
    ),
    "pad": (
        grid(
            shape=[(4,), (3, 4), (1, 2, 3, 4), (1, 2, 3, 2, 4)],
            pad=[
                *[(1,), (1, 2), (-1, 1), (-4, 0), (-2, -2), (3, 3), (4, 0), (5, 0), (-5, 1)],
                *[(1, 0, 2, 1), (0, 0, -1, -1), (1, 2, 0, 1, 1, 0), (0, 0, 0, 0, -1, 0), (1,) * 8],
            ],
            mode=[None, "reflect", "replicate", "another"],
            value=[None, 2.0],
        ),
        lambda T, shape, pad, **o: T.nn.functional.pad(numbers(T, *shape), pad, **o).tolist(),
    ),
    "pad around": (
        grid(
            shape=[(4,), (3, 4), (1, 2, 3, 4), (1, 2, 3, 2, 4)],
            pad=[
                *[(1,), (1, 2), (4, 0), (5, 0), (1, 0, 2, 1), (1, 2, 0, 1, 1, 0), (1,) * 8],
                *[(-1, 1), (-4, 0), (-2, -2), (2, -2), (-2, 2), (0, 0, -1, -1), (-2, 1, 1, 0)],
            ],
        ),
        lambda T, shape, pad, **o: T.nn.functional.pad(
            numbers(T, *shape), pad, "circular", **o
        ).tolist(),
    ),
    "triangle indices on meta": (
        grid(name=["tril_indices", "triu_indices"], row=[0, 2, 5], col=[0, 3], offset=[0, 1, -2]),
        lambda T, name, **o: tuple(getattr(T, name)(**o, device="meta").shape),
    ),
    "block_diag": (
        grid(dtypes=["", "f", "i", "b", "fi", "if", "bi", "ib", "ifd", "dbi"]),
        lambda T, dtypes: T.block_diag(
            *[
                few(T, 2, k + 1).to(
                    {"f": T.float32, "i": T.int64, "b": T.bool, "d": T.float64}[one]
                )
                for k, one in enumerate(dtypes)
            ]
        ),
    ),
    "max_pool2d": (
        grid(
            kernel_size=[2, (3, 2)],
            stride=[None, 1, (2, 3)],
            padding=[0, 1],
            dilation=[1, 2],
            ceil_mode=[False, True],
        ),
        lambda T, **o: [
            one.tolist()
            for one in T.nn.functional.max_pool2d(numbers(T, 1, 2, 7, 8), return_indices=True, **o)
        ],
    ),
    "avg_pool2d": (
        grid(
            kernel_size=[2, (3, 2)],
            stride=[None, 1, (2, 3)],
            padding=[0, 1],
            ceil_mode=[False, True],
            count_include_pad=[True, False],
            divisor_override=[None, 3, 0],
        ),
        lambda T, **o: T.nn.functional.avg_pool2d(numbers(T, 1, 2, 7, 8), **o),
    ),
    "conv2d": (
        grid(
            stride=[1, 2, (1, 3)],
            padding=[0, 1, (2, 0), "same", "valid"],
            dilation=[1, 2],
            groups=[1, 2, 4],
        ),
        lambda T, groups, **o: T.nn.functional.conv2d(
            numbers(T, 2, 4, 7, 8), numbers(T, 4, 4 // groups, 3, 2), groups=groups, **o
        ),
    ),
    "conv_transpose2d": (
        grid(
            stride=[1, 2, (1, 3)],
            padding=[0, 1],
            output_padding=[0, 1],
            dilation=[1, 2],
            groups=[1, 2],
        ),
        lambda T, groups, **o: T.nn.functional.conv_transpose2d(
            numbers(T, 2, 4, 5, 6), numbers(T, 4, 3, 3, 2), groups=groups, **o
        ),
    ),
    "embedding": (
        grid(
            padding_idx=[None, 0, -1, 4, 5, -6],
            max_norm=[None, 3.0, -1.0],
            norm_type=[2.0, 1.0, 0.0, float("inf"), 2.5],
            sparse=[False, True],
        ),
        lambda T, max_norm=None, **o: T.nn.functional.embedding(
            few(T, 3, 2), numbers(T, 5, 3).clone(), max_norm=max_norm, **o
        ),
    ),
}
GRIDS = {name: (list(options), call) for name, (options, call) in GRIDS.items()}


def result(T, call, options):
    """What a call gives, without what no program asks for, or that it is refused."""
    found = outcome(T, lambda T: simple(call(T, **options)))
    return "refused" if isinstance(found, tuple) and isinstance(found[-1], Exception) else found


def simple(value):
    if isinstance(value, (tuple, list)):
        return [simple(one) for one in value]
    return (
        [str(value.dtype).rpartition(".")[2], tuple(value.shape), value.tolist()]
        if hasattr(value, "tolist")
        else visible(value)
    )


@pytest.mark.parametrize("name", GRIDS)
def test_all_combinations_of_options_do_what_they_do_in_pytorch(name):
    torch = require_torch()
    every, call = GRIDS[name]
    different = {}
    for options in every:
        ours, theirs = (result(T, call, options) for T in (tensorlab, torch))
        if not is_close(ours, theirs, 1e-6):
            different[str(options)] = f"ours {str(ours)[:150]} PyTorch {str(theirs)[:150]}"
    assert not different, f"{len(different)} of {len(every)}: " + "\n".join(
        f"{k}: {v}" for k, v in list(different.items())[:6]
    )

"""nan, infinities, zeros of both signs and ties in all that works along a dimension: what PyTorch makes of them."""

import itertools
import math

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

INF, NAN = float("inf"), float("nan")
ROWS = [  # of 7 numbers
    [1, 2, 3, 4, 5, 6, 7],
    [3, 1, 3, 1, 3, 1, 2],
    [0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0],
    [NAN, 1, 2, 3, 4, 5, 6],
    [6, 5, NAN, 4, NAN, 3, 2],
    [1, 2, 3, 4, 5, 6, NAN],
    [NAN] * 7,
    [INF, 1, INF, 2, -1, -INF, 0],
    [-INF, -INF, -INF, 1, 2, -INF, 0],
    [-INF] * 7,
    [INF] * 7,
    [1, INF, NAN, -INF, 2, 2, 1],
    [-INF, NAN, INF, 0, 0, 0, 0],
    [1e300, 1e300, -1e300, 1, 0, 0, 2],
    [-5, -4, -3, -2, -1, -1, -5],
    [0, 0, 0, 2, 0, 2, 0],
]
CALLS = {
    "cumsum": lambda x: x.cumsum(-1),
    "cumprod": lambda x: x.cumprod(-1),
    "logcumsumexp": lambda x: x.logcumsumexp(-1),
    "cummax": lambda x: x.cummax(-1),
    "cummin": lambda x: x.cummin(-1),
    "diff": lambda x: x.diff(dim=-1),
    "sum": lambda x: x.sum(-1),
    "nansum": lambda x: x.nansum(-1),
    "mean": lambda x: x.mean(-1),
    "nanmean": lambda x: x.nanmean(-1),
    "prod": lambda x: x.prod(-1),
    "var": lambda x: x.var(-1),
    "std of all": lambda x: x.std(-1, correction=0),
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(-1),
    "aminmax": lambda x: x.aminmax(dim=-1),
    "max": lambda x: x.max(-1),
    "min": lambda x: x.min(-1),
    "argmax": lambda x: x.argmax(-1),
    "argmin": lambda x: x.argmin(-1),
    "any": lambda x: x.any(-1),
    "all": lambda x: x.all(-1),
    "count_nonzero": lambda x: x.count_nonzero(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "norm": lambda x: x.norm(dim=-1),
    "norm 1": lambda x: x.norm(1, -1),
    "norm 3": lambda x: x.norm(3, -1),
    "norm 0": lambda x: x.norm(0, -1),
    "norm inf": lambda x: x.norm(INF, -1),
    "norm -inf": lambda x: x.norm(-INF, -1),
    "sort": lambda x: x.sort(dim=-1, stable=True),
    "sort descending": lambda x: x.sort(dim=-1, descending=True, stable=True),
    "argsort": lambda x: x.argsort(dim=-1, stable=True),
    "msort": lambda x: x.movedim(-1, 0).msort(),
    "topk values": lambda x: x.topk(3)[0],
    "topk smallest values": lambda x: x.topk(4, largest=False)[0],
    "kthvalue": lambda x: x.kthvalue(3)[0],
    "median values": lambda x: x.median(-1)[0],
    "nanmedian values": lambda x: x.nanmedian(-1)[0],
    "quantile": lambda x: x.quantile(0.3, -1),
    "nanquantile": lambda x: x.nanquantile(0.3, -1),
    "unique_consecutive": lambda x: x.flatten().unique_consecutive(
        return_inverse=True, return_counts=True
    ),
    "nonzero": lambda x: x.nonzero(),
    "relu": lambda x: x.relu(),
}
FLAT = [
    "median",
    "nanmedian",
    "max",
    "min",
    "argmax",
    "argmin",
    "sum",
    "nansum",
    "mean",
    "prod",
    "var",
    "norm",
    "aminmax",
]
CALLS |= {f"{name} of all": lambda x, name=name: getattr(x, name)() for name in FLAT}


def flat_results(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def outcomes(T, call, array, dtype):
    x = T.as_tensor(array.copy()).to(getattr(T, dtype))
    results = []
    for layout in (x, x.t().contiguous().t(), T.stack([x, x], -1)[..., 0]):
        results += [
            (str(one.dtype).rpartition(".")[2], np.array(one.double().tolist()))
            for one in flat_results(call(layout))
        ]
    return results


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_special_values_give_what_they_give_in_pytorch(name, dtype):
    if dtype == "bfloat16" and name.startswith(("quantile", "nanquantile")):
        pytest.skip("quantiles are of float or double")
    torch = require_torch()
    # several rows at a time, and each alone: loops differ
    pieces = [np.array(ROWS), *(np.array([row]) for row in ROWS)]
    for array in pieces:
        theirs = outcomes(torch, CALLS[name], array, dtype)
        ours = outcomes(tensorlab, CALLS[name], array, dtype)
        tolerance = {"float64": 1e-12, "float32": 1e-5}.get(dtype, 2e-2)
        for (our_dtype, our), (their_dtype, their) in zip(ours, theirs, strict=True):
            assert our_dtype == their_dtype
            assert our.shape == their.shape
            np.testing.assert_allclose(
                our, their, rtol=tolerance, atol=tolerance, err_msg=str(array)
            )


GRADIENTS = [
    "cumprod",
    "logcumsumexp",
    "cummax",
    "prod",
    "norm",
    "amax",
    "max",
    "median values",
    "logsumexp",
    "softmax",
]


# PyTorch divides by x, or multiplies a 0 and an infinity, where these do not, or the other way round.
OTHER_FORMULAS = ["cumprod", "prod", "prod of all", "logcumsumexp", "logsumexp", "norm inf"]


@pytest.mark.parametrize(
    "name", [*GRADIENTS, "norm 1", "norm 3", "norm inf", "std of all", "prod of all", "max of all"]
)
def test_gradients_at_special_values_are_those_of_pytorch(name):
    torch = require_torch()
    for row in ROWS:
        if not np.all(np.abs(row) < 1e100) and name in OTHER_FORMULAS:
            continue
        grads = []
        for T in (torch, tensorlab):
            x = T.tensor([row, row], dtype=T.float64, requires_grad=True)
            out = flat_results(CALLS[name](x))[0]
            (
                out * T.arange(1.0, out.numel() + 1, dtype=T.float64).reshape(out.shape)
            ).sum().backward()
            grads.append(np.array(x.grad.tolist()))
        np.testing.assert_allclose(grads[1], grads[0], rtol=1e-10, atol=1e-10, err_msg=str(row))


# ---------------------------------------------------------------- order of equal numbers
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 64, 65, 300, 3000])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "int16", "uint8", "bool", "float16"]
)
def test_equal_numbers_keep_their_order(n, dtype):
    rng = np.random.default_rng(n)
    array = rng.integers(0, 5, (2, n)).astype("float64")
    if dtype.startswith("float"):
        array[rng.random((2, n)) < 0.1] = NAN
        array[rng.random((2, n)) < 0.1] = -0.0
    x = tensorlab.as_tensor(array).to(getattr(tensorlab, dtype))
    wide = np.array(x.double().tolist())
    for descending in (False, True):
        keys = -wide if descending else wide
        if descending:  # nan counts as the largest
            keys = np.where(np.isnan(keys), -INF, keys)
        order = np.argsort(keys, axis=1, kind="stable")
        for layout in (x, x.t().contiguous().t()):
            values, indices = layout.sort(dim=1, descending=descending, stable=True)
            assert indices.tolist() == order.tolist()
            np.testing.assert_array_equal(
                values.double().tolist(), np.take_along_axis(wide, order, 1)
            )


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "int32", "int16", "int8", "uint8"]
)
def test_values_are_found_among_equal_ones(dtype, side):
    torch = require_torch()
    rows = [[1, 1, 2, 2, 2, 5, 7], [0, 0, 0, 0, 0, 0, 0], [2, 3, 4, 5, 6, 7, 8]]
    values = [[0, 1, 2, 3, 7, 8]] * 3
    for T in (tensorlab, torch):
        found = T.searchsorted(
            T.tensor(rows, dtype=getattr(T, dtype)),
            T.tensor(values, dtype=getattr(T, dtype)),
            side=side,
        )
        expected = [
            np.searchsorted(row, value, side).tolist()
            for row, value in zip(rows, values, strict=True)
        ]
        assert found.tolist() == expected


def test_values_are_found_among_nan_and_infinities():
    torch = require_torch()
    row, values = [-INF, -1.0, 0.0, INF, NAN, NAN], [-INF, 0.0, -0.0, 3.0, INF, NAN]
    for right, out_int32 in itertools.product((False, True), (False, True)):
        results = [
            T.searchsorted(T.tensor(row), T.tensor(values), right=right, out_int32=out_int32)
            for T in (tensorlab, torch)
        ]
        assert results[0].tolist() == results[1].tolist()
        assert str(results[0].dtype)[-5:] == str(results[1].dtype)[-5:]


# ---------------------------------------------------------------- the order of sums
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_short_sums_are_those_of_pytorch_to_the_bit(dtype):
    """Rows are added in PyTorch's order, so what cancels there cancels here."""
    torch = require_torch()
    if torch.backends.cpu.get_cpu_capability() != "AVX2":
        pytest.skip("PyTorch adds in another order where registers are wider")
    rng = np.random.default_rng(0)
    for n in range(1, 140):
        array = rng.standard_normal((3, n)) * 10.0 ** rng.integers(-3, 4, (3, n))
        sums = []
        for T in (tensorlab, torch):
            x = T.as_tensor(array.astype(dtype))
            sums.append([x.sum(1).tolist(), x[0].sum().item()])
        assert sums[0] == sums[1], n


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("n", [5, 40, 300, 3000])
def test_numbers_that_differ_in_their_last_bit_are_sorted(n, dtype):
    rng = np.random.default_rng(n)
    for start in (1.0, -1.0, 3e-5):
        x = np.full(n, start, dtype)
        step = np.spacing(np.abs(x))
        x = x + rng.integers(0, 40, n).astype(dtype) * step
        for descending in (False, True):
            values, order = tensorlab.from_numpy(x).sort(descending=descending)
            expected = np.sort(x)[::-1] if descending else np.sort(x)
            assert np.array_equal(values.numpy(), expected)
            assert np.array_equal(x[order.numpy()], expected)
        assert np.array_equal(tensorlab.from_numpy(x).msort().numpy(), np.sort(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 7), (3, 1), (4, 150), (2, 5, 70), (9, 3, 2)])
def test_slices_that_lie_far_apart_have_a_softmax_each(shape, dtype):
    """Shifted by another number than its largest, a slice overflows or becomes all zeros."""
    rng = np.random.default_rng(3)
    for dim in range(len(shape)):
        of_slices = [1 if d == dim else size for d, size in enumerate(shape)]
        values = (
            rng.standard_normal(shape) * 50
            + rng.permutation(math.prod(of_slices)).reshape(of_slices) * 500
        )
        x = tensorlab.tensor(values.tolist(), dtype=getattr(tensorlab, dtype))
        numbers = np.array(x.tolist())
        shifted = numbers - numbers.max(dim, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))
        for layout in (x, x.transpose(0, -1).contiguous().transpose(0, -1)):
            np.testing.assert_allclose(
                layout.softmax(dim).tolist(), np.exp(logs), rtol=1e-4, atol=1e-30
            )
            np.testing.assert_allclose(layout.log_softmax(dim).tolist(), logs, rtol=1e-4, atol=1e-6)

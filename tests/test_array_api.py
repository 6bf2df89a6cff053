"""The array API standard's functions, compared with NumPy's, which follow the standard, too."""

import numpy as np
import pytest

import tensorlab
from tensorlab import array_api

A = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.5]], dtype=np.float32)
P = np.abs(A) / 4
I = np.array([[5, 2, 5], [1, 0, 7]])
UNARY = [
    *(
        "abs",
        "asin",
        "acos",
        "atan",
        "asinh",
        "atanh",
        "ceil",
        "cos",
        "cosh",
        "exp",
        "expm1",
        "floor",
    ),
    *(
        "isfinite",
        "isinf",
        "isnan",
        "log",
        "log1p",
        "log2",
        "log10",
        "negative",
        "positive",
        "round",
    ),
    *("sign", "signbit", "sin", "sinh", "square", "sqrt", "tan", "tanh", "trunc", "conj", "real"),
    "reciprocal",
]
BINARY = [
    *("add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal"),
    *("hypot", "less", "less_equal", "logaddexp", "maximum", "minimum", "multiply", "nextafter"),
    *("not_equal", "remainder", "subtract", "pow"),
]
INTEGERS = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]
FFT = [
    "fft",
    "ifft",
    "fftn",
    "ifftn",
    "rfft",
    "irfft",
    "rfftn",
    "irfftn",
    "hfft",
    "ihfft",
    "fftshift",
    "ifftshift",
]
LINALG = {
    "cholesky": lambda la, x: la.cholesky(x, upper=True),
    "cross": lambda la, x: la.cross(x, x + 1),
    "det": lambda la, x: la.det(x),
    "diagonal": lambda la, x: la.diagonal(x, offset=1),
    "eigh": lambda la, x: la.eigh(x)[0],
    "eigvalsh": lambda la, x: la.eigvalsh(x),
    "inv": lambda la, x: la.inv(x),
    "matmul": lambda la, x: la.matmul(x, x),
    "matrix_norm": lambda la, x: la.matrix_norm(x, ord=2, keepdims=True),
    "matrix_power": lambda la, x: la.matrix_power(x, -2),
    "matrix_rank": lambda la, x: la.matrix_rank(x),
    "matrix_transpose": lambda la, x: la.matrix_transpose(x),
    "outer": lambda la, x: la.outer(x[0, 0, :], x[0, 1, :]),
    "pinv": lambda la, x: la.pinv(x),
    "qr": lambda la, x: abs(la.qr(x).R),
    "slogdet": lambda la, x: tuple(la.slogdet(x)),
    "solve": lambda la, x: la.solve(x, x[:, :, :1]),
    "solve, vector": lambda la, x: la.solve(x, x[0, 0, :]),
    "svd": lambda la, x: la.svd(x).S,
    "svdvals": lambda la, x: la.svdvals(x),
    "tensordot": lambda la, x: la.tensordot(x[0, :, :], x, axes=((1,), (1,))),
    "trace": lambda la, x: la.trace(x, offset=-1),
    "vecdot": lambda la, x: la.vecdot(x, x),
    "vector_norm": lambda la, x: la.vector_norm(x, axis=(1, 2), ord=3),
}


def transformed(xp, name, a):
    """A Fourier transform, with arguments by keyword."""
    function = getattr(xp.fft, name)
    if "shift" in name:
        return function(a, axes=1)
    return function(
        a,
        **({"s": (3, 2), "axes": (0, 1)} if name[-1] == "n" else {"n": 4, "axis": 0}),
        norm="ortho",
    )


def square_of(xp, a):
    """Two positive definite matrices of three rows."""
    x = xp.stack([a, a + 1])
    return xp.matmul(xp.matrix_transpose(x), x) + xp.eye(3, dtype=a.dtype)


CALLS = {
    **{name: lambda xp, a, p, i, name=name: getattr(xp, name)(p) for name in UNARY},
    **{name: lambda xp, a, p, i, name=name: getattr(xp, name)(p, p + 1) for name in BINARY},
    **{name: lambda xp, a, p, i, name=name: getattr(xp, name)(i, i + 1) for name in INTEGERS},
    "acosh": lambda xp, a, p, i: xp.acosh(p + 1),
    "bitwise_invert": lambda xp, a, p, i: xp.bitwise_invert(i),
    "logical_and": lambda xp, a, p, i: xp.logical_and(a > 0, i > 2),
    "logical_or": lambda xp, a, p, i: xp.logical_or(a > 0, i > 2),
    "logical_xor": lambda xp, a, p, i: xp.logical_xor(a > 0, i > 2),
    "logical_not": lambda xp, a, p, i: xp.logical_not(a > 0),
    "clip": lambda xp, a, p, i: xp.clip(a, -1, 1),
    "where": lambda xp, a, p, i: xp.where(a > 0, a, p),
    "arange": lambda xp, a, p, i: xp.arange(5),
    "arange of two": lambda xp, a, p, i: xp.arange(2, 9, 3),
    "linspace": lambda xp, a, p, i: xp.linspace(0, 1, 5, dtype=xp.float64),
    "linspace, open": lambda xp, a, p, i: xp.linspace(0, 1, 5, endpoint=False, dtype=xp.float64),
    "eye": lambda xp, a, p, i: xp.eye(3, 4, k=1, dtype=xp.float32),
    "tril": lambda xp, a, p, i: xp.tril(a, k=1),
    "triu": lambda xp, a, p, i: xp.triu(a, k=-1),
    "meshgrid": lambda xp, a, p, i: xp.meshgrid(a[0], p[1]),
    "full_like": lambda xp, a, p, i: xp.full_like(a, 3),
    "zeros": lambda xp, a, p, i: xp.zeros((2, 3), dtype=xp.int64),
    "astype": lambda xp, a, p, i: xp.astype(i, xp.float64),
    "permute_dims": lambda xp, a, p, i: xp.permute_dims(a, (1, 0)),
    "matrix_transpose": lambda xp, a, p, i: xp.matrix_transpose(a),
    "expand_dims": lambda xp, a, p, i: xp.expand_dims(a, axis=1),
    "squeeze": lambda xp, a, p, i: xp.squeeze(xp.expand_dims(a, axis=1), axis=1),
    "concat": lambda xp, a, p, i: xp.concat([a, p], axis=1),
    "concat, flat": lambda xp, a, p, i: xp.concat([a, p], axis=None),
    "stack": lambda xp, a, p, i: xp.stack([a, p], axis=2),
    "unstack": lambda xp, a, p, i: xp.unstack(a, axis=1),
    "flip": lambda xp, a, p, i: xp.flip(a),
    "flip, axis": lambda xp, a, p, i: xp.flip(a, axis=1),
    "roll": lambda xp, a, p, i: xp.roll(a, 1, axis=1),
    "tile": lambda xp, a, p, i: xp.tile(a, (2, 1)),
    "repeat": lambda xp, a, p, i: xp.repeat(a, 2, axis=0),
    "reshape": lambda xp, a, p, i: xp.reshape(a, (3, 2)),
    "moveaxis": lambda xp, a, p, i: xp.moveaxis(a, 0, 1),
    "broadcast_to": lambda xp, a, p, i: xp.broadcast_to(a[0], (2, 3)),
    "broadcast_arrays": lambda xp, a, p, i: xp.broadcast_arrays(a[0], i),
    "matmul": lambda xp, a, p, i: xp.matmul(a, xp.permute_dims(p, (1, 0))),
    "tensordot": lambda xp, a, p, i: xp.tensordot(a, p, axes=2),
    "tensordot along one axis": lambda xp, a, p, i: xp.tensordot(a, p[:, :1].T, axes=((0,), (1,))),
    "vecdot": lambda xp, a, p, i: xp.vecdot(a, p),
    **{
        f"{name}, {axis}": lambda xp, a, p, i, name=name, axis=axis: getattr(xp, name)(
            a, axis=axis, keepdims=axis == 1
        )
        for name in ("sum", "mean", "max", "min", "prod", "var", "std", "any", "all")
        for axis in (None, 0, 1, (0, 1))
    },
    "argmax": lambda xp, a, p, i: xp.argmax(a, axis=1),
    "argmax as a column": lambda xp, a, p, i: xp.argmax(a, axis=1, keepdims=True),
    "argmin": lambda xp, a, p, i: xp.argmin(a),
    "argmin as a row": lambda xp, a, p, i: xp.argmin(a, axis=0, keepdims=True),
    "nonzero": lambda xp, a, p, i: xp.nonzero(i),
    "sort": lambda xp, a, p, i: xp.sort(a, axis=0),
    "argsort": lambda xp, a, p, i: xp.argsort(a),
    "take": lambda xp, a, p, i: xp.take(a, xp.asarray([2, 0]), axis=1),
    "cumulative_sum": lambda xp, a, p, i: xp.cumulative_sum(a, axis=1, include_initial=True),
    "cumulative_prod": lambda xp, a, p, i: xp.cumulative_prod(a, axis=1, include_initial=True),
    "take_along_axis": lambda xp, a, p, i: xp.take_along_axis(a, xp.argsort(a, axis=0), axis=0),
    "count_nonzero": lambda xp, a, p, i: xp.count_nonzero(i, axis=1, keepdims=True),
    "isin": lambda xp, a, p, i: xp.isin(i, xp.asarray([5, 7]), invert=True),
    "diff": lambda xp, a, p, i: xp.diff(a, axis=1),
    "unique_values": lambda xp, a, p, i: xp.sort(xp.unique_values(i)),
    "unique_counts": lambda xp, a, p, i: tuple(xp.unique_counts(i)),
    "unique_inverse": lambda xp, a, p, i: tuple(xp.unique_inverse(i)),
    "unique_all": lambda xp, a, p, i: tuple(xp.unique_all(i)),
    "searchsorted": lambda xp, a, p, i: xp.searchsorted(xp.sort(a[0]), p, side="right"),
    **{
        f"{name}, no axes": lambda xp, a, p, i, name=name: getattr(xp, name)(a, axis=())
        for name in ("sum", "mean", "max", "min", "prod", "var", "std", "any", "all")
    },
    **{
        f"{name}, 0-d": lambda xp, a, p, i, name=name: getattr(xp, name)(xp.asarray(a[0, 0]))
        for name in ("sum", "mean", "max", "min", "prod", "var", "std", "any", "all")
    },
    **{
        f"{name}, int8": lambda xp, a, p, i, name=name: getattr(xp, name)(
            xp.astype(i, xp.int8), axis=1, dtype=xp.int8
        )
        for name in ("sum", "prod")
    },
    "vecdot, int8": lambda xp, a, p, i: xp.vecdot(xp.astype(i, xp.int8), xp.astype(i, xp.int8)),
    "broadcast_shapes": lambda xp, a, p, i: xp.zeros(
        xp.broadcast_shapes((2, 1), (3,)), dtype=xp.int8
    ),
    "imag": lambda xp, a, p, i: xp.imag(a + 1j * p),
    "sign, complex": lambda xp, a, p, i: xp.sign(a + 1j * p),
    "vecdot, complex": lambda xp, a, p, i: xp.vecdot(a + 1j * p, p - 2j * a),
    **{
        f"linalg.{name}": lambda xp, a, p, i, call=call: call(xp.linalg, square_of(xp, a))
        for name, call in LINALG.items()
    },
    **{f"fft.{name}": lambda xp, a, p, i, name=name: transformed(xp, name, a) for name in FFT},
    "fft.fftfreq": lambda xp, a, p, i: xp.astype(xp.fft.fftfreq(5, d=0.5), xp.float32),
    "fft.rfftfreq": lambda xp, a, p, i: xp.astype(xp.fft.rfftfreq(5, d=0.5), xp.float32),
    "sign, nan": lambda xp, a, p, i: xp.sign(a * xp.nan),
    "sign, integers": lambda xp, a, p, i: xp.sign(i),
    "arange, empty": lambda xp, a, p, i: xp.arange(1, 0),
    "arange, empty downwards": lambda xp, a, p, i: xp.arange(0, 5, -1),
    "full, row": lambda xp, a, p, i: xp.full(2, 3),
    "full, dtype": lambda xp, a, p, i: xp.full((2, 1), 3, dtype=xp.float32),
    "meshgrid, nothing": lambda xp, a, p, i: tuple(xp.meshgrid()),
    "roll, one shift of two axes": lambda xp, a, p, i: xp.roll(a, 1, axis=(0, 1)),
    "repeat, int8": lambda xp, a, p, i: xp.repeat(a, xp.asarray([1, 2], dtype=xp.int8), axis=0),
    "repeat, uint8": lambda xp, a, p, i: xp.repeat(a[0], xp.asarray([3, 0, 2], dtype=xp.uint8)),
    "take, int8": lambda xp, a, p, i: xp.take(a[0], xp.asarray([2, 0], dtype=xp.int8)),
    "reshape, copy": lambda xp, a, p, i: xp.reshape(a, (6,), copy=True),
    "reshape, no copy": lambda xp, a, p, i: xp.reshape(a, (6,), copy=False),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_functions_of_the_standard_agree_with_numpy(name):
    tensors = [tensorlab.from_numpy(one.copy()) for one in (A, P, I)]
    ours, theirs = CALLS[name](array_api, *tensors), CALLS[name](np, A, P, I)
    if not isinstance(theirs, tuple | list):
        ours, theirs = (ours,), (theirs,)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one, tensorlab.Tensor)
        assert tuple(one.shape) == other.shape
        assert str(one.dtype).rpartition(".")[2] == other.dtype.name
        np.testing.assert_allclose(one.numpy(), other, rtol=2e-6, atol=1e-6)


def test_every_function_is_tested():
    names = {*array_api.__all__}
    for extension in ("linalg", "fft"):
        names |= {f"{extension}.{name}" for name in getattr(array_api, extension).__all__}
    tested = {name.partition(",")[0].partition(" of")[0] for name in CALLS}
    elsewhere = {name for name in array_api.__all__ if not callable(getattr(array_api, name))}
    elsewhere |= {
        str(dtype).rpartition(".")[2]
        for dtype in array_api.__array_namespace_info__().dtypes().values()
    }
    elsewhere |= {"asarray", "from_dlpack", "isdtype", "result_type", "can_cast", "finfo", "iinfo"}
    elsewhere |= {"empty", "empty_like", "ones", "ones_like", "zeros_like"}
    assert names <= tested | elsewhere


def test_a_tensor_knows_its_namespace():
    x = tensorlab.ones(2)
    assert x.__array_namespace__() is array_api
    assert x.__array_namespace__(api_version="2023.12") is array_api
    with pytest.raises(ValueError, match="__array_namespace__: api_version is '2019.1'"):
        x.__array_namespace__(api_version="2019.1")


def test_array_api_compat_finds_the_namespace():
    compat = pytest.importorskip("array_api_compat", reason="comes with `make test`")
    assert compat.array_namespace(tensorlab.ones(2)) is array_api


def test_types_are_described():
    xp = array_api
    assert xp.isdtype(xp.int32, "integral")
    assert xp.isdtype(xp.bool, ("bool", xp.uint8))
    assert not xp.isdtype(xp.float16, "signed integer")
    assert xp.result_type(xp.int32, xp.float32) == xp.float32
    assert xp.result_type(xp.ones(2, dtype=xp.int32), 1.5) == xp.float32
    assert xp.can_cast(xp.int32, xp.float32)
    assert xp.can_cast(xp.ones(2, dtype=xp.int8), xp.int16)
    assert not xp.can_cast(xp.float64, xp.float32)
    assert not xp.can_cast(xp.uint8, xp.int8)
    assert xp.finfo(xp.ones(2, dtype=xp.float64)).bits == 64
    assert xp.iinfo(xp.ones(2, dtype=xp.int8)).max == xp.iinfo(xp.int8).max == 127
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["integral"] == xp.int64
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"}
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert xp.isdtype(xp.uint32, "integral")
    assert xp.iinfo(xp.uint64).max == 2**64 - 1
    assert info.devices() == [info.default_device()]
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 16,
    }


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda xp: xp.nonzero(xp.asarray(3)), "nonzero: a 0-d tensor has no axes"),
        (lambda xp: xp.result_type(), "result_type: no tensors"),
        (lambda xp: xp.take(xp.ones((2, 2)), xp.asarray([0])), "take: axis is needed"),
        (lambda xp: xp.cumulative_sum(xp.ones((2, 2))), "cumulative_sum: axis is needed"),
        (lambda xp: xp.vecdot(xp.ones((2, 3)), xp.ones((2, 1))), "vecdot: axis -1 has size 3 in"),
        (
            lambda xp: xp.vecdot(xp.ones((2, 3)), xp.ones(3), axis=0),
            "vecdot: axis 0 is not between",
        ),
        (lambda xp: xp.reshape(xp.ones((2, 3)).T, (6,), copy=False), "reshape: copy is False"),
    ],
)
def test_what_the_standard_refuses_raises_a_value_error(call, message):
    with pytest.raises(ValueError, match=message):
        call(array_api)


def test_reshape_copies_when_it_is_told_to():
    x = array_api.ones((2, 3))
    assert array_api.reshape(x, (6,)).data_ptr() == x.data_ptr()
    assert array_api.reshape(x, (6,), copy=True).data_ptr() != x.data_ptr()


def test_asarray_copies_when_it_is_told_to():
    for data in (tensorlab.zeros(2), np.zeros(2, dtype=np.float32)):
        x = array_api.asarray(data, dtype=array_api.float32, copy=True)
        x += 1
        assert data.tolist() == [0, 0]


UNSIGNED_CALLS = {
    **{
        name: lambda xp, x, y, name=name: getattr(xp, name)(x, y)
        for name in (
            *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow"),
            *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
            *("maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"),
            *("bitwise_left_shift", "bitwise_right_shift", "logical_and", "logical_or"),
        )
    },
    **{
        name: lambda xp, x, y, name=name: getattr(xp, name)(x)
        for name in (
            *("abs", "bitwise_invert", "ceil", "floor", "isfinite", "isnan", "positive"),
            *("sign", "square", "trunc", "sort", "argsort", "max", "min", "argmax", "argmin"),
            *("any", "all", "count_nonzero", "cumulative_sum", "flip", "logical_not", "diff"),
        )
    },
    "clip": lambda xp, x, y: xp.clip(x, 2, 5),
    "concat": lambda xp, x, y: xp.concat([x, y]),
    "where": lambda xp, x, y: xp.where(x > y, x, y),
    "take": lambda xp, x, y: xp.take(x, xp.asarray([1, 0])),
    "take_along_axis": lambda xp, x, y: xp.take_along_axis(x, xp.asarray([1, 0])),
    "searchsorted": lambda xp, x, y: xp.searchsorted(xp.sort(x), y),
    "tril": lambda xp, x, y: xp.tril(xp.reshape(x, (2, 3))),
    "sum": lambda xp, x, y: xp.astype(xp.sum(x), xp.int64),
    "prod": lambda xp, x, y: xp.astype(xp.prod(x), xp.int64),
    "eye": lambda xp, x, y: xp.eye(3, dtype=x.dtype),
    "arange": lambda xp, x, y: xp.arange(3, dtype=x.dtype),
    "linspace": lambda xp, x, y: xp.linspace(0, 6, 3, dtype=x.dtype),
    "nonzero": lambda xp, x, y: xp.nonzero(x)[0],
    "repeat": lambda xp, x, y: xp.repeat(x, 2),
    "isin": lambda xp, x, y: xp.isin(x, y),
    "unique_values": lambda xp, x, y: xp.sort(xp.unique_values(y)),
}


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("name", UNSIGNED_CALLS)
def test_unsigned_numbers(name, dtype):
    if not hasattr(np, name):
        pytest.skip("a function that came with a later NumPy")
    x, y = np.array([3, 0, 7, 4, 9, 1], dtype), np.array([1, 2, 3, 3, 5, 1], dtype)
    ours = UNSIGNED_CALLS[name](array_api, tensorlab.from_numpy(x), tensorlab.from_numpy(y))
    theirs = UNSIGNED_CALLS[name](np, x, y)
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6)
    if name in {"add", "floor_divide", "maximum", "sort", "max", "clip", "diff", "square", "abs"}:
        assert ours.dtype.name == dtype


def test_tensors_go_to_a_device():
    x = tensorlab.ones(2)
    assert x.to_device(x.device) is x
    assert x.to_device("meta").is_meta
    assert x.to_device("cpu", stream=None).tolist() == [1, 1]
    with pytest.raises(ValueError, match="there are no streams"):
        x.to_device("cpu", stream=1)

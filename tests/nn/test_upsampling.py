"""interpolate and its modules: PyTorch's values, gradients and errors, for all modes."""

import itertools

import numpy as np
import pytest

import tensorlab
from tensorlab.ops.resampling import cubic_terms, linear_terms
from tests.oracle import require_torch

torch = require_torch()
RNG = np.random.default_rng(3)
SHAPES = {3: (2, 3, 7), 4: (2, 3, 7, 5), 5: (2, 2, 4, 3, 5)}
DIMS = {"linear": 3, "bilinear": 4, "bicubic": 4, "lanczos": 4, "trilinear": 5}


def programs():
    """Yield (shape, options)."""
    for dims, shape in SHAPES.items():
        sizes = [
            {"size": 6},
            {"size": tuple(range(3, 3 + dims - 2))},
            {"size": 1},
            {"size": shape[2:]},
            {"scale_factor": 2},
            {"scale_factor": 1.7},
            {"scale_factor": (0.6, 1.4, 2.1)[: dims - 2]},
            {"scale_factor": 1.7, "recompute_scale_factor": True},
        ]
        for size in sizes:
            for mode in ("nearest", "nearest-exact", "area"):
                yield shape, {"mode": mode, **size}
            for mode, needed in DIMS.items():
                for corners in (None, False, True):
                    if needed == dims and mode != "lanczos":
                        yield shape, {"mode": mode, "align_corners": corners, **size}
    for scale in ((1.3, 1.3), (1.1, 1.4), (1.3, 0.6)):  # sizes that stay, with a scale
        for mode, dims in (
            *DIMS.items(),
            *itertools.product(("nearest", "nearest-exact"), (3, 4, 5)),
        ):
            options = {"mode": mode, "scale_factor": (*scale, 1.2)[: dims - 2]}
            if mode != "lanczos":
                yield (1, 2, 3, 3, 3)[:dims], options
            if dims == 4 and mode in DIMS:
                yield (1, 2, 3, 7), {**options, "antialias": True}
    for mode, dims in DIMS.items():  # of one pixel
        for corners in (False, True) if mode != "lanczos" else ():
            yield (1, 2, 1, 1, 1)[:dims], {"mode": mode, "size": 3, "align_corners": corners}
            yield (1, 2, 5, 1, 4)[:dims], {"mode": mode, "size": 2, "align_corners": corners}
    for mode, corners in itertools.product(("bilinear", "bicubic"), (False, True)):
        for size in (
            {"size": (3, 4)},
            {"size": (9, 2)},
            {"scale_factor": 0.4},
            {"scale_factor": 2.5},
        ):
            yield SHAPES[4], {"mode": mode, "align_corners": corners, "antialias": True, **size}
    yield SHAPES[4], {"mode": "lanczos", "antialias": True, "size": (3, 9)}
    yield SHAPES[4], {"mode": "lanczos", "antialias": True, "scale_factor": 0.45}


PROGRAMS = list(programs())


def run(T, values, options, dtype):
    x = T.tensor(values.tolist(), dtype=getattr(T, dtype)).requires_grad_()
    out = T.nn.functional.interpolate(x, **options)
    grad = T.linspace(-1, 2, out.numel(), dtype=x.dtype).reshape(out.shape)
    (found,) = T.autograd.grad(out, x, grad)
    return out.detach(), found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("index", range(len(PROGRAMS)))
def test_values_and_gradients_are_those_of_pytorch(index, dtype):
    shape, options = PROGRAMS[index]
    values = RNG.standard_normal(shape)
    tolerance = 1e-11 if dtype == "float64" else 3e-5
    results = run(tensorlab, values, options, dtype), run(torch, values, options, dtype)
    is_volume = options["mode"] == "nearest" and len(shape) == 5
    stays = any(n == new for n, new in zip(shape[2:], results[0][0].shape[2:], strict=True))
    if "scale_factor" in options and (is_volume or stays):
        results = [one[:1] for one in results]  # PyTorch's gradient forgets the scale there
        x = tensorlab.tensor(values.tolist(), dtype=tensorlab.float64, requires_grad=True)
        assert tensorlab.autograd.gradcheck(
            lambda x: tensorlab.nn.functional.interpolate(x, **options), [x], fast_mode=True
        )
    for ours, theirs in zip(*results, strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert str(ours.dtype) == f"tensorlab.{dtype}"
        np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=tolerance, atol=tolerance)


BYTES = [
    *(
        {"mode": mode, "size": size}
        for mode in ("nearest", "bilinear", "bicubic")
        for size in (4, (9, 2))
    ),
    {"mode": "bilinear", "size": (90, 33), "align_corners": True},
    {"mode": "bicubic", "scale_factor": 1.1, "align_corners": False},
    {"mode": "bicubic", "scale_factor": 1.05},
    *({"mode": mode, "scale_factor": 1.05, "antialias": True} for mode in ("bilinear", "lanczos")),
    *(
        {"mode": mode, "size": size, "antialias": True}
        for mode in ("bilinear", "bicubic", "lanczos")
        for size in ((31, 50), (57, 19))
    ),
]


@pytest.mark.parametrize("options", BYTES, ids=str)
def test_pictures_of_bytes_are_rounded_as_in_pytorch(options):
    values = RNG.integers(0, 256, (2, 3, 40, 61))
    found = []
    for T in (tensorlab, torch):
        x = T.tensor(values.tolist(), dtype=T.uint8)
        out = T.nn.functional.interpolate(x, **options)
        assert str(out.dtype).endswith("uint8")
        found.append(out.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [(1, 2), (2, 3), (4, 1)])
def test_a_wide_filter_over_bytes_is_that_of_pytorch(size):
    values = RNG.integers(0, 256, (1, 1, 700, 90))
    found = [
        T.nn.functional.interpolate(
            T.tensor(values.tolist(), dtype=T.uint8), size, mode="bicubic", antialias=True
        ).tolist()
        for T in (tensorlab, torch)
    ]
    assert found[0] == found[1]


def test_the_smallest_weights_have_the_bits_that_pytorchs_have():
    values = RNG.integers(0, 256, (1, 1, 1500, 20_000), dtype=np.uint8)
    found = [
        T.nn.functional.interpolate(
            T.from_numpy(values), (1, 20_000), mode="bilinear", antialias=True
        ).numpy()
        for T in (tensorlab, torch)
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("terms", [linear_terms, cubic_terms])
def test_a_place_that_is_rounded_to_the_end_stays_inside(terms):
    """The last of more than 2**24 new places cannot be told from the one behind it in float32."""
    old = 2**24
    new = np.arange(2 * old - 4, 2 * old).astype(np.float32)
    places, weights = terms(np.float32(0.5) * (new + np.float32(0.5)) - np.float32(0.5), old)
    assert max(place.max() for place in places) == old - 1
    np.testing.assert_allclose(sum(weights), 1, rtol=1e-6)


def test_half_numbers_are_added_in_float32():
    x = tensorlab.tensor(RNG.random((1, 2, 6, 5)).tolist(), dtype=tensorlab.float16)
    out = tensorlab.nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
    exact = tensorlab.nn.functional.interpolate(x.double(), scale_factor=2, mode="bilinear")
    assert out.dtype is tensorlab.float16
    assert (out.double() - exact).abs().max() < 1e-3


def test_a_size_that_stays_gives_a_copy():
    x = tensorlab.ones(1, 2, 3, 4)
    for options in ({"mode": "nearest"}, {"mode": "bilinear", "antialias": True}, {"mode": "area"}):
        out = tensorlab.nn.functional.interpolate(x, size=(3, 4), **options)
        assert out.equal(x)
        assert out.data_ptr() != x.data_ptr()


def test_derivatives_can_be_differentiated():
    x = tensorlab.randn(1, 2, 3, 4, dtype=tensorlab.float64, requires_grad=True)

    def resampled(x):
        return tensorlab.nn.functional.interpolate(x, size=(5, 4), mode="bicubic") ** 2

    assert tensorlab.autograd.gradgradcheck(resampled, [x])


MODULES = [
    ("Upsample", (), {"scale_factor": 2}, 3),
    ("Upsample", (4,), {}, 4),
    ("Upsample", (), {"scale_factor": (2.5, 3)}, 4),
    ("Upsample", ((3, 9), None, "bilinear", True), {}, 4),
    ("Upsample", (None, 1.7, "bicubic", False, True), {}, 4),
    ("Upsample", (None, 1.7, "trilinear"), {}, 5),
    ("UpsamplingNearest2d", (), {"scale_factor": 3}, 4),
    ("UpsamplingBilinear2d", ((4, 9),), {}, 4),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "dims"), MODULES)
def test_modules_do_what_pytorchs_do(name, args, kwargs, dims):
    values, found = RNG.standard_normal(SHAPES[dims]), []
    for T in (tensorlab, torch):
        module = getattr(T.nn, name)(*args, **kwargs)
        out = module(T.tensor(values.tolist()))
        found.append((repr(module), list(module.state_dict()), module.name, out.tolist()))
    assert found[0][:3] == found[1][:3]
    np.testing.assert_allclose(found[0][3], found[1][3], rtol=1e-5, atol=1e-5)


def test_older_names_warn_and_do_the_same():
    values = RNG.standard_normal(SHAPES[4]).tolist()
    for name, options in (
        ("upsample", {"size": 4, "mode": "bilinear", "align_corners": True}),
        ("upsample_nearest", {"scale_factor": 2}),
        ("upsample_bilinear", {"size": (3, 9)}),
    ):
        found = []
        for T in (tensorlab, torch):
            with pytest.warns(UserWarning, match=f"{name}.* is deprecated") as caught:
                out = getattr(T.nn.functional, name)(T.tensor(values), **options)
            assert caught[0].filename == __file__
            found.append(out.tolist())
        np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)


X = (2, 3, 7, 5)
REFUSED = [
    (X, {}, "give one of both"),
    (X, {"size": 3, "scale_factor": 2}, "give one of both"),
    (X, {"size": (3, 4, 5)}, "expected 2 numbers"),
    (X, {"scale_factor": (3.0,)}, "expected 2 numbers"),
    (X, {"size": (3.5, 2)}, "expected ints"),
    (X, {"size": 3, "recompute_scale_factor": True}, "no meaning with a size"),
    (X, {"size": 3, "align_corners": True}, "no meaning with mode"),
    (X, {"size": 3, "mode": "area", "align_corners": False}, "no meaning with mode"),
    (X, {"size": 3, "mode": "nearest-exact", "align_corners": False}, "no meaning with mode"),
    (X, {"size": 3, "antialias": True}, "antialias is for"),
    (X[:3], {"size": 3, "mode": "linear", "antialias": True}, "antialias is for"),
    (X, {"size": 3, "mode": "cubic"}, "expected 3 to 5 dimensions and one of"),
    (X[:2], {"size": 3}, "expected 3 to 5 dimensions"),
    (X, {"size": 3, "mode": "linear"}, "needs 3 dimensions"),
    (X, {"size": 3, "mode": "trilinear"}, "needs 5 dimensions"),
    (X[:3], {"size": 3, "mode": "bilinear"}, "needs 4 dimensions"),
    (X, {"size": 3, "mode": "lanczos"}, "needs antialias"),
    (X, {"size": 3, "mode": "lanczos", "antialias": True, "align_corners": True}, "no align"),
    (X, {"size": 0}, "sizes above 0"),
    (X, {"scale_factor": 0.01}, "sizes above 0"),
    ((2, 3, 0, 5), {"size": 3}, "sizes above 0"),
    ((2, 0, 3, 5), {"size": 3, "mode": "bilinear"}, "sizes above 0"),
]


@pytest.mark.parametrize(("shape", "options", "message"), REFUSED)
def test_what_does_not_fit_is_refused_as_in_pytorch(shape, options, message):
    errors = []
    for T in (torch, tensorlab):
        with pytest.raises(Exception, match=message if T is tensorlab else ".") as caught:
            T.nn.functional.interpolate(T.ones(shape), **options)
        errors.append(caught.type)
    assert issubclass(errors[1], errors[0])


TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float64"]
MODES = ["nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"]
WAYS = [*((mode, False) for mode in MODES), *((mode, True) for mode in ("bilinear", "bicubic"))]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("mode", "antialias"), WAYS)
def test_the_types_that_a_mode_takes_are_those_of_pytorch(mode, antialias, dtype):
    axes = {"linear": 1, "trilinear": 3}.get(mode, 2)
    found = []
    for T in (tensorlab, torch):
        x = T.ones([1, 2] + [4] * axes, dtype=getattr(T, dtype))
        try:
            out = T.nn.functional.interpolate(x, [3] * axes, mode=mode, antialias=antialias)
            found.append(str(out.dtype).split(".")[1])
        except NotImplementedError:
            found.append("refused")
    assert found[0] == found[1]


def test_a_type_that_is_refused_is_named_with_those_expected():
    x = tensorlab.ones(1, 1, 4, 4, dtype=tensorlab.int64)
    for dtype, options, message in (
        (tensorlab.int64, {}, "int64; with mode 'nearest' expected a floating type or uint8$"),
        (tensorlab.float16, {"mode": "bicubic", "antialias": True},
         "float16; with mode 'bicubic' and antialias expected float32 or float64 or uint8$"),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=message):
            tensorlab.nn.functional.interpolate(x.to(dtype), 2, **options)
    with pytest.raises(NotImplementedError, match="'trilinear' expected a floating type$"):
        tensorlab.nn.functional.interpolate(x.byte()[None], 2, mode="trilinear")


def test_an_empty_batch_stays_empty():
    x = tensorlab.ones(0, 3, 4, 4)
    assert tensorlab.nn.functional.interpolate(x, size=2, mode="bilinear").shape == (0, 3, 2, 2)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_saved_tensor_hooks_see_no_tables(mode, antialias):
    packed = []
    x = tensorlab.randn(1, 1, 4, 3, requires_grad=True)
    hooks = tensorlab.autograd.graph.saved_tensors_hooks
    with hooks(lambda saved: packed.append(saved) or saved, lambda saved: saved):
        out = tensorlab.nn.functional.interpolate(x, (3, 5), mode=mode, antialias=antialias)
    out.sum().backward()
    assert packed == []
    assert x.grad.sum().item() == pytest.approx(15, abs=1e-4)


def test_bytes_that_swing_over_their_limits_stay_within():
    values = np.kron([[0, 255], [255, 0]], np.ones((2, 2))).reshape(1, 1, 4, 4)
    for mode in ("bicubic", "bilinear"):
        for size in ((9, 9), (7, 4), (5, 6)):
            ours, theirs = (
                T.nn.functional.interpolate(
                    T.tensor(values.tolist(), dtype=T.uint8), size, mode=mode
                )
                for T in (tensorlab, torch)
            )
            assert ours.max().item() == 255
            assert ours.min().item() == 0
            assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_what_is_infinite_stays_where_it_is(mode):
    found = []
    for T in (tensorlab, torch):
        x = T.arange(64.0).reshape(1, 1, 8, 8)
        x[0, 0, 0, 7] = float("inf")
        found.append(T.nn.functional.interpolate(x, (3, 5), mode=mode, antialias=True).numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    assert np.isfinite(found[0]).sum() > 10

"""grid_sample and affine_grid: PyTorch's values, gradients, warnings and errors."""

import itertools
import warnings

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

torch = require_torch()
RNG = np.random.default_rng(5)
SHAPES = [
    ((2, 3, 4, 5), (2, 3, 6, 2)),
    ((1, 1, 1, 4), (1, 2, 3, 2)),
    ((2, 2, 3, 4, 2), (2, 2, 3, 2, 3)),
]
WAYS = [
    (shapes, mode, padding, corners)
    for shapes, mode, padding, corners in itertools.product(
        SHAPES,
        ("bilinear", "nearest", "bicubic"),
        ("zeros", "border", "reflection"),
        (False, True),
    )
    if mode != "bicubic" or len(shapes[0]) == 4
]


def sampled(T, x, grid, mode, padding, corners, dtype):
    x, grid = (T.tensor(a.tolist(), dtype=getattr(T, dtype)).requires_grad_() for a in (x, grid))
    out = T.nn.functional.grid_sample(x, grid, mode, padding, corners)
    weights = T.linspace(-1, 2, out.numel(), dtype=out.dtype).reshape(out.shape)
    grads = T.autograd.grad((out * weights).sum(), (x, grid), allow_unused=True)
    return [out.detach(), *grads]


@pytest.mark.parametrize("index", range(len(WAYS)))
def test_pictures_and_gradients_are_those_of_pytorch(index):
    (shape, places), mode, padding, corners = WAYS[index]
    for reach in (0.9, 3.3):
        x, grid = RNG.standard_normal(shape), RNG.uniform(-reach, reach, places)
        for dtype, tolerance in (("float64", 1e-9), ("float32", 2e-3)):
            ours = sampled(tensorlab, x, grid, mode, padding, corners, dtype)
            theirs = sampled(torch, x, grid, mode, padding, corners, dtype)
            for mine, other in zip(ours, theirs, strict=True):
                mine = tensorlab.zeros(places) if mine is None else mine  # "nearest" has no slope
                assert tuple(mine.shape) == tuple(other.shape)
                np.testing.assert_allclose(
                    mine.tolist(), other.tolist(), rtol=tolerance, atol=tolerance
                )


def test_places_on_the_edges_and_far_away():
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    grid = np.array([[[[-1, -1], [1, 1], [-2, 0], [1e6, 0.1], [0, -1.0001], [0.5, 0.5]]]])
    for mode, padding, corners in itertools.product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    ):
        found = [
            T.nn.functional.grid_sample(
                T.tensor(x.tolist(), dtype=T.float64),
                T.tensor(grid.tolist(), dtype=T.float64),
                mode,
                padding,
                corners,
            ).tolist()
            for T in (tensorlab, torch)
        ]
        np.testing.assert_allclose(found[0], found[1], atol=1e-8)


@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3), (2, 3, 2, 3, 4)])
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.filterwarnings("ignore:Since version")
def test_grids_of_matrices_are_those_of_pytorch(size, corners):
    axes, found = len(size) - 2, []
    values = RNG.standard_normal((2, axes, axes + 1)).tolist()
    for T in (tensorlab, torch):
        theta = T.tensor(values, dtype=T.float64, requires_grad=True)
        grid = T.nn.functional.affine_grid(theta, size, align_corners=corners)
        (grid**2).sum().backward()
        found.append((grid.detach(), theta.grad))
    for ours, theirs in zip(*found, strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-9, atol=1e-12)


def test_grids_are_made_on_the_device_of_the_matrices():
    theta = tensorlab.ones(2, 2, 3, device="meta", dtype=tensorlab.float64)
    grid = tensorlab.nn.functional.affine_grid(theta, (2, 1, 4, 5), align_corners=False)
    assert (grid.shape, grid.dtype, grid.is_meta) == ((2, 4, 5, 2), tensorlab.float64, True)


def test_corners_that_are_not_given_are_warned_of():
    for T in (tensorlab, torch):
        theta = T.eye(3)[None, :2]
        with pytest.warns(UserWarning, match="align_corners") as caught:
            grid = T.nn.functional.affine_grid(theta, (1, 1, 2, 2))
        assert caught[0].filename == __file__
        with pytest.warns(UserWarning, match="align_corners"):
            out = T.nn.functional.grid_sample(T.ones(1, 1, 2, 2), grid)
        assert out.tolist() == [[[[1.0, 1.0], [1.0, 1.0]]]]


def sample(x=(2, 3, 4, 5), grid=(2, 3, 6, 2), **options):
    def run(T):
        of = getattr(T, options.get("dtype", "float32"))
        rest = {key: value for key, value in options.items() if key != "dtype"}
        places = T.zeros(grid, dtype=of)
        return T.nn.functional.grid_sample(T.ones(x), places, align_corners=False, **rest)

    return run


def affine(shape, size, dtype="float32"):
    def run(T):
        theta = T.zeros(shape, dtype=getattr(T, dtype))
        return T.nn.functional.affine_grid(theta, size, align_corners=False)

    return run


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (sample(mode="linear"), "mode is 'linear'"),
        (sample(padding_mode="wrap"), "padding_mode is 'wrap'"),
        (sample(x=(2, 3, 4)), "expected"),
        (sample(grid=(3, 3, 6, 2)), "expected"),
        (sample(grid=(2, 3, 6, 3)), "expected"),
        (sample(grid=(2, 3, 6, 1, 2)), "expected"),
        (sample(dtype="float64"), "convert one of them"),
        (sample(x=(2, 3, 0, 5)), "sizes above 0"),
        (sample(x=(2, 3, 4, 5, 6), grid=(2, 3, 6, 2, 3), mode="bicubic"), "is for 4 dimensions"),
        (affine((1, 2, 3), (1, 1, 2, 2), "int64"), "expected a floating type"),
        (affine((1, 2, 3), (1, 1, 2)), "four or five sizes"),
        (affine((1, 3, 4), (1, 1, 2, 2)), "expected .batch, 2, 3."),
        (affine((1, 2, 3), (1, 1, 2, 2, 2)), "expected .batch, 3, 4."),
        (affine((2, 3), (1, 1, 2, 2)), "expected .batch, 2, 3."),
        (affine((1, 2, 3), (1, 1, 2, 0)), "above 0"),
    ],
)
def test_what_does_not_fit_is_refused_as_in_pytorch(run, message):
    with pytest.raises(Exception, match=".") as theirs:
        run(torch)
    with pytest.raises(Exception, match=message) as ours:
        run(tensorlab)
    assert issubclass(ours.type, theirs.type)


@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
@pytest.mark.parametrize(
    "size", [(1, 1, 3, 1), (1, 1, 1, 3), (1, 2, 1, 1), (2, 1, 1, 2, 1), (1, 1, 2, 1, 3)]
)
@pytest.mark.parametrize("corners", [False, True])
def test_an_axis_of_one_place_has_it_in_the_middle(size, corners):
    axes = len(size) - 2
    theta = RNG.standard_normal((size[0], axes, axes + 1)).tolist()
    ours, theirs = (
        T.nn.functional.affine_grid(T.tensor(theta), size, corners) for T in (tensorlab, torch)
    )
    assert ours.shape == tuple(theirs.shape)
    np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("size", [(2, 1, 28, 28), (1, 3, 5, 7), (3, 1, 9, 1), (2, 1, 3, 4, 5)])
def test_affine_grid_equals_pytorch_to_the_bit(size, corners):
    axes = len(size) - 2
    theta = np.random.default_rng(0).normal(size=(size[0], axes, axes + 1)).astype("float32")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = [
            T.nn.functional.affine_grid(T.tensor(theta), size, corners) for T in (tensorlab, torch)
        ]
    assert ours.tolist() == theirs.tolist()
    assert ours.stride() == theirs.stride()

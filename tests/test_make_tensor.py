"""make_tensor draws PyTorch's numbers for every type, and refuses what PyTorch's refuses."""

import warnings

import pytest

import tensorlab
from tests.ops.agreement import agree
from tests.oracle import require_torch

FLOATS = ["float64", "float32", "float16", "bfloat16"]
WHOLE = ["int64", "int32", "int16", "int8", "uint8", "bool"]
SHAPES = [(), (0,), (5,), (3, 4), (2, 0, 3), (40,)]


def made(T, *shape, dtype, **options):
    testing = T.testing
    named = {
        key: getattr(T, value) if key == "memory_format" else value
        for key, value in options.items()
    }
    return testing.make_tensor(*shape, dtype=getattr(T, dtype), device="cpu", **named)


def same(*shape, dtype, **options):
    require_torch()
    import torch.testing  # noqa: F401  the oracle's module

    def program(T):
        T.manual_seed(9)
        x = made(T, *shape, dtype=dtype, **options)
        seen = (
            tuple(x.shape),
            x.stride(),
            str(x.dtype).rpartition(".")[2],
            x.requires_grad,
            x.is_leaf,
        )
        return seen, x.tolist(), T.rand(2, dtype=T.float64)

    agree(program, tolerance={"float16": 1e-3, "bfloat16": 1e-2}.get(dtype, 1e-6))


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
def test_numbers_after_a_seed_are_those_of_pytorch(dtype):
    for shape in SHAPES:
        same(shape, dtype=dtype)
        same(*shape, dtype=dtype) if shape else None


OPTIONS = {
    "bounds": {"low": 1, "high": 5},
    "a lower bound": {"low": -2},
    "an upper bound": {"high": 3},
    "fractions": {"low": 0.25, "high": 3.5},
    "wide bounds": {"low": -1e30, "high": 1e30},
    "infinite bounds": {"low": -float("inf"), "high": float("inf")},
    "no zero": {"exclude_zero": True, "low": 0, "high": 2},
    "gaps": {"noncontiguous": True},
    "channels last": {"memory_format": "channels_last"},
    "row-major": {"memory_format": "contiguous_format"},
}


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_those_of_pytorch(name, dtype):
    same((2, 3, 4, 5), dtype=dtype, **OPTIONS[name])


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_leaf_that_requires_grad(dtype):
    same(3, 4, dtype=dtype, requires_grad=True)
    same(3, 4, dtype=dtype, requires_grad=True, noncontiguous=True)


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
def test_no_zero_is_left(dtype):
    x = made(
        tensorlab, 1000, dtype=dtype, low=0, high=1 if dtype in FLOATS else 2, exclude_zero=True
    )
    assert (x != 0).all()


BAD = {
    "a low above high": {"low": 3, "high": 1},
    "equal bounds of whole numbers": {"dtype": "int64", "low": 3, "high": 3},
    "a bound that is nan": {"low": float("nan")},
    "gaps in a layout": {"noncontiguous": True, "memory_format": "channels_last"},
    "a gradient of whole numbers": {"dtype": "int64", "requires_grad": True},
    "bounds outside of the type": {"dtype": "uint8", "low": 300, "high": 400},
    "bounds below the type": {"dtype": "uint8", "low": -9, "high": -3},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_the_class_of_pytorch(name):
    require_torch()
    import torch.testing  # noqa: F401

    options = {"dtype": "float32", **BAD[name]}
    agree(lambda T: made(T, 2, 2, 2, 2, **options).tolist())
    with pytest.raises(ValueError, match="make_tensor"):
        made(tensorlab, 2, 2, 2, 2, **options)


def test_equal_bounds_warn_and_give_one_number():
    with pytest.warns(FutureWarning, match="equal"):
        assert made(tensorlab, 3, dtype="float32", low=2, high=2).tolist() == [2, 2, 2]


def test_it_needs_a_type_and_a_device():
    for call in (
        lambda T: T.testing.make_tensor(3, dtype=T.float32),
        lambda T: T.testing.make_tensor(3, device="cpu"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            agree(call)

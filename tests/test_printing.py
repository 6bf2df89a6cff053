"""The text of a tensor equals PyTorch's, but for the name of the package in a dtype."""

import math
import re

import numpy as np
import pytest

import tensorlab
from tensorlab.printing import get_printoptions, set_printoptions
from tests.oracle import require_torch

FLOATING = ["float32", "float64"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
SHAPES = [(), (1,), (5,), (30,), (2, 3), (3, 1, 2), (2, 2, 2, 3), (8, 9), (0,), (2, 0, 3)]
LARGE_SHAPES = [(1001,), (40, 30), (1, 1200), (300, 4), (7, 8, 9, 3), (2, 2, 400)]
OPTIONS = [
    {"precision": 0},
    {"precision": 2},
    {"precision": 8},
    {"threshold": 5},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 0},
    {"edgeitems": 0},
    {"linewidth": 20},
    {"linewidth": 200},
    {"sci_mode": True},
    {"sci_mode": False},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "short", "precision": 6},
]


def sample_values(kind, shape, generator):
    """Return a float64 array that calls for one notation or another."""
    values = np.asarray(generator.standard_normal(shape))
    if kind == "whole":
        return np.round(values * 10)
    if kind == "large":
        return values * 1e9
    if kind == "small":
        return values * 1e-6
    if kind == "wide range":
        return np.exp(values * 5)
    if kind == "special":
        special = generator.choice([math.nan, math.inf, -math.inf, -0.0, 2.0], size=shape)
        return np.where(values > 0, special, np.round(values))
    if kind == "special fractions":
        return np.where(values > 0, math.nan, values)
    if kind == "zeros":
        return values * 0
    return values


KINDS = ["plain", "whole", "large", "small", "wide range", "special", "special fractions", "zeros"]


@pytest.fixture(autouse=True)
def default_options():
    """Start from the default options and leave them behind, in both packages."""
    set_options(profile="default")
    yield
    set_options(profile="default")


def set_options(**options):
    set_printoptions(**options)
    require_torch().set_printoptions(**options)


def both(values, dtype, **arguments):
    """Return the same tensor of both packages."""
    torch = require_torch()
    # nan and inf have no integer form, and NumPy warns before it invents one
    values = np.asarray(values).astype(dtype).tolist()
    return (
        tensorlab.tensor(values, dtype=getattr(tensorlab, dtype), **arguments),
        torch.tensor(values, dtype=getattr(torch, dtype), **arguments),
    )


def assert_same_text(ours, theirs):
    text, expected = repr(ours), repr(theirs).replace("torch.", "tensorlab.")
    if "dtype=" in text:
        # our name is longer than PyTorch's, so a line may end one suffix earlier
        text, expected = (re.sub(r",\s+(?=[a-z_]+=)", ", ", one) for one in (text, expected))
    assert text == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES + LARGE_SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATING)
def test_a_floating_tensor_prints_as_in_pytorch(dtype, shape, kind, seed):
    values = sample_values(kind, shape, np.random.default_rng(seed))
    assert_same_text(*both(values.reshape(shape), dtype))


@pytest.mark.parametrize("shape", SHAPES + LARGE_SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_an_integer_or_bool_tensor_prints_as_in_pytorch(dtype, shape, seed):
    lowest = 0 if dtype in ("uint8", "bool") else -100
    values = np.random.default_rng(seed).integers(lowest, 2 if dtype == "bool" else 100, shape)
    assert_same_text(*both(values, dtype))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", [(), (7,), (2, 3), (3, 2, 4), (40, 30)], ids=str)
@pytest.mark.parametrize("kind", ["plain", "whole", "special", "wide range"])
def test_print_options_act_as_in_pytorch(kind, shape, options, seed):
    set_options(**options)
    assert get_printoptions() == require_torch()._tensor_str.get_printoptions()
    values = sample_values(kind, shape, np.random.default_rng(seed))
    assert_same_text(*both(values, "float32"))
    assert_same_text(*both(values, "float64"))


@pytest.mark.parametrize("length", range(20, 30))
def test_suffixes_move_to_a_new_line_where_pytorch_moves_them(length):
    ours, theirs = both(np.arange(length) % 10, "float32", requires_grad=True)
    assert_same_text(ours, theirs)
    assert_same_text(ours * ours, theirs * theirs)


def test_a_line_never_passes_the_line_width():
    for length in range(20, 30):
        x = tensorlab.tensor([1.0] * length, dtype=tensorlab.float64, requires_grad=True)
        assert max(map(len, repr(x * x).split("\n"))) <= 80


def test_a_recorded_tensor_names_the_node_that_made_it():
    x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert repr(x) == "tensor([[1., 2.],\n        [3., 4.]], requires_grad=True)"
    assert repr(x * x).endswith("grad_fn=<MulBackward0>)")


def test_the_default_dtype_needs_no_suffix():
    x = tensorlab.tensor([1.5], dtype=tensorlab.float64)
    assert repr(x) == "tensor([1.5000], dtype=tensorlab.float64)"
    tensorlab.set_default_dtype(tensorlab.float64)
    try:
        assert repr(x) == "tensor([1.5000])"
        assert repr(x.float()) == "tensor([1.5000], dtype=tensorlab.float32)"
    finally:
        tensorlab.set_default_dtype(tensorlab.float32)


def test_a_class_of_the_users_own_prints_its_name():
    class Celsius(tensorlab.Tensor):
        pass

    x = tensorlab.Tensor._make_subclass(Celsius, tensorlab.tensor([20.5]))
    assert repr(x) == "Celsius([20.5000])"


def test_views_print_their_own_elements():
    ours, theirs = both(np.arange(24.0).reshape(4, 6), "float32")
    assert_same_text(ours.T, theirs.T)
    assert_same_text(ours[1::2, 1:5:3], theirs[1::2, 1:5:3])
    assert_same_text(ours[0:1].expand(3, 6), theirs[0:1].expand(3, 6))


def test_printing_records_nothing():
    x = tensorlab.ones(3, requires_grad=True)
    y = x * 2
    version = y._version
    repr(y)
    y.sum().backward()
    assert y._version == version
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("spec", ["", ".2f", "8.3e", ">12"])
def test_a_0d_tensor_formats_as_its_number(spec):
    assert format(tensorlab.tensor(3.25), spec) == format(3.25, spec)
    assert format(tensorlab.tensor(3.25, requires_grad=True), spec) == format(3.25, spec)


def test_a_0d_integer_tensor_formats_as_an_integer():
    assert f"{tensorlab.tensor(7):03d}" == "007"


def test_a_tensor_with_dimensions_formats_as_its_text_only():
    x = tensorlab.tensor([1.0, 2.0])
    assert f"{x}" == "tensor([1., 2.])"
    with pytest.raises(TypeError, match=r"format: '.2f' formats one number.*shape \(2,\)"):
        f"{x:.2f}"


def test_options_that_are_not_given_keep_their_value():
    set_options(precision=2)
    set_options(linewidth=40, sci_mode=True)
    assert get_printoptions() == {
        "precision": 2,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 40,
        "sci_mode": True,
    }
    set_options(precision=3)
    assert get_printoptions()["sci_mode"] is None


def test_an_unknown_profile_is_refused_and_changes_nothing():
    before = get_printoptions()
    with pytest.raises(ValueError, match="profile is 'tiny'; expected one of"):
        set_printoptions(profile="tiny", precision=1)
    assert get_printoptions() == before


def test_a_summary_reads_only_the_edges():
    """A tensor that could not be copied to a list in memory still prints at once."""
    x = tensorlab.zeros(1).expand(10**6, 10**6)
    corner = ["[0., 0., 0.,  ..., 0., 0., 0.]"] * 3
    rows = ",\n        ".join([*corner, "...", *corner])
    assert repr(x) == f"tensor([{rows}])"


def test_a_class_may_give_the_text_of_the_values():
    torch = require_torch()
    for make in (
        lambda T: T.ones(2),
        lambda T: T.ones(2, requires_grad=True) * 2,
        lambda T: T.ones(0, 3, dtype=T.int16),
    ):
        ours = make(tensorlab).__repr__(tensor_contents="[...]")
        assert ours == make(torch).__repr__(tensor_contents="[...]").replace("torch.", "tensorlab.")
        assert repr(make(tensorlab)) == make(tensorlab).__repr__(tensor_contents=None)

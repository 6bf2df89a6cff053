"""Initial values equal PyTorch's for the same seed."""

import pytest

import tensorlab
from tensorlab.nn import init
from tests.oracle import assert_same_values, require_torch

CALLS = [
    ("uniform_", (), {}),
    ("uniform_", (-2.0, 3.0), {}),
    ("normal_", (), {}),
    ("normal_", (1.0, 0.1), {}),
    ("constant_", (0.5,), {}),
    ("ones_", (), {}),
    ("zeros_", (), {}),
    ("xavier_uniform_", (), {}),
    ("xavier_normal_", (), {"gain": 2.0}),
    ("kaiming_uniform_", (), {}),
    ("kaiming_uniform_", (), {"a": 0.2, "mode": "fan_out"}),
    ("kaiming_normal_", (), {"nonlinearity": "relu"}),
    ("kaiming_normal_", (), {"nonlinearity": "tanh", "mode": "fan_out"}),
]


@pytest.mark.parametrize("shape", [(4, 3), (20, 30), (4, 3, 2, 2)], ids=str)
@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=str)
def test_values_are_those_of_pytorch(name, args, kwargs, shape):
    torch = require_torch()
    ours, theirs = tensorlab.zeros(shape, requires_grad=True), torch.zeros(shape)
    tensorlab.manual_seed(3)
    assert getattr(init, name)(ours, *args, **kwargs) is ours
    torch.manual_seed(3)
    getattr(torch.nn.init, name)(theirs, *args, **kwargs)
    assert_same_values(ours, theirs, 2e-6)
    assert ours.requires_grad
    assert ours.is_leaf


RANDOM = [one for one in CALLS if one[0] not in ("constant_", "ones_", "zeros_")]


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        *RANDOM,
        *[("orthogonal_", (), {}), ("trunc_normal_", (), {})],
        ("trunc_normal_", (0, 1, 1.9, 4), {}),
    ],
    ids=str,
)
def test_a_generator_is_drawn_from_in_place_of_the_global_one(name, args, kwargs):
    fill = getattr(init, name)
    tensorlab.manual_seed(3)
    expected = fill(tensorlab.zeros(4, 3), *args, **kwargs)
    tensorlab.manual_seed(4)
    before = tensorlab.get_rng_state()
    generator = tensorlab.Generator().manual_seed(3)
    found = fill(tensorlab.zeros(4, 3), *args, **kwargs, generator=generator)
    assert found.equal(expected)
    assert tensorlab.get_rng_state().equal(before)


@pytest.mark.parametrize("bound", [0.1, 0.3, -0.7, 1.9])
def test_rounding_takes_no_truncated_normal_number_over_a_bound(bound):
    x = init.trunc_normal_(tensorlab.empty(50), a=bound, b=bound)
    assert set(x.tolist()) == {tensorlab.tensor(bound).item()}


def test_eye_fills_the_diagonal():
    x = init.eye_(tensorlab.ones(2, 3))
    assert x.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    with pytest.raises(ValueError, match=r"eye_: x has shape \(2,\); expected a matrix"):
        init.eye_(tensorlab.ones(2))


@pytest.mark.parametrize("param", [None, 0.3, 2])
@pytest.mark.parametrize(
    "name", ["linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]
)
def test_the_gain_is_pytorchs(name, param):
    if param is not None and name != "leaky_relu":
        param = None
    assert init.calculate_gain(name, param) == require_torch().nn.init.calculate_gain(name, param)


def test_unknown_names_and_slopes_are_refused():
    with pytest.raises(ValueError, match="nonlinearity is 'swish'; expected one of linear"):
        init.calculate_gain("swish")
    with pytest.raises(ValueError, match="negative slope is True; expected a number"):
        init.calculate_gain("leaky_relu", True)
    with pytest.raises(ValueError, match="mode is 'in'; expected 'fan_in' or 'fan_out'"):
        init.kaiming_uniform_(tensorlab.zeros(2, 2), mode="in")
    with pytest.raises(ValueError, match=r"a tensor of shape \(3,\) has no fan in"):
        init.xavier_uniform_(tensorlab.zeros(3))


def test_a_tensor_without_elements_is_left_with_a_warning():
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(tensorlab.zeros(0, 3))


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5), (3, 2, 4)])
def test_an_orthogonal_start_is_that_of_pytorch(shape):
    torch = require_torch()
    tensorlab.manual_seed(0)
    torch.manual_seed(0)
    ours = init.orthogonal_(tensorlab.empty(shape), gain=2)
    theirs = torch.nn.init.orthogonal_(torch.empty(shape), gain=2)
    assert_same_values(ours, theirs, 1e-5)
    matrix = ours.view(shape[0], -1)
    smaller = matrix @ matrix.t() if shape[0] <= matrix.size(1) else matrix.t() @ matrix
    assert_same_values(smaller, 4 * tensorlab.eye(smaller.size(0)), 1e-5)


def test_a_vector_has_no_orthogonal_start():
    with pytest.raises(ValueError, match="2 dimensions or more"):
        init.orthogonal_(tensorlab.empty(3))


def test_a_truncated_normal_start_stays_within_its_bounds():
    x = init.trunc_normal_(tensorlab.empty(10_000), mean=1.0, std=2.0, a=0.0, b=3.0)
    assert 0 <= x.min().item() <= x.max().item() <= 3
    assert abs(x.mean().item() - 1.413) < 0.03  # of a normal distribution cut at -0.5 and 1 std
    for mean in (-4.0, 4.0):  # exactly 2 std from the bounds: no warning
        init.trunc_normal_(tensorlab.empty(2), mean=mean)
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(tensorlab.empty(2), mean=10.0)


@pytest.mark.parametrize(
    ("a", "b", "mean", "std"),
    [
        (-2.0, 2.0, 0.0, 1.0),
        (-0.5, 1.0, 0.3, 1.0),
        (0.0, 0.1, 0.0, 1.0),
        (2.0, 3.0, 0.0, 1.0),
        (-1, 1, 0.5, 5.0),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_truncated_normal_numbers_are_those_of_pytorch(a, b, mean, std, dtype):
    torch = require_torch()
    ours, theirs = (T.zeros(7, 9, dtype=getattr(T, dtype)) for T in (tensorlab, torch))
    tensorlab.manual_seed(8)
    assert init.trunc_normal_(ours, mean, std, a, b) is ours
    torch.manual_seed(8)
    torch.nn.init.trunc_normal_(theirs, mean, std, a, b)
    assert_same_values(ours, theirs, 2e-6)
    assert ours.min() >= a
    assert ours.max() <= b


def test_truncated_normal_numbers_far_from_the_mean_warn():
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(tensorlab.zeros(3), 0.0, 1.0, 2.5, 3.0)
    meta = tensorlab.empty(3, device="meta")
    assert init.trunc_normal_(meta) is meta


@pytest.mark.parametrize("shape", [(4, 3, 2), (3, 5, 3, 4), (6, 2, 1, 2, 3), (6, 1, 3)])
@pytest.mark.parametrize("groups", [1, 3])
def test_dirac_is_that_of_pytorch(shape, groups):
    torch = require_torch()
    if shape[0] % groups:
        with pytest.raises(ValueError, match="divisible by groups"):
            init.dirac_(tensorlab.ones(shape), groups)
        return
    ours, theirs = tensorlab.ones(shape), torch.ones(shape)
    assert init.dirac_(ours, groups) is ours
    assert_same_values(ours, torch.nn.init.dirac_(theirs, groups))


@pytest.mark.parametrize("sparsity", [0.0, 0.1, 0.5, 1.0])
def test_sparse_matrices_are_those_of_pytorch(sparsity):
    torch = require_torch()
    ours, theirs = tensorlab.ones(7, 5), torch.ones(7, 5)
    tensorlab.manual_seed(4)
    assert init.sparse_(ours, sparsity, 0.5) is ours
    torch.manual_seed(4)
    assert_same_values(ours, torch.nn.init.sparse_(theirs, sparsity, 0.5), 2e-6)


def test_other_dimensions_are_refused():
    with pytest.raises(ValueError, match="3, 4, or 5 dimensions"):
        init.dirac_(tensorlab.ones(2, 2))
    with pytest.raises(ValueError, match="2 dimensions are supported, not 3"):
        init.sparse_(tensorlab.ones(2, 2, 2), 0.1)


OLDER = [
    "uniform",
    "normal",
    "eye",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
]


@pytest.mark.parametrize("name", [*OLDER, "orthogonal", "constant", "dirac", "sparse"])
def test_older_names_warn_and_do_the_same(name):
    arguments = {"constant": (2.0,), "sparse": (0.5,)}.get(name, ())
    shape = (4, 4, 3) if name == "dirac" else (4, 4)
    tensorlab.manual_seed(1)
    with pytest.warns(FutureWarning, match=f"`nn.init.{name}` is now deprecated"):
        old = getattr(init, name)(tensorlab.zeros(shape), *arguments)
    tensorlab.manual_seed(1)
    assert tensorlab.equal(old, getattr(init, f"{name}_")(tensorlab.zeros(shape), *arguments))
    assert f"`{name}_`" in getattr(init, name).__doc__
    assert getattr(init, name).__name__ == getattr(init, name).__qualname__ == name


def test_transposed_convolutions_have_gain_1():
    assert init.calculate_gain("conv_transpose2d") == 1

"""The older weight_norm: PyTorch's values, gradients, state dicts and errors."""

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


@pytest.mark.parametrize("dim", [0, 1, None, -1])
def test_a_normed_layer_learns_as_pytorchs(dim, seed):
    torch = require_torch()
    values = np.random.default_rng(seed).standard_normal((5, 4)).tolist()
    found = []
    for T in (tensorlab, torch):
        T.manual_seed(0)
        layer = T.nn.utils.weight_norm(T.nn.Linear(4, 3), dim=dim)
        with T.no_grad():
            layer.weight_v.mul_(2.0)
            layer.weight_g.add_(0.5)
        out = layer(T.tensor(values))
        (out * out).sum().backward()
        state = layer.state_dict()
        whole = T.nn.utils.remove_weight_norm(layer)
        assert isinstance(whole.weight, T.nn.Parameter)
        assert not whole._forward_pre_hooks
        found.append(
            (
                list(state),
                list(whole.state_dict()),
                [out, layer.bias.grad, *state.values(), *whole.state_dict().values()],
            )
        )
    assert found[0][:2] == found[1][:2]
    for ours, theirs in zip(found[0][2], found[1][2], strict=True):
        assert_same_values(ours, theirs, 1e-5)


def test_lengths_and_directions_get_pytorchs_gradients(seed):
    torch = require_torch()
    values = np.random.default_rng(seed).standard_normal((2, 2, 5, 5)).tolist()
    found = []
    for T in (tensorlab, torch):
        T.manual_seed(0)
        layer = T.nn.utils.weight_norm(T.nn.Conv2d(2, 3, 3))
        (layer(T.tensor(values)) ** 2).sum().backward()
        found.append([layer.weight, layer.weight_g.grad, layer.weight_v.grad])
    for ours, theirs in zip(*found, strict=True):
        assert_same_values(ours, theirs, 1e-4)


def test_what_does_not_fit_is_refused():
    layer = nn.utils.weight_norm(nn.Linear(2, 3))
    with pytest.raises(RuntimeError, match="'weight' has one already"):
        nn.utils.weight_norm(layer)
    nn.utils.weight_norm(layer, "bias")
    nn.utils.remove_weight_norm(layer, "bias")
    assert list(layer.state_dict()) == ["weight_g", "weight_v", "bias"]
    with pytest.raises(ValueError, match="no weight_norm of 'bias'"):
        nn.utils.remove_weight_norm(layer, "bias")
    with pytest.raises(ValueError, match="not initialized"):
        nn.utils.weight_norm(nn.LazyLinear(3))


def test_it_warns_that_there_is_a_newer_one():
    with pytest.warns(FutureWarning, match="parametrizations.weight_norm"):
        nn.utils.weight_norm(nn.Linear(2, 3))
    newer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    newer.load_state_dict(nn.utils.weight_norm(nn.Linear(2, 3)).state_dict())


def test_the_warning_names_the_line_that_calls():
    with pytest.warns(FutureWarning, match="parametrizations.weight_norm") as told:
        nn.utils.weight_norm(nn.Linear(2, 3))
    assert told[0].filename == __file__

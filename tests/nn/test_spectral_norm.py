"""The older spectral_norm: PyTorch's values, gradients, state dicts and errors."""

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch

LAYERS = [
    (lambda T: T.nn.Linear(4, 3), {}, (5, 4)),
    (lambda T: T.nn.Linear(4, 3), {"n_power_iterations": 3, "eps": 0.5}, (5, 4)),
    (lambda T: T.nn.Linear(4, 3), {"dim": 1}, (5, 4)),
    (lambda T: T.nn.Conv2d(2, 3, 2), {}, (1, 2, 4, 4)),
    (lambda T: T.nn.ConvTranspose1d(2, 3, 2), {}, (1, 2, 4)),
]


@pytest.mark.parametrize("make, options, shape", LAYERS)
def test_a_divided_layer_learns_as_pytorchs(make, options, shape, seed):
    torch = require_torch()
    values = np.random.default_rng(seed).standard_normal(shape).tolist()
    found = []
    for T in (tensorlab, torch):
        T.manual_seed(0)
        layer = T.nn.utils.spectral_norm(make(T), **options)
        plain = layer.weight
        x, seen = T.tensor(values), [plain]
        for training in (True, True, False, False):
            layer.train(training)
            out = layer(x)
            (out * out).sum().backward()
            seen += [out, layer.weight, layer.weight_u.clone(), layer.weight_v.clone()]
        seen += [layer.weight_orig.grad, layer.bias.grad]
        names = [list(layer.state_dict()), [name for name, _ in layer.named_parameters()]]
        state = layer.state_dict()
        whole = T.nn.utils.remove_spectral_norm(layer)
        assert isinstance(whole.weight, T.nn.Parameter)
        assert not whole._forward_pre_hooks
        names.append(list(whole.state_dict()))
        found.append((names, [*seen, *state.values(), whole.weight]))
        assert not isinstance(plain, T.nn.Parameter)
    assert found[0][0] == found[1][0]
    for ours, theirs in zip(found[0][1], found[1][1], strict=True):
        assert_same_values(ours, theirs, 1e-5)


def test_states_go_to_pytorch_and_back():
    torch = require_torch()
    tensorlab.manual_seed(1)
    layers = [T.nn.utils.spectral_norm(T.nn.Linear(3, 2)) for T in (tensorlab, torch, tensorlab)]
    layers[0](tensorlab.ones(1, 3))
    state = {name: torch.tensor(value.tolist()) for name, value in layers[0].state_dict().items()}
    layers[1].load_state_dict(state)
    back = {name: tensorlab.tensor(x.tolist()) for name, x in layers[1].state_dict().items()}
    layers[2].load_state_dict(back)
    x = [[1.0, -2.0, 0.5]]
    outs = [
        layer.eval()(T.tensor(x))
        for layer, T in zip(layers, (tensorlab, torch, tensorlab), strict=True)
    ]
    assert_same_values(outs[0], outs[1], 1e-6)
    assert tensorlab.equal(outs[0], outs[2])


def test_two_forwards_can_go_backward_together():
    layer = nn.utils.spectral_norm(nn.Linear(3, 2))
    x = tensorlab.ones(1, 3)
    (layer(x).sum() - 2 * layer(-x).sum()).backward()
    assert layer.weight_orig.grad is not None


def test_the_largest_singular_value_becomes_one():
    tensorlab.manual_seed(2)
    layer = nn.utils.spectral_norm(nn.Linear(6, 4), n_power_iterations=60)
    layer(tensorlab.zeros(1, 6))
    stretches = np.linalg.svd(layer.weight.detach().numpy(), compute_uv=False)
    assert stretches[0] == pytest.approx(1, abs=1e-4)


def test_what_cannot_be_divided_is_refused():
    layer = nn.utils.spectral_norm(nn.Linear(2, 3))
    with pytest.raises(RuntimeError, match="has one already"):
        nn.utils.spectral_norm(layer)
    with pytest.raises(ValueError, match="n_power_iterations is 0; expected a positive"):
        nn.utils.spectral_norm(nn.Linear(2, 3), n_power_iterations=0)
    with pytest.raises(KeyError, match="'scale' is not a parameter"):
        nn.utils.spectral_norm(nn.Linear(2, 3), "scale")
    with pytest.raises(ValueError, match="'bias' is None"):
        nn.utils.spectral_norm(nn.Linear(2, 3, bias=False), "bias")
    with pytest.raises(ValueError, match="not initialized"):
        nn.utils.spectral_norm(nn.LazyLinear(3))
    with pytest.raises(ValueError, match="no spectral_norm of 'bias'"):
        nn.utils.remove_spectral_norm(layer, "bias")
    nn.utils.remove_spectral_norm(layer)
    with pytest.raises(ValueError, match="no spectral_norm of 'weight'"):
        nn.utils.remove_spectral_norm(layer)

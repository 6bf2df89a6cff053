"""Functions under the further names that PyTorch gives them: at the front, and in `functional`."""

import pytest

import tensorlab
from tests.oracle import assert_same_values, require_torch

# Functions of nn.functional that PyTorch has at its front, too, with a call.
FRONT = {
    "adaptive_avg_pool1d": lambda f, x: f(x[0], 2),
    "adaptive_max_pool1d": lambda f, x: f(x[0], 2),
    "avg_pool1d": lambda f, x: f(x[0], 2),
    "channel_shuffle": lambda f, x: f(x, 2),
    "cosine_similarity": lambda f, x: f(x[0], x[0] + 1, 1),
    "group_norm": lambda f, x: f(x, 2),
    "layer_norm": lambda f, x: f(x, (6,)),
    "max_pool1d": lambda f, x: f(x[0], 2),
    "max_pool1d_with_indices": lambda f, x: f(x[0], 2),
    "max_pool2d": lambda f, x: f(x, 2),
    "max_pool3d": lambda f, x: f(x, 2),
    "pairwise_distance": lambda f, x: f(x[0, 0], x[0, 1]),
    "pdist": lambda f, x: f(x[0, 0]),
    "pixel_shuffle": lambda f, x: f(x, 2),
    "pixel_unshuffle": lambda f, x: f(x, 2),
    "rms_norm": lambda f, x: f(x, (6,)),
}


@pytest.mark.parametrize("name", FRONT)
def test_a_function_of_networks_is_at_the_front_too(name):
    torch = require_torch()
    values = torch.linspace(-3, 4, 4 * 4 * 6 * 6).sin().reshape(4, 4, 6, 6)
    ours, theirs = (
        FRONT[name](getattr(T, name), T.tensor(values.tolist())) for T in (tensorlab, torch)
    )
    assert isinstance(ours, tuple) == isinstance(theirs, tuple)
    if not isinstance(ours, tuple):
        ours, theirs = [ours], [theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert_same_values(one, other, 1e-5)


@pytest.mark.parametrize("name", ["bilinear", "conv_tbc"])
def test_a_function_at_the_front_is_that_of_networks(name):
    assert getattr(tensorlab, name) is getattr(tensorlab.nn.functional, name)


def test_functional_has_functions_of_the_front():
    torch = require_torch()
    assert set(tensorlab.functional.__all__) <= set(torch.functional.__all__)
    for name in tensorlab.functional.__all__:
        assert getattr(tensorlab.functional, name) is getattr(tensorlab, name)
    missing = set(torch.functional.__all__) - set(tensorlab.functional.__all__)
    assert not {name for name in missing if hasattr(tensorlab, name)}

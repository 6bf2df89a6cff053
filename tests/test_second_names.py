"""Functions under the further names that PyTorch gives them: at the front, and in `functional`."""

import importlib
import pickle

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


# Functions at the front whose arguments are other ones than those of nn.functional, each with a call.
P = [[0.2, 0.8, 0.4], [0.7, 0.1, 0.9]]
SIGNS = [[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]]
GRID = [[[[0.3, -0.2], [1.4, 0.1]], [[-0.9, 0.9], [0.6, -1.7]]]]
LOSSES = {
    "binary_cross_entropy_with_logits": lambda T, p, s: (p, p.flip(0), p + 1, p[0] * 3),
    "cosine_embedding_loss": lambda T, p, s: (p, s, s[:, 0], 0.3),
    "ctc_loss": lambda T, p, s: (
        *(p.log_softmax(-1).reshape(2, 1, 3), T.tensor([[1]]), T.tensor([2]), T.tensor([1]), 2),
    ),
    "hinge_embedding_loss": lambda T, p, s: (p, s, 0.6),
    "kl_div": lambda T, p, s: (p.log(), p.flip(0)),
    "margin_ranking_loss": lambda T, p, s: (p, p.flip(0), s, 0.4),
    "poisson_nll_loss": lambda T, p, s: (p, p * 4, False, True, 0.1),
    "triplet_margin_loss": lambda T, p, s: (p, p.flip(0), s, 1.5, 1.0, 0.1, True),
}
OTHERS = {
    "affine_grid_generator": lambda T, p: T.affine_grid_generator(p[None], (1, 1, 2, 3), True),
    "batch_norm": lambda T, p: T.batch_norm(
        *(p, p[0], p[1], T.zeros(3), T.ones(3), True, 0.3, 0.5, False)
    ),
    "batch_norm of averages": lambda T, p: T.batch_norm(
        *(p, p[0], p[1], p[1] * 2, p[0] * 3, False, 0.3, 0.5, False)
    ),
    "constant_pad_nd": lambda T, p: T.constant_pad_nd(p, (1, 0, 2)[:2], 7),
    "constant_pad_nd of 0": lambda T, p: T.constant_pad_nd(p, (1, 0, 0, 1)),
    "embedding": lambda T, p: T.embedding(p, T.tensor([1, 0, 1])),
    "grid_sampler": lambda T, p: T.grid_sampler(p[None, None], T.tensor(GRID), 1, 1, True),
    "grid_sampler_2d": lambda T, p: T.grid_sampler_2d(p[None, None], T.tensor(GRID), 0, 2, False),
    "grid_sampler_2d, bicubic": lambda T, p: T.grid_sampler_2d(
        p[None, None], T.tensor(GRID), 2, 0, False
    ),
    "grid_sampler_3d": lambda T, p: T.grid_sampler_3d(
        *(p[None, None, None], T.tensor(GRID)[..., [0, 1, 0]][:, None], 0, 1, True)
    ),
    "instance_norm": lambda T, p: T.instance_norm(
        *(p[None], p[0, :2], p[1, :2], None, None, True, 0.3, 0.5, False)
    ),
    "instance_norm of averages": lambda T, p: T.instance_norm(
        *(p[None], p[0, :2], p[1, :2], p[0, 1:], p[1, 1:], False, 0.3, 0.5, False)
    ),
    "kl_div of logarithms": lambda T, p: T.kl_div(p.log(), p.flip(0).log(), log_target=True),
    "native_channel_shuffle": lambda T, p: T.native_channel_shuffle(p.reshape(1, 6, 1, 1), 3),
}


@pytest.mark.parametrize("reduction", [None, 0, 1, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_at_the_front_has_numbers_for_reductions(name, reduction):
    torch = require_torch()
    if reduction is None and name == "poisson_nll_loss":
        reduction = 0  # it has no default
    found = []
    for T in (tensorlab, torch):
        arguments = LOSSES[name](T, T.tensor(P), T.tensor(SIGNS))
        given = () if reduction is None else (reduction,)
        found.append(getattr(T, name)(*arguments, *given))
    assert_same_values(*found, 1e-5)


def test_without_further_arguments_the_losses_at_the_front_are_those_of_pytorch():
    torch = require_torch()
    for name, count in (("hinge_embedding_loss", 2), ("margin_ranking_loss", 3),
                        ("cosine_embedding_loss", 3), ("triplet_margin_loss", 3),
                        ("binary_cross_entropy_with_logits", 2), ("ctc_loss", 4)):  # fmt: skip
        found = [
            getattr(T, name)(*LOSSES[name](T, T.tensor(P) / 9, T.tensor(SIGNS) / 9)[:count])
            for T in (tensorlab, torch)
        ]
        assert_same_values(*found, 1e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_a_function_at_the_front_takes_numbers_and_its_own_order(name):
    torch = require_torch()
    ours, theirs = (OTHERS[name](T, T.tensor(P)) for T in (tensorlab, torch))
    assert_same_values(ours, theirs, 1e-5)


def test_an_impossible_alignment_can_count_for_nothing_at_the_front():
    logs = tensorlab.zeros(1, 1, 2)
    arguments = logs, tensorlab.tensor([[1, 1]]), [1], [2], 0, 2
    assert tensorlab.ctc_loss(*arguments).item() == float("inf")
    assert tensorlab.ctc_loss(*arguments, True).item() == 0


def test_batch_norm_at_the_front_updates_averages():
    torch = require_torch()
    for name in ("batch_norm", "instance_norm"):
        found = []
        for T in (tensorlab, torch):
            mean, variance = T.zeros(2), T.ones(2)
            getattr(T, name)(
                T.tensor([P]), None, None, mean, variance, True, 0.3, 0.1, cudnn_enabled=True
            )
            found.append(T.stack([mean, variance]))
        assert_same_values(*found, 1e-5)


def test_embedding_at_the_front_leaves_out_padding_and_counts_rows():
    torch = require_torch()
    for options in ((0,), (-1,), (-1, True)):
        found = []
        for T in (tensorlab, torch):
            table = T.tensor(P, requires_grad=True)
            T.embedding(table, T.tensor([0, 1, 1]), *options).sum().backward()
            found.append(table.grad)
        assert_same_values(*found, 1e-6)


def test_a_number_that_names_nothing_is_refused():
    x, grid = tensorlab.ones(1, 1, 2, 2), tensorlab.zeros(1, 1, 1, 2)
    with pytest.raises(ValueError, match=r"kl_div: reduction is 3; expected one of 0 \(none\), 1 "):
        tensorlab.kl_div(x, x, 3)
    with pytest.raises(ValueError, match="hinge_embedding_loss: reduction is 'sum'"):
        tensorlab.hinge_embedding_loss(x, x, 1.0, "sum")
    with pytest.raises(ValueError, match="grid_sampler: interpolation_mode is -1"):
        tensorlab.grid_sampler(x, grid, -1, 0, False)
    with pytest.raises(ValueError, match="grid_sampler: padding_mode is 3"):
        tensorlab.grid_sampler(x, grid, 0, 3, False)
    for name in LOSSES:
        arguments = LOSSES[name](tensorlab, tensorlab.tensor(P), tensorlab.tensor(SIGNS))
        with pytest.raises(ValueError, match=f"{name}: reduction is 5"):
            getattr(tensorlab, name)(*arguments, reduction=5)


def test_samplers_of_pictures_and_volumes_refuse_the_other():
    torch = require_torch()
    for name, ndim in (("grid_sampler_2d", 5), ("grid_sampler_3d", 4)):
        for T in (tensorlab, torch):
            message = f"{name}: the input has shape .*expected {9 - ndim} dim"
            with pytest.raises(RuntimeError, match=message if T is tensorlab else "."):
                getattr(T, name)(
                    T.ones([1] * ndim), T.zeros([1] * (ndim - 1) + [ndim - 2]), 0, 0, False
                )


PATHS = {  # files of PyTorch's packages that programs import from
    "nn.utils.clip_grad": ["clip_grad_norm_", "clip_grad_value_"],
    "nn.utils.convert_parameters": ["parameters_to_vector", "vector_to_parameters"],
    "nn.utils.init": ["skip_init"],
    "optim.adam": ["Adam"],
    "optim.adamw": ["AdamW"],
    "optim.sgd": ["SGD"],
}


@pytest.mark.parametrize("path", PATHS)
def test_a_file_has_the_path_that_it_has_in_pytorch(path):
    torch = require_torch()
    ours, theirs = (importlib.import_module(f"{T.__name__}.{path}") for T in (tensorlab, torch))
    package = importlib.import_module(f"tensorlab.{path.rpartition('.')[0]}")
    for name in PATHS[path]:
        assert getattr(ours, name) is getattr(package, name)
        assert callable(getattr(theirs, name))


@pytest.mark.parametrize("name", ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"])
def test_pickles_that_name_a_cell_beside_the_layers_are_read(name):
    assert pickle.loads(f"ctensorlab.nn.recurrent\n{name}\n.".encode()) is getattr(
        tensorlab.nn, name
    )


@pytest.mark.parametrize("name", ["TransformerDecoderLayer", "TransformerEncoderLayer"])
def test_pickles_that_name_a_layer_beside_the_transformer_are_read(name):
    assert pickle.loads(f"ctensorlab.nn.transformer\n{name}\n.".encode()) is getattr(
        tensorlab.nn, name
    )

"""Hooks of saved tensors see a program's tensors and the results of ops, but no tables that an op keeps for itself."""

import collections
import warnings

import pytest

import tensorlab as T
from tests.ops.every_sample import IN_PYTORCH, each_sample
from tests.ops.samples import is_floating, make_tensor
from tests.oracle import require_torch

DIFFERENTIABLE = [sample for sample in IN_PYTORCH if sample.derivatives]

# Ops that save other tensors than PyTorch's, all of them the program's own or results of ops.
IN_OTHER_OPS = "is made of other ops than there, and those save what they compute with"
SEES_OTHERS = {
    **dict.fromkeys(
        (
            *(
                "glu",
                *("lstm", "gru", "rnn_tanh", "rnn_relu"),
                *("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
                "matmul",
                "addbmm",
                "addr",
                "linear",
                "binary_cross_entropy_with_logits",
            ),
            "conv_tbc",
            *(
                "bilinear",
                "kl_div",
                "rms_norm",
                "group_norm",
                "cosine_similarity",
                "gradient",
                "embedding_bag max",
            ),
            *(
                "scaled_dot_product_attention",
                "nansum",
                "nanmean",
                "aminmax",
                "index_reduce",
                "put",
            ),
            *("quantile", "nanquantile", "mode", "frexp"),
            *("cross", "cdist", "renorm", "corrcoef", "linalg.cross"),
            *("linalg.lu", "linalg.lstsq", "linalg.cond", "linalg.matrix_norm"),
            *("mvlgamma", "polar", "istft", "linalg.matrix_power 0"),
        ),
        IN_OTHER_OPS,
    ),
    **dict.fromkeys(
        ("max_unpool1d", "max_unpool2d", "max_unpool3d"),
        "a scatter saves its index, one row for a plane",
    ),
    "layer_norm": "mean and rstd have no dimensions of size 1",
    "cross_entropy smoothed": "the target is not viewed with more dimensions",
}


def seen_by_pack(M, sample):
    """Shape and dtype of what the call saves, and how often."""
    seen = []
    inputs = [make_tensor(M, a, requires_grad=is_floating(a)) for a in sample.arrays()]
    with (
        warnings.catch_warnings(),
        M.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t),
    ):
        warnings.simplefilter("ignore")
        sample.call(M, *inputs)
    return collections.Counter((tuple(t.shape), str(t.dtype).split(".")[1]) for t in seen)


def sees_others(sample):
    return any(sample.name == name or sample.name.startswith(name + " ") for name in SEES_OTHERS)


@each_sample([sample for sample in DIFFERENTIABLE if not sees_others(sample)])
def test_pack_sees_nothing_that_it_does_not_see_in_pytorch(sample):
    torch = require_torch()
    more = seen_by_pack(T, sample) - seen_by_pack(torch, sample)
    assert not more, "in PyTorch, pack does not see these"


@pytest.mark.parametrize("name", SEES_OTHERS)
def test_the_exceptions_do_save_other_tensors(name):
    torch = require_torch()
    samples = [s for s in DIFFERENTIABLE if s.name == name or s.name.startswith(name + " ")]
    assert any(seen_by_pack(T, s) - seen_by_pack(torch, s) for s in samples)


def test_a_hook_that_compresses_sees_no_windows_of_pooling():
    x = T.ones(1, 1, 40, 60, requires_grad=True)
    pack, unpack = lambda t: t.to(T.int8), lambda t: t.float()
    with T.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = T.nn.functional.avg_pool2d(x, 2)
        z = T.nn.functional.adaptive_avg_pool2d(x, 7)
    (y.sum() + z.sum()).backward()
    assert abs(x.grad.sum().item() - (20 * 30 + 7 * 7)) < 1e-2


def test_hooks_see_no_tables_of_padding():
    x = T.arange(6.0).reshape(1, 1, 6).requires_grad_()
    seen = []
    with T.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = T.nn.functional.pad(x, (2, 2), mode="reflect")
        T.combinations(x[0, 0])
    y.sum().backward()
    assert not seen
    assert x.grad.tolist() == [[[1.0, 2.0, 2.0, 2.0, 2.0, 1.0]]]

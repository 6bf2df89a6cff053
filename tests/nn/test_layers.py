"""Every layer against PyTorch's: initial weights, results, gradients, text."""

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch

# name, arguments, shape of the input
LAYERS = [
    ("Linear", (3, 4), {}, (5, 3)),
    ("Linear", (3, 4), {"bias": False}, (2, 5, 3)),
    ("Linear", (30, 40), {}, (30,)),
    ("Linear", (3, 2), {"dtype": "float64"}, (5, 3)),
    ("Identity", (54,), {"unused": 1}, (2, 3)),
    ("ReLU", (), {}, (5, 3)),
    ("ReLU", (True,), {}, (5, 3)),
    ("Tanh", (), {}, (5, 3)),
    ("Sigmoid", (), {}, (5, 3)),
    ("GELU", (), {}, (5, 3)),
    ("GELU", (), {"approximate": "tanh"}, (5, 3)),
    ("Softmax", (1,), {}, (5, 3)),
    ("LogSoftmax", (-1,), {}, (5, 3)),
    ("LayerNorm", (3,), {}, (5, 3)),
    ("LayerNorm", ((4, 3), 1e-3), {}, (5, 4, 3)),
    ("LayerNorm", (3,), {"bias": False}, (5, 3)),
    ("LayerNorm", (3,), {"elementwise_affine": False}, (5, 3)),
    ("Flatten", (), {}, (2, 3, 4)),
    ("Flatten", (0, 1), {}, (2, 3, 4)),
    ("Unflatten", (1, (2, -1)), {}, (3, 6)),
    ("Dropout", (0.0,), {}, (5, 3)),
    ("Dropout", (1.0,), {}, (5, 3)),
]


def build(package, name, args, kwargs):
    package.manual_seed(0)
    if "dtype" in kwargs:
        kwargs = {**kwargs, "dtype": getattr(package, kwargs["dtype"])}
    return getattr(package.nn, name)(*args, **kwargs)


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS, ids=str)
def test_a_layer_starts_computes_and_differentiates_as_in_pytorch(name, args, kwargs, shape, seed):
    torch = require_torch()
    ours, theirs = build(tensorlab, name, args, kwargs), build(torch, name, args, kwargs)
    for (our_name, our_part), (their_name, their_part) in zip(
        ours.named_parameters(), theirs.named_parameters(), strict=True
    ):
        assert our_name == their_name
        assert_same_values(our_part, their_part, 0)

    dtype = kwargs.get("dtype", "float32")
    values = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    x = tensorlab.tensor(values.tolist(), dtype=getattr(tensorlab, dtype), requires_grad=True)
    y = torch.tensor(values, requires_grad=True)
    out, expected = ours(x * 1), theirs(y * 1)
    assert_same_values(out, expected, 1e-5)
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    assert_same_values(x.grad, y.grad, 1e-4)
    for our_part, their_part in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert_same_values(our_part.grad, their_part.grad, 1e-4)


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS, ids=str)
def test_a_layer_prints_as_in_pytorch(name, args, kwargs, shape):
    assert repr(build(tensorlab, name, args, kwargs)) == repr(
        build(require_torch(), name, args, kwargs)
    )


@pytest.mark.parametrize("padding_idx", [None, 1, -1])
def test_an_embedding_looks_up_rows_and_learns_all_but_the_padding(padding_idx):
    torch = require_torch()
    args = (5, 3, padding_idx)
    ours, theirs = build(tensorlab, "Embedding", args, {}), build(torch, "Embedding", args, {})
    assert repr(ours) == repr(theirs)
    assert_same_values(ours.weight, theirs.weight, 2e-6)
    indices = [[1, 4, 1], [0, 4, 2]]
    out, expected = ours(tensorlab.tensor(indices)), theirs(torch.tensor(indices))
    assert_same_values(out, expected, 2e-6)
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    assert_same_values(ours.weight.grad, theirs.weight.grad, 1e-5)


def test_an_embedding_refuses_a_padding_index_outside_the_table():
    with pytest.raises(ValueError, match="padding_idx is 5; expected an index of the 5 emb"):
        nn.Embedding(5, 2, padding_idx=5)


# ---------------------------------------------------------------- dropout
def test_dropout_keeps_the_mean_and_scales_what_it_keeps():
    x = tensorlab.ones(10_000, requires_grad=True)
    out = nn.Dropout(0.25)(x)
    kept = out != 0
    assert abs(kept.float().mean().item() - 0.75) < 0.02
    assert sorted(set(out.tolist())) == [0.0, pytest.approx(4 / 3)]
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()


def test_dropout_does_nothing_in_evaluation():
    x = tensorlab.ones(3)
    assert nn.Dropout().eval()(x) is x


def test_dropout_in_place_writes_over_its_input():
    x = tensorlab.ones(100)
    out = nn.Dropout(0.5, inplace=True)(x)
    assert out is x
    assert set(x.tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_dropout_refuses_what_is_no_probability(p):
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        nn.Dropout(p)
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        nn.functional.dropout(tensorlab.ones(1), p)


# ---------------------------------------------------------------- losses
LOGITS = [[0.5, -1.0, 2.0], [0.1, 0.2, 0.3], [-3.0, 40.0, 1.0], [1.0, 1.0, 1.0]]
CLASSES = [2, 0, 1, -100]
WEIGHT = [0.5, 1.0, 2.0]
LOSSES = [
    ("MSELoss", {}, LOGITS, [[1.0, 0.0, 1.0]] * 4),
    ("L1Loss", {}, LOGITS, [[1.0, 0.0, 1.0]] * 4),
    ("BCEWithLogitsLoss", {}, LOGITS, [[1.0, 0.0, 0.25]] * 4),
    ("BCEWithLogitsLoss", {"weight": WEIGHT, "pos_weight": WEIGHT}, LOGITS, [[1.0, 0.0, 1.0]] * 4),
    ("NLLLoss", {}, LOGITS, CLASSES),
    ("NLLLoss", {"weight": WEIGHT, "ignore_index": 0}, LOGITS[:3], CLASSES[:3]),
    ("CrossEntropyLoss", {}, LOGITS, CLASSES),
    ("CrossEntropyLoss", {"weight": WEIGHT}, LOGITS, CLASSES),
    ("CrossEntropyLoss", {"label_smoothing": 0.1}, LOGITS, CLASSES),
]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "options", "values", "target"), LOSSES, ids=str)
def test_a_loss_and_its_gradient_are_those_of_pytorch(name, options, values, target, reduction):
    def run(package):
        given = {
            key: package.tensor(value) if isinstance(value, list) else value
            for key, value in options.items()
        }
        loss = getattr(package.nn, name)(**given, reduction=reduction)
        x = package.tensor(values, requires_grad=True)
        out = loss(x, package.tensor(target))
        out.sum().backward()
        return repr(loss), out, x.grad

    text, out, grad = run(tensorlab)
    expected_text, expected_out, expected_grad = run(require_torch())
    assert text == expected_text
    assert_same_values(out, expected_out, 1e-5)
    assert_same_values(grad, expected_grad, 1e-5)


@pytest.mark.parametrize("loss", [nn.L1Loss(reduction="none"), nn.MSELoss(reduction="none")])
def test_a_loss_warns_of_shapes_that_it_broadcasts(loss):
    with pytest.warns(UserWarning, match=r"target has shape \(3, 1\), but the input \(3,\)"):
        assert loss(tensorlab.ones(3), tensorlab.ones(3, 1)).shape == (3, 3)


def test_binary_cross_entropy_refuses_shapes_that_differ():
    with pytest.raises(ValueError, match=r"target has shape \(3, 1\), but the input \(3,\)"):
        nn.BCEWithLogitsLoss()(tensorlab.ones(3), tensorlab.ones(3, 1))


def test_a_loss_refuses_an_unknown_reduction():
    with pytest.raises(ValueError, match="reduction is 'average'; expected 'mean'"):
        nn.L1Loss(reduction="average")(tensorlab.ones(1), tensorlab.ones(1))


# ---------------------------------------------------------------- functions
def test_softmax_without_dim_warns_and_chooses_as_pytorch_did():
    functional = nn.functional
    x = tensorlab.ones(2, 4)
    with pytest.warns(UserWarning, match="softmax: implicit dimension choice"):
        assert functional.softmax(x).tolist() == [[0.25] * 4] * 2
    with pytest.warns(UserWarning, match="log_softmax: implicit"):
        assert functional.log_softmax(tensorlab.ones(1)).tolist() == [0.0]

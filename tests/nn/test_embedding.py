"""Embedding and EmbeddingBag against PyTorch's: start, options, results, gradients, text."""

import itertools

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch

EMBEDDINGS = [
    {},
    {"padding_idx": 1},
    {"padding_idx": -1, "max_norm": 1.0},
    {"padding_idx": 0, "norm_type": 1.0, "max_norm": 1.5},
    {"max_norm": 2, "norm_type": float("inf")},
    {"scale_grad_by_freq": True, "sparse": False},
    {"padding_idx": -5, "scale_grad_by_freq": True},
]
BAGS = [
    {},
    {"mode": "sum"},
    {"mode": "max"},
    {"max_norm": 1.0, "norm_type": 3, "padding_idx": -1},
    {"mode": "sum", "padding_idx": 0, "max_norm": 1.5},
    {"mode": "max", "padding_idx": 4},
    {"mode": "mean", "padding_idx": -5, "include_last_offset": True},
]
KINDS = [*(("Embedding", one) for one in EMBEDDINGS), *(("EmbeddingBag", one) for one in BAGS)]
layers = pytest.mark.parametrize(("kind", "options"), KINDS, ids=str)
INDICES = [[1, 4, 1], [0, 4, 2]]


def build(package, kind, options):
    package.manual_seed(0)
    return getattr(package.nn, kind)(5, 3, **options)


@layers
def test_a_table_starts_looks_up_and_learns_as_in_pytorch(kind, options):
    torch = require_torch()
    ours, theirs = build(tensorlab, kind, options), build(torch, kind, options)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict()) == ["weight"]
    assert_same_values(ours.weight, theirs.weight, 0)
    for attribute in ("num_embeddings", "embedding_dim", "padding_idx", *options):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    out, expected = ours(tensorlab.tensor(INDICES)), theirs(torch.tensor(INDICES))
    assert_same_values(out, expected, 2e-6)
    assert_same_values(ours.weight, theirs.weight, 2e-6)
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    assert_same_values(ours.weight.grad, theirs.weight.grad, 1e-5)
    with tensorlab.no_grad():
        ours.weight.fill_(7)
    for package, layer in ((tensorlab, ours), (torch, theirs)):
        package.manual_seed(3)
        layer.reset_parameters()
    assert_same_values(ours.weight, theirs.weight, 0)


@pytest.mark.parametrize("options", [{}, {"mode": "max"}, {"include_last_offset": True}], ids=str)
def test_a_layer_of_bags_takes_offsets_and_factors(options):
    results = []
    for package in (tensorlab, require_torch()):
        layer = build(package, "EmbeddingBag", options)
        factors = package.tensor([0.5, -1.0, 2.0, 3.0])
        offsets = package.tensor([0, 1, 4] if options.get("include_last_offset") else [0, 1])
        found = [layer(package.tensor([3, 1, 1, 0]), offsets)]
        layer.mode = "sum"
        found.append(layer(package.tensor([3, 1, 1, 0]), offsets, factors))
        results.append(found)
    for one, other in zip(*results, strict=True):
        assert_same_values(one, other, 2e-6)


@layers
@pytest.mark.parametrize("freeze", [True, False, None])
def test_a_table_can_be_given(kind, options, freeze):
    values = np.random.default_rng(0).standard_normal((5, 3)).astype("float32")
    frozen = {} if freeze is None else {"freeze": freeze}
    found = []
    for package in (tensorlab, require_torch()):
        table = package.tensor(values.tolist())
        layer = getattr(package.nn, kind).from_pretrained(table, **frozen, **options)
        assert layer.weight.data_ptr() == table.data_ptr()
        assert layer.weight.requires_grad == (freeze is False)
        found.append((repr(layer), layer(package.tensor(INDICES)), layer.weight))
        assert all(
            getattr(layer, key) == value for key, value in options.items() if key != "padding_idx"
        )
    assert found[0][0] == found[1][0]
    assert_same_values(found[0][1], found[1][1], 2e-6)
    assert_same_values(found[0][2], found[1][2], 2e-6)


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_text_names_every_option_that_is_not_the_default(kind):
    options = [
        {"padding_idx": [None, 0], "max_norm": [None, 2.5]},
        {"norm_type": [2.0, 2, 1.0], "scale_grad_by_freq": [False, True], "sparse": [False, True]},
    ]
    for grid in options:
        for values in itertools.product(*grid.values()):
            given = dict(zip(grid, values, strict=True))
            assert repr(build(tensorlab, kind, given)) == repr(build(require_torch(), kind, given))


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_what_is_no_table_or_no_row_of_it_is_refused(kind):
    for package in (tensorlab, require_torch()):
        layer = getattr(package.nn, kind)
        for padding_idx in (5, -6):
            with pytest.raises(AssertionError, match="(?i)padding_idx"):
                layer(5, 3, padding_idx=padding_idx)
        with pytest.raises(AssertionError, match="(?i)shape"):
            layer(5, 3, _weight=package.zeros(3, 5))
        with pytest.raises(AssertionError, match="(?i)matrix|2-dimensional"):
            layer.from_pretrained(package.zeros(3))
    with pytest.raises(
        AssertionError, match=f"^{kind}: padding_idx is 5; expected an index of the 5"
    ):
        getattr(nn, kind)(5, 2, padding_idx=5)


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_a_table_is_made_on_the_device_and_of_the_dtype_asked_for(kind):
    layer = getattr(nn, kind)(5, 3, padding_idx=2, device="meta", dtype=tensorlab.float64)
    assert (layer.weight.device.type, layer.weight.dtype) == ("meta", tensorlab.float64)


def test_a_frozen_table_that_is_not_given_is_drawn():
    layer = nn.Embedding(5, 3, _freeze=True)
    assert not layer.weight.requires_grad
    assert layer.weight.any()


@pytest.mark.parametrize("padding_idx", [None, 0, 2])
def test_rows_that_are_used_and_long_are_shortened_in_place_and_no_others(padding_idx):
    weight = tensorlab.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]], requires_grad=True)
    out = nn.functional.embedding(tensorlab.tensor([[0, 1], [0, 0]]), weight, padding_idx, 1.0)
    np.testing.assert_allclose(weight.tolist(), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]], 1e-6)
    assert out.requires_grad
    out.sum().backward()
    used = [0.0 if padding_idx == 0 else 3.0, 1.0, 0.0]
    assert weight.grad.tolist() == [[n, n] for n in used]


def test_nothing_is_shortened_by_a_call_that_is_refused():
    weight = tensorlab.full((2, 3), 9.0)
    for call in (
        lambda: nn.functional.embedding(tensorlab.tensor([0, 2]), weight, max_norm=1.0),
        lambda: nn.functional.embedding_bag(tensorlab.tensor([[0, -1]]), weight, max_norm=1.0),
        lambda: nn.functional.embedding_bag(
            tensorlab.tensor([[0, 1]]), weight, max_norm=1.0, mode="least"
        ),
    ):
        with pytest.raises((IndexError, ValueError)):
            call()
        assert weight.equal(tensorlab.full((2, 3), 9.0))


def test_a_table_is_not_written_to_when_all_rows_are_short():
    weight = tensorlab.ones(2, 3)
    version = weight._version
    nn.functional.embedding(tensorlab.tensor([0, 1]), weight, max_norm=3.0)
    nn.functional.embedding(tensorlab.tensor([], dtype=tensorlab.int64), weight, max_norm=0.1)
    assert weight._version == version


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_a_given_table_keeps_whether_gradients_are_to_be_sparse(kind):
    layer = getattr(nn, kind).from_pretrained(tensorlab.ones(2, 3), freeze=False, sparse=True)
    assert layer.sparse
    layer(tensorlab.tensor([[0, 1]])).sum().backward()
    assert layer.weight.grad.shape == (2, 3)
    assert not getattr(nn, kind).from_pretrained(tensorlab.ones(2, 3)).sparse


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_an_empty_table_has_no_row_for_the_padding(kind):
    for package in (tensorlab, require_torch()):
        layer = getattr(package.nn, kind)
        for padding_idx, error in ((0, IndexError), (1, AssertionError), (-1, AssertionError)):
            with pytest.raises(error):
                layer(0, 3, padding_idx=padding_idx)

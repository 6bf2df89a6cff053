"""A query that may look at no key gets zeros, and leaves every gradient finite, whatever masks
it.

PyTorch gives nan there where weights are asked for, which is the default.
"""

import itertools
import math

import pytest

import tensorlab
from tensorlab import nn

KINDS = [*itertools.product(("attn", "padding", "both"), (bool, float))]


def masks(which, kind):
    """Masks of attention and of padding that hide every key from query 1, and from the last
    sequence."""
    attn, padding = (tensorlab.zeros(4, 4, dtype=bool), tensorlab.zeros(3, 4, dtype=bool))
    attn[1], padding[2] = True, True
    if kind is float:
        attn, padding = (
            tensorlab.zeros(x.shape).masked_fill(x, -math.inf) for x in (attn, padding)
        )
    chosen = {}
    if which != "padding":
        chosen["attn_mask"] = attn
    if which != "attn":
        chosen["key_padding_mask"] = padding
    return chosen


def sees_nothing(which):
    """Which rows of (batch, queries) see no key."""
    rows = tensorlab.zeros(3, 4, dtype=bool)
    if which != "padding":
        rows[:, 1] = True
    if which != "attn":
        rows[2] = True
    return rows


def run(model, *arguments, **options):
    """Return the result, and the gradients of everything."""
    result = model(*arguments, **options)
    result = result if isinstance(result, tuple) else (result, None)
    leaves = [*model.parameters(), arguments[0]]
    return result, tensorlab.autograd.grad(result[0].square().sum(), leaves)


@pytest.mark.parametrize(("which", "kind"), KINDS)
def test_weights_and_results_of_such_a_row_are_zero(which, kind):
    tensorlab.manual_seed(0)
    model = nn.MultiheadAttention(8, 2, batch_first=True, bias=False)
    x = tensorlab.randn(3, 4, 8, requires_grad=True)
    rows = sees_nothing(which)
    (with_weights, weights), grads = run(model, x, x, x, **masks(which, kind))
    (without, none), same_grads = run(model, x, x, x, need_weights=False, **masks(which, kind))
    assert none is None
    assert weights[rows].eq(0).all()
    assert tensorlab.allclose(weights[~rows].sum(-1), tensorlab.tensor(1.0))
    assert with_weights[rows].eq(0).all()
    assert tensorlab.allclose(with_weights, without, atol=1e-6)
    for one, other in zip(grads, same_grads, strict=True):
        assert tensorlab.isfinite(one).all()
        assert tensorlab.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("average", [True, False])
def test_rows_that_see_something_are_as_without_the_others(average):
    tensorlab.manual_seed(0)
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    x = tensorlab.randn(3, 4, 8, requires_grad=True)
    padding = masks("padding", bool)["key_padding_mask"]
    out, weights = model(x, x, x, key_padding_mask=padding, average_attn_weights=average)
    few, few_weights = model(*[x[:2]] * 3, average_attn_weights=average)
    assert tensorlab.allclose(out[:2], few, atol=1e-6)
    assert tensorlab.allclose(weights[:2], few_weights, atol=1e-6)


def test_second_derivatives_are_finite():
    tensorlab.manual_seed(0)
    model = nn.MultiheadAttention(4, 2, batch_first=True)
    x = tensorlab.randn(3, 4, 4, requires_grad=True)
    out, _ = model(x, x, x, **masks("both", float))
    (grad,) = tensorlab.autograd.grad(out.square().sum(), x, create_graph=True)
    grad.square().sum().backward()
    assert tensorlab.isfinite(x.grad).all()


def test_a_mask_that_learns_gets_no_gradient_where_nothing_is_seen():
    tensorlab.manual_seed(0)
    model = nn.MultiheadAttention(4, 2, batch_first=True)
    x = tensorlab.randn(3, 4, 4)
    bias = tensorlab.zeros(4, 4, requires_grad=True)
    hidden = masks("attn", bool)["attn_mask"]
    model(x, x, x, attn_mask=bias.masked_fill(hidden, -math.inf))[0].square().sum().backward()
    assert bias.grad[1].eq(0).all()
    assert bias.grad[0].abs().sum() > 0


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_layers_of_transformers_stay_finite(norm_first, training):
    tensorlab.manual_seed(0)
    options = {"batch_first": True, "norm_first": norm_first, "dropout": 0.0}
    x = tensorlab.randn(3, 4, 8, requires_grad=True)
    hidden = masks("both", bool)
    padding, mask = hidden["key_padding_mask"], hidden["attn_mask"]
    encoder = nn.TransformerEncoderLayer(8, 2, 16, **options)
    encoder = nn.TransformerEncoder(encoder, 2, enable_nested_tensor=False).train(training)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, **options), 2)
    ways = [
        (encoder, (x,), {"src_key_padding_mask": padding, "mask": mask}),
        (decoder.train(training), (x, x), {"memory_key_padding_mask": padding, "tgt_mask": mask}),
        (decoder, (x, x), {"tgt_key_padding_mask": padding, "memory_mask": mask}),
    ]
    for model, arguments, options in ways:
        (out, _), grads = run(model, *arguments, **options)
        assert tensorlab.isfinite(out).all()
        assert all(tensorlab.isfinite(grad).all() for grad in grads)


def test_a_compiled_module_gives_the_same():
    tensorlab.manual_seed(0)
    model = nn.MultiheadAttention(8, 2, batch_first=True)
    x = tensorlab.randn(3, 4, 8)
    hidden = masks("both", bool)
    compiled = tensorlab.compile(model)
    for _ in range(3):
        out, weights = compiled(x, x, x, **hidden)
    expected, expected_weights = model(x, x, x, **hidden)
    assert tensorlab.allclose(out, expected, atol=1e-6)
    assert tensorlab.allclose(weights, expected_weights, atol=1e-6)

"""The small program of chapter 32: its steps are the library's, and its GPT neither looks ahead nor forgets."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/32-sequences/tiny_gpt.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_gpt", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


def by_hand(layer, x):
    """Return all outputs of a layer, one step after the other."""
    weights = layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0 + layer.bias_hh_l0
    h = c = x.new_zeros(x.shape[1], layer.hidden_size)
    outputs = []
    for element in x:
        if isinstance(layer, T.nn.LSTM):
            h, c = tiny.lstm_step(element, h, c, *weights)
        else:
            h = tiny.rnn_step(element, h, *weights)
        outputs.append(h)
    return T.stack(outputs)


@pytest.mark.parametrize("kind", [T.nn.RNN, T.nn.LSTM])
def test_the_steps_are_those_of_the_librarys_layers(kind):
    T.manual_seed(0)
    layer = kind(3, 5).double()
    x = T.randn(7, 2, 3, dtype=T.float64, requires_grad=True)
    inputs = [x, *layer.parameters()]
    mine, theirs = by_hand(layer, x), layer(x)[0]
    T.testing.assert_close(mine, theirs)
    weights = T.randn(theirs.shape, dtype=T.float64)
    mine, theirs = (T.autograd.grad((y * weights).sum(), inputs) for y in (mine, theirs))
    for one, other in zip(mine, theirs, strict=True):
        T.testing.assert_close(one, other)


def test_attention_is_the_librarys():
    T.manual_seed(1)
    query, key, value = T.randn(3, 2, 6, 4).unbind(0)
    before = T.ones(6, 6, dtype=T.bool).tril()
    result, weights = tiny.attention(query, key, value, before)
    library = T.nn.functional.scaled_dot_product_attention
    T.testing.assert_close(result, library(query, key, value, is_causal=True))
    T.testing.assert_close(weights.sum(-1), T.ones(2, 6))
    assert (weights.triu(1) == 0).all()


def test_no_score_depends_on_a_later_token():
    T.manual_seed(2)
    model, ids = tiny.GPT(11), T.randint(11, (2, 9))
    for place in range(9):
        other = ids.clone()
        other[:, place] = (other[:, place] + 1) % 11
        change = (model(ids) - model(other)).abs().amax((0, 2))
        assert (change[:place] == 0).all()
        assert change[place] > 1e-3


def test_the_recurrent_model_reads_in_order():
    T.manual_seed(3)
    model, ids = tiny.Recurrent(11, T.nn.LSTM), T.randint(11, (2, 6))
    other = ids.clone()
    other[:, 3] = (other[:, 3] + 1) % 11
    change = (model(ids) - model(other)).abs().amax((0, 2))
    assert (change[:3] == 0).all()
    assert (change[3:] > 0).all()


@pytest.mark.parametrize("first", [1, 4])
def test_a_cache_changes_no_score(first):
    T.manual_seed(4)
    model, ids = tiny.GPT(11), T.randint(11, (3, 9))
    whole, caches = model(ids), [tiny.Cache() for _ in model.blocks]
    T.testing.assert_close(model(ids[:, :first], caches), whole[:, :first])
    for place in range(first, 9):
        scores = model(ids[:, place : place + 1], caches, place)
        T.testing.assert_close(scores[:, 0], whole[:, place], atol=1e-5, rtol=1e-4)
    assert caches[0].keys.shape == (3, 2, 9, 16)


def test_writing_appends_the_likeliest_tokens():
    T.manual_seed(5)
    model, ids = tiny.GPT(11), T.randint(11, (2, 3))
    written = model.write(ids, 12)
    assert T.equal(written, model.write(ids, 12, use_cache=False))
    assert T.equal(written[:, :3], ids)
    assert T.equal(written[:, 3:], model(written[:, :-1])[:, 2:].argmax(-1))


def test_without_the_mask_a_block_looks_ahead():
    T.manual_seed(6)
    block = tiny.Block(8, 2)
    x, other = T.randn(2, 1, 5, 8).unbind(0)
    other[:, :4] = x[:, :4]
    assert T.equal(block(x)[:, :4], block(other)[:, :4])
    block.attention.is_causal = False
    assert not T.allclose(block(x)[:, :4], block(other)[:, :4])


def test_numbers_have_their_english_names():
    names = [tiny.number(n) for n in (0, 7, 12, 15, 19, 20, 21, 40, 86, 99)]
    assert names == [
        *("zero", "seven", "twelve", "fifteen", "nineteen"),
        *("twenty", "twenty-one", "forty", "eighty-six", "ninety-nine"),
    ]
    assert len({tiny.number(n) for n in range(100)}) == 100


def test_training_lowers_the_loss():
    T.manual_seed(7)
    model, ids = tiny.GPT(5, width=16, blocks=1), T.arange(12)[None] % 5

    def loss_of(model):
        return T.nn.functional.cross_entropy(model(ids[:, :-1])[0], ids[0, 1:])

    losses = tiny.train(model, loss_of, 60)
    assert len(losses) == 60
    assert losses[-1] < losses[0] / 4

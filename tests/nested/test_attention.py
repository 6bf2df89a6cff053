"""Attention over sequences of different lengths, against each sequence alone and against PyTorch."""

import numpy as np
import pytest

import tensorlab
from tests.nested.both import LENGTHS, assert_same, nested, rows, sequences
from tests.oracle import require_torch

# PyTorch's, that they are a prototype, and the notes of its compiler
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def heads(x, count=2):
    """(B, j, D) as (B, heads, j, D / heads)."""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_it_is_that_of_each_sequence_alone(is_causal, scale):
    attention = tensorlab.nn.functional.scaled_dot_product_attention
    leaves = [nested(tensorlab, 4, start=10 * k) for k in range(3)]
    out = attention(*map(heads, leaves), is_causal=is_causal, scale=scale)
    (out * out).sum().backward()
    alone = [[one.detach().clone().requires_grad_() for one in x.unbind()] for x in leaves]
    for k, parts in enumerate(zip(*alone, strict=True)):
        q, k_, v = (one.unflatten(-1, (2, 2)).transpose(0, 1)[None] for one in parts)
        wanted = attention(q, k_, v, is_causal=is_causal, scale=scale)[0]
        np.testing.assert_allclose(out[k].detach().numpy(), wanted.detach().numpy(), rtol=1e-9)
        (wanted * wanted).sum().backward()
    for x, parts in zip(leaves, alone, strict=True):
        for got, wanted in zip(x.grad.unbind(), parts, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted.grad.numpy(), rtol=1e-8, atol=1e-12)


def test_it_is_pytorchs():
    """PyTorch 2.13 can't compute it with is_causal=True on a processor."""
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        leaves = [nested(package, 4, start=10 * k, dtype="float32") for k in range(3)]
        out = package.nn.functional.scaled_dot_product_attention(*map(heads, leaves))
        out = out.transpose(1, 2).flatten(-2)
        (out * out).values().sum().backward()
        results.append([out, *(one.grad for one in leaves)])
    assert_same(*results, tolerance=1e-5)


def test_queries_may_have_other_lengths_than_keys():
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        q = heads(nested(package, 4, lengths=(2, 2, 5), dtype="float32"))
        k = heads(nested(package, 4, start=3, dtype="float32"))
        v = k * 0.5
        results.append(package.nn.functional.scaled_dot_product_attention(q, k, v))
    assert_same(*results, tolerance=1e-5)


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("must all be nested", lambda q, k, v: (q, k, tensorlab.ones(3, 2, 4, 2))),
        ("attn_mask is not supported", lambda q, k, v: (q, k, v, tensorlab.ones(4, 4))),
        ("split the heads", lambda q, k, v: (q.transpose(1, 2), k, v)),
        (
            r"have lengths \[3, 1, 4\], and those of value \[2, 2, 4\]",
            lambda q, k, v: (q, k, heads(nested(tensorlab, 4, lengths=(2, 2, 4)))),
        ),
    ],
)
def test_what_is_refused(message, change):
    operands = [heads(nested(tensorlab, 4)) for _ in range(3)]
    with pytest.raises(RuntimeError, match=message):
        tensorlab.nn.functional.scaled_dot_product_attention(*change(*operands))


def attention_model(package):
    """Self-attention, a network for each row, and a class for each sequence, with given weights."""
    nn = package.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 8)
            self.of_heads = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
            self.out = nn.Linear(8, 8)
            self.norm = nn.LayerNorm(8)
            self.rows = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
            self.classes = nn.Linear(8, 2)

        def forward(self, x):
            x = self.table(x)
            q, k, v = (heads(linear(x)) for linear in self.of_heads)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v)
            x = self.norm(x + self.out(mixed.transpose(1, 2).flatten(-2)))
            x = x + self.rows(x)
            return self.classes(x.to_padded_tensor(0.0).sum(1))

    model = Model()
    with package.no_grad():
        for k, one in enumerate(model.parameters()):
            one.copy_(rows(package, one.numel(), start=k, dtype="float32").reshape(one.shape) / 3)
    return model


def test_a_model_learns_as_in_pytorch():
    """Which of two words comes more often in sequences of different lengths."""
    torch = require_torch()
    numbers = np.random.RandomState(0)
    texts = [numbers.randint(0, 10, n).tolist() for n in (3, 7, 1, 5, 9, 2, 4, 6)]
    losses = []
    for package in (tensorlab, torch):
        x = package.nested.nested_tensor(
            [package.tensor(one) for one in texts], layout=package.jagged
        )
        wanted = package.tensor([int(sum(one) > 4.5 * len(one)) for one in texts])
        model = attention_model(package)
        optimizer = package.optim.Adam(model.parameters(), lr=0.01)
        losses.append([])
        for _ in range(25):
            loss = package.nn.functional.cross_entropy(model(x), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    np.testing.assert_allclose(losses[0], losses[1], rtol=2e-3)
    assert losses[0][-1] < losses[0][0] / 3


def test_it_agrees_with_padding_and_a_mask():
    """What a program without nested tensors computes; padding costs it and must be masked."""
    attention = tensorlab.nn.functional.scaled_dot_product_attention
    x = tensorlab.nested.nested_tensor(sequences(tensorlab, 4))
    out = attention(heads(x), heads(x), heads(x))
    dense = tensorlab.nested.to_padded_tensor(x, 0.0).unflatten(-1, (2, 2)).transpose(1, 2)
    mask = (tensorlab.arange(4) < tensorlab.tensor(LENGTHS)[:, None])[:, None, None]
    wanted = attention(dense, dense, dense, attn_mask=mask)
    for k, n in enumerate(LENGTHS):
        np.testing.assert_allclose(out[k].numpy(), wanted[k, :, :n].numpy(), rtol=1e-9)

"""Mixtures, independent and transformed distributions against PyTorch."""

import copy
import pickle

import numpy as np
import pytest

import tensorlab
import tensorlab.distributions
from tests.distributions.families import FAMILIES, LOC, PROBS, A, B, label, make
from tests.oracle import require_torch

torch = require_torch()


def tensor(library, values):
    return library.tensor(np.asarray(values).tolist(), dtype=library.float64)


def normal(library):
    return library.distributions.Normal(tensor(library, [LOC, A]), tensor(library, [A, B]))


COMPOSED = {
    "mixture of normal": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(tensor(t, PROBS)), normal(t)
    ),
    "mixture of vectors": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(tensor(t, PROBS[0][:2])),
        t.distributions.Independent(normal(t), 1),
    ),
    "independent": lambda t: t.distributions.Independent(normal(t), 1),
    "independent twice": lambda t: t.distributions.Independent(normal(t), 2),
    "independent of 0": lambda t: t.distributions.Independent(normal(t), 0),
    "sinh-like": lambda t: t.distributions.TransformedDistribution(
        normal(t), [t.distributions.TanhTransform(), t.distributions.AffineTransform(1.0, 3.0)]
    ),
    "turned over": lambda t: t.distributions.TransformedDistribution(
        normal(t), [t.distributions.AffineTransform(1.0, -3.0)]
    ),
    "logistic": lambda t: t.distributions.TransformedDistribution(
        t.distributions.Uniform(tensor(t, [0.0, 0.0]), tensor(t, [1.0, 1.0])),
        [t.distributions.SigmoidTransform().inv, t.distributions.AffineTransform(2.0, 0.5)],
    ),
    "simplex": lambda t: t.distributions.TransformedDistribution(
        normal(t), t.distributions.StickBreakingTransform()
    ),
    "broadcast": lambda t: t.distributions.TransformedDistribution(
        t.distributions.Normal(tensor(t, 0.0), tensor(t, 1.0)),
        t.distributions.AffineTransform(tensor(t, LOC), tensor(t, A)),
    ),
    "reshaped": lambda t: t.distributions.TransformedDistribution(
        normal(t), t.distributions.ReshapeTransform((3,), (3, 1))
    ),
}


def result(function):
    try:
        return function()
    except NotImplementedError:
        return NotImplementedError


def compare(ours, theirs):
    if theirs is NotImplementedError:
        assert ours is NotImplementedError
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", COMPOSED)
def test_everything_of_a_composed_distribution(name):
    ours, theirs = COMPOSED[name](tensorlab), COMPOSED[name](torch)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    for attribute in ("mean", "mode", "variance", "stddev"):
        compare(
            result(lambda: getattr(ours, attribute)),  # noqa: B023
            result(lambda: getattr(theirs, attribute)),  # noqa: B023
        )
    compare(result(ours.entropy), result(theirs.entropy))
    for a, b in (
        (ours, theirs),
        (ours.expand((2, *ours.batch_shape)), theirs.expand((2, *theirs.batch_shape))),
    ):
        for method in ("sample", "rsample"):
            torch.manual_seed(2)
            y = result(lambda: getattr(b, method)((4,)))  # noqa: B023
            tensorlab.manual_seed(2)
            compare(result(lambda: getattr(a, method)((4,))), y)  # noqa: B023
        y = b.sample((4,))
        x = tensorlab.from_numpy(y.numpy().copy())
        compare(a.log_prob(x), b.log_prob(y))
        compare(result(lambda: a.cdf(x)), result(lambda: b.cdf(y)))  # noqa: B023
    if theirs.event_shape == () and name.startswith(("turned", "logistic", "sinh")):
        p = np.full(tuple(theirs.batch_shape), 0.3)
        compare(ours.icdf(tensorlab.from_numpy(p)), theirs.icdf(torch.tensor(p)))


@pytest.mark.parametrize("row", FAMILIES, ids=label)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_pickles(row, copied):
    original = make(tensorlab, *row)[0]
    x = original.sample((2,))
    np.testing.assert_array_equal(
        copied(original).log_prob(x).numpy(), original.log_prob(x).numpy()
    )

"""AdaptiveLogSoftmaxWithLoss against PyTorch's, and against the distribution that it means."""

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch

LAYERS = {
    "two clusters": ((8, 20, [4, 10]), {"div_value": 2.0}),
    "head with bias": ((8, 20, (1, 2, 19)), {"head_bias": True, "div_value": 1.5}),
    "one cluster": ((6, 5, [3]), {}),
    "uneven": ((9, 11, [2, 5]), {"div_value": 2.5}),
}
named = pytest.mark.parametrize("name", LAYERS)


def pair(name):
    """The layer of both packages, with the same weights."""
    args, kwargs = LAYERS[name]
    layers = []
    for package in (tensorlab, require_torch()):
        package.manual_seed(0)
        layers.append(package.nn.AdaptiveLogSoftmaxWithLoss(*args, **kwargs))
    return layers


def batch(package, name, targets):
    """Inputs for the targets, the same in both packages."""
    features = LAYERS[name][0][0]
    values = np.random.default_rng(1).standard_normal((len(targets), features))
    return package.tensor(values.tolist(), requires_grad=True), package.tensor(targets)


def targets_of(name):
    """Every class once, in no order."""
    return np.random.default_rng(2).permutation(LAYERS[name][0][1]).tolist()


def test_cutoffs_may_come_from_an_iterator():
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, iter([4, 10]), div_value=2.0)
    assert (layer.cutoffs, layer.shortlist_size) == ([4, 10, 20], 4)


@named
def test_it_starts_and_prints_as_in_pytorch(name):
    ours, theirs = pair(name)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for _ in range(2):
        for key, value in theirs.state_dict().items():
            assert_same_values(ours.state_dict()[key], value, 0)
        for package, layer in ((tensorlab, ours), (require_torch(), theirs)):
            package.manual_seed(3)
            layer.reset_parameters()
    names = ("in_features", "n_classes", "cutoffs", "div_value", "head_bias")
    for attribute in (*names, "shortlist_size", "n_clusters", "head_size"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)


@named
@pytest.mark.parametrize("some", [slice(None), slice(0, 1), slice(2, 4), slice(0, 0)], ids=str)
def test_output_loss_and_gradients_are_pytorchs(name, some):
    results = []
    for package, layer in zip((tensorlab, require_torch()), pair(name), strict=True):
        x, target = batch(package, name, targets_of(name))
        found = layer(x[some], target[some])
        (found.loss + found.output.cos().sum()).backward()
        results.append((found, x.grad, [part.grad for part in layer.parameters()]))
    (ours, our_grad, our_grads), (theirs, their_grad, their_grads) = results
    assert type(ours).__name__ == type(theirs).__name__
    assert ours._fields == theirs._fields == ("output", "loss")
    pairs = [*zip(ours, theirs, strict=True), (our_grad, their_grad)]
    for one, other in [*pairs, *zip(our_grads, their_grads, strict=True)]:
        assert (one is None) == (other is None)
        if one is not None:
            assert_same_values(one, other, 1e-5)


@named
def test_all_log_probabilities_and_the_best_class_are_pytorchs(name):
    ours, theirs = pair(name)
    x, _ = batch(tensorlab, name, range(40))
    y, _ = batch(require_torch(), name, range(40))
    assert_same_values(ours.log_prob(x), theirs.log_prob(y), 1e-5)
    assert ours.predict(x).tolist() == theirs.predict(y).tolist()
    for row in range(40):  # none or all of a batch in the shortlist
        assert ours.predict(x[row : row + 1]).tolist() == theirs.predict(y[row : row + 1]).tolist()


@named
def test_the_probabilities_are_a_distribution_and_forward_picks_from_it(name):
    layer, _ = pair(name)
    x, target = batch(tensorlab, name, targets_of(name))
    log_probs = layer.log_prob(x)
    np.testing.assert_allclose(log_probs.exp().sum(1).tolist(), 1, 1e-5)
    output, loss = layer(x, target)
    expected = log_probs.gather(1, target.unsqueeze(1)).squeeze(1)
    np.testing.assert_allclose(output.tolist(), expected.tolist(), 1e-4, 1e-5)
    assert loss.item() == pytest.approx(-output.mean().item())
    assert layer.predict(x).equal(log_probs.argmax(1))


@named
def test_one_input_without_a_batch_is_as_a_batch_of_one(name):
    layer, _ = pair(name)
    x, target = batch(tensorlab, name, targets_of(name))
    for row in range(len(target)):
        output, loss = layer(x[row], target[row])
        assert output.shape == ()
        assert output.item() == layer(x[row : row + 1], target[row : row + 1]).output.item()
        assert loss.item() == -output.item()


@pytest.mark.parametrize("cutoffs", [[], [0, 3], [3, 2], [2, 2], [5], [6], [1.5], [-1, 2]], ids=str)
def test_cutoffs_that_do_not_rise_within_the_classes_are_refused(cutoffs):
    for package in (nn, require_torch().nn):
        with pytest.raises(ValueError, match="cutoffs"):
            package.AdaptiveLogSoftmaxWithLoss(6, 5, cutoffs)


@pytest.mark.parametrize(
    ("shape", "target"),
    [((), 1), ((2, 6), [1]), ((6,), [1]), ((1, 6), 1), ((1, 2, 6), [[1, 2]]), ((2, 6), [0, 5]), ((2, 6), [-1, 0])],
    ids=str,
)  # fmt: skip
def test_shapes_and_targets_that_do_not_fit_are_refused(shape, target):
    for package in (tensorlab, require_torch()):
        layer = package.nn.AdaptiveLogSoftmaxWithLoss(6, 5, [3])
        with pytest.raises(RuntimeError) as caught:
            layer(package.zeros(shape), package.tensor(target))
        if package is tensorlab:
            assert str(caught.value).startswith("AdaptiveLogSoftmaxWithLoss: ")


def test_it_is_made_on_the_device_and_of_the_dtype_asked_for():
    layer = nn.AdaptiveLogSoftmaxWithLoss(
        8, 20, [4], head_bias=True, device="meta", dtype=tensorlab.float64
    )
    parts = [(part.device.type, part.dtype) for part in layer.parameters()]
    assert parts == [("meta", tensorlab.float64)] * 4

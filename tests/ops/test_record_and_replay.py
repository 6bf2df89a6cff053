"""Nothing slips past the entry: what a sample does, and its derivatives, can be run again from a list of calls."""

import warnings

import numpy as np
import pytest
from tensorlab._core.engine.backward import grad

import tensorlab
from tensorlab import nn, optim
from tests.ops.every_sample import DIFFERENTIABLE, SAMPLES, as_tuple, each_sample
from tests.ops.replay import assert_replays
from tests.ops.samples import is_floating, make_tensor

# What these do depends on integers that they read while they are recorded: the largest decides how long a result is.
READS_INTEGERS = {"bincount", "bincount plain"}


def other(array):
    """Other values from the same domain: the same elements in reversed order."""
    return array.ravel()[::-1].reshape(array.shape).copy()


def inputs_of(arrays, dtype=None, requires_grad=False):
    return [
        make_tensor(tensorlab, array, dtype, requires_grad=requires_grad and is_floating(array))
        for array in arrays
    ]


def weights_for(results, seed):
    rng = np.random.default_rng(seed)
    return [
        make_tensor(tensorlab, np.asarray(rng.standard_normal(tuple(y.shape))), requires_grad=True)
        for y in results
    ]


def derivatives_of(sample, results, gradients):
    """The program of a sample's first and second derivatives. Weights of results and gradients are inputs, too."""

    def program(T, *tensors):
        count = len(tensors) - len(results) - len(gradients)
        inputs, weights = tensors[:count], tensors[count:]
        made = as_tuple(sample.call(T, *inputs))
        followed = [y for y in made if y.requires_grad]
        leaves = [x for x in inputs if x.requires_grad]
        first = grad(
            followed, leaves, weights[: len(results)], create_graph=True, allow_unused=True
        )
        wanted = [g for g in first if g is not None and g.requires_grad] if gradients else []
        second = grad(wanted, leaves, weights[len(results) :], allow_unused=True) if wanted else ()
        return made, first, second

    return program


def example_of(sample, arrays):
    """The results and the gradients that are followed: their derivatives take a weight for each."""
    inputs = inputs_of(arrays, requires_grad=True)
    results = [y for y in as_tuple(sample.call(tensorlab, *inputs)) if y.requires_grad]
    leaves = [x for x in inputs if x.requires_grad]
    first = grad(results, leaves, weights_for(results, 1), create_graph=True, allow_unused=True)
    return results, [
        g for g in first if g is not None and g.requires_grad
    ] if sample.derivatives > 1 else []


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ------------------------------------------------------------------------------------------------ every sample
@each_sample()
def test_the_calls_of_a_sample_give_what_it_gives(sample):
    arrays = sample.arrays()
    calls, inputs, results = assert_replays(
        sample.call, lambda: inputs_of(arrays), lambda: inputs_of([other(one) for one in arrays])
    )
    assert calls or results[0] is inputs[0], "no call was recorded"


@each_sample([one for one in SAMPLES if any(a.dtype.kind == "i" for a in one.arrays())])
def test_the_calls_hold_for_integers_of_another_range(sample):
    """Indices, labels and counts are read by the ops when they run, not by the program that is recorded."""

    def inputs():
        return inputs_of(
            [one * 0 + one.min() if one.dtype.kind == "i" else one for one in sample.arrays()]
        )

    if sample.name in READS_INTEGERS:
        with pytest.raises(AssertionError, match="another result"):
            assert_replays(sample.call, lambda: inputs_of(sample.arrays()), inputs)
    else:
        assert_replays(sample.call, lambda: inputs_of(sample.arrays()), inputs)


@each_sample(DIFFERENTIABLE)
def test_the_calls_of_its_derivatives_give_what_they_give(sample):
    arrays = sample.arrays()
    results, gradients = example_of(sample, arrays)

    def inputs(change):
        made = inputs_of([change(one) for one in arrays], requires_grad=True)
        return [*made, *weights_for(results, 1), *weights_for(gradients, 2)]

    assert_replays(
        derivatives_of(sample, results, gradients),
        lambda: inputs(lambda one: one),
        lambda: inputs(other),
    )


@each_sample([one for one in SAMPLES if one.inplace])
def test_the_calls_of_a_write_give_what_it_gives(sample):
    """Of the same in place, with the gradients that go through it."""
    arrays = sample.arrays()

    def program(T, *tensors):
        target = tensors[0].clone()
        written = sample.inplace(T, target, *tensors[1:])
        leaves = [x for x in tensors if x.requires_grad]
        if not written.requires_grad:
            return target, written
        return target, written, grad(written.sum(), leaves, allow_unused=True)

    assert_replays(
        program,
        lambda: inputs_of(arrays, requires_grad=sample.derivatives > 0),
        lambda: inputs_of([other(one) for one in arrays], requires_grad=sample.derivatives > 0),
    )


@each_sample([one for one in SAMPLES if one.out])
def test_the_calls_of_out_give_what_it_gives(sample):
    arrays = sample.arrays()

    def program(T, *tensors):
        out = sample.call(T, *tensors)
        if not isinstance(out, tensorlab.Tensor):
            return out
        return sample.out(T, *tensors, out=tensorlab.zeros_like(out))

    assert_replays(
        program, lambda: inputs_of(arrays), lambda: inputs_of([other(one) for one in arrays])
    )


# ------------------------------------------------------------------------------------------------ programs
class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), nn.Linear(64, 5))

    def forward(self, x):
        return self.head(self.features(x))


class Attentive(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.norm, self.project, self.head = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 5)

    def forward(self, x):
        h = self.embedding(x)
        q, k, v = self.project(self.norm(h)).chunk(3, -1)
        h = h + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(nn.functional.gelu(h)).mean(1)


NETWORKS = {
    "perceptron": (
        lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 5)),
        lambda: tensorlab.randn(4, 6),
    ),
    "convolutions": (Convolutional, lambda: tensorlab.randn(4, 1, 8, 8)),
    "attention": (Attentive, lambda: tensorlab.randint(0, 11, (4, 7))),
}
OPTIMIZERS = {
    "SGD": lambda weights: optim.SGD(weights, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda weights: optim.Adam(weights, lr=0.1),
    "AdamW": lambda weights: optim.AdamW(weights, lr=0.1, amsgrad=True),
    "RMSprop": lambda weights: optim.RMSprop(weights, lr=0.1, momentum=0.9, centered=True),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_calls_of_two_training_steps_train_as_the_program_does(network, optimizer):
    """Forward, loss, backward, clipping, the optimizer: the weights are inputs, and the calls write over them."""
    make_network, make_input = NETWORKS[network]
    tensorlab.manual_seed(1)
    net, shape = make_network(), make_input()
    state = {name: one.detach().clone() for name, one in net.state_dict().items()}

    def inputs(seed):
        tensorlab.manual_seed(seed)
        weights = [one.clone().requires_grad_(one.is_floating_point()) for one in state.values()]
        return [make_input(), tensorlab.randint(0, 5, (len(shape),)), *weights]

    def program(T, x, labels, *weights):
        fresh = dict(zip(state, weights, strict=True))
        for path, module in net.named_modules():
            for name in list(module._parameters):
                if module._parameters[name] is not None:
                    module._parameters[name] = fresh[f"{path}.{name}".lstrip(".")]
            for name in list(module._buffers):
                if module._buffers[name] is not None:
                    module._buffers[name] = fresh[f"{path}.{name}".lstrip(".")].detach()
        step = OPTIMIZERS[optimizer](list(net.parameters()))
        losses = []
        for _ in range(2):
            step.zero_grad()
            loss = nn.functional.cross_entropy(net(x), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            step.step()
            losses.append(loss.detach())
        return losses, [one.detach() for one in net.state_dict().values()]

    calls, _, _ = assert_replays(program, lambda: inputs(2), lambda: inputs(3))
    assert len(calls) > 50

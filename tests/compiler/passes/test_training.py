"""Training steps after all passes: the losses, gradients and weights are what they were."""

import pytest

from tensorlab.compiler.passes import PASSES, run_passes
from tests.compiler.agreement import assert_agrees, close, equal
from tests.compiler.training import NETWORKS, OPTIMIZERS, Training

KEEPING_BITS = [one for one in PASSES if one != "decompose"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_a_whole_step_keeps_its_bits(network, optimizer):
    training = Training(network, optimizer)
    assert_agrees(
        training.step,
        training.inputs,
        lambda graph: run_passes(graph, names=KEEPING_BITS),
        same=equal,
    )


# Adam and RMSprop divide by the size of a gradient: one that is nothing but rounding, as some in
# the network with attention, may change a weight by a whole step in either direction.
CLOSE = [(network, one) for network in NETWORKS for one in OPTIMIZERS if network != "attention"]


@pytest.mark.parametrize("network, optimizer", [*CLOSE, ("attention", "SGD")])
def test_a_decomposed_step_trains_as_closely(network, optimizer):
    training = Training(network, optimizer)
    assert_agrees(training.step, training.inputs, run_passes, same=close)


@pytest.mark.parametrize("mode", ["save", "recompute"])
@pytest.mark.parametrize("network", NETWORKS)
def test_the_derived_backward_comes_through_all_passes(network, mode):
    training = Training(network, "SGD")
    assert_agrees(training.loss, training.inputs, run_passes, mode, same=close)
    assert_agrees(training.loss, training.inputs, prepare=run_passes, mode=mode, same=close)

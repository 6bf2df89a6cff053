"""Training steps stay what they are: as a whole, recorded with their backward, and with backward derived."""

import pytest

from tests.compiler.agreement import assert_agrees
from tests.compiler.training import NETWORKS, OPTIMIZERS, Training


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("network", NETWORKS)
def test_a_training_step_as_one_functional_graph_trains_as_the_program_does(network, optimizer):
    training = Training(network, optimizer)
    functional, _ = assert_agrees(training.step, training.inputs)
    writing = [one for one in functional.graph.nodes if one.op == "call_function"]
    writing = [one.target.name for one in writing if getattr(one.target, "writes", False)]
    assert set(writing) <= {"adam_step_", "sgd_step_"}


@pytest.mark.parametrize("mode", ["save", "recompute"])
@pytest.mark.parametrize("network", NETWORKS)
def test_the_derived_backward_of_a_network_gives_its_gradients(network, mode):
    training = Training(network, "SGD")
    _, made = assert_agrees(training.loss, training.inputs, mode=mode)
    assert made.saved > 3

"""A thousand random programs of views and writes: the same results, inputs and gradients as op by op."""

import collections
import warnings

import pytest

import tensorlab
from tensorlab.compiler.cannot_compile import CannotCompile
from tensorlab.compiler.joint.functionalize import functionalize
from tensorlab.compiler.joint.joint import joint
from tensorlab.errors import GradientError
from tests.compiler.agreement import assert_forward, assert_gradients, record_program
from tests.compiler.random_programs import Program

# What may be refused, and in how many of a thousand programs at most.
REFUSALS = {
    "several elements of what it writes to may share a place": 10,
    "it reads a tensor with a history that was written where autograd did not see it": 40,
    "its history comes from something that is no op": 2,
    "of an input that does not begin where its storage begins": 2,
    "it writes to a window, and the gradient would need its layout": 2,
}


def backward_raises(recorded):
    """Whether the program's own backward raises, as a saved tensor was written."""
    leaves = [x for x in recorded.inputs if x.requires_grad]
    try:
        ends = [y.sum() for y in recorded.results if y.requires_grad]
        tensorlab.autograd.grad(ends, leaves, retain_graph=True, allow_unused=True)
    except GradientError:
        return True
    return False


def check(seed):
    program = Program(seed)
    recorded = record_program(program, program.inputs)
    functional = functionalize(recorded.graph)
    assert_forward(recorded, functional)
    if any(y.requires_grad for y in recorded.results) and not backward_raises(recorded):
        for mode in ("save", "recompute"):
            made = joint(functional, recorded.wants_grad, mode)
            if made is not None:
                assert_gradients(recorded, functional, made)
    return program


@pytest.mark.parametrize("hundred", range(10))
def test_random_programs_keep_their_results_inputs_and_gradients(hundred):
    refused = collections.Counter()
    for seed in range(100 * hundred, 100 * hundred + 100):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(seed)
        except CannotCompile as error:
            refused[error.reason] += 1
        except Exception as error:
            raise AssertionError(f"program {seed}:\n{Program(seed)}") from error
    assert all(refused[one] <= REFUSALS[one] for one in refused), refused

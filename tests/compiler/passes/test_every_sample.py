"""Each sample of each op, after all passes, is what it was: exactly without decompose, closely with it."""

import warnings

import pytest

from tensorlab.compiler.passes import PASSES, run_passes
from tests.compiler.agreement import assert_agrees, close, equal
from tests.compiler.programs import READS_VALUES, each_program, inputs_of

KEEPING_BITS = [one for one in PASSES if one != "decompose"]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@each_program
def test_passes_keep_the_bits_of_a_sample(sample, program, requires_grad):
    if requires_grad and sample.name in READS_VALUES:
        requires_grad = False
    assert_agrees(
        program,
        lambda: inputs_of(sample, requires_grad),
        lambda graph: run_passes(graph, names=KEEPING_BITS),
        same=equal,
    )


@each_program
def test_passes_before_the_partition_keep_the_bits(sample, program, requires_grad):
    if requires_grad and sample.name not in READS_VALUES:
        assert_agrees(
            program,
            lambda: inputs_of(sample, requires_grad),
            prepare=lambda graph: run_passes(graph, names=KEEPING_BITS),
            mode="recompute",
        )


@each_program
def test_decomposed_a_sample_is_close_to_what_it_was(sample, program, requires_grad):
    if requires_grad and sample.name in READS_VALUES:
        requires_grad = False
    assert_agrees(program, lambda: inputs_of(sample, requires_grad), run_passes, same=close)

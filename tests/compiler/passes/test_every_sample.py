"""Each sample of each op, after all passes, is what it was: exactly without decompose, closely with it."""

import warnings

import pytest

from tensorlab.compiler.passes import PASSES, run_passes
from tests.compiler.agreement import assert_agrees, close, equal
from tests.compiler.programs import READS_VALUES, forms_of, inputs_of, wants_grad
from tests.ops.every_sample import each_sample

KEEPING_BITS = [one for one in PASSES if one != "decompose"]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def requires_grad(sample, form):
    return wants_grad(sample, form) and sample.name not in READS_VALUES


@each_sample(form=forms_of)
def test_passes_keep_the_bits_of_a_sample(sample, form):
    assert_agrees(
        form(sample),
        lambda: inputs_of(sample, requires_grad(sample, form)),
        lambda graph: run_passes(graph, names=KEEPING_BITS),
        same=equal,
    )


@each_sample(form=forms_of)
def test_passes_before_the_partition_keep_the_bits(sample, form):
    if requires_grad(sample, form):
        assert_agrees(
            form(sample),
            lambda: inputs_of(sample, True),
            prepare=lambda graph: run_passes(graph, names=KEEPING_BITS),
            mode="recompute",
        )


@each_sample(form=forms_of)
def test_decomposed_a_sample_is_close_to_what_it_was(sample, form):
    assert_agrees(
        form(sample),
        lambda: inputs_of(sample, requires_grad(sample, form)),
        run_passes,
        same=close,
    )

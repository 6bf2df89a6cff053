"""Batching rules: vmap of every sample of every op gives what a loop over the examples gives,
without running one.
"""

import pytest

import tensorlab
from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab._on_demand import import_all
from tensorlab.func.batching.rules import batching
from tests.func.examples import Examples
from tests.ops.every_sample import DIFFERENTIABLE, each_sample

# What a batch can't be asked: a size or a choice that depends on values of single examples, or
# to be written into a tensor that all examples share. PyTorch refuses these, too, or runs a
# loop.
REFUSED = {
    *("argwhere", "bincount", "histc", "masked_select", "nonzero", "nonzero_static", "one_hot"),
    *("unique", "unique_consecutive"),  # sizes
    *("cov", "index_put"),  # weights that sum to zero; values for the places of a mask
    *("batch_norm", "copy_"),  # statistics or elements that all examples share
}
# Ops that make something of nothing, or write parameters where they are; the transforms never
# see them in boxes.
WITHOUT = {
    *("arange", "empty", "empty_strided", "eye", "full", "linspace", "logspace", "ones", "zeros"),
    *("tril_indices", "triu_indices", "tensor", "sizes", "sgd_step_", "adam_step_"),
    *("layer_norm_gradients", "ranked_values"),
}


def refuses(error):
    return isinstance(error, (RuntimeError, UserWarning)) and str(error).startswith("vmap: ")


@each_sample()
def test_vmap_gives_what_a_loop_over_the_examples_gives(sample):
    for inputs in [sample.inputs, *sample.more]:
        examples = Examples(sample, inputs)
        for pattern in examples.patterns:
            try:
                examples.compare(examples.call, pattern)
            except Exception as error:
                if not (sample.op in REFUSED and refuses(error)):
                    raise


@each_sample(DIFFERENTIABLE)
def test_so_do_gradients_of_each_example(sample):
    for inputs in [sample.inputs, *sample.more]:
        examples = Examples(sample, inputs)
        gradient = examples.gradient()
        for pattern in examples.patterns if gradient is not None else ():
            try:
                examples.compare(gradient, pattern)
            except Exception as error:
                if not (sample.op in REFUSED and refuses(error)):
                    raise


# ------------------------------------------------------------------------------------------------ the tables
def test_each_op_has_a_rule_or_needs_none():
    import_all()
    without = {name for name, op in REGISTRY.items() if "::" not in name and not has_rule(op)}
    assert without - WITHOUT == set()


def has_rule(op):
    op = op.functional or op
    is_by_elements = op.is_pointwise and not op.draws
    return is_by_elements or batching.of(op) is not None or op.compose_function is not None


def test_no_rule_names_an_unknown_op():
    import_all()
    assert set(batching.by_name) - set(REGISTRY) == set()


def test_an_op_without_a_rule_runs_for_each_example_and_says_so():
    @tensorlab.library.custom_op("test_batching::halved", mutates_args=())
    def halved(x: tensorlab.Tensor) -> tensorlab.Tensor:
        return x / 2

    x = tensorlab.arange(6.0).reshape(3, 2)
    with pytest.warns(UserWarning, match="halved has no batching rule, so it runs 3 times"):
        assert tensorlab.func.vmap(halved)(x).equal(x / 2)
    with pytest.raises(RuntimeError, match="there are 0 examples"):
        tensorlab.func.vmap(halved)(x[:0])

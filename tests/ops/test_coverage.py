"""The samples run every op and every formula, and each call gives the same when it is made again from its record."""

import contextlib

import pytest
from tensorlab._core.dispatch.layers import Layer
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab._core.dispatch.facets import reads_values
from tests.ops.calling_again import CallAgain, is_callable
from tests.ops.coverage import Coverage, coverage
from tests.ops.every_sample import SAMPLES

# Formulas that no sample runs, or that give None, and why.
OTHER_FORMULAS = {
    ("heaviside", "x"): "PyTorch has none: tests/autograd/test_flat_writes.py",
    ("heaviside", "values"): "PyTorch has none: tests/autograd/test_flat_writes.py",
    (
        "sorted_values",
        "x",
    ): "sort is called where a gradient is wanted: tests/ops/test_sorted_values.py",
    **dict.fromkeys(
        [
            ("geqrf", "x"),
            ("linalg_ldl_factor_ex", "x"),
            *[("linalg_ldl_solve", name) for name in ("B", "LD")],
        ],
        "PyTorch has none: tests/ops/test_composed_linalg.py",
    ),
    **dict.fromkeys(
        [("polar_factor_backward", "grad"), ("polar_factor_backward", "x")],
        "the third derivative: tests/ops/test_composed_linalg.py",
    ),
    **dict.fromkeys(
        [
            ("embedding_bag_backward", "grad_out"),
            ("embedding_bag_backward", "per_sample_weights"),
            ("embedding_bag_weights_backward", "grad_out"),
            ("embedding_bag_weights_backward", "weight"),
        ],
        "PyTorch has none: tests/ops/test_embedding_bag.py",
    ),
}
OTHER_FORMULAS |= dict.fromkeys(
    [
        *[(name, "x") for name in ("igamma", "igammac", "zeta")],
        *[("binomial", "count"), ("binomial", "prob")],
        *[("_standard_gamma_grad", "x"), ("_standard_gamma_grad", "output")],
        *[("_dirichlet_grad", name) for name in ("x", "alpha", "total")],
    ],
    "PyTorch has none: tests/ops/test_special_functions.py",
)
# Ops that samples run, but not on meta: most because their results are as large as values say.
NEEDS_VALUES = {
    "masked_select",
    *("nonzero", "nonzero_numpy", "one_hot", "repeat_interleave", "runs"),
    *("adam_step_", "sgd_step_"),  # optimizers write numbers, which meta has not
    "polar_factor_backward",  # a second derivative, which meta is not asked for
}


# Ops that no sample calls where layers see it: memory that is lent, and views with lazy bits (test_lazy_bits.py).
UNSEEN = {"lend", "conj", "neg_view"}


@pytest.fixture(scope="module")
def found():
    return coverage()[0]


@pytest.fixture(scope="module")
def again():
    return coverage()[1]


@pytest.fixture(scope="module")
def ops(found):
    """The names of all ops of tensorlab that give tensors; those that write are registered when they are first called.

    The others are in tests/core/test_values_read.py. Ops of programs (`mylib::clip`) come from other tests.
    """
    return {
        name
        for name, op in REGISTRY.items()
        if is_callable(op) and not reads_values.of(op) and name not in UNSEEN and "::" not in name
    }


def test_every_op_is_run_by_a_sample(found, ops):
    ran = set().union(*found.ran.values())
    assert sorted(ops - ran) == []


def test_every_formula_is_run_by_a_sample(found, ops):
    formulas = {
        (name, param)
        for name in ops
        for param in REGISTRY[name].derivatives
        if REGISTRY[name].functional is None
    }
    assert sorted(formulas - set(found.formulas)) == sorted(OTHER_FORMULAS)


def test_every_op_that_needs_no_values_is_run_on_meta(found, ops):
    assert sorted(ops - set(found.ran["meta"])) == sorted(NEEDS_VALUES)


def test_a_call_made_again_by_keyword_gives_the_same_bits(again, ops):
    assert again.different == set()
    assert sorted(ops - again.equal) == []


# ------------------------------------------------------------------------------------------------ the measure itself
def test_a_sample_is_noted_under_the_ops_that_it_runs():
    (tanh,) = [sample for sample in SAMPLES if sample.name == "tanh"]
    found = Coverage()
    found.run(tanh)
    assert found.ran["forward"].keys() == {
        "tanh",
        "tanh_",
        "mul",
        "copy_",
    }  # mul by 1: a copy to write on
    assert "tanh_backward" in found.ran["first"]
    assert "tanh" not in found.ran["first"]
    assert ("tanh", "x") in found.formulas
    assert ("tanh_backward", "y") in found.formulas
    assert ("exp", "x") not in found.formulas
    assert found.formulas["tanh", "x"] == {"tanh"}


def test_a_call_that_gives_something_else_the_second_time_is_noted():
    class Drifting(Layer):
        calls = 0

        def call(self, op, arguments):
            self.calls += 1
            result = op(*arguments)
            return result + self.calls if op.name == "exp" else result

    again, x = CallAgain(), tensorlab.ones(2)
    with Drifting("mode"), again:
        x.exp()
    assert again.different == {"exp"}
    assert again.equal == set()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.t().mul_(2),
        lambda x: x[1:, ::2].zero_(),
        lambda x: tensorlab.rand(3).sum(),
        lambda x: x.bernoulli_(),
    ],
)
def test_what_a_call_writes_or_draws_is_as_if_it_had_been_made_once(call):
    results = []
    for layer in (contextlib.nullcontext(), CallAgain()):
        tensorlab.manual_seed(0)
        x = tensorlab.arange(12.0).view(3, 4) / 12
        with layer:
            call(x)
        results.append((x.tolist(), tensorlab.rand(2).tolist()))
    assert results[0] == results[1]

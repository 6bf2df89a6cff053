"""Passes run in order, can be switched off, and a wrong one is named."""

import pytest

import tensorlab
from tensorlab.compiler.passes import PASSES, PassFailed, run_passes, running
from tests.compiler.passes.graphs import graph_of, names_in

X = tensorlab.arange(12.0).view(3, 4)


def graph():
    return graph_of(lambda x: (x * 1).softmax(-1) + tensorlab.ones(4) * 2, X)


def test_passes_run_in_the_declared_order_whatever_the_order_of_names():
    counts = run_passes(graph(), names=["simplify", "decompose"])
    assert list(counts) == ["decompose", "simplify"]
    assert list(run_passes(graph())) == list(PASSES)
    assert all(count > 0 for name, count in counts.items())


def test_a_pass_can_be_switched_off():
    one = graph()
    run_passes(one, names=[name for name in PASSES if name != "decompose"])
    assert "softmax" in names_in(one)
    run_passes(one)
    assert "softmax" not in names_in(one)


def test_an_unknown_pass_is_refused():
    with pytest.raises(ValueError, match=r"\['inline'\] are none of decompose, "):
        run_passes(graph(), names=["inline", "simplify"])


def wrong(graph):
    """Turn the last call into another one."""
    node = [one for one in graph.nodes if one.op == "call_function"][-1]
    node.args = (node.args[0], 5.0)
    return 1


@pytest.mark.parametrize("name", PASSES)
def test_the_pass_that_is_wrong_is_named(name, monkeypatch):
    monkeypatch.setitem(running.PASSES, name, wrong)
    with pytest.raises(PassFailed, match=f"the pass {name} is wrong: value 0 was tensor") as caught:
        run_passes(graph(), [X], check=True)
    assert caught.value.name == name
    run_passes(graph(), [X], check=False)


def test_without_tensors_there_is_nothing_to_check_on(monkeypatch):
    monkeypatch.setitem(running.PASSES, "simplify", wrong)
    assert run_passes(graph(), check=True)["simplify"] == 1


def test_each_pass_is_compared_with_the_one_before_it():
    """The first one may round; the others must keep its bits, not those of the ops."""

    def norm(x):
        return tensorlab.nn.functional.layer_norm(x * 1, (64,))

    x = tensorlab.randn(8, 64)
    one = graph_of(norm, x)
    run_passes(one, [x], check=True)
    assert not tensorlab.equal(running.interpret(one, [x])[0], norm(x))


@pytest.mark.parametrize("value, checks", [("1", True), ("0", False), ("", False), (None, False)])
def test_the_environment_asks_for_the_check(value, checks, monkeypatch):
    monkeypatch.delenv("TENSORLAB_COMPILE_CHECK", raising=False)
    if value is not None:
        monkeypatch.setenv("TENSORLAB_COMPILE_CHECK", value)
    monkeypatch.setitem(running.PASSES, "simplify", wrong)
    if checks:
        with pytest.raises(PassFailed):
            run_passes(graph(), [X])
    else:
        run_passes(graph(), [X])


def test_the_check_leaves_inputs_and_generator_as_they_are():
    def function(x):
        return x.add_(tensorlab.rand(3, 4))

    one, x = graph_of(function, X), X.clone()
    state = tensorlab.get_rng_state()
    run_passes(one, [x], check=True)
    assert bool((tensorlab.get_rng_state() == state).all())
    assert bool((x == X).all())


@pytest.mark.parametrize(
    "changed",
    [
        lambda y: y + 1e-2,
        lambda y: y.double(),
        lambda y: y.t().contiguous().t(),
        lambda y: y[:1],
        lambda y: y * float("nan"),
    ],
)
def test_rounding_is_allowed_but_not_another_result(changed):
    y = X.softmax(-1)
    running.compare("decompose", None, [y], [y * (1 + 1e-6)])
    with pytest.raises(PassFailed):
        running.compare("simplify", None, [y], [y * (1 + 1e-6)])
    with pytest.raises(PassFailed):
        running.compare("decompose", None, [y], [changed(y)])


def test_signs_of_zeros_and_integers_are_compared_exactly():
    zeros, ones = tensorlab.zeros(3), tensorlab.ones(3, dtype=tensorlab.int64)
    running.compare("simplify", None, [zeros, ones, 3], [zeros.clone(), ones.clone(), 3])
    for before, after in ((zeros, -zeros), (ones, ones + 1), (3, 4), (zeros, 3)):
        with pytest.raises(PassFailed):
            running.compare("simplify", None, [before], [after])
    with pytest.raises(PassFailed, match="it returns 1 values instead of 2"):
        running.compare("simplify", None, [zeros, ones], [zeros])
    with pytest.raises(PassFailed):
        running.compare("decompose", None, [ones], [ones + 1])


def test_large_numbers_may_differ_by_more():
    large = tensorlab.full((3,), 1e6)
    running.compare("decompose", None, [large], [large + 1])
    half = tensorlab.full((3,), 1.0, dtype=tensorlab.bfloat16)
    running.compare("decompose", None, [half], [half + 0.0078125])
    with pytest.raises(PassFailed):
        running.compare("decompose", None, [large], [large + 1e4])
    infinite = tensorlab.full((3,), float("inf"))
    running.compare("decompose", None, [infinite], [infinite])
    with pytest.raises(PassFailed):
        running.compare("decompose", None, [infinite], [-infinite])


def test_small_numbers_may_differ_by_a_thousandth_of_one():
    small = tensorlab.full((3,), 1e-5)
    running.compare("decompose", None, [small], [small + 9e-4])
    with pytest.raises(PassFailed):
        running.compare("decompose", None, [small], [small + 1.1e-3])
    large = tensorlab.full((3,), 100.0)
    running.compare("decompose", None, [large], [large + 0.09])
    with pytest.raises(PassFailed):
        running.compare("decompose", None, [large], [large + 0.12])

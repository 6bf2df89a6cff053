"""The small joint graph of chapter 49 has autograd's gradients, whatever is saved, and says what it lacks."""

import importlib.util
import itertools
import operator
from pathlib import Path

import pytest

import tensorlab as torch
from tensorlab import fx

FOLDER = Path(__file__).resolve().parents[2] / "chapters/49-ahead-of-time-autograd"


def load(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


tiny, pictures, programs = load("tiny_joint"), load("pictures"), load("programs")

FUNCTIONS = {
    "a polynomial": lambda x: (x * x + 1) * x,
    "a chain": lambda x: torch.exp(torch.sin(torch.tanh(x))),
    "numbers on both sides": lambda x: 2 - (3 * x - 1) * 0.5,
    "a value used three times": lambda x: (y := torch.exp(x)) * y - y,
    "the input alone": lambda x: x,
}


def gradients(function, inputs, tangent):
    leaves = [x.clone().requires_grad_() for x in inputs]
    return torch.autograd.grad(function(*leaves), leaves, tangent)


def run(graph, saved, inputs, tangent):
    forward, backward = tiny.split(graph, saved)
    result, *kept = forward(*inputs)
    return result, backward(*kept, tangent)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradients_are_autograds_for_every_set_that_is_enough(name):
    function = FUNCTIONS[name]
    graph = tiny.joint_graph(function)
    (x, _) = graph.find_nodes(op="placeholder")
    calls = [one for one in graph.nodes if one.op == "call_function"]
    forward = [one for one in calls if not one.meta["is_backward"]]
    value, tangent = torch.randn(5, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    (expected,) = gradients(function, [value], tangent)
    for n in range(len(forward) + 1):
        for some in itertools.combinations(forward, n):
            result, (gradient,) = run(graph, [x, *some], [value], tangent)
            assert torch.equal(result, function(value))
            assert torch.allclose(gradient, expected)
    _, (gradient,) = run(graph, tiny.read_by_backward(graph), [value], tangent)
    assert torch.allclose(gradient, expected)


def test_two_inputs_have_a_gradient_each():
    def function(x, y):
        return torch.tanh(x * y) - y

    graph = tiny.joint_graph(function)
    inputs, tangent = [torch.randn(4), torch.randn(4)], torch.randn(4)
    _, found = run(graph, tiny.read_by_backward(graph), inputs, tangent)
    for one, other in zip(found, gradients(function, inputs, tangent), strict=True):
        assert torch.allclose(one, other)


def test_backward_runs_only_what_it_needs():
    graph = tiny.joint_graph(FUNCTIONS["a chain"])
    names = [one.name for one in tiny.read_by_backward(graph)]
    assert names == ["tanh", "exp"]
    _, backward = tiny.split(graph, tiny.read_by_backward(graph))
    targets = [one.target for one in backward.graph.nodes if one.op == "call_function"]
    assert torch.exp not in targets
    assert torch.sin not in targets
    assert torch.cos in targets


def test_gradients_of_numbers_are_not_in_the_graph():
    graph = tiny.joint_graph(lambda x: x * 3.0)
    calls = [one for one in graph.nodes if one.op == "call_function"]
    assert [one.target for one in calls] == [operator.mul, operator.mul]
    assert [one.meta["is_backward"] for one in calls] == [False, True]


def test_what_is_not_enough_is_named():
    graph = tiny.joint_graph(FUNCTIONS["a polynomial"])
    named = {one.name: one for one in graph.nodes}
    with pytest.raises(
        ValueError, match=r"split: x is needed, and it isn't among \[add, tangent\]"
    ):
        tiny.split(graph, [named["add"]])


def test_rules_may_call_functions_of_proxies():
    rule = {torch.sqrt: lambda grad, out, x: (torch.div(grad, torch.mul(2, out)),)}
    tiny.RULES.update(rule)
    try:
        graph = tiny.joint_graph(lambda x: torch.sqrt(x) * x)
    finally:
        del tiny.RULES[torch.sqrt]
    value, tangent = torch.rand(3) + 1, torch.randn(3)
    _, (gradient,) = run(graph, tiny.read_by_backward(graph), [value], tangent)
    (expected,) = gradients(lambda x: torch.sqrt(x) * x, [value], tangent)
    assert torch.allclose(gradient, expected)


def test_random_numbers_that_are_not_saved_are_drawn_again():
    graph = tiny.joint_graph(programs.noisy)
    x = graph.find_nodes(op="placeholder")[0]
    value = torch.tensor([0.5, 1.0, 1.5])
    wanted = value.cos() / value.sin()
    result, (gradient,) = run(graph, tiny.read_by_backward(graph), [value], torch.ones(3))
    assert torch.allclose(gradient / result, wanted)
    result, (gradient,) = run(graph, [x], [value], torch.ones(3))
    assert not torch.allclose(gradient / result, wanted)


# ------------------------------------------------------------------------------------------------ pictures
def whole_of(name, recompute):
    compiled = torch.compile(
        programs.PROGRAMS[name][0], backend="aot_eager", options={"recompute": recompute}
    )
    compiled(*programs.leaves(name))
    return compiled.compiled.entries[0].program.whole


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_the_cut_that_is_drawn_is_the_one_that_partition_makes(name):
    whole = whole_of(name, recompute=True)
    cut = pictures.CutOf(whole.whole, 1, len(programs.PROGRAMS[name][1]))
    outputs = whole.forward.output_node().args[0]
    assert {one.name for one in cut.saved} == {
        one.name for one in outputs[len(outputs) - whole.saved :]
    }
    text = str(cut.picture())
    assert all(f"{node.name}: " in text for node in cut.prices)
    assert text.count("leads to") == len(cut.prices) + 2


def test_a_joint_graph_is_drawn_with_its_numbers():
    graph = tiny.joint_graph(FUNCTIONS["a polynomial"])
    run_all = fx.Interpreter(fx.GraphModule({}, graph), garbage_collect_values=False)
    run_all.run(torch.tensor([1.0, 2.0]), torch.ones(2))
    text = str(pictures.joint_picture(graph, run_all.env))
    assert "add: mul + 1, 2 5; leads to mul_1, mul_3" in text
    assert "x: 1 2; leads to" in text


# ------------------------------------------------------------------------------------------------ two heads
def test_a_head_that_is_not_in_the_loss_keeps_its_weights():
    heads = load("two_heads")
    sizes = heads.train(lambda model: torch.compile(model, backend="aot_eager"))
    assert sizes == [1.0] * (heads.STEPS + 1)
    assert sizes == heads.train(lambda model: model)

"""Interpreter and Transformer: what they run, what they keep, and what they say when something is wrong."""

import operator

import pytest

import tensorlab
from tensorlab import fx, nn


def small():
    return fx.symbolic_trace(lambda x, y=2.0: tensorlab.relu(x) * y + x)


X = tensorlab.tensor([-1.0, 3.0])


def test_defaults_and_stars_are_filled_in():
    assert fx.Interpreter(small()).run(X).tolist() == [-1, 9]
    assert fx.Interpreter(small()).run(X, 3.0).tolist() == [-1, 12]
    stars = fx.symbolic_trace(lambda x, *rest: x + rest[0] * rest[1])
    assert fx.Interpreter(stars).run(1, 2, 3) == 7
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x"):
        fx.Interpreter(small()).run()


def test_values_are_kept_only_if_wanted():
    module = small()
    keeps, forgets = fx.Interpreter(module, False), fx.Interpreter(module)
    keeps.run(X), forgets.run(X)
    assert [node.name for node in keeps.env] == ["x", "y", "relu", "mul", "add", "output"]
    assert [node.name for node in forgets.env] == ["output"]


def test_an_interpreter_knows_the_modules_of_its_module():
    module = fx.symbolic_trace(tensorlab.nn.Sequential(tensorlab.nn.ReLU(), tensorlab.nn.Tanh()))
    assert fx.Interpreter(module).submodules == dict(module.named_modules())


def test_a_value_is_forgotten_right_after_its_last_use():
    sizes = []

    class Watch(fx.Interpreter):
        def run_node(self, n):
            sizes.append((n.name, [node.name for node in self.env]))
            return super().run_node(n)

    Watch(small()).run(X)
    assert dict(sizes) == {
        "x": [],
        "y": ["x"],
        "relu": ["x", "y"],
        "mul": ["x", "y", "relu"],
        "add": ["x", "mul"],
        "output": ["add"],
    }


def test_before_it_runs_an_interpreter_knows_nothing():
    assert fx.Interpreter(small()).env == {}


def test_known_values_are_not_computed():
    module = small()
    nodes = {node.name: node for node in module.graph.nodes}
    env = {nodes["relu"]: tensorlab.tensor([10.0, 10.0])}
    assert fx.Interpreter(module).run(X, initial_env=env).tolist() == [19, 23]


def test_boxed_arguments_are_emptied():
    args = [X, 3.0]
    assert fx.Interpreter(small()).boxed_run(args).tolist() == [-1, 12]
    assert args == []
    with pytest.raises(RuntimeError, match="expected 2 arguments for placeholders but received 1"):
        fx.Interpreter(small()).boxed_run([X])


def test_another_graph_runs_with_the_state_of_a_module():
    holder = nn.Module()
    holder.inner = nn.Module()
    holder.inner.weight = nn.Parameter(tensorlab.ones(2))
    holder.act = nn.ReLU()
    graph = fx.Graph()
    y = graph.call_function(operator.add, (graph.placeholder("x"), graph.get_attr("inner.weight")))
    graph.output({"y": graph.call_method("mul", (graph.call_module("act", (y,)), 2))})
    assert fx.Interpreter(holder, graph=graph).run(X)["y"].tolist() == [0, 8]
    graph.find_nodes(op="get_attr")[0].target = "inner.missing.weight"
    with pytest.raises(
        RuntimeError, match="Node referenced nonexistent target inner.missing$|inner.missing\n"
    ):
        fx.Interpreter(holder, graph=graph).run(X)


def test_an_error_names_the_node_and_its_line():
    tracer = fx.Tracer()
    tracer.record_stack_traces = True

    def f(x):
        return x @ x

    module = fx.GraphModule(nn.Module(), tracer.trace(f))
    with pytest.raises(RuntimeError) as caught:
        fx.Interpreter(module).run(tensorlab.ones(2, 3))
    note, pointer = caught.value.__notes__
    assert pointer == "What to do: tensorlab explain matmul"
    assert note.startswith(
        "While executing %matmul : [num_users=1] = call_function[target=operator.matmul]"
    )
    assert "\nOriginal traceback:\nFile " in note
    assert "return x @ x" in note
    plain = fx.Interpreter(fx.symbolic_trace(f))
    with pytest.raises(RuntimeError) as caught:
        plain.run(tensorlab.ones(2, 3))
    assert "Original" not in caught.value.__notes__[0]
    plain.extra_traceback = False
    with pytest.raises(RuntimeError) as caught:
        plain.run(tensorlab.ones(2, 3))
    assert caught.value.__notes__ == [pointer]


def test_a_graph_in_a_wrong_order_is_reported():
    module = small()
    nodes = {node.name: node for node in module.graph.nodes}
    nodes["relu"].prepend(nodes["add"])
    with pytest.raises(
        RuntimeError, match="Node add referenced nonexistent value mul! Run Graph.lint"
    ):
        fx.Interpreter(module).run(X)


def test_a_graph_without_output_gives_nothing():
    graph = fx.Graph()
    graph.placeholder("x")
    module = fx.GraphModule(nn.Module(), graph)
    assert fx.Interpreter(module).run(1) is None
    assert len(fx.Transformer(module).transform().graph.nodes) == 1


def test_each_kind_of_node_can_be_changed():
    class Other(fx.Interpreter):
        def placeholder(self, target, args, kwargs):
            return super().placeholder(target, args, kwargs) + 1

        def call_function(self, target, args, kwargs):
            return args[0]

        def output(self, target, args, kwargs):
            return [super().output(target, args, kwargs)]

    assert Other(small()).run(X, 2.0)[0].tolist() == [0, 4]


def test_what_is_known_of_a_node_goes_along():
    module = small()
    for node in module.graph.nodes:
        node.meta["note"] = node.name
    new = fx.Transformer(module).transform()
    assert [node.meta["note"] for node in new.graph.nodes] == [
        node.name for node in module.graph.nodes
    ]
    assert new.graph.output_node().meta is not module.graph.output_node().meta


def test_a_transformer_keeps_modules_state_and_defaults():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.weight = nn.Linear(2, 2), nn.Parameter(tensorlab.ones(2))

        def forward(self, x, y=1):
            return self.linear(x) * self.weight + y + tensorlab.ones(2)

    module = fx.symbolic_trace(Net())

    class AddTwo(fx.Transformer):
        def call_module(self, target, args, kwargs):
            return super().call_module(target, args, kwargs) + 2

        def placeholder(self, target, args, kwargs):
            return super().placeholder(target, args, kwargs)

    new = AddTwo(module).transform()
    assert new.linear is module.linear
    assert new.weight is module.weight
    assert tensorlab.allclose(new(X), module(X) + 2 * module.weight)
    assert "def forward(self, x, y = 1):" in new.code

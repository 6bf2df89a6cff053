"""Tracer and Proxy: what becomes a node, what a program may not ask, what is put back after tracing."""

import builtins
import copy
import dataclasses
import math
import pickle
import sys

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab import fx, nn
from tensorlab.fx._symbolic_trace import is_fx_tracing
from tensorlab.fx.proxy import GraphAppendingTracer, find_proxy
from tests.fx.programs import Box, Pair, asserting

F = nn.functional


def ops(graph):
    return [(node.op, node.name) for node in graph.nodes]


def calls(function, **options):
    """The names of the calls in the graph of a function."""
    graph = fx.Tracer(**options).trace(function)
    return [node.name for node in graph.nodes if node.op.startswith("call")]


# ---------------------------------------------------------------- wrap
def counted(x, n):
    return x * 2 if n > 1 else x


fx.wrap("counted")
fx.wrap("len")


@fx.wrap
def decorated(x):
    return float(x)


def test_a_wrapped_function_is_one_node_and_runs_as_ever_without_a_proxy():
    def f(x):
        return counted(x, n=3) + decorated(x) + counted(5, 2) + len(x)

    traced = fx.symbolic_trace(f)
    assert [node.name for node in traced.graph.nodes] == [
        *("x", "counted", "decorated", "add", "add_1", "len_1", "add_2", "output")
    ]
    assert traced.graph.find_nodes(op="call_function", target=counted)[0].kwargs == {"n": 3}
    assert traced(tensorlab.tensor([1.5])).tolist() == [3 + 1.5 + 10 + 1]
    assert 'wrap("tests_fx_test_tracer_counted")' in traced.code
    assert 'wrap("len")' in traced.code
    again = fx.symbolic_trace(traced)
    assert str(again.graph) == str(traced.graph)


def test_after_tracing_everything_is_as_it_was():
    before = dict(globals()), vars(nn.Module).copy(), dict(vars(F)), dict(vars(math))
    fx.symbolic_trace(lambda x: counted(x, 2) + F.relu(x) + len(x))
    with pytest.raises(ZeroDivisionError):
        fx.symbolic_trace(lambda x: counted(x, 2) / 0 if 1 / 0 else x)
    after = dict(globals()), vars(nn.Module).copy(), dict(vars(F)), dict(vars(math))
    assert before == after
    assert "len" not in globals()
    assert builtins.len is len
    assert "__getattribute__" not in vars(nn.Module)
    assert "__call__" not in vars(nn.Module)
    assert not is_fx_tracing()


def test_a_trace_asks_no_package_for_a_name_that_it_lacks(monkeypatch):
    def refuse(package, name):
        raise AssertionError(f"{package} thinks for milliseconds about what {name!r} might be")

    monkeypatch.setattr("tensorlab._missing.refuse", refuse)
    traced = fx.symbolic_trace(lambda x: tensorlab.relu(x + 1) * 2)
    assert len(traced.graph.nodes) == 5


def test_wrap_is_for_functions_at_the_level_of_a_module():
    with pytest.raises(NotImplementedError, match="top level of a module"):
        fx.wrap(counted)
    with pytest.raises(
        RuntimeError, match="either a callable or string name; wrap was given a int"
    ):
        fx.wrap(3)


def test_a_name_that_is_nowhere_is_refused_when_a_program_is_traced():
    scope = {"wrap": fx.wrap, "__name__": "somewhere"}
    exec("wrap('missing_function')", scope)
    try:
        with pytest.raises(NameError, match="'missing_function'.*somewhere has no such function"):
            fx.symbolic_trace(lambda x: x)
    finally:
        del fx.wrapping._wrapped_fns_to_patch[id(scope)]


def scaled(x):
    return x * 2 if sys.maxsize > 1 else bool(x)


def test_modules_and_functions_can_be_kept_whole_by_the_tracer():
    def f(x):
        return math.exp(x) + scaled(x)

    assert calls(f) == ["exp", "mul", "add"]
    assert calls(f, autowrap_functions=(scaled,)) == ["exp", "scaled", "add"]
    with pytest.raises(TypeError):
        calls(f, autowrap_modules=())
    assert math.exp(0) == 1


# ---------------------------------------------------------------- what a program may not ask
def branch(x):
    y = x.sum()
    if y > 0:
        return x
    return -x


def loop(x):
    for item in x:
        return item
    return None


def spread(x):
    return max(*x)


def while_true(x):
    while x:
        x = x - 1
    return x


def negation(x):
    return not x


def membership(x):
    return 3 in x


@pytest.mark.parametrize(
    "program, line, message",
    [
        (branch, "if y > 0:", "the program asks for the truth of gt"),
        (while_true, "while x:", "the program asks for the truth of x"),
        (negation, "return not x", "the program asks for the truth of x"),
        (loop, "for item in x:", "the program asks for the items of x"),
        (spread, "return max(*x)", "the program asks for the items of x"),
        (membership, "return 3 in x", "the program asks for the items of x"),
    ],
)
def test_control_flow_on_a_proxy_is_refused_with_file_and_line(program, line, message):
    with pytest.raises(fx.TraceError) as caught:
        fx.symbolic_trace(program)
    text = str(caught.value)
    number = program.__code__.co_firstlineno + (2 if program is branch else 1)
    assert message in text
    assert text.endswith(f'\n  File "{__file__}", line {number}, in {program.__name__}\n    {line}')
    assert isinstance(caught.value, ValueError)


def test_the_line_is_that_of_the_program_also_below_other_functions():
    class Net(nn.Module):
        def forward(self, x):
            return self.inner(x)

        def inner(self, x):
            return x if x.any() else -x

    net = nn.Sequential(Net())
    with pytest.raises(fx.TraceError, match="in inner\n    return x if x.any\\(\\) else -x"):
        fx.symbolic_trace(net)


def test_the_length_of_a_proxy_is_refused():
    with pytest.raises(RuntimeError, match=r"call fx.wrap\('len'\).*\n.*test_tracer.py"):
        fx.symbolic_trace(lambda x: x.__len__())


def test_what_no_node_can_hold_is_refused():
    with pytest.raises(
        NotImplementedError, match="argument of type: <class 'object'>; a node can hold"
    ):
        fx.symbolic_trace(lambda x: x.add(object()))
    with pytest.raises(NotImplementedError, match="argument of type: <class 'set'>"):
        fx.symbolic_trace(lambda x: x.add({1}))
    with pytest.raises(
        RuntimeError, match="Keys for dictionaries used as an argument cannot contain a Node"
    ):
        fx.symbolic_trace(lambda x: x.add({(1, x): 2}))


def test_a_subclass_may_know_what_a_proxy_does_not():
    class Knows(fx.Tracer):
        def to_bool(self, obj):
            return True

        def iter(self, obj):
            return iter([obj[0], obj[1]])

        def keys(self, obj):
            return ["a"]

    def f(x):
        y = sum(item for item in x) if x else None
        return dict(**x), y

    graph = Knows().trace(f)
    assert [node.name for node in graph.nodes] == [
        *("x", "getitem", "getitem_1", "add", "add_1", "getitem_2", "output")
    ]
    with pytest.raises(fx.TraceError, match="items of keys"):
        fx.symbolic_trace(lambda x: dict(**x))


def test_unpacking_takes_as_many_items_as_there_are_names():
    def f(x):
        (a, b), c = x
        return a, b, c

    names = [node.name for node in fx.symbolic_trace(f).graph.nodes]
    assert names == ["x", "getitem", "getitem_1", "getitem_2", "getitem_3", "output"]


def test_an_assertion_becomes_a_node_if_the_tracer_wants_it():
    f = asserting  # in a file whose assertions pytest leaves alone
    with pytest.raises(fx.TraceError):
        fx.symbolic_trace(f)
    tracer = fx.Tracer()
    tracer.trace_asserts = True
    module = fx.GraphModule(nn.Module(), tracer.trace(f))
    assert [node.name for node in module.graph.nodes][3:5] == ["assert_fn", "assert_fn_1"]
    module.graph.eliminate_dead_code()
    assert module(tensorlab.tensor(2.0)).item() == 4
    with pytest.raises(AssertionError, match="Assertion failed"):
        module(tensorlab.tensor(-2.0))
    with pytest.raises(fx.TraceError):
        tracer.trace(branch)


# ---------------------------------------------------------------- arguments
@dataclasses.dataclass
class Settings:
    size: int
    value: object


def test_collections_of_proxies_become_collections_of_nodes():
    def f(x):
        x.f([x, (x, 1)], {"a": x, 2: x}, slice(x, 2), range(3), ..., None, tensorlab.float32, 1j)
        return x.g(Settings(3, x), Box(x), Pair(x, 1))

    graph = fx.symbolic_trace(f).graph
    nodes = {node.name: node for node in graph.nodes}
    x = nodes["x"]
    assert nodes["f"].args == (
        *(x, [x, (x, 1)], {"a": x, 2: x}, slice(x, 2, None)),
        *(range(3), ..., None, tensorlab.float32, 1j),
    )
    assert nodes["settings"].target is Settings
    assert nodes["settings"].kwargs == {"size": 3, "value": x}
    assert nodes["box"].kwargs == {"content": x, "label": "box"}
    assert nodes["pair"].target is Pair
    assert nodes["pair"].args == (x, 1)
    assert nodes["g"].args == (x, nodes["settings"], nodes["box"], nodes["pair"])


def test_an_object_may_say_itself_what_a_node_holds():
    class Named:
        def __fx_create_arg__(self, tracer):
            return tracer.create_node("get_attr", "named", (), {})

    node = fx.Tracer().trace(lambda x: x.add(Named())).find_nodes(op="get_attr")[0]
    assert node.target == "named"


def test_a_tensor_is_kept_with_the_value_that_it_has_and_once():
    kept = tensorlab.ones(2)

    def f(x):
        return x + kept + kept + tensorlab.zeros(2)

    traced = fx.symbolic_trace(f)
    assert [node.target for node in traced.graph.nodes if node.op == "get_attr"] == [
        *("_tensor_constant0", "_tensor_constant0", "_tensor_constant1")
    ]
    assert dict(traced.named_buffers()).keys() == {"_tensor_constant0", "_tensor_constant1"}
    assert traced._tensor_constant0 is kept


def test_an_attribute_that_is_a_tensor_keeps_its_name():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Module()
            self.inner.plain = tensorlab.ones(2)

        def forward(self, x):
            return x * self.inner.plain

    assert fx.symbolic_trace(Net()).graph.find_nodes(op="get_attr")[0].target == "inner.plain"


def test_a_parameter_or_module_of_another_model_is_refused():
    other = nn.Linear(2, 2)
    with pytest.raises(NameError, match="parameter is not a member of this module"):
        fx.symbolic_trace(lambda x: x @ other.weight)
    with pytest.raises(NameError, match="not installed as a submodule: assign this Linear"):
        fx.symbolic_trace(lambda x: other(x))


def test_a_module_can_be_an_argument():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return counted(self.layer, x)

    node = fx.symbolic_trace(Net()).graph.find_nodes(op="call_function", target=counted)[0]
    assert node.args[0].op == "get_attr"
    assert node.args[0].target == "layer"


def test_two_tracers_must_not_meet():
    one, other = (fx.Proxy(fx.Graph().placeholder("x")) for _ in range(2))
    with pytest.raises(RuntimeError, match="Found multiple different tracers"):
        tensorlab.add(one, other)


# ---------------------------------------------------------------- functions of the package
def test_every_way_to_call_the_package_is_heard():
    class Own(tensorlab.Tensor):
        pass

    def f(x):
        t = tensorlab.ones(2)
        return (
            *(t + x, t - x, t * x, t / x, t**x, t // x, t % x, t @ x, t & x, t | x, t ^ x),
            *(t < x, t > x, t <= x, t >= x, t == x, t != x),
            *(
                t[x],
                t.add(x),
                t.view_as(x),
                tensorlab.cat([t, x]),
                F.linear(t, x),
                F.interpolate(x, 2),
            ),
            *(tensorlab.special.erf(x), tensorlab.Tensor.add(t, x), REGISTRY["add"].name),
        )

    graph = fx.symbolic_trace(f).graph
    made = [
        node.name.rstrip("0123456789").rstrip("_")
        for node in graph.nodes
        if node.op.startswith("call")
    ]
    assert made == [
        *("add", "sub", "mul", "div", "pow", "floordiv", "remainder", "matmul", "and", "or", "xor"),
        *("lt", "gt", "le", "ge", "eq", "ne"),
        *("getitem", "add", "view_as", "cat", "linear", "interpolate", "erf", "add"),
    ]


def test_methods_are_methods_and_functions_are_functions():
    def f(x):
        t = tensorlab.ones(2)
        return (
            t.view_as(x),
            tensorlab.relu(x),
            F.relu(x, True),
            x.relu(),
            F.dropout(x, training=False),
        )

    nodes = [node for node in fx.symbolic_trace(f).graph.nodes if node.op.startswith("call")]
    assert [(node.op, node.name) for node in nodes] == [
        *(("call_method", "view_as"), ("call_function", "relu"), ("call_function", "relu_1")),
        *(("call_method", "relu_2"), ("call_function", "dropout")),
    ]
    assert nodes[1].target is tensorlab.relu
    assert nodes[2].target is F.relu
    assert nodes[2].args == (nodes[2].graph.find_nodes(op="placeholder")[0],)
    assert nodes[2].kwargs == {"inplace": True}
    assert nodes[4].kwargs == {"p": 0.5, "training": False, "inplace": False}
    assert "is_wrapped" not in nodes[2].meta


def test_a_proxy_of_a_node_writes_graphs():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    y = tensorlab.relu(x) + x.size(0) * x.shape[0]
    graph.output(y.node)
    assert [node.name for node in graph.nodes] == [
        *("x", "relu", "size", "getattr_1", "getitem", "mul", "add", "output")
    ]
    assert repr(x) == "Proxy(x)"
    assert isinstance(x.tracer, GraphAppendingTracer)
    assert repr(x.shape).startswith("Attribute(getattr_")
    assert x(1).node.target == "__call__"
    assert abs(x).node.name == "abs_1"


def test_an_attribute_is_read_once_and_only_if_it_is_used():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    shape = x.shape
    assert len(graph.nodes) == 1
    assert shape.node is shape.node
    assert len(graph.nodes) == 2
    x.view(2)
    assert [node.op for node in graph.nodes] == ["placeholder", "call_function", "call_method"]


def test_proxies_are_copied_and_pickled():
    x = fx.Proxy(fx.Graph().placeholder("x"))
    assert copy.copy(x).node is x.node
    assert find_proxy([1, {"a": (x,)}], {}) is x
    assert find_proxy([1], {}) is None


# ---------------------------------------------------------------- modules
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.drop = nn.Linear(2, 2), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.linear(x)) + 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.again = Block(), nn.Sequential(Block())
        self.register_buffer("mean", tensorlab.zeros(2))

    def forward(self, x):
        return self.again(self.block(self.block(x))) - self.mean

    def other(self, x):
        return x + self.mean


def test_leaves_are_the_layers_of_nn_unless_the_tracer_says_otherwise():
    graph = fx.symbolic_trace(Net()).graph
    assert [node.target for node in graph.nodes if node.op == "call_module"] == [
        *(
            "block.linear",
            "block.drop",
            "block.linear",
            "block.drop",
            "again.0.linear",
            "again.0.drop",
        )
    ]

    class KeepBlocks(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, Block) or super().is_leaf_module(m, module_qualified_name)

    graph = KeepBlocks().trace(Net())
    assert [node.target for node in graph.nodes if node.op == "call_module"] == [
        "block",
        "block",
        "again.0",
    ]
    assert graph._tracer_cls is KeepBlocks


def test_a_node_knows_the_modules_around_it():
    tracer = fx.Tracer()
    graph = tracer.trace(Net())
    nodes = {node.name: node for node in graph.nodes}
    assert list(nodes["block_linear"].meta["nn_module_stack"].items()) == [
        ("block", ("block", Block)),
        ("block.linear", ("block.linear", nn.Linear)),
    ]
    assert list(nodes["block_linear_1"].meta["nn_module_stack"]) == ["block@1", "block.linear@1"]
    assert list(nodes["again_0_linear"].meta["nn_module_stack"]) == [
        "again",
        "again.0",
        "again.0.linear",
    ]
    assert "nn_module_stack" not in nodes["sub"].meta
    assert tracer.node_name_to_scope["block_drop"] == ("block.drop", nn.Dropout)
    assert tracer.node_name_to_scope["sub"] == ("", None)


def test_lines_of_the_program_are_recorded_if_the_tracer_wants_it():
    assert fx.symbolic_trace(Net()).graph.output_node().prev.stack_trace is None
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    nodes = {node.name: node for node in tracer.trace(Net()).nodes}
    lines = nodes["add"].stack_trace.split("\n")
    assert [line.strip() for line in lines[1::2]] == [
        "return self.again(self.block(self.block(x))) - self.mean",
        "return self.drop(self.linear(x)) + 1",
    ]
    assert lines[0].startswith(f'File "{__file__}", line ')
    assert lines[0].endswith(", in forward")


def test_a_parameter_is_read_once_and_is_a_proxy():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(tensorlab.ones(2, 3))
            self.layer = nn.Linear(3, 2)

        def forward(self, x):
            if self.weight.dim() == 2:
                x = x * self.weight.numel() + self.weight.shape[0] + self.weight.ndim
            assert self.weight.size() == self.weight.shape
            assert self.weight.nelement() == 6
            return x @ self.weight.t() + self.weight + self.layer.bias

    with pytest.raises(fx.TraceError):
        fx.symbolic_trace(Tied())
    graph = fx.Tracer(param_shapes_constant=True).trace(Tied())
    assert [node.target for node in graph.nodes if node.op == "get_attr"] == [
        "weight",
        "layer.bias",
    ]
    assert [node.args[1] for node in graph.nodes if node.name in ("mul", "add", "add_1")] == [
        6,
        2,
        2,
    ]


def test_a_buffer_is_a_proxy_only_if_the_tracer_wants_it():
    class Buffers(fx.Tracer):
        proxy_buffer_attributes = True

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", tensorlab.ones(2))

        def forward(self, x):
            return x + self.mean * 2 + self.mean

    assert [node.op for node in Buffers().trace(Twice()).nodes].count("get_attr") == 1
    plain = fx.Tracer().trace(Twice())
    assert [node.target for node in plain.nodes if node.op == "get_attr"] == [
        "_tensor_constant0",
        "mean",
    ]


def test_another_method_can_be_traced():
    tracer = fx.Tracer()
    tracer.traced_func_name = "other"
    assert [node.name for node in tracer.trace(Net()).nodes] == ["x", "mean", "add", "output"]
    tracer.traced_func_name = "missing"
    with pytest.raises(AssertionError, match="traced_func_name=missing doesn't exist in Net"):
        tracer.trace(Net())


def test_what_is_neither_a_function_nor_a_module_is_refused():
    with pytest.raises(AssertionError, match="needs a function or a Module, and was given a int"):
        fx.Tracer().trace(3)


def test_a_module_without_self_is_refused():
    class Odd(nn.Module):
        def forward(*args):
            return args[1]

    with pytest.raises(RuntimeError, match="cannot be part of \\*args expansion"):
        fx.symbolic_trace(Odd())


def test_functions_that_write_can_be_refused():
    tracer = fx.Tracer()
    tracer.check_mutable_operations = True
    with pytest.raises(
        RuntimeError, match="mutable operation %relu_ .*check_mutable_operations is True"
    ):
        tracer.trace(lambda x: tensorlab.relu_(x))
    assert len(tracer.trace(lambda x: tensorlab.relu(x)).nodes) == 3


def test_tracing_says_that_it_is_on():
    seen = []
    fx.symbolic_trace(lambda x: seen.append(is_fx_tracing()) or x)
    assert seen == [True]
    assert not is_fx_tracing()


def test_a_model_may_trace_another_one_while_it_is_traced():
    def outer(x):
        inner = fx.symbolic_trace(lambda y: counted(y, 2) + 1)
        return inner.graph.output_node().args[0].name, F.relu(x), counted(x, 1)

    graph = fx.symbolic_trace(outer).graph
    assert [node.name for node in graph.nodes] == ["x", "relu", "counted", "output"]
    assert graph.output_node().args[0][0] == "add"


class TensorPair(metaclass=fx.ProxyableClassMeta):
    def __init__(self, left, right):
        self.left, self.right = left, right

    def add(self, other):
        return TensorPair(self.left + other.left, self.right + other.right)


def test_the_making_of_an_object_is_recorded():
    kept = TensorPair(1, 2)

    def f(x, y):
        return x.add(TensorPair(y, y)).add(kept), TensorPair(3, 4).left

    traced = fx.symbolic_trace(f)
    assert [node.name for node in traced.graph.nodes] == [
        *("x", "y", "tensor_pair", "add", "_tensor_pair_constant_0", "add_1", "output")
    ]
    pair, three = traced(TensorPair(10, 20), 5)
    assert (pair.left, pair.right, three) == (16, 27, 3)


# ---------------------------------------------------------------- concrete arguments
def flagged(x, flag, name="n", nothing=None):
    return x if flag else x * 2


def test_a_concrete_argument_decides_a_branch_and_is_checked_later():
    traced = fx.symbolic_trace(flagged, concrete_args={"flag": False})
    assert [node.name for node in traced.graph.nodes] == [
        *("x", "flag_1", "eq", "_assert", "name", "nothing", "mul", "output")
    ]
    assert traced(3, False) == 6
    with pytest.raises(
        AssertionError, match="flag has been specialized to have value False but got another"
    ):
        traced(3, True)
    traced = fx.symbolic_trace(flagged, {"flag": True, "nothing": None, "name": "n"})
    assert traced(3, True, "n", None) == 3
    with pytest.raises(AssertionError, match="nothing has been specialized to have value None"):
        traced(3, True, "n", 1)
    assert (
        fx.Tracer().trace(flagged, (fx.PH, True, "n", None)).find_nodes(op="placeholder")[0].name
        == "x_1"
    )


def test_concrete_arguments_must_be_parameters():
    with pytest.raises(
        RuntimeError, match=r"concrete_args has \['z'\], and the parameters are \['x', 'flag'"
    ):
        fx.symbolic_trace(flagged, {"z": 1})
    with pytest.raises(
        RuntimeError, match="Tracing expected 4 arguments but got 1 concrete arguments"
    ):
        fx.Tracer().trace(flagged, (1,))


def test_a_concrete_value_that_cannot_be_checked_is_warned_of():
    with pytest.warns(
        UserWarning, match="Was not able to add assertion to guarantee correct input flag"
    ):
        fx.symbolic_trace(flagged, {"flag": object()})


def nested(x, scale):
    total = 0
    for value in x["a"]:
        total = total + value
    return {"sum": total * scale, "parts": (x["b"], [x["c"]])}


def test_nested_inputs_are_taken_apart_and_put_together():
    traced = fx.symbolic_trace(
        nested, concrete_args={"x": {"a": [fx.PH, fx.PH], "b": fx.PH, "c": 3}}
    )
    assert [node.name for node in traced.graph.nodes if node.op == "placeholder"] == [
        *("x_1", "x_2", "x_3", "x_4", "scale")
    ]
    assert (
        "x_1, x_2, x_3, x_4, scale, = fx_pytree.tree_flatten_spec([x, scale], self._in_spec)"
        in traced.code
    )
    assert "return pytree.tree_unflatten([mul, x_3, 3], self._out_spec)" in traced.code
    inputs = {"a": [1, 2], "b": 5, "c": 3}
    expected = {"sum": 30, "parts": (5, [3])}
    assert traced(inputs, 10) == expected == nested(inputs, 10)
    for copied in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert copied(inputs, 10) == expected
    assert fx.Interpreter(traced).run(inputs, 10) == expected
    assert fx.Transformer(traced).transform()(inputs, 10) == expected


def test_a_value_cannot_take_the_name_of_what_the_source_needs():
    class Named:
        def pytree(self):
            return 3

    traced = fx.symbolic_trace(lambda x: {"a": x[0].pytree()}, {"x": (fx.PH,)})
    assert "pytree_1 = x_1.pytree()" in traced.code
    assert traced((Named(),)) == {"a": 3}


def test_nested_inputs_of_a_module_know_self():
    class Sum(nn.Module):
        def forward(self, pair):
            return pair[0] + pair[1]

    traced = fx.symbolic_trace(Sum(), {"pair": (fx.PH, fx.PH)})
    assert traced((1, 2)) == 3

"""Graphs: making, copying and erasing nodes, names, source, printing, lint."""

import copy
import enum
import math
import operator
from typing import NamedTuple

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab import fx, nn


def small():
    """x, y; s = x + y; t = relu(s); return t."""
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    s = graph.call_function(operator.add, (x, y))
    t = graph.call_function(tensorlab.relu, (s,))
    graph.output(t)
    return graph, {node.name: node for node in graph.nodes}


def names(nodes):
    return [node.name for node in nodes]


def function_of(graph):
    """Compile the source of a graph that needs no module."""
    code = graph.python_code("self")
    scope = dict(code.globals)
    exec(code.src, scope)
    return lambda *args: scope["forward"](None, *args)


# ---------------------------------------------------------------- making nodes
def test_nodes_come_to_the_end_or_to_the_insert_point():
    graph, n = small()
    with graph.inserting_before(n["relu"]):
        graph.call_function(operator.neg, (n["add"],))
        graph.call_function(operator.pos, (n["add"],))
    with graph.inserting_after(n["x"]):
        graph.placeholder("z")
    assert names(graph.nodes) == ["x", "z", "y", "add", "neg", "pos", "relu", "output"]
    graph.placeholder("last")
    assert names(graph.nodes)[-1] == "last"
    assert len(graph.nodes) == 9
    with graph.inserting_before():
        graph.placeholder("first")
    with graph.inserting_after():
        graph.placeholder("end")
    assert names(graph.nodes)[0] == "first"
    assert names(graph.nodes)[-1] == "end"


def test_nodes_made_after_one_node_stand_in_the_order_they_were_made_in_pytorch():
    graph, n = small()
    with graph.inserting_after(n["add"]):
        graph.call_function(operator.neg, (n["add"],))
        graph.call_function(operator.pos, (n["add"],))
    assert names(graph.nodes) == ["x", "y", "add", "pos", "neg", "relu", "output"]


def test_an_insert_point_of_another_graph_is_refused():
    graph, other = fx.Graph(), fx.Graph().placeholder("x")
    for block in (graph.inserting_before, graph.inserting_after):
        with pytest.raises(AssertionError, match="x belongs to another graph"):
            block(other)


def test_names_are_unique_and_shadow_nothing():
    graph = fx.Graph()
    made = [
        graph.call_function(target, name=name).name
        for target, name in [
            (operator.add, None),
            (operator.add, None),
            (sum, None),
            (operator.add, "add_1"),
            (operator.add, "add_7"),
            (operator.add, None),
            (len, "2x"),
            (len, "a.b-c"),
            (len, "class"),
            (len, "tensorlab"),
            (len, "é"),
            (REGISTRY["mul"], None),
        ]
    ]
    assert made == [
        *("add", "add_1", "sum_1", "add_2", "add_7", "add_8", "_2x", "a_b_c", "class_1"),
        *("tensorlab_1", "_", "mul"),
    ]
    assert graph.call_method("__getitem__").name == "getitem"
    assert graph.call_module("features.0.convBN").name == "features_0_conv_bn"


def test_arguments_must_be_a_tuple_and_a_dict():
    graph = fx.Graph()
    with pytest.raises(
        AssertionError, match=r"args must be a tuple, and is \[1\]; write \(\[1\],\)"
    ):
        graph.call_function(len, [1])
    with pytest.raises(AssertionError, match="kwargs must be a dict"):
        graph.call_function(len, (), [1])


def test_get_attr_and_call_module_warn_when_the_owner_lacks_the_target():
    module = nn.Module()
    module.layer = nn.BatchNorm1d(2)
    module.number = 3
    graph = fx.Graph(module)
    graph.get_attr("layer.weight"), graph.get_attr("layer.running_mean"), graph.get_attr("layer")
    graph.call_module("layer")
    for path in ("layer.missing", "number", "missing.weight"):
        with pytest.warns(UserWarning, match=f"no parameter, buffer or submodule '{path}'"):
            graph.get_attr(path)
    with pytest.warns(UserWarning, match="no submodule 'missing'"):
        graph.call_module("missing")


# ---------------------------------------------------------------- reading
def test_nodes_are_found_by_kind_and_target():
    graph, n = small()
    with graph.inserting_before(n["add"]):
        first = graph.call_function(tensorlab.relu, (n["x"],))
    assert graph.find_nodes(op="call_function", target=tensorlab.relu) == [first, n["relu"]]
    assert graph.find_nodes(op="placeholder") == [n["x"], n["y"]]
    assert graph.find_nodes(op="placeholder", target="y") == [n["y"]]
    with pytest.raises(AssertionError, match="say which function"):
        graph.find_nodes(op="call_function")


def test_the_output_is_the_last_node():
    graph, n = small()
    assert graph.output_node() is n["output"]
    graph.placeholder("late")
    with pytest.raises(AssertionError, match="must be its output, and is %late"):
        graph.output_node()


def test_a_loop_may_erase_and_insert():
    graph, n = small()
    seen = []
    for node in graph.nodes:
        seen.append(node.name)
        if node.name == "add":
            with graph.inserting_after(node):
                new = graph.call_function(tensorlab.tanh, (n["x"],))
            node.replace_all_uses_with(new)
            graph.erase_node(node)
    assert seen == ["x", "y", "add", "tanh", "relu", "output"]
    assert names(graph.nodes) == ["x", "y", "tanh", "relu", "output"]
    assert names(reversed(graph.nodes)) == names(graph.nodes)[::-1]


# ---------------------------------------------------------------- erasing
def test_a_node_is_erased_only_when_nothing_uses_it():
    graph, n = small()
    with pytest.raises(
        RuntimeError, match=r"Tried to erase Node add but it still had 1 users .*\[relu\]"
    ):
        graph.erase_node(n["add"])
    n["relu"].replace_input_with(n["add"], n["x"])
    graph.erase_node(n["add"])
    assert names(graph.nodes) == ["x", "y", "relu", "output"]
    assert len(graph.nodes) == 4
    assert not n["y"].users
    assert names(n["x"].users) == ["relu"]
    assert n["add"].args == (None, None)
    with pytest.warns(UserWarning, match="already erased"):
        graph.erase_node(n["add"])
    assert len(graph.nodes) == 4
    assert n["y"].next is n["relu"]
    assert n["relu"].prev is n["y"]
    with pytest.raises(RuntimeError, match="from wrong graph"):
        fx.Graph().erase_node(n["add"])


def test_dead_code_of_a_broken_graph_is_not_touched():
    graph, n = small()
    n["x"].prepend(n["relu"])
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        graph.eliminate_dead_code()


def test_dead_code_goes_and_what_does_more_stays():
    graph, n = small()
    with graph.inserting_before(n["relu"]):
        a = graph.call_function(operator.neg, (n["add"],))
        graph.call_function(tensorlab.exp, (a,))
        graph.call_method("add_", (n["x"], 1))
        graph.call_function(REGISTRY["cumsum_"], (n["x"], 1))
        graph.call_function(operator.iadd, (n["x"], 1))
        graph.call_function(tensorlab.rand, (3,))
    assert graph.eliminate_dead_code() is True
    assert names(graph.nodes) == [
        "x",
        "y",
        "add",
        "add_",
        "cumsum_",
        "iadd",
        "rand",
        "relu",
        "output",
    ]
    assert graph.eliminate_dead_code() is False
    assert graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output")) is True
    assert names(graph.nodes) == ["x", "y", "add", "relu", "output"]


# ---------------------------------------------------------------- copying
def test_a_graph_is_copied_into_another_one():
    graph, n = small()
    n["add"].meta["note"] = 1
    n["relu"].type = int
    target = fx.Graph()
    x = target.placeholder("x")
    values = {n["x"]: x}
    result = target.graph_copy(graph, values)
    assert result is values[n["relu"]]
    assert names(target.nodes) == ["x", "y", "add", "relu"]
    assert values[n["add"]].args == (x, values[n["y"]])
    assert values[n["add"]].meta == {"note": 1}
    assert values[n["add"]].meta is not n["add"].meta
    assert result.type is int
    value, output = target.graph_copy(graph, {}, return_output_node=True)
    assert value.name == "relu_1"
    assert output is n["output"]
    assert target.graph_copy(fx.Graph(), {}) is None


def test_a_deep_copy_shares_no_node():
    graph, n = small()
    n["output"].type, n["output"].meta["note"] = int, 2
    graph._tracer_cls = dict
    copied = copy.deepcopy(graph)
    copied.lint()
    assert str(copied) == str(graph)
    assert copied.output_node().type is int
    assert copied.output_node().meta == {"note": 2}
    assert copied._tracer_cls is dict
    assert not set(copied.nodes) & set(graph.nodes)
    kept, again = copy.deepcopy([graph, n["add"]])
    assert again is [*kept.nodes][2]
    long = fx.Graph()
    node = long.placeholder("x")
    for _ in range(3000):
        node = long.call_function(operator.neg, (node,))
    assert len(copy.deepcopy(long).nodes) == 3001


# ---------------------------------------------------------------- source
def test_the_source_runs_and_forgets_values_after_their_last_use():
    graph, n = small()
    assert graph.python_code("self").src == (
        "\n\n\ndef forward(self, x, y):\n"
        "    add = x + y;  x = y = None\n"
        "    relu = tensorlab.relu(add);  add = None\n"
        "    return relu\n    "
    )
    result = function_of(graph)(tensorlab.tensor([-3.0, 2.0]), tensorlab.tensor([1.0, 1.0]))
    assert result.tolist() == [0, 3]


def test_every_kind_of_target_has_its_source():
    graph = fx.Graph()
    x, size = graph.placeholder("x"), graph.placeholder("input", default_value=3)
    lines = [
        graph.call_function(math.sqrt, (size,)),
        graph.call_function(REGISTRY["add"], (x, 1)),
        graph.call_function(operator.getitem, (x, (slice(None, 2), None, ...))),
        graph.call_function(operator.invert, (x,)),
        graph.call_function(operator.iadd, (x, 1)),
        graph.call_function(operator.setitem, (x, 0, 5)),
        graph.call_function(operator.truth, (x,)),
        graph.call_function(getattr, (x, "shape")),
        graph.call_function(getattr, (x, "shape", None)),
        graph.call_function(getattr, (x, "no name")),
        graph.call_function(tensorlab.nn.functional.linear, (x, x), {"bias": None}),
        graph.call_function(tensorlab.Tensor.view_as, (x, x)),
        graph.call_method("sum", (x, 0), {"dtype": tensorlab.float64}),
        graph.call_module("layers.0.norm", (x,)),
        graph.get_attr("layers.0.weight"),
        graph.call_function(sum, ([x, x], {"a": (x,), "b": float("inf")})),
        graph.call_function(dict, (tensorlab.device("cpu"), tensorlab.relu, tensorlab.device)),
        graph.call_function(dict, (tensorlab.memory_format, str.upper, 1e-5, "s")),
    ]
    graph.output((lines[0], [x]))
    code = graph.python_code("self")
    written = [line.partition(";  ")[0].strip() for line in code.src.split("\n")[4:]]
    assert written == [
        "input_1 = input",
        "sqrt = math_sqrt(input_1)",
        "add_1 = add(x, 1)",
        "getitem = x[(slice(None, 2, None), None, Ellipsis)]",
        "invert = ~x",
        "x += 1",
        "x[0] = 5",
        "truth = _operator_truth(x)",
        "getattr_1 = x.shape",
        "getattr_2 = getattr(x, 'shape', None)",
        "getattr_3 = getattr(x, 'no name')",
        "linear = tensorlab.nn.functional.linear(x, x, bias = None)",
        "view_as = tensorlab.Tensor.view_as(x, x)",
        "sum_1 = x.sum(0, dtype = tensorlab.float64)",
        'layers_0_norm = getattr(self.layers, "0").norm(x)',
        'layers_0_weight = getattr(self.layers, "0").weight',
        "sum_2 = sum([x, x], {'a': (x,), 'b': inf})",
        "dict_1 = dict(device(type='cpu'), tensorlab.relu, device)",
        "dict_2 = dict(tensorlab.memory_format, str_upper, 1e-05, 's')",
        "return (sqrt, [x])",
        "",
    ]
    assert code.src.split("\n")[3] == "def forward(self, x, input = 3):"
    for name in ("math_sqrt", "add", "_operator_truth", "str_upper"):
        assert name in code.globals
    assert code.globals["add"] is REGISTRY["add"]
    assert code.globals["math_sqrt"] is math.sqrt


class Point(NamedTuple):
    x: object
    y: object


class Color(enum.Enum):
    RED = 1


def test_tensors_named_tuples_and_enums_as_arguments_become_globals():
    kept = tensorlab.ones(2)
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(list, ((x, kept, Point(x, 1), Color.RED),)))
    code = graph.python_code("self")
    assert "list((x, tensor, tests_fx_test_graph_Point(x, 1), Color.RED))" in code.src
    assert code.globals["tensor"] is kept
    assert function_of(graph)(5) == [5, kept, Point(5, 1), Color.RED]


def test_two_functions_of_one_name_get_two_names():
    def make(number):
        def shifted(x):
            return x + number

        return shifted

    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output([graph.call_function(make(1), (x,)), graph.call_function(make(2), (x,))])
    assert function_of(graph)(1) == [2, 3]


def test_annotations_are_written():
    graph, n = small()
    n["x"].type = tensorlab.Tensor
    n["y"].type = list[int] | None
    n["relu"].type = tuple[tensorlab.Tensor, ...]
    n["output"].type = tensorlab.device
    source = graph.python_code("self").src
    assert "def forward(self, x : tensorlab.Tensor, y : list[int]|NoneType) -> device:" in source
    assert "relu : tuple[tensorlab.Tensor,...] = tensorlab.relu(add)" in source


def test_verbose_source_shows_types_shapes_and_lines():
    graph, n = small()
    n["add"].meta["val"] = tensorlab.ones(2, 3).t()
    for name in ("add", "relu"):
        n[name].stack_trace = (
            '  File "outer.py", line 1, in call\n    net(x)\n'
            '  File "net.py", line 7, in forward\n    return (x + y).relu()\n'
        )
    code = graph.python_code("self", verbose=True).src
    assert code.count("# File: net.py:7 in forward, code: return (x + y).relu()") == 1
    assert 'add: "f32[3, 2]" = x + y' in code
    wide = graph.python_code("self", verbose=True, include_stride=True, include_device=True).src
    assert 'add: "f32[3, 2][1, 3]cpu" = x + y' in wide
    n["relu"].meta.clear()
    assert (
        "# No stacktrace found for following nodes\n    relu = "
        in graph.python_code("self", verbose=True).src
    )
    assert "\033[31mf32\033[0m" in graph.python_code("self", verbose=True, colored=True).src
    assert "\033" not in code


def test_lines_can_be_changed_on_the_way():
    graph, n = small()
    with graph.on_generate_code(lambda before: lambda lines: ["# first\n", *lines]):
        with graph.on_generate_code(lambda before: lambda lines: ["# second\n", *before(lines)]):
            source = graph.python_code("self").src
            assert "# second\n    # first\n    add = x + y" in source
        assert "    # first\n" in graph.python_code("self").src
    assert "# first" not in graph.python_code("self").src
    graph.on_generate_code(lambda before: lambda lines: ["# stays\n", *lines])
    assert "# stays" in graph.python_code("self").src


def test_an_own_codegen_writes_head_and_return():
    class Doubled(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, values):\n    {', '.join(free_vars)} = values"

        def generate_output(self, output_args, *, repr_fn=repr):
            return f"return twice({repr_fn(output_args)})"

        def additional_globals(self):
            return [("twice", twice)]

        def process_inputs(self, values):
            return values

        def process_outputs(self, outputs):
            return twice(outputs)

    def twice(x):
        return x, x

    graph, _ = small()
    graph.set_codegen(Doubled())
    first, second = function_of(graph)((tensorlab.tensor(1.0), tensorlab.tensor(2.0)))
    assert first is second
    assert first.item() == 3
    assert graph.process_inputs([1, 2]) == [1, 2]
    assert graph.process_outputs(3) == (3, 3)
    assert fx.Graph().process_inputs(1, 2) == (1, 2)
    assert fx.Graph().process_outputs(3) == 3


def test_an_empty_graph_is_a_function_that_does_nothing():
    assert function_of(fx.Graph())() is None


# ---------------------------------------------------------------- printing and lint
def test_a_graph_is_printed_node_by_node():
    graph, _ = small()
    assert str(graph) == (
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y]\n"
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%x, %y), kwargs = {})\n"
        "    %relu : [num_users=1] = call_function[target=tensorlab.relu](args = (%add,), kwargs = {})\n"
        "    return relu"
    )


def test_a_graph_is_printed_as_a_table(capsys):
    graph, n = small()
    n["relu"].target = REGISTRY["relu"]
    graph.print_tabular()
    assert capsys.readouterr().out == (
        "opcode         name    target        args     kwargs\n"
        "-------------  ------  ------------  -------  ------\n"
        "placeholder    x       x             ()       {}\n"
        "placeholder    y       y             ()       {}\n"
        "call_function  add     operator.add  (x, y)   {}\n"
        "call_function  relu    relu          (add,)   {}\n"
        "output         output  output        (relu,)  {}\n"
    )


def break_order(graph, n):
    n["x"].prepend(n["relu"])
    return "Argument 'add' of Node 'relu' was used before it has been defined"


def break_ownership_of_an_argument(graph, n):
    n["relu"].args = (fx.Graph().placeholder("other"),)
    return "Argument 'other' of Node 'relu' does not belong to this Graph"


def break_ownership(graph, n):
    n["relu"].graph = fx.Graph()
    return "Node 'relu' does not belong to this Graph"


def break_a_name(graph, n):
    n["relu"].name = "add"
    return "Node redefined name add"


def break_an_op(graph, n):
    n["relu"].op = "call"
    return "Node relu had unknown opcode call"


def break_a_function(graph, n):
    graph.owning_module = nn.Module()
    n["relu"].target = "relu"
    return "target relu has type str but a Callable is expected"


def break_a_method(graph, n):
    graph.owning_module = nn.Module()
    n["relu"].op = "call_method"
    return "but a str is expected"


def break_an_attribute(graph, n):
    graph.owning_module = nn.Module()
    graph.owning_module.layer = nn.Linear(1, 1)
    n["relu"].op, n["relu"].target = "get_attr", "layer.missing"
    return "target layer.missing references nonexistent attribute missing of layer"


def break_a_module(graph, n):
    graph.owning_module = nn.Module()
    graph.owning_module.layer = nn.Linear(1, 1)
    n["relu"].op, n["relu"].target = "call_module", "layer.weight"
    return "target layer.weight weight of layer does not reference an nn.Module"


@pytest.mark.parametrize(
    "spoil",
    [
        *(break_order, break_ownership_of_an_argument, break_ownership, break_a_name, break_an_op),
        *(break_a_function, break_a_method, break_an_attribute, break_a_module),
    ],
)
def test_lint_finds_what_is_wrong(spoil):
    graph, n = small()
    graph.lint()
    message = spoil(graph, n)
    with pytest.raises((RuntimeError, ValueError), match=message):
        graph.lint()


def test_a_graph_without_a_module_may_call_any():
    graph = fx.Graph()
    graph.output(graph.call_module("a.b", (graph.placeholder("x"),)))
    graph.lint()


def test_lint_accepts_what_is_there():
    graph = fx.Graph(nn.Module())
    graph.owning_module.layer = nn.Linear(1, 1)
    node = graph.call_module("layer", (graph.get_attr("layer.weight"),))
    graph.output(graph.call_method("sum", (graph.call_function(len, (node,)),)))
    graph.lint()

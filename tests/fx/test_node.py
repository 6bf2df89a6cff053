"""Nodes: arguments, users, places in the list, what is impure, and how a node is printed."""

import operator
from collections import namedtuple

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab import fx
from tensorlab.fx.immutable_collections import immutable_dict, immutable_list
from tensorlab.fx.node import _key_between

Pair = namedtuple("Pair", "left right")


@pytest.fixture
def graph():
    """x, y = placeholders; s = x + y; p = s * x; return p."""
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    s = graph.call_function(operator.add, (x, y))
    p = graph.call_function(operator.mul, (s, x))
    graph.output(p)
    return graph


def named(graph):
    return {node.name: node for node in graph.nodes}


def names(nodes):
    return [node.name for node in nodes]


# ---------------------------------------------------------------- arguments and users
def test_a_node_knows_its_inputs_in_order_and_its_users(graph):
    n = named(graph)
    assert names(n["mul"].all_input_nodes) == ["add", "x"]
    assert names(n["x"].users) == ["add", "mul"]
    assert names(n["mul"].users) == ["output"]


def test_new_arguments_change_the_users(graph):
    n = named(graph)
    n["mul"].args = (n["y"], 2)
    assert names(n["add"].users) == []
    assert names(n["x"].users) == ["add"]
    assert names(n["y"].users) == ["add", "mul"]
    n["mul"].kwargs = {"out": n["x"]}
    assert names(n["mul"].all_input_nodes) == ["y", "x"]
    assert names(n["x"].users) == ["add", "mul"]


def test_one_argument_is_replaced_inserted_or_named(graph):
    n = named(graph)
    n["mul"].update_arg(1, n["y"])
    assert n["mul"].args == (n["add"], n["y"])
    n["mul"].insert_arg(1, 5)
    assert n["mul"].args == (n["add"], 5, n["y"])
    n["mul"].insert_arg(3, 6)
    n["mul"].insert_arg(0, 4)
    assert n["mul"].args == (4, n["add"], 5, n["y"], 6)
    n["mul"].update_kwarg("alpha", n["x"])
    assert n["mul"].kwargs == {"alpha": n["x"]}
    assert n["mul"] in n["x"].users
    n["mul"].update_kwarg("beta", 1)
    assert list(n["mul"].kwargs) == ["alpha", "beta"]
    for place in (-1, 6):
        with pytest.raises(AssertionError, match=f"insert_arg: {place} is not between 0 and 5"):
            n["mul"].insert_arg(place, 0)


def test_an_input_is_replaced_wherever_it_stands(graph):
    n = named(graph)
    n["mul"].args = ([n["x"], {"k": n["x"]}], slice(n["x"], None, n["y"]))
    n["mul"].kwargs = {"other": (n["x"],)}
    n["mul"].replace_input_with(n["x"], n["add"])
    assert n["mul"].args == ([n["add"], {"k": n["add"]}], slice(n["add"], None, n["y"]))
    assert n["mul"].kwargs == {"other": (n["add"],)}
    assert names(n["x"].users) == ["add"]
    assert names(n["add"].users) == ["mul"]


def test_all_uses_are_replaced_and_listed(graph):
    n = named(graph)
    assert names(n["x"].replace_all_uses_with(n["y"])) == ["add", "mul"]
    assert n["add"].args == (n["y"], n["y"])
    assert not n["x"].users


def test_a_callback_picks_the_users_that_change(graph):
    n = named(graph)
    changed = n["x"].replace_all_uses_with(n["y"], lambda user: user.name == "mul")
    assert names(changed) == ["mul"]
    assert names(n["x"].users) == ["add"]


def test_meta_moves_along_only_when_asked_and_only_to_a_node_without(graph):
    n = named(graph)
    n["x"].meta["val"] = 3
    n["x"].replace_all_uses_with(n["y"])
    assert n["y"].meta == {}
    n["x"].replace_all_uses_with(n["y"], propagate_meta=True)
    assert n["y"].meta == {"val": 3}
    assert n["y"].meta is not n["x"].meta
    with pytest.raises(AssertionError, match="y has meta already, \\['val'\\]"):
        n["x"].replace_all_uses_with(n["y"], propagate_meta=True)


def test_arguments_refuse_to_be_changed_in_place(graph):
    n = named(graph)
    n["mul"].args = ([1, 2], {"a": 3})
    numbers, table = n["mul"].args
    assert type(numbers) is immutable_list
    assert type(table) is immutable_dict
    changes = [
        lambda: numbers.append(1),
        lambda: numbers.__setitem__(0, 1),
        lambda: numbers.__iadd__([1]),
        numbers.pop,
        numbers.sort,
        numbers.clear,
        numbers.reverse,
        lambda: numbers.extend([1]),
        lambda: numbers.insert(0, 1),
        lambda: numbers.remove(1),
        lambda: numbers.__delitem__(0),
        lambda: numbers.__imul__(2),
        lambda: table.update(b=1),
        lambda: table.__setitem__("a", 1),
        lambda: table.__delitem__("a"),
        lambda: table.__ior__({}),
        lambda: table.setdefault("b"),
        lambda: table.pop("a"),
        table.popitem,
        table.clear,
    ]
    for change in changes:
        with pytest.raises(TypeError, match="does not support mutation.*node.args = new_args"):
            change()
    assert numbers == [1, 2]
    assert table == {"a": 3}
    assert hash(numbers) == hash(immutable_list([1, 2]))
    assert hash(table) == hash(immutable_dict(a=3))


# ---------------------------------------------------------------- nested arguments
def test_map_aggregate_keeps_the_structure():
    value = (1, [2, (3,)], {"a": 4}, slice(5, None), Pair(6, 7))
    result = fx.map_aggregate(value, lambda x: x and x * 10)
    assert result == (10, [20, (30,)], {"a": 40}, slice(50, None, None), Pair(60, 70))
    assert type(result[1]) is immutable_list
    assert type(result[2]) is immutable_dict
    assert type(result[4]) is Pair


def test_map_arg_gives_only_nodes_to_the_function(graph):
    n = named(graph)
    assert fx.map_arg((n["x"], 3, ["x"]), lambda node: node.name) == ("x", 3, ["x"])
    with pytest.raises(AssertionError, match="fn must be a function"):
        fx.map_arg((), "no function")


# ---------------------------------------------------------------- places
def test_nodes_move_before_and_after_others(graph):
    n = named(graph)
    n["x"].prepend(n["y"])
    assert names(graph.nodes) == ["y", "x", "add", "mul", "output"]
    n["add"].append(n["x"])
    assert names(graph.nodes) == ["y", "add", "x", "mul", "output"]
    assert n["add"].next is n["x"]
    assert n["x"].prev is n["add"]
    assert n["y"] < n["add"] < n["x"] < n["mul"]
    assert n["x"] > n["add"]
    assert n["x"] <= n["x"]
    assert n["x"] >= n["x"]
    assert not n["x"] < n["x"]
    assert not n["x"] > n["x"]
    assert n["y"] <= n["x"]
    assert n["x"] >= n["y"]
    assert not n["x"] <= n["y"]
    assert not n["y"] >= n["x"]


def test_a_node_cannot_move_to_another_graph_nor_before_itself(graph):
    n, other = named(graph), fx.Graph().placeholder("z")
    with pytest.raises(AssertionError, match="Attempting to move a Node into a different Graph: z"):
        n["x"].prepend(other)
    with pytest.warns(UserWarning, match="Trying to prepend a node to itself"):
        n["x"].prepend(n["x"])
    assert names(graph.nodes) == ["x", "y", "add", "mul", "output"]


def test_a_key_lies_between_its_neighbours():
    assert _key_between((), ()) == (0,)
    assert _key_between((4,), ()) == (5,)
    assert _key_between((), (4,)) == (3,)
    assert _key_between((4,), (5,)) == (4, 0)
    assert _key_between((4, 3), (5,)) == (4, 4)
    assert _key_between((4,), (4, 0)) == (4, -1)
    assert _key_between((4, 3, 9), (4, 4)) == (4, 3, 10)


# ---------------------------------------------------------------- bad nodes
def test_a_target_must_fit_the_kind():
    graph = fx.Graph()
    with pytest.raises(ValueError, match="target add has type str but a Callable is expected"):
        graph.call_function("add")
    with pytest.raises(
        ValueError, match="has type builtin_function_or_method but a str is expected"
    ):
        graph.call_method(len)
    with pytest.raises(AssertionError, match="op 'call' is none of placeholder, "):
        graph.create_node("call", "x")
    assert len(graph.nodes) == 0


# ---------------------------------------------------------------- side effects
def loud(x):
    return x


@pytest.mark.parametrize(
    "op, target, kwargs, impure",
    [
        ("placeholder", "z", {}, True),
        ("get_attr", "z", {}, False),
        ("call_function", operator.add, {}, False),
        ("call_function", operator.iadd, {}, True),
        ("call_function", operator.setitem, {}, True),
        ("call_function", tensorlab.relu, {}, False),
        ("call_function", tensorlab.relu_, {}, True),
        ("call_function", tensorlab.relu, {"inplace": True}, True),
        ("call_function", tensorlab.relu, {"inplace": False}, False),
        ("call_function", tensorlab.add, {"out": 1}, True),
        ("call_function", tensorlab.add, {"out": None}, False),
        ("call_function", tensorlab.rand, {}, True),
        ("call_function", tensorlab.bernoulli, {}, True),
        ("call_function", REGISTRY["add"], {}, False),
        ("call_function", REGISTRY["cumsum_"], {}, True),
        ("call_function", REGISTRY["uniform"], {}, True),
        ("call_function", REGISTRY["rand"], {}, True),
        ("call_function", len, {}, False),
        ("call_method", "add", {}, False),
        ("call_method", "add_", {}, True),
        ("call_method", "__add__", {}, False),
        ("call_method", "__setitem__", {}, True),
        ("output", "output", {}, True),
    ],
)
def test_what_must_stay_is_known_by_name(op, target, kwargs, impure):
    node = fx.Graph().create_node(op, target, (1,), kwargs)
    assert node.is_impure() is impure


def test_drawing_random_numbers_may_count_as_pure():
    graph = fx.Graph()
    assert not graph.call_function(tensorlab.rand, (3,)).is_impure(impure_random=False)
    dropout = tensorlab.nn.functional.dropout
    assert not graph.call_function(dropout, (1,)).is_impure(impure_random=False)
    assert graph.call_function(dropout, (1,), {"inplace": True}).is_impure(impure_random=False)
    assert not graph.call_function(REGISTRY["rand"], ()).is_impure(impure_random=False)
    assert graph.call_function(REGISTRY["uniform_"], ()).is_impure(impure_random=False)


def test_a_function_can_be_declared_to_have_a_side_effect():
    node = fx.Graph().call_function(loud, (1,))
    assert not node.is_impure()
    assert fx.has_side_effect(loud) is loud
    assert node.is_impure()
    fx.node._side_effectful_functions.remove(loud)


def test_whether_a_module_is_pure_is_asked_of_the_owner():
    graph = fx.Graph()
    node = graph.call_module("layer", (1,))
    with pytest.raises(AssertionError, match="depends on the module 'layer'"):
        node.is_impure()
    graph.owning_module = tensorlab.nn.Module()
    graph.owning_module.layer = tensorlab.nn.ReLU()
    assert node.is_impure() is False
    graph.owning_module.layer._is_impure = True
    assert node.is_impure() is True
    graph.owning_module.layer = tensorlab.nn.ReLU(inplace=True)
    assert node.is_impure() is True


# ---------------------------------------------------------------- printing
def test_a_node_is_printed_with_users_target_and_arguments(graph):
    n = named(graph)
    assert n["mul"].format_node() == (
        "%mul : [num_users=1] = call_function[target=operator.mul](args = (%add, %x), kwargs = {})"
    )
    n["mul"].args, n["mul"].kwargs = ([n["x"]], (n["x"],), (), tensorlab.relu), {"a": {"b": n["y"]}}
    assert n["mul"].format_node() == (
        "%mul : [num_users=1] = call_function[target=operator.mul]"
        "(args = ([%x], (%x,), (), tensorlab.relu), kwargs = {a: {b: %y}})"
    )
    n["x"].type, n["mul"].type = tensorlab.Tensor, int
    assert n["x"].format_node() == "%x : tensorlab.Tensor [num_users=2] = placeholder[target=x]"
    assert n["mul"].format_node().startswith("%mul : int [num_users=1] = ")
    assert n["output"].format_node() == "return mul"
    assert repr(n["mul"]) == "mul"


def test_defaults_and_attributes_are_printed():
    graph = fx.Graph()
    assert graph.placeholder("x", default_value=None).format_node() == (
        "%x : [num_users=0] = placeholder[target=x](default=None)"
    )
    assert graph.get_attr("layer.weight", type_expr=int).format_node() == (
        "%layer_weight : int [num_users=0] = get_attr[target=layer.weight]"
    )
    typed = [
        graph.call_function(abs, (1,), type_expr=int),
        graph.call_method("abs", (1,), type_expr=int),
        graph.call_module("layer", (1,), type_expr=int),
        graph.output(None, type_expr=int),
    ]
    assert [node.type for node in typed] == [int] * 4


def test_the_signature_is_collected_in_lists_that_are_not_empty(graph):
    n, parameters, result = named(graph), ["self"], [""]
    n["x"].type = n["output"].type = int
    assert n["x"].format_node(parameters) is None
    assert n["y"].format_node(parameters) is None
    assert parameters == ["self", "x: int", "y"]
    assert n["output"].format_node(parameters, result) == "return mul"
    assert result == [" -> int"]


@pytest.mark.parametrize(
    "dtype, short",
    [("float32", "f32"), ("bfloat16", "bf16"), ("int64", "i64"), ("uint8", "u8"), ("bool", "b8")],
)
def test_a_recorded_tensor_is_shown_in_short(graph, dtype, short):
    node = named(graph)["mul"]
    node.meta["val"] = tensorlab.ones(2, 3, dtype=getattr(tensorlab, dtype))
    assert node.format_node(include_tensor_metadata=True).startswith(
        f'%mul : Tensor "{short}[2, 3][3, 1]cpu"[num_users=1]'
    )
    assert node.format_node().startswith("%mul : [num_users=1]")


def test_a_node_that_is_renamed_keeps_a_name_of_its_own(graph):
    n = named(graph)
    n["add"]._rename("mul")
    assert n["add"].name == "mul_1"
    n["add"]._rename("total")
    assert n["add"].name == "total"
    assert graph.call_function(operator.add).name == "add_1"


def test_a_stack_trace_is_kept_in_meta(graph):
    node = named(graph)["add"]
    assert node.stack_trace is None
    node.stack_trace = "File ..."
    assert node.meta == {"stack_trace": "File ..."}

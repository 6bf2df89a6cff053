"""GraphModule: source that runs and that debuggers show, state, copies, files."""

import copy
import gc
import io
import linecache
import pickle
import traceback

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab import fx, nn
from tensorlab.fx.graph_module import GraphModule
from tests.fx.programs import filled, numbers


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return tensorlab.relu(self.linear(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.unused = nn.Linear(1, 1)
        self.scale = nn.Parameter(tensorlab.ones(3))
        self.register_buffer("mean", tensorlab.zeros(3))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return (x - self.mean) * self.scale


def traced():
    net = filled(tensorlab, Net())
    return net, fx.symbolic_trace(net)


# ---------------------------------------------------------------- state
def test_it_shares_the_state_of_the_root_and_has_only_what_nodes_name():
    net, module = traced()
    assert list(module.state_dict()) == [
        *("scale", "mean", "blocks.0.linear.weight", "blocks.0.linear.bias"),
        *("blocks.1.linear.weight", "blocks.1.linear.bias"),
    ]
    assert module.scale is net.scale
    assert module.get_submodule("blocks.0.linear") is net.blocks[0].linear
    assert module.get_buffer("mean") is net.mean
    assert not hasattr(module, "unused")
    assert isinstance(module, GraphModule)
    assert type(module).__name__ == "Net"
    assert type(module) is not type(traced()[1])


def test_it_is_in_the_mode_of_the_root():
    assert fx.symbolic_trace(Net().eval()).training is False
    assert fx.symbolic_trace(Net()).training is True


def test_gradients_go_through_it():
    net, module = traced()
    x = numbers(tensorlab, 2, 3)
    (module(x) ** 2).sum().backward()
    came = [p.grad.clone() for p in net.parameters() if p.grad is not None]
    net.zero_grad()
    (net(x) ** 2).sum().backward()
    assert len(came) == 5
    for one, other in zip(
        came, [p.grad for p in net.parameters() if p.grad is not None], strict=True
    ):
        assert tensorlab.allclose(one, other)


def test_a_dict_can_be_the_root():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_module("a.linear", (x,))
    graph.output(graph.call_function(tensorlab.add, (y, graph.get_attr("a.shift"))))
    linear, shift = nn.Linear(2, 2), tensorlab.ones(2)
    module = GraphModule({"a.linear": linear, "a.shift": shift}, graph, "Made")
    assert module.get_submodule("a.linear") is linear
    assert module.get_buffer("a.shift") is shift
    assert repr(module).startswith("Made(")
    assert graph.owning_module is module
    with pytest.raises(
        RuntimeError, match="target a.linear but that target was not provided in ``root``"
    ):
        GraphModule({"a.shift": shift}, graph)
    with pytest.raises(RuntimeError, match="Unsupported type int passed for root"):
        GraphModule(3, graph)


def test_an_inherited_class_is_kept():
    class Own(GraphModule):
        def twice(self, x):
            return self(x) * 2

    module = Own(nn.Module(), fx.symbolic_trace(lambda x: x + 1).graph)
    again = Own(module, copy.deepcopy(module.graph))
    assert module.twice(1) == 4
    assert again.twice(2) == 6
    assert isinstance(copy.deepcopy(module), Own)
    assert type(module).__mro__[1] is Own
    assert type(copy.copy(module)).__mro__[1] is Own


# ---------------------------------------------------------------- changing the graph
def test_a_changed_graph_runs_after_it_was_recompiled():
    module = fx.symbolic_trace(lambda x: tensorlab.relu(x))
    (node,) = module.graph.find_nodes(op="call_function", target=tensorlab.relu)
    node.target = tensorlab.neg
    x = tensorlab.tensor([-1.0])
    assert module(x).item() == 0
    written = module.recompile()
    assert module(x).item() == 1
    assert "tensorlab.neg(x)" in module.code == written.src


def test_another_graph_takes_its_place():
    module = fx.symbolic_trace(lambda x: x + 1)
    module.graph = fx.symbolic_trace(lambda x: x * 5).graph
    assert module(2) == 10
    assert module.graph.owning_module is module
    with pytest.raises(AssertionError, match="Expected a Graph instance, but got <class 'int'>"):
        module.graph = 3


def test_submodules_are_added_and_deleted_by_dotted_name():
    _, module = traced()
    layer = nn.Linear(2, 2)
    assert module.add_submodule("new.deep.layer", layer) is True
    assert module.get_submodule("new.deep.layer") is layer
    assert module.add_submodule("scale.layer", layer) is False
    assert module.delete_submodule("new.deep.layer") is True
    assert module.delete_submodule("new.deep.layer") is False
    assert module.delete_submodule("new.other.layer") is False
    assert module.delete_submodule("scale") is False
    assert hasattr(module, "scale")
    assert module.get_submodule("new.deep") is not None


def test_unused_submodules_are_deleted_and_used_ones_stay():
    _, module = traced()
    module.add_submodule("new.layer", nn.Linear(2, 2))
    module.add_submodule("blocks.2", Block())
    module.delete_all_unused_submodules()
    assert [name for name, _ in module.named_modules()] == [
        *("", "blocks", "blocks.0", "blocks.0.linear", "blocks.1", "blocks.1.linear")
    ]
    graph = fx.Graph()
    graph.output(graph.get_attr("inner.weight"))
    holder = nn.Module()
    holder.inner = nn.Linear(1, 1)
    module = GraphModule(holder, graph)
    module.add_submodule("inner.more", nn.ReLU())
    module.delete_all_unused_submodules()
    assert [name for name, _ in module.named_modules()] == ["", "inner"]


def test_what_is_inside_a_called_module_is_used():
    class Keep(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, Block)

    net = Net()
    module = GraphModule(net, Keep().trace(net))
    module.delete_all_unused_submodules()
    assert module.get_submodule("blocks.1.linear") is net.blocks[1].linear


# ---------------------------------------------------------------- source
def test_debuggers_find_the_source():
    module = fx.symbolic_trace(lambda x, y: x @ y)
    name = module.forward.__code__.co_filename
    assert name.startswith("<eval_with_key>.")
    assert name.endswith(" in <lambda>")
    assert __file__ in name
    assert "".join(linecache.getlines(name)).strip() == module.code.strip()
    linecache.checkcache()
    with pytest.raises(RuntimeError) as caught:
        module(tensorlab.ones(2, 3), tensorlab.ones(2, 3))
    text = "".join(traceback.format_exception(caught.value))
    assert "    matmul = x @ y;  x = y = None" in text
    note, pointer = caught.value.__notes__
    assert pointer == "What to do: tensorlab explain matmul"
    assert note == (
        "Call using an FX-traced Module, line 5 of the traced Module's generated forward function:\n"
        "def forward(self, x, y):\n"
        "    matmul = x @ y;  x = y = None\n"
        "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE\n"
        "    return matmul\n"
        "    "
    )


def test_an_error_below_the_generated_source_gets_no_note():
    def fail(x):
        raise ValueError("below")

    graph = fx.Graph()
    graph.output(graph.call_function(fail, (graph.placeholder("x"),)))
    with pytest.raises(ValueError, match="below") as caught:
        GraphModule(nn.Module(), graph)(1)
    assert not hasattr(caught.value, "__notes__")


def test_lines_are_forgotten_with_the_function():
    module = fx.symbolic_trace(lambda x: x + 1)
    name = module.forward.__code__.co_filename
    module.recompile()
    gc.collect()
    assert name not in linecache.cache
    assert module.forward.__code__.co_filename in linecache.cache


def test_it_is_printed_with_its_modules_and_its_source():
    _, module = traced()
    text = str(module)
    assert text.startswith("Net(\n")
    assert module.code in text
    assert text.endswith("# To see more debug info, please use `graph_module.print_readable()`")


def test_readable_source_has_types_lines_and_inner_modules(capsys):
    inner = fx.symbolic_trace(lambda x: x * 2)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) + 1

    class Keep(fx.Tracer):
        record_stack_traces = True

        def is_leaf_module(self, m, module_qualified_name):
            return True

    outer = Outer()
    module = GraphModule(outer, Keep().trace(outer), "Outer")
    for node in module.graph.nodes:
        node.meta["val"] = tensorlab.ones(2, 3)
    text = module.print_readable(include_stride=True, include_device=True)
    line = Outer.forward.__code__.co_firstlineno + 1
    assert [line.rstrip() for line in text.split("\n")] == [
        "class Outer(tensorlab.nn.Module):",
        '    def forward(self, x: "f32[2, 3][3, 1]cpu"):',
        f"        # File: {__file__}:{line} in forward, code: return self.inner(x) + 1",
        '        inner: "f32[2, 3][3, 1]cpu" = self.inner(x);  x = None',
        '        add: "f32[2, 3][3, 1]cpu" = inner + 1;  inner = None',
        "        return add",
        "",
        "    class inner(tensorlab.nn.Module):",
        "        def forward(self, x):",
        "            # No stacktrace found for following nodes",
        "            mul = x * 2;  x = None",
        "            return mul",
        "",
    ]
    assert capsys.readouterr().out == text + "\n"
    assert "\033[31mf32\033[0m" in module.print_readable(False, colored=True)
    assert "cpu" not in module.print_readable(print_output=False)
    assert capsys.readouterr().out == ""


# ---------------------------------------------------------------- copies and files
def test_a_deep_copy_shares_nothing_and_a_copy_shares_the_state():
    net, module = traced()
    module.meta["note"], module.extra = [1], [2]
    deep, shallow = copy.deepcopy(module), copy.copy(module)
    assert deep.scale is not net.scale
    assert deep.meta == {"note": [1]}
    assert deep.meta["note"] is not module.meta["note"]
    assert deep.extra == [2]
    assert shallow.scale is net.scale
    assert shallow.graph is not module.graph
    x = numbers(tensorlab, 2, 3)
    assert deep(x).tolist() == shallow(x).tolist() == module(x).tolist()
    deep.graph.find_nodes(op="call_function", target=tensorlab.relu)[0].target = tensorlab.neg
    deep.recompile()
    assert deep(x).tolist() != module(x).tolist()
    both = copy.deepcopy([module, module])
    assert both[0] is both[1]


def test_it_is_pickled_and_saved_with_graph_state_and_lines():
    class_level = fx.Tracer()
    class_level.record_stack_traces = True
    net = filled(tensorlab, Net())
    module = GraphModule(net, class_level.trace(net), "Named")
    module.graph.output_node().type = int
    module.recompile()
    x = numbers(tensorlab, 2, 3)
    file = io.BytesIO()
    tensorlab.save(module, file)
    file.seek(0)
    for loaded in (pickle.loads(pickle.dumps(module)), tensorlab.load(file, weights_only=False)):
        assert str(loaded.graph) == str(module.graph)
        assert loaded.code == module.code
        assert [node.stack_trace for node in loaded.graph.nodes] == [
            node.stack_trace for node in module.graph.nodes
        ]
        assert type(loaded).__name__ == "Named"
        assert loaded.graph._tracer_cls is fx.Tracer
        assert loaded(x).tolist() == module(x).tolist()
        assert loaded.graph.owning_module is loaded
        loaded.graph.call_function(tensorlab.relu, (loaded.graph.placeholder("x"),))
        loaded.graph.lint()


def test_a_graph_of_ops_is_pickled():
    graph = fx.Graph()
    graph.output(graph.call_function(REGISTRY["mul"], (graph.placeholder("x"), 2)))
    module = pickle.loads(pickle.dumps(GraphModule(nn.Module(), graph)))
    assert module(tensorlab.ones(2)).tolist() == [2, 2]
    assert [node.target for node in module.graph.nodes][1] is REGISTRY["mul"]
    assert copy.deepcopy(REGISTRY["mul"]) is REGISTRY["mul"]


def test_a_long_graph_is_pickled_and_copied():
    graph = fx.Graph()
    node = graph.placeholder("x")
    for _ in range(2000):
        node = graph.call_function(tensorlab.neg, (node,))
    graph.output(node)
    module = GraphModule(nn.Module(), graph)
    for copied in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert len(copied.graph.nodes) == 2002


def test_a_tracer_that_cannot_be_imported_is_left_out():
    class Local(fx.Tracer):
        pass

    module = GraphModule(nn.Module(), Local().trace(lambda x: x))
    assert module.graph._tracer_cls is Local
    assert pickle.loads(pickle.dumps(module)).graph._tracer_cls is None


def test_a_traced_module_is_traced_again():
    _, module = traced()
    again = fx.symbolic_trace(module)
    assert str(again.graph) == str(module.graph)
    assert again.scale is module.scale


def pick(x, name):
    return getattr(x, name)()


def test_only_getattr_is_written_with_a_point():
    """Other functions have names as second arguments, too."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    picked = graph.call_function(pick, (x, "neg"))
    graph.output((picked, graph.call_function(getattr, (x, "shape"))))
    module = GraphModule({}, graph)
    y = numbers(tensorlab, 3)
    negated, shape = module(y)
    assert tensorlab.equal(negated, -y)
    assert shape == y.shape
    assert "x.shape" in module.code
    assert "x.neg" not in module.code

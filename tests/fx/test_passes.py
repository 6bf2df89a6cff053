"""Passes: common subexpressions, dead code, shapes, splitting, pictures, and running several of them."""

import operator
import re
import types
import xml.etree.ElementTree as ElementTree

import pytest

import tensorlab
from tensorlab import fx, nn, viz
from tensorlab.fx.experimental.optimization import fuse, remove_dropout
from tensorlab.fx.passes.common_subexpressions import CSEPass
from tensorlab.fx.passes.dead_code import DeadCodePass
from tensorlab.fx.passes.graph_drawer import FxGraphDrawer
from tensorlab.fx.passes.infra.pass_base import PassBase, PassResult
from tensorlab.fx.passes.infra.pass_manager import PassManager
from tensorlab.fx.passes.shape_prop import ShapeProp
from tensorlab.fx.passes.split_module import split_module
from tests.fx.programs import PROGRAMS, numbers
from tests.fx.test_tracing_as_in_pytorch import assert_alike, made, plain


def names(module):
    return [node.name for node in module.graph.nodes]


# ---------------------------------------------------------------- common subexpressions
def test_functions_that_draw_numbers_are_called_as_often_as_before():
    graph = fx.Graph()
    x = graph.placeholder("x")
    draws = [graph.call_function(tensorlab.rand, (3,)) for _ in range(2)]
    powers = [graph.call_function(tensorlab.exp, (x,)) for _ in range(2)]
    graph.output((*draws, *powers))
    module = fx.GraphModule({}, graph)
    assert CSEPass()(module).modified
    assert names(module) == ["x", "rand", "rand_1", "exp", "output"]


def test_what_is_computed_twice_is_computed_once():
    def f(x, y):
        a = tensorlab.relu(x + y) * 2
        b = tensorlab.relu(x + y) * 2
        return a + b + (y + x) + x.sum(0) + x.sum(0) + x.sum(1)

    module = fx.symbolic_trace(f)
    result = CSEPass()(module)
    assert result.modified is True
    assert result.graph_module is module
    assert module.code.count("relu(") == 1
    assert names(module) == [
        *("x", "y", "add", "relu", "mul", "add_2", "add_3", "add_4", "sum_1", "add_5", "add_6"),
        *("sum_3", "add_7", "output"),
    ]
    x, y = numbers(tensorlab, 3, 3), numbers(tensorlab, 3, 3) * 2
    assert module(x, y).tolist() == f(x, y).tolist()
    assert CSEPass()(module) == (module, False)


def test_calls_that_differ_a_little_are_kept_apart():
    def f(x):
        return (
            *(x + 1, x + 1.0, x + True, x[0], x[:1], x[(0,)], x[[0]]),
            *(x.sum(dim=0), x.sum(keepdim=True), tensorlab.add(x, 1), tensorlab.add(x, other=1)),
        )

    module = fx.symbolic_trace(f)
    assert CSEPass()(module).modified is False


def test_attributes_are_read_once():
    weight = tensorlab.ones(2)
    module = fx.symbolic_trace(lambda x: x * weight + weight)
    assert CSEPass()(module).modified
    assert names(module) == ["x", "_tensor_constant0", "mul", "add", "output"]


@pytest.mark.parametrize(
    "program",
    [
        lambda x: tensorlab.bernoulli(x) + tensorlab.bernoulli(x),
        lambda x: x.bernoulli() + x.bernoulli(),
        lambda x: nn.functional.dropout(x, 0.5, True) + nn.functional.dropout(x, 0.5, True),
        lambda x: (x.sum(), x.add_(1), x.sum()),
        lambda x: (tensorlab.relu(x), tensorlab.relu_(x), tensorlab.relu(x)),
    ],
)
def test_random_numbers_and_values_written_over_are_left_alone(program):
    module = fx.symbolic_trace(program)
    before = str(module.graph)
    assert CSEPass()(module).modified is False
    assert str(module.graph) == before


def test_random_functions_of_proxies_are_left_alone():
    module = fx.symbolic_trace(
        lambda x: tensorlab.bernoulli(x) + tensorlab.bernoulli(x) + x.exp() + x.exp()
    )
    CSEPass()(module)
    assert names(module) == [
        "x",
        "bernoulli",
        "bernoulli_1",
        "add",
        "exp",
        "add_1",
        "add_2",
        "output",
    ]


def test_some_targets_can_be_kept_out():
    module = fx.symbolic_trace(lambda x: tensorlab.relu(x) + tensorlab.relu(x))
    assert CSEPass({tensorlab.relu})(module).modified is False
    assert CSEPass()(module).modified is True


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "writing_in_place"])
def test_no_program_gives_another_result_without_common_subexpressions(name):
    root, args, kwargs = made(name, tensorlab)
    module = fx.symbolic_trace(root)
    expected = plain(module(*args, **kwargs))
    size = len(module.graph.nodes)
    if CSEPass()(module).modified:
        assert len(module.graph.nodes) < size
    module.graph.lint()
    assert_alike(plain(module(*args, **kwargs)), expected)


# ---------------------------------------------------------------- dead code, several passes
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.lost = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        self.lost(x)
        return self.used(x) + 1


def test_dead_code_takes_unused_modules_along():
    module = fx.symbolic_trace(Net())
    result = DeadCodePass()(module)
    assert result == (module, True)
    assert "lost" not in module.code
    assert [name for name, _ in module.named_children()] == ["used"]
    module.add_submodule("spare", nn.ReLU())  # stays where nothing else goes
    assert DeadCodePass()(module) == (module, False)
    assert hasattr(module, "spare")


def test_a_pass_checks_before_and_after():
    seen = []

    class Checked(PassBase):
        def requires(self, graph_module):
            seen.append("before")

        def call(self, graph_module):
            seen.append("call")
            return PassResult(graph_module, True)

        def ensures(self, graph_module):
            seen.append(graph_module)

    module = fx.symbolic_trace(Net())
    assert Checked()(module).modified is True
    assert seen == ["before", "call", module]

    class InPlace(Checked):
        def call(self, graph_module):
            return None

    assert InPlace()(module) is None
    assert seen[-1] is module
    with pytest.raises(NotImplementedError, match="PassBase: has no call"):
        PassBase()(module)


def test_a_manager_runs_passes_until_nothing_changes():
    calls = []

    def negate_once(module):
        calls.append("negate")
        nodes = module.graph.find_nodes(op="call_function", target=operator.add)
        for node in nodes:
            node.target = operator.sub
        return PassResult(module, bool(nodes))

    def in_place(module):
        calls.append("in place")

    manager = PassManager([negate_once], steps=5)
    manager.add_pass(in_place)
    module, changed = manager(fx.symbolic_trace(lambda x: x + 1))
    assert changed is True
    assert module(3) == 2
    assert calls == ["negate", "in place"] * 2
    assert manager(module) == (module, False)
    calls.clear()
    assert PassManager([negate_once], steps=1)(fx.symbolic_trace(lambda x: x + 1)).modified
    assert calls == ["negate"]


def test_a_manager_notices_a_broken_graph():
    def spoil(module):
        nodes = list(module.graph.nodes)
        nodes[0].prepend(nodes[1])

    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        PassManager([spoil])(fx.symbolic_trace(lambda x: x + 1))


# ---------------------------------------------------------------- shapes
def test_shapes_are_noted_of_every_tensor():
    module = fx.symbolic_trace(lambda x, n: (x @ x.t(), x.max(1), n + 1))
    result = ShapeProp(module).propagate(tensorlab.ones(2, 3, requires_grad=True), 4)
    noted = {node.name: node.meta for node in module.graph.nodes}
    assert noted["matmul"]["tensor_meta"].shape == (2, 2)
    assert noted["matmul"]["type"] is tensorlab.Tensor
    assert noted["t"]["tensor_meta"].stride == (1, 3)
    assert noted["t"]["tensor_meta"].requires_grad
    assert noted["t"]["tensor_meta"].memory_format is None
    assert noted["x"]["tensor_meta"].memory_format is tensorlab.contiguous_format
    assert [one.dtype for one in noted["max_1"]["tensor_meta"]] == [
        tensorlab.float32,
        tensorlab.int64,
    ]
    assert "tensor_meta" not in noted["add"]
    assert noted["add"]["type"] is int
    assert result[2] == 5
    assert 'matmul: "f32[2, 2]" = x @ t' in module.print_readable(False)


def test_shapes_without_numbers():
    module = fx.symbolic_trace(lambda x: tensorlab.relu(x @ x))
    assert ShapeProp(module).propagate(tensorlab.ones(3, 3, device="meta")).device.type == "meta"


def test_pictures_of_channels_last_are_told_from_others():
    module = fx.symbolic_trace(lambda x: x)
    image = tensorlab.ones(1, 2, 3, 3).to(memory_format=tensorlab.channels_last)
    ShapeProp(module).propagate(image)
    assert module.graph.output_node().meta["tensor_meta"].memory_format is tensorlab.channels_last
    volume = tensorlab.ones(1, 2, 3, 3, 3).to(memory_format=tensorlab.channels_last_3d)
    ShapeProp(module).propagate(volume)
    assert (
        module.graph.output_node().meta["tensor_meta"].memory_format is tensorlab.channels_last_3d
    )


def test_an_error_names_the_node():
    module = fx.symbolic_trace(lambda x: x @ x)
    with pytest.raises(RuntimeError, match=r"ShapeProp error for: node=%matmul .* with meta=\{\}"):
        ShapeProp(module).propagate(tensorlab.ones(2, 3))


# ---------------------------------------------------------------- splitting
def test_parts_that_need_one_another_are_refused():
    module = fx.symbolic_trace(lambda x: ((x + 1) * 2) - 3)
    with pytest.raises(
        RuntimeError, match=r"cycle exists between partitions! None of \['submod_a', 'submod_b'\]"
    ):
        split_module(module, None, lambda node: "b" if node.name == "mul" else "a")


def test_an_order_in_which_something_is_missing_is_refused():
    module = fx.symbolic_trace(lambda x: ((x + 1).sin() * 2, (x + 2).cos()))

    def part(node):
        return 0 if node.name in ("sin", "cos", "add") else 1

    module = fx.symbolic_trace(lambda x: x.sin() + x.cos() * 2)
    parts = {"sin": 0, "cos": 1, "mul": 1, "add": 0}
    with pytest.raises(
        RuntimeError, match=r"keep_original_order: submod_0 comes before .* \[mul\]"
    ):
        split_module(module, None, lambda node: parts[node.name], keep_original_order=True)
    split = split_module(module, None, lambda node: parts[node.name])
    assert tensorlab.allclose(split(tensorlab.ones(2)), module(tensorlab.ones(2)))


def test_parts_keep_modules_mode_and_names():
    net = Net().eval()
    names_of = {}
    split = split_module(
        fx.symbolic_trace(net),
        net,
        lambda node: node.op == "call_module",
        names_of,
        partition_affix="p",
    )
    assert [name for name, _ in split.named_children()] == ["submod_p_True", "submod_p_False"]
    assert names_of == {"submod_p_True.lost": "lost", "submod_p_True.used": "used"}
    assert split.get_submodule("submod_p_True.used") is net.used
    assert not split.training
    x = numbers(tensorlab, 1, 2)
    assert split(x).tolist() == net(x).tolist()


# ---------------------------------------------------------------- experimental
def test_batch_norms_go_into_convolutions_only_where_that_is_right():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1)
            self.other, self.late = nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1)
            self.third, self.odd = nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1, track_running_stats=False)

        def forward(self, x):
            y = self.conv(x)
            z = self.late(self.other(x))
            return self.norm(y) + y + self.odd(self.third(z))

    net = Shared().eval()
    net.late.running_var.fill_(4.0)
    net.late.running_mean.fill_(1.0)
    x = numbers(tensorlab, 2, 1, 3)
    fused = fuse(net)
    assert [name for name, _ in fused.named_children()] == ["conv", "other", "norm", "third", "odd"]
    assert tensorlab.allclose(fused(x), net(x), atol=1e-6)
    assert hasattr(net, "late")
    assert fused.conv is not net.conv
    in_place = fuse(fx.symbolic_trace(net), inplace=True, no_trace=True)
    assert in_place.conv is net.conv
    assert tensorlab.allclose(in_place(x), net(x), atol=1e-6)


def test_dropouts_are_removed():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.ReLU())
    plain_net = remove_dropout(net)
    x = numbers(tensorlab, 3, 2)
    assert names(plain_net) == ["input_1", "_0", "_2", "output"]
    assert plain_net(x).tolist() == net.eval()(x).tolist()
    assert type(plain_net).__name__ == "Sequential"


# ---------------------------------------------------------------- pictures
def test_a_picture_shows_calls_values_and_shapes():
    module = fx.symbolic_trace(Net())
    ShapeProp(module).propagate(tensorlab.ones(1, 2))
    picture = FxGraphDrawer(module, "net").get_main_dot_graph()
    assert str(picture) == (
        "x: input, float32 (1, 2) -> lost, used\n"
        "lost = self.lost(x), float32 (1, 2)\n"
        "used = self.used(x), float32 (1, 2) -> add\n"
        "add = operator.add(used, 1), float32 (1, 2) -> output\n"
        "output: add"
    )
    tree = ElementTree.fromstring(picture.create_svg())
    texts = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("operator.add(used, 1)") == 1
    assert texts.count("float32 (1, 2)") >= 4
    assert tree.find("{http://www.w3.org/2000/svg}title").text == "Graph of net"


def test_a_picture_is_written(tmp_path):
    FxGraphDrawer(fx.symbolic_trace(Net()), "net").get_dot_graph().write_svg(tmp_path / "net.svg")
    assert (tmp_path / "net.svg").read_text().startswith("<svg")


def test_inner_modules_have_their_own_pictures():
    split = split_module(
        fx.symbolic_trace(lambda x: tensorlab.relu(x) + 1), None, lambda node: node.name
    )
    drawer = FxGraphDrawer(split, "parts")
    assert list(drawer.get_all_dot_graphs()) == [None, "submod_relu", "submod_add"]
    assert drawer.get_submod_dot_graph("submod_relu").title == "Graph of parts.submod_relu"
    assert str(drawer.get_dot_graph("submod_add")).startswith("relu: input -> add")
    with pytest.raises(KeyError, match="'other' is no GraphModule"):
        drawer.get_dot_graph("other")


def test_methods_keywords_attributes_and_long_calls_are_drawn():
    weight = tensorlab.ones(2)
    graph = fx.symbolic_trace(
        lambda x: (x * weight).sum(0, keepdim=True).view(*range(30)).mul(other=1)
    ).graph
    text = str(viz.program(graph))
    assert "_tensor_constant0 = self._tensor_constant0 -> mul" in text
    assert "sum_1 = mul.sum(0, keepdim=True) -> view" in text
    assert "mul_1 = view.mul(other=1) -> output" in text
    svg = viz.program(graph)._repr_svg_()
    assert "mul.sum(0, keepdim=True)" in svg
    assert ">view = " not in svg
    long = re.search(r">(sum_1.view\(0, 1, 2.*?)</text>", svg)[1]
    assert len(long) == 44
    assert long.endswith("...")


def test_arrows_cross_as_little_as_they_can():
    graph = fx.symbolic_trace(lambda a, b, c: (c + 1, b * 2, a.exp())).graph
    svg = viz.program(graph)._repr_svg_()
    places = {
        word: float(x)
        for x, word in re.findall(r'<text[^>]* x="([\d.]+)"[^>]*>([a-c]|add|mul|exp)<', svg)
    }
    assert (places["a"] < places["b"]) == (places["exp"] < places["mul"])
    assert (places["b"] < places["c"]) == (places["mul"] < places["add"])


def test_only_what_has_a_shape_and_a_type_is_said_to_be_a_tensor():
    graph = fx.symbolic_trace(lambda x: x + 1).graph
    (x, *_) = graph.nodes
    x.meta["val"] = types.SimpleNamespace(shape=(2,))
    assert str(viz.program(graph)).startswith("x: input -> add\n")
    x.meta["val"] = types.SimpleNamespace(shape=(2,), dtype=tensorlab.int8)
    assert str(viz.program(graph)).startswith("x: input, int8 (2,) -> add\n")


def test_what_cannot_be_drawn_is_refused():
    for half in ({"nodes": []}, {"python_code": None}):
        with pytest.raises(TypeError, match="was given a SimpleNamespace"):
            viz.program(types.SimpleNamespace(**half))
    with pytest.raises(TypeError, match="draws a Graph or a GraphModule, and was given a Net"):
        viz.program(Net())
    with pytest.raises(ValueError, match="draws 1 to 100 nodes, and the graph has 0"):
        viz.program(fx.Graph())
    module = fx.symbolic_trace(lambda x: x + 1)
    assert str(viz.program(module, most_nodes=3))
    with pytest.raises(ValueError, match="draws 1 to 2 nodes, and the graph has 3"):
        viz.program(module, most_nodes=2)
    with pytest.raises(ValueError, match="draws 1 to 2 nodes"):
        FxGraphDrawer(module, "x", most_nodes=2)


def test_a_convolution_that_is_called_twice_is_not_folded():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2)
            self.norm.running_mean += 3

        def forward(self, x):
            return self.conv(self.norm(self.conv(x)))

    net, x = Net().eval(), tensorlab.randn(1, 2, 4, 4)
    assert tensorlab.allclose(fuse(net)(x), net(x))

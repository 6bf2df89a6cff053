"""add_graph: nodes named by module and op, edges that are the tensors, and a module that is left as it was."""

import pytest
from tensorboard.compat.proto.types_pb2 import DataType

import tensorlab
from tensorlab import nn
from tensorlab.utils.tensorboard import SummaryWriter
from tests.utils.tensorboard.reading import events, files, read


def graph(folder, model, inputs, **options):
    """Return {name: node} of what TensorBoard reads."""
    with SummaryWriter(folder) as writer:
        writer.add_graph(model, inputs, **options)
    found = read(folder).Graph()
    assert found.versions.producer == 22
    names = [node.name for node in found.node]
    assert len(set(names)) == len(names)
    for (
        node
    ) in found.node:  # each edge begins at a node that comes before, and at an output that it has
        for one in node.input:
            name, _, output = one.removeprefix("^").partition(":")
            assert name in names[: names.index(node.name)]
            assert int(output or 0) < len(shapes(found.node[names.index(name)]))
    return {node.name: node for node in found.node}


def shapes(node):
    return [
        tuple(dim.size for dim in shape.dim) for shape in node.attr["_output_shapes"].list.shape
    ]


def edges(nodes):
    return {name: list(node.input) for name, node in nodes.items()}


class Net(nn.Module):
    """Two layers, one of them within a container, a buffer and a constant."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.body = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.register_buffer("shift", tensorlab.ones(2))
        self.unused = nn.Parameter(tensorlab.ones(1))
        self.plain = tensorlab.ones(2, dtype=tensorlab.float64)

    def forward(self, x, scale=2.0):
        y = self.body(self.first(x)) + self.shift
        return (y * self.plain) * scale


def test_a_model_in_full(tmp_path):
    nodes = graph(tmp_path, Net(), tensorlab.ones(5, 3))
    assert edges(nodes) == {
        "input/x": [],
        "Net/Linear[first]/weight": [],
        "Net/Linear[first]/bias": [],
        "Net/Linear[first]/linear": [
            *("input/x", "Net/Linear[first]/weight", "Net/Linear[first]/bias")
        ],
        "Net/Sequential[body]/ReLU[0]/relu": ["Net/Linear[first]/linear"],
        "Net/Sequential[body]/Linear[1]/weight": [],
        "Net/Sequential[body]/Linear[1]/linear": [
            *("Net/Sequential[body]/ReLU[0]/relu", "Net/Sequential[body]/Linear[1]/weight")
        ],
        "Net/shift": [],
        "Net/add": ["Net/Sequential[body]/Linear[1]/linear", "Net/shift"],
        "Net/constant": [],
        "Net/mul": ["Net/add", "Net/constant"],
        "Net/mul_1": ["Net/mul"],
        "output/output.1": ["Net/mul_1"],
    }
    kinds = {name.rpartition("/")[2]: node.op for name, node in nodes.items()}
    assert kinds == {
        "x": "IO Node",
        "output.1": "IO Node",
        "weight": "Parameter",
        "bias": "Parameter",
        "shift": "Buffer",
        "constant": "Constant",
        "linear": "linear",
        "relu": "relu",
        "add": "add",
        "mul": "mul",
        "mul_1": "mul",
    }
    assert shapes(nodes["input/x"]) == [(5, 3)]
    assert shapes(nodes["Net/Linear[first]/weight"]) == [(4, 3)]
    assert shapes(nodes["Net/Linear[first]/linear"]) == [(5, 4)]
    assert shapes(nodes["output/output.1"]) == [(5, 2)]
    dtypes = {name: DataType.Name(node.attr["dtype"].type) for name, node in nodes.items()}
    assert dtypes["Net/add"] == "DT_FLOAT"
    assert dtypes["Net/constant"] == "DT_DOUBLE"
    assert dtypes["output/output.1"] == "DT_DOUBLE"
    assert nodes["Net/mul_1"].attr["attr"].s == b"y=2.0"
    assert "attr" not in nodes["Net/add"].attr


class Written(nn.Module):
    """The function that is given, as a module without parameters."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


def test_several_outputs_of_an_op(tmp_path):
    def split(x):
        first, second = x.split(1)
        return {"a": second.max(1), "b": [first]}

    nodes = graph(tmp_path, Written(split), tensorlab.ones(2, 3))
    assert shapes(nodes["Written/split"]) == [(1, 3), (1, 3)]
    assert edges(nodes) == {
        "input/x": [],
        "Written/split": ["input/x"],
        "Written/max_dim": ["Written/split:1"],
        "output/output.1": ["Written/max_dim"],
        "output/output.2": ["Written/max_dim:1"],
        "output/output.3": ["Written/split"],
    }
    assert nodes["Written/max_dim"].attr["attr"].s == b"dim=1, keepdim=False"


def test_arguments_that_are_not_given_are_not_told(tmp_path):
    nodes = graph(tmp_path, Written(lambda x: x.softmax(-1)), tensorlab.ones(2, 3))
    assert nodes["Written/softmax"].attr["attr"].s == b"dim=-1"


def test_an_op_without_results(tmp_path):
    nodes = graph(tmp_path, Written(lambda x: (x.split([]), x + 1)), tensorlab.ones(0, 2))
    (split,) = [node for node in nodes.values() if "split" in node.op]
    assert shapes(split) == []


def test_lists_of_tensors_are_edges(tmp_path):
    nodes = graph(tmp_path, Written(lambda a, b: tensorlab.cat([b, a, b])), [tensorlab.ones(2)] * 2)
    (cat,) = [node for node in nodes.values() if node.op == "cat"]
    assert list(cat.input) == ["input/b"] * 3
    two = (tensorlab.ones(2), tensorlab.ones(3))
    nodes = graph(tmp_path / "two", Written(lambda a, b: tensorlab.cat([b, a, b])), two)
    assert list(nodes["Written/cat"].input) == ["input/b", "input/a", "input/b"]


def test_an_op_that_writes_takes_the_place_of_the_tensor(tmp_path):
    def write(x):
        y = x + 1
        z = y * 2
        y.mul_(3)
        return y + z

    nodes = graph(tmp_path, Written(write), tensorlab.ones(2))
    assert list(nodes["Written/mul"].input) == ["Written/add"]
    assert list(nodes["Written/mul_"].input) == ["Written/add"]
    assert list(nodes["Written/add_1"].input) == ["Written/mul_", "Written/mul"]


def test_a_write_into_a_view_is_a_second_edge(tmp_path):
    def write(x):
        y = x + 1
        before = y * 2
        y[0] = 5.0
        y[1] = 6.0
        return before + (y + y)

    nodes = graph(tmp_path, Written(write), tensorlab.ones(2, 3))
    writes = ["^Written/fill_", "^Written/fill__1"]
    assert list(nodes["Written/mul"].input) == ["Written/add"]
    assert list(nodes["Written/fill_"].input) == ["Written/getitem_select"]
    assert list(nodes["Written/add_1"].input) == ["Written/add", "Written/add", *writes]
    assert list(nodes["Written/add_2"].input) == ["Written/mul", "Written/add_1"]


def test_names_of_inputs(tmp_path):
    def several(x, *rest, **named):
        return x["a"] + x["b"][0] + rest[0] + rest[1][1]

    one = lambda: tensorlab.ones(1)
    inputs = ({"a": one(), "b": (one(), one())}, one(), [one(), one()])
    nodes = graph(tmp_path, Written(several), inputs)
    found = [name for name in nodes if name.startswith("input/")]
    assert found == ["input/x.a", "input/x.b.0", "input/input.2", "input/input.3.1"]
    given = {"a": one(), "b": [one()]}
    nodes = graph(tmp_path / "dict", Written(lambda d: d["a"] + d["b"][0]), given)
    assert [name for name in nodes if name.startswith("input/")] == ["input/d.a", "input/d.b.0"]


def test_names_that_are_taken_get_numbers(tmp_path):
    def several(x):
        return x.add(1).add(2).add(3)

    nodes = graph(tmp_path, Written(several), tensorlab.ones(1))
    assert [name for name in nodes if "Written" in name] == [
        *("Written/add", "Written/add_1", "Written/add_2")
    ]
    # A parameter may be called as the second call of an op would be.
    model = nn.Linear(1, 1, bias=False)
    model.register_parameter("linear", nn.Parameter(tensorlab.ones(1)))
    model.forward = lambda x: nn.functional.linear(x, model.weight) + model.linear
    nodes = graph(tmp_path / "other", model, tensorlab.ones(1, 1))
    assert [*nodes] == [
        *("input/x", "Linear/weight", "Linear/linear", "Linear/linear_1", "Linear/add"),
        "output/output.1",
    ]


def test_a_module_in_two_places(tmp_path):
    layer = nn.Linear(2, 2, bias=False)
    nodes = graph(tmp_path, nn.Sequential(layer, nn.Sequential(layer)), tensorlab.ones(1, 2))
    assert [name for name in nodes if "Linear" in name] == [
        "Sequential/Linear[0]/weight",
        "Sequential/Linear[0]/linear",
        "Sequential/Linear[0]/linear_1",
    ]


def test_a_deep_module(tmp_path):
    """The ops of a module belong to it also when its container was not called."""
    model = nn.Module()
    model.rooms = nn.ModuleDict({"a": nn.ModuleList([nn.Tanh()])})
    model.forward = lambda x: model.rooms["a"][0](x) + 1
    nodes = graph(tmp_path, model, tensorlab.ones(1))
    assert [name for name in nodes if name.startswith("Module/")] == [
        "Module/ModuleDict[rooms]/ModuleList[a]/Tanh[0]/tanh",
        "Module/add",
    ]


def test_a_module_that_fails_and_is_replaced(tmp_path):
    model = nn.Module()
    model.broken = Written(lambda x: x.tanh().reshape(7, 7))

    def either(x):
        try:
            return model.broken(x)
        except RuntimeError:
            return x.sin()

    model.forward = either
    nodes = graph(tmp_path, model, tensorlab.ones(1))
    assert [name for name in nodes if name.startswith("Module/")] == [
        "Module/Written[broken]/tanh",
        "Module/sin",
    ]


# ------------------------------------------------------------ what becomes of the module
def test_the_module_runs_in_evaluation_mode_and_is_left_as_it_was(tmp_path):
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.5))
    model[1].eval()
    seen = []
    model[2].register_forward_hook(lambda module, inputs, output: seen.append(module.training))
    before = {name: x.clone() for name, x in model.state_dict().items()}
    graph(tmp_path, model, (tensorlab.ones(3, 2),))
    assert seen == [False]
    assert [module.training for module in model.modules()] == [True, True, False, True]
    assert all(x.equal(before[name]) for name, x in model.state_dict().items())
    assert [len(module._forward_hooks) for module in model.modules()] == [0, 0, 0, 1]
    assert [len(module._forward_pre_hooks) for module in model.modules()] == [0] * 4
    assert model[0].weight.grad is None


def test_the_module_is_left_as_it_was_after_an_error(tmp_path):
    model = nn.Sequential(nn.Linear(2, 2))
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(RuntimeError):
            writer.add_graph(model, tensorlab.ones(3))
        assert model.training
        assert not model[0]._forward_hooks
        assert not model[0]._forward_pre_hooks
        writer.add_graph(model, tensorlab.ones(3, 2))
    assert [name for name in read(tmp_path).Graph().node if name.op == "linear"]


def test_a_hook_that_changes_the_output_still_does(tmp_path):
    model = nn.Sequential(nn.Tanh(), nn.Tanh())
    model[0].register_forward_hook(lambda module, inputs, output: output * 2)
    nodes = graph(tmp_path, model, tensorlab.ones(1))
    assert list(nodes["Sequential/Tanh[1]/tanh"].input) == ["Sequential/Tanh[0]/mul"]


def test_a_graph_has_no_step_and_says_when(tmp_path):
    import time

    before = time.time()
    graph(tmp_path, nn.Tanh(), tensorlab.ones(1))
    (event,) = events(tmp_path)
    assert event.step == 0
    assert before <= event.wall_time <= time.time()
    assert len(files(tmp_path)) == 1


# ------------------------------------------------------------ arguments
def test_verbose_prints_the_nodes(tmp_path, capsys):
    graph(tmp_path, nn.Linear(3, 2), tensorlab.ones(1, 3), use_strict_trace=False)
    assert capsys.readouterr().out == ""
    graph(tmp_path / "verbose", nn.Linear(3, 2), tensorlab.ones(1, 3), verbose=True)
    assert capsys.readouterr().out.splitlines() == [
        "input/input = IO Node() -> (1, 3)",
        "Linear/weight = Parameter() -> (2, 3)",
        "Linear/bias = Parameter() -> (2,)",
        "Linear/linear = linear(input/input, Linear/weight, Linear/bias) -> (1, 2)",
        "output/output.1 = IO Node(Linear/linear) -> (1, 2)",
    ]


def test_arguments_that_are_refused(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(TypeError, match="add_graph: model is a function; expected a Module"):
            writer.add_graph(lambda x: x, tensorlab.ones(1))
        with pytest.raises(TypeError, match="add_graph: input_to_model is None; expected"):
            writer.add_graph(nn.Tanh())
        with pytest.raises(
            AttributeError, match="'add_onnx_graph' yet; it is planned with chapter"
        ):
            writer.add_onnx_graph("model.onnx")
    assert events(tmp_path) == []


LAYERS = {
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2)),
        (1, 1, 8, 8),
    ),
    "recurrent": (lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True), (5, 2, 3)),
    "transformer": (lambda: nn.TransformerEncoderLayer(4, 2, 8), (5, 1, 4)),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_larger_layers(tmp_path, kind):
    make, size = LAYERS[kind]
    model = make()
    nodes = graph(tmp_path, model, tensorlab.ones(size))
    read_from = {one for node in nodes.values() for one in node.input}
    read = {name.rpartition("/")[2] for name, node in nodes.items() if node.op == "Parameter"}
    assert read == {name.rpartition(".")[2] for name, _ in model.named_parameters()}
    parameters = [name for name, node in nodes.items() if node.op == "Parameter"]
    assert len(parameters) == len(list(model.parameters()))
    assert set(parameters) <= read_from

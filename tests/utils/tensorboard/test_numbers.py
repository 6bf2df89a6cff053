"""Scalars, tensors, histograms, text, curves, meshes and hyperparameters: TensorBoard reads what was written."""

import json

import numpy as np
import pytest
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.mesh import plugin_data_pb2 as mesh_data_pb2
from tensorboard.plugins.pr_curve import plugin_data_pb2 as curve_data_pb2
from tensorboard.util.tensor_util import make_ndarray

import tensorlab
from tensorlab.errors import ShapeError
from tensorlab.utils.tensorboard import SummaryWriter
from tests.serialization.examples import DTYPES
from tests.utils.tensorboard.reading import events, read, values


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


def written(writer):
    writer.flush()
    return values(writer.log_dir)


# ------------------------------------------------------------ scalars
HALF = 1.5


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        np.float32(1.5),
        np.array([[1.5]]),
        tensorlab.tensor(1.5),
        tensorlab.tensor([[1.5]]),
        tensorlab.tensor(1.5, requires_grad=True),
        tensorlab.tensor([1.5], dtype=tensorlab.bfloat16, requires_grad=True),
        tensorlab.tensor(1.5, dtype=tensorlab.float16),
        [1.5],
        [tensorlab.tensor(1.5)],
        (tensorlab.nn.Parameter(tensorlab.tensor([1.5])),),
    ],
    ids=str,
)
def test_a_scalar_in_any_form(writer, value):
    writer.add_scalar("a b/c:d", value, 3, walltime=7.25)
    writer.flush()
    (event,) = read(writer.log_dir).Scalars("a b/c:d")
    assert (event.value, event.step, event.wall_time) == (1.5, 3, 7.25)


@pytest.mark.parametrize("name", DTYPES)
def test_a_scalar_of_each_dtype(writer, name):
    writer.add_scalar("x", tensorlab.tensor(1).to(getattr(tensorlab, name)))
    assert [one.simple_value for one in written(writer)] == [1.0]


def test_scalars_of_many_steps(writer):
    for step in range(25):
        writer.add_scalar("x", step**2, tensorlab.tensor(step))
    writer.flush()
    found = read(writer.log_dir).Scalars("x")
    assert [(one.step, one.value) for one in found] == [(step, step**2) for step in range(25)]


def test_a_scalar_without_step_and_time(writer):
    import time

    before = time.time()
    writer.add_scalar("x", float("nan"))
    writer.flush()
    (event,) = events(writer.log_dir)
    assert before <= event.wall_time <= time.time()
    assert event.step == 0
    assert np.isnan(event.summary.value[0].simple_value)


def test_the_new_style_of_scalars(writer):
    number = 1 / 3
    writer.add_scalar("single", number, new_style=True)
    writer.add_scalar("double", number, new_style=True, double_precision=True)
    writer.add_scalar("old", number, double_precision=True)
    single, double, old = written(writer)
    assert make_ndarray(single.tensor).item() == np.float32(number).item()
    assert make_ndarray(double.tensor).item() == number
    assert [one.tag for one in (single, double, old)] == ["single", "double", "old"]
    assert single.metadata.plugin_data.plugin_name == "scalars"
    assert double.metadata.plugin_data.plugin_name == "scalars"
    assert old.WhichOneof("value") == "simple_value"


@pytest.mark.parametrize("value", [[1.0, 2.0], tensorlab.ones(2), np.zeros(0)])
def test_many_numbers_are_no_scalar(writer, value):
    with pytest.raises(ValueError, match=r"add_scalar: the value has shape \(.,\); expected one"):
        writer.add_scalar("x", value)
    with pytest.raises(ValueError, match="add_scalars: the value has shape"):
        writer.add_scalars("x", {"y": value})
    assert written(writer) == []


def test_what_is_no_number(writer):
    for value in ({}, None, object()):
        with pytest.raises(NotImplementedError, match="expected a Tensor, an array, a number, or"):
            writer.add_scalar("x", value)


def test_scalars_of_one_chart(writer, tmp_path):
    for step in range(3):
        numbers = {"train": tensorlab.tensor(step / 2), "test": step}
        writer.add_scalars("a/loss", numbers, step, walltime=5.5)
    writer.add_scalars("b", {"x": 1})
    writer.add_scalar("c", 1)
    writer.flush()
    for tag, factor in (("train", 0.5), ("test", 1)):
        found = read(tmp_path / f"a_loss_{tag}").Scalars("a/loss")
        assert [(one.step, one.value, one.wall_time) for one in found] == [
            (step, step * factor, 5.5) for step in range(3)
        ]
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_dir()) == [
        *("a_loss_test", "a_loss_train", "b_x")
    ]
    assert [one.tag for one in values(tmp_path)] == ["c"]


def test_scalars_of_one_call_have_one_time(writer, tmp_path):
    writer.add_scalars("a", {"x": 1, "y": 2})
    writer.flush()
    times = [events(tmp_path / f"a_{tag}")[0].wall_time for tag in "xy"]
    assert times[0] == times[1] > 1e9


# ------------------------------------------------------------ tensors
@pytest.mark.parametrize("name", DTYPES)
def test_a_tensor_of_each_dtype(writer, name):
    x = tensorlab.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(tensorlab, name))
    writer.add_tensor("x", x, 4, 2.5)
    writer.add_tensor("transposed", x.t())
    writer.flush()
    event, other = events(writer.log_dir)
    assert (event.step, event.wall_time) == (4, 2.5)
    assert event.summary.value[0].tag == "x"
    found = make_ndarray(event.summary.value[0].tensor)
    assert found.dtype.name == ("float32" if name == "bfloat16" else name)
    assert found.tolist() == x.tolist()
    assert event.summary.value[0].metadata.plugin_data.plugin_name == "tensor"
    assert make_ndarray(other.summary.value[0].tensor).tolist() == x.t().tolist()


def test_tensors_without_dimensions_or_elements(writer):
    for x in (tensorlab.tensor(2.5, requires_grad=True), tensorlab.zeros(0, 3)):
        writer.add_tensor("x", x)
    number, empty = (make_ndarray(one.tensor) for one in written(writer))
    assert (number.shape, number.tolist()) == ((), 2.5)
    assert empty.shape == (0, 3)


# ------------------------------------------------------------ histograms
def test_a_histogram_counts_all_values(writer):
    x = tensorlab.tensor([-3.0, 0.5, 0.5, 2.0, 2.0, 2.0], requires_grad=True)
    writer.add_histogram("x", x, 2, walltime=3.5)
    writer.flush()
    (event,) = read(writer.log_dir).Histograms("x")
    found = event.histogram_value
    assert (event.step, event.wall_time) == (2, 3.5)
    assert (found.min, found.max, found.num, found.sum) == (-3, 2, 6, 4)
    assert found.sum_squares == 9 + 0.5 + 12
    counts = dict(zip(found.bucket_limit, found.bucket, strict=True))
    for value, count in ((-3, 1), (0.5, 2), (2, 3)):
        limit = min(one for one in counts if one > value)
        assert counts[limit] == count
        assert limit <= value + abs(value) * 0.11
    assert sum(counts.values()) == 6


def test_the_bins_of_a_histogram(writer):
    x = tensorlab.arange(10).to(tensorlab.bfloat16)
    writer.add_histogram("two", x, bins=2)
    writer.add_histogram("given", x, bins=[0, 1, 4, 10])
    limits = tensorlab.tensor([0, 1, 4, 10]).to(tensorlab.bfloat16).requires_grad_()
    writer.add_histogram("tensor", x, bins=limits)
    writer.add_histogram("array", x, bins=np.array([0, 1, 4, 10]))
    writer.add_histogram("at most", x, bins=[0, 1, 2, 3, 4, 5, 6, 7, 10], max_bins=4)
    writer.add_histogram("auto", x, bins="auto")
    two, given, tensor, array, most, auto = (one.histo for one in written(writer))
    assert (list(two.bucket_limit), list(two.bucket)) == ([0, 4.5, 9], [0, 5, 5])
    assert (list(given.bucket_limit), list(given.bucket)) == ([0, 1, 4, 10], [0, 1, 3, 6])
    assert tensor == array == given
    assert (list(most.bucket_limit), list(most.bucket)) == ([0, 2, 4, 6, 10], [0, 2, 2, 2, 4])
    counts, limits = np.histogram(range(10), "auto")
    assert (list(auto.bucket_limit), list(auto.bucket)) == ([*limits], [0, *counts])


def test_the_default_bins(writer):
    limits = writer.default_bins
    assert len(limits) == 1549
    assert limits == sorted(limits)
    assert limits[774] == 0
    assert limits[775] == 1e-12
    assert limits[776] == pytest.approx(1.1e-12)
    assert 1e20 / 1.1 <= limits[-1] < 1e20
    assert [-limit for limit in reversed(limits)] == limits


def test_lists_of_tensors_are_one_histogram(writer):
    writer.add_histogram("x", [tensorlab.ones(2), tensorlab.ones(2, requires_grad=True)], bins=1)
    assert [one.histo.num for one in written(writer)] == [4]


def test_a_histogram_of_nothing_is_refused(writer):
    with pytest.raises(ValueError, match="add_histogram: the values of 'x' are empty; expected"):
        writer.add_histogram("x", tensorlab.zeros(0, 2))


def test_a_histogram_that_is_counted_already(writer):
    counts, limits = tensorlab.tensor([1, 2]), tensorlab.tensor([0.5, 1.5])
    writer.add_histogram_raw("x", 0, tensorlab.tensor(1.25), 3, 2.5, 4, limits, counts, 8, 9.5)
    writer.flush()
    (event,) = read(writer.log_dir).Histograms("x")
    found = event.histogram_value
    assert (event.step, event.wall_time) == (8, 9.5)
    assert (found.min, found.max, found.num, found.sum, found.sum_squares) == (0, 1.25, 3, 2.5, 4)
    assert (list(found.bucket_limit), list(found.bucket)) == ([0.5, 1.5], [1, 2])
    with pytest.raises(ValueError, match="there are 3 limits and 2 counts"):
        writer.add_histogram_raw("x", 0, 1, 3, 2.5, 4, [0, 1, 2], [1, 2])


# ------------------------------------------------------------ text and curves
def test_text(writer):
    writer.add_text("greeting: x", "# Grüße\n\nto all", 2, 4.5)
    writer.flush()
    found = read(writer.log_dir)
    (event,) = found.Tensors("greeting: x/text_summary")
    assert (event.step, event.wall_time) == (2, 4.5)
    assert make_ndarray(event.tensor_proto).tolist() == ["# Grüße\n\nto all".encode()]
    assert found.PluginTagToContent("text").keys() == {"greeting: x/text_summary"}
    with pytest.raises(TypeError, match="add_text: the text is a int; expected a str"):
        writer.add_text("x", 3)


def test_a_curve_of_precision_and_recall(writer):
    labels = tensorlab.tensor([1, 0, 1, 1])
    predictions = tensorlab.tensor([0.0, 0.25, 0.5, 1.0], requires_grad=True)
    writer.add_pr_curve("x", labels, predictions, 3, num_thresholds=5, walltime=1.5)
    weights = tensorlab.tensor([1.0, 2.0, 3.0, 4.0], dtype=tensorlab.bfloat16, requires_grad=True)
    writer.add_pr_curve("weighted", labels, predictions, num_thresholds=5, weights=weights)
    writer.add_pr_curve("most", labels, predictions, num_thresholds=500)
    writer.add_pr_curve("default", labels, predictions)
    writer.flush()
    found = read(writer.log_dir)
    (event,) = found.Tensors("x")
    assert (event.step, event.wall_time) == (3, 1.5)
    assert make_ndarray(event.tensor_proto).tolist() == [
        [3, 2, 2, 1, 1],
        [1, 1, 0, 0, 0],
        [0, 0, 1, 1, 1],
        [0, 1, 1, 2, 2],
        pytest.approx([3 / 4, 2 / 3, 1, 1, 1]),
        pytest.approx([1, 2 / 3, 2 / 3, 1 / 3, 1 / 3]),
    ]
    weighted = make_ndarray(found.Tensors("weighted")[0].tensor_proto)
    assert weighted[:2].tolist() == [[8, 7, 7, 4, 4], [2, 2, 0, 0, 0]]
    thresholds = {
        tag: curve_data_pb2.PrCurvePluginData.FromString(content).num_thresholds
        for tag, content in found.PluginTagToContent("pr_curves").items()
    }
    assert thresholds == {"x": 5, "weighted": 5, "most": 127, "default": 127}
    with pytest.raises(ShapeError, match=r"labels have shape \(4,\) and predictions \(3,\)"):
        writer.add_pr_curve("x", labels, predictions[:3])


def test_a_curve_that_is_computed_already(writer):
    rows = [tensorlab.tensor([i, i + 0.5]) for i in range(5)]
    writer.add_pr_curve_raw("x", *rows, [7, 8], 3, num_thresholds=2, walltime=1.5)
    writer.add_pr_curve_raw("y", *rows, [7, 8])
    writer.flush()
    found = read(writer.log_dir)
    (event,) = found.Tensors("x")
    assert (event.step, event.wall_time) == (3, 1.5)
    expected = [[i, i + 0.5] for i in range(5)] + [[7, 8]]
    assert make_ndarray(event.tensor_proto).tolist() == expected
    contents = found.PluginTagToContent("pr_curves")
    assert curve_data_pb2.PrCurvePluginData.FromString(contents["x"]).num_thresholds == 2
    assert curve_data_pb2.PrCurvePluginData.FromString(contents["y"]).num_thresholds == 127
    with pytest.raises(ShapeError, match="the six rows have shapes .*expected one number for each"):
        writer.add_pr_curve_raw("x", *rows, [7, 8, 9])
    with pytest.raises(ShapeError, match="the six rows have shapes"):
        writer.add_pr_curve_raw("x", *[tensorlab.ones(2, 2)] * 6)


def layout_in(writer):
    (value,) = written(writer)
    assert value.tag == "custom_scalars__config__"
    assert value.metadata.plugin_data.plugin_name == "custom_scalars"
    return layout_pb2.Layout.FromString(make_ndarray(value.tensor).item())


def test_charts_of_several_scalars(writer):
    charts = {"lines": ["Multiline", ["a", "b"]], "band": ["Margin", ["v", "low", "high"]]}
    writer.add_custom_scalars({"group": charts})
    (category,) = layout_in(writer).category
    lines, band = category.chart
    assert (category.title, lines.title, band.title) == ("group", "lines", "band")
    assert list(lines.multiline.tag) == ["a", "b"]
    (series,) = band.margin.series
    assert (series.value, series.lower, series.upper) == ("v", "low", "high")


@pytest.mark.parametrize("options", [{}, {"category": "c", "title": "t"}])
@pytest.mark.parametrize("kind", ["multilinechart", "marginchart"])
def test_one_chart_of_several_scalars(writer, kind, options):
    getattr(writer, f"add_custom_scalars_{kind}")(["a", "b", "c"], **options)
    (category,) = layout_in(writer).category
    (chart,) = category.chart
    expected = tuple(options.values()) or ("default", "untitled")
    assert (category.title, chart.title) == expected
    assert chart.WhichOneof("content") == kind.removesuffix("chart")


def test_a_margin_chart_has_three_tags(writer):
    with pytest.raises(ValueError, match="the chart 'untitled' has 2 tags; a margin chart has 3"):
        writer.add_custom_scalars_marginchart(["a", "b"])
    assert written(writer) == []


# ------------------------------------------------------------ meshes
def test_a_mesh(writer):
    vertices = tensorlab.arange(24.0, requires_grad=True).reshape(2, 4, 3)
    colors = tensorlab.arange(24).reshape(2, 4, 3)
    faces = np.array([[[0, 1, 2], [1, 2, 3]]] * 2)
    config = {"b": 1, "a": {"c": [2]}}
    writer.add_mesh("x", vertices, colors, faces, config, 5, 6.5)
    writer.add_mesh("points", vertices)
    writer.flush()
    assert {(event.step, event.wall_time) for event in events(writer.log_dir)[:1]} == {(5, 6.5)}
    found = {one.tag: one for one in written(writer)}
    whole = {"x_VERTEX": vertices, "x_FACE": faces, "x_COLOR": colors, "points_VERTEX": vertices}
    assert list(found) == list(whole)
    kinds = {
        "VERTEX": mesh_data_pb2.MeshPluginData.VERTEX,
        "FACE": mesh_data_pb2.MeshPluginData.FACE,
        "COLOR": mesh_data_pb2.MeshPluginData.COLOR,
    }
    for tag, given in whole.items():
        name, kind = tag.split("_")
        value = found[tag]
        assert make_ndarray(value.tensor).tolist() == given.tolist()
        assert tag == mesh_metadata.get_instance_name(name, kinds[kind])
        assert value.metadata.plugin_data.plugin_name == "mesh"
        data = mesh_metadata.parse_plugin_metadata(value.metadata.plugin_data.content)
        assert (data.name, data.content_type, data.version) == (name, kinds[kind], 0)
        assert list(data.shape) == list(given.shape)
        parts = kinds.values() if name == "x" else [kinds["VERTEX"]]
        assert data.components == mesh_metadata.get_components_bitmask(parts)
        assert data.json_config == (json.dumps(config, sort_keys=True) if name == "x" else "{}")


@pytest.mark.parametrize("shape", [(4, 3), (1, 4, 2), (1, 1, 4, 3)])
def test_a_mesh_of_other_shapes_is_refused(writer, shape):
    with pytest.raises(ShapeError, match="a part of 'x' has shape .*expected .batch, number, 3."):
        writer.add_mesh("x", tensorlab.zeros(shape))


# ------------------------------------------------------------ hyperparameters
def test_hyperparameters(writer, tmp_path):
    given = {"rate": 0.5, "size": 3, "kind": "sgd", "wide": True, "no": False, "none": None}
    given |= {"decay": tensorlab.tensor([0.25], requires_grad=True), "half": np.float32(0.5)}
    domains = {"rate": [0.5, 1], "kind": ["sgd", "adam"], "wide": [True]}
    metrics = {"hparam/loss": tensorlab.tensor(1.5), "accuracy": 2}
    writer.add_hparams(given, metrics, domains, "first", 7)
    found = read(tmp_path / "first")
    for tag, value in (("hparam/loss", 1.5), ("accuracy", 2.0)):
        (event,) = found.Scalars(tag)
        assert (event.value, event.step) == (value, 7)
    contents = found.PluginTagToContent("hparams")
    data = {
        tag.removeprefix("_hparams_/"): plugin_data_pb2.HParamsPluginData.FromString(content)
        for tag, content in contents.items()
    }
    assert sorted(data) == ["experiment", "session_end_info", "session_start_info"]
    start = data["session_start_info"].session_start_info.hparams
    plain = {name: getattr(one, one.WhichOneof("kind")) for name, one in start.items()}
    expected = given | {"decay": 0.25, "half": 0.5}
    del expected["none"]
    assert plain == expected
    assert {type(plain[name]) for name in ("wide", "no")} == {bool}
    infos = {one.name: one for one in data["experiment"].experiment.hparam_infos}
    assert list(infos) == list(expected)
    number, text, truth = 3, 1, 2
    kinds = [number, number, text, truth, truth, number, number]
    assert [one.type for one in infos.values()] == kinds
    assert list(infos["rate"].domain_discrete) == [0.5, 1]
    assert list(infos["kind"].domain_discrete) == ["sgd", "adam"]
    assert list(infos["wide"].domain_discrete) == [True]
    assert not infos["size"].HasField("domain_discrete")
    assert [one.name.tag for one in data["experiment"].experiment.metric_infos] == list(metrics)
    assert data["session_end_info"].session_end_info.status == 1  # STATUS_SUCCESS
    assert {event.step for event in events(tmp_path / "first")} == {7}


def test_runs_of_hyperparameters_have_folders_of_their_own(writer, tmp_path):
    for rate in (0.1, 0.2):
        writer.add_hparams({"rate": rate}, {"loss": rate})
    folders = [one for one in tmp_path.iterdir() if one.is_dir()]
    assert len(folders) == 2
    assert all(float(one.name) > 1e9 for one in folders)
    found = sorted(read(one).Scalars("loss")[0].value for one in folders)
    assert found == pytest.approx([0.1, 0.2])
    assert {event.step for one in folders for event in events(one)} == {0}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([], {}), TypeError, "hparam_dict is a list; expected a dict"),
        (({}, 3), TypeError, "metric_dict is a int; expected a dict"),
        (({"a": {}}, {}), ValueError, "'a' is a dict; expected a number, bool, str, or a tensor"),
        (({"a": [1, 2]}, {}), ValueError, r"add_hparams: 'a': the value has shape \(2,\)"),
        (({"a": 1}, {}, {"b": [1]}), TypeError, "domain_discrete has 'b', and hparam_dict has not"),
        (
            ({"a": 1}, {}, {"a": ["x"]}),
            TypeError,
            "values for 'a' of other types than its value, 1",
        ),
        (({"a": 1}, {}, {"a": [1, True]}), TypeError, "values for 'a' of other types"),
    ],
)
def test_hyperparameters_that_are_refused(writer, tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        writer.add_hparams(*arguments)
    assert not any(one.is_dir() for one in tmp_path.iterdir())

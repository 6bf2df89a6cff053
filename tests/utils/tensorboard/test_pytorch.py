"""The same calls of PyTorch's SummaryWriter and of ours: TensorBoard reads the same."""

import numpy as np
import pytest
from tensorboard.util.tensor_util import make_ndarray

import tensorlab
from tensorlab.utils.tensorboard import SummaryWriter
from tests.oracle import require_torch
from tests.utils.tensorboard.reading import events, files, read

torch = require_torch()
theirs = pytest.importorskip("torch.utils.tensorboard")


def shown(folder):
    """Return what TensorBoard reads from a folder and those below, as text, without what says when it was written."""
    found = {}
    for place in sorted({path.parent for path in folder.rglob("*") if path.is_file()}):
        name = str(place.relative_to(folder))
        if files(place):
            found[name] = [str(event) for event in events(place)]
        for path in place.iterdir():
            is_event_file = "tfevents" in path.name
            if path.is_file() and not is_event_file and path.name != "projector_config.pbtxt":
                found[f"{name}/{path.name}"] = path.read_bytes()
    return found


def numbers(T, *size):
    """Return the same random numbers from 0 to 1, in either package."""
    x = np.random.default_rng(0).random(size, dtype=np.float32)
    return T.from_numpy(np.round(x * 64) / 64)  # so that 16 bits hold them, too


CALLS = {
    "scalars": lambda w, T: [
        w.add_scalar("a b/c", T.tensor(1 / 3), 2, 3.5),
        w.add_scalar("a", T.tensor([[0.1]], dtype=T.float64, requires_grad=True), walltime=1),
        w.add_scalar("b", T.tensor(1.5, dtype=T.bfloat16), T.tensor(4), walltime=1),
        w.add_scalar("c", float("inf"), 5, 1, new_style=True),
        w.add_scalar("d", 0.1, 6, 1, new_style=True, double_precision=True),
        w.add_scalar("e", True, np.int64(7), 1),
    ],
    "scalars of a chart": lambda w, T: [
        w.add_scalars("a/b", {"x": T.tensor(step), "y": 0.5}, step, 3.5) for step in range(3)
    ],
    "histograms": lambda w, T: [
        w.add_histogram("a b", numbers(T, 50, 3) - 0.25, 2, walltime=3.5),
        w.add_histogram("b", numbers(T, 40).to(T.bfloat16).requires_grad_(), walltime=1),
        w.add_histogram("c", T.arange(10), walltime=1, max_bins=20),
        w.add_histogram("d", numbers(T, 40).numpy(), 3, "auto", 4.5),
        w.add_histogram("e", T.zeros(3), walltime=1),
        w.add_histogram("f", T.tensor(-7), walltime=1),
        w.add_histogram("g", [1.0, 2.0] if T is tensorlab else T.tensor([1.0, 2.0]), walltime=1),
        w.add_histogram("h", numbers(T, 40), bins=7, walltime=1),
        w.add_histogram_raw("r", 0, 1, 3, 2.5, 4, [0.5, 1.5], [1, 2], 3, 4.5),
    ],
    "images": lambda w, T: [
        w.add_image("a b", numbers(T, 3, 5, 6), 2, 3.5),
        w.add_image("b", (numbers(T, 5, 6, 3) * 255).to(T.uint8), walltime=1, dataformats="HWC"),
        w.add_image("c", numbers(T, 5, 6) * 2 - 0.5, walltime=1, dataformats="HW"),
        w.add_image("d", numbers(T, 1, 5, 6).to(T.bfloat16), walltime=1),
        w.add_image("e", numbers(T, 5, 6) > 0.5, walltime=1, dataformats="WH"),
        w.add_image("f", numbers(T, 5, 6).mul(3).to(T.int64), walltime=1, dataformats="HW"),
        w.add_images("g", numbers(T, 9, 3, 4, 2).requires_grad_(), 3, 4.5),
        w.add_images("h", numbers(T, 3, 4, 2, 1), walltime=1, dataformats="NHWC"),
    ],
    "boxes": lambda w, T: [
        w.add_image_with_boxes("a", numbers(T, 3, 40, 50), BOX(T), 2, 3.5),
        w.add_image_with_boxes("b", numbers(T, 40, 50, 3), BOX(T), 2, 3.5, 1.5, "HWC", ["p", "q"]),
        w.add_image_with_boxes("c", numbers(T, 3, 40, 50), BOX(T)[:1], walltime=1, labels="p"),
    ],
    "text": lambda w, T: [w.add_text("a b", "*ü*\n", 2, 3.5)],
    "curves": lambda w, T: [
        w.add_pr_curve("a", T.arange(20) % 3 == 0, numbers(T, 20), 2, walltime=3.5),
        w.add_pr_curve("b", T.arange(20) % 2, numbers(T, 20), 2, 11, numbers(T, 20).numpy(), 1),
        w.add_pr_curve(
            "c", T.arange(6).reshape(2, 3) % 2, numbers(T, 2, 3), num_thresholds=900, walltime=1
        ),
        w.add_pr_curve_raw("d", *numbers(T, 6, 4), 3, 4, walltime=4.5),
    ],
    "meshes": lambda w, T: [
        w.add_mesh("a", numbers(T, 1, 4, 3), None, T.tensor([[[0, 1, 2]]]), {"b": 1}, 2, 3.5),
        w.add_mesh("b", numbers(T, 2, 4, 3), (numbers(T, 2, 4, 3) * 255).to(T.int32), walltime=1),
    ],
    "embeddings": lambda w, T: [
        w.add_embedding(numbers(T, 5, 3), list("abcde"), numbers(T, 5, 3, 4, 4), 7, "x/y"),
        w.add_embedding(numbers(T, 2, 3), [["a", 1], ["b", 2]], metadata_header=["n", "m"]),
    ],
    "sound": lambda w, T: [w.add_audio("a b", numbers(T, 1, 30) - 0.5, 2, 8000, 3.5)],
}
BOX = lambda T: T.tensor([[4.0, 6, 20, 30], [10, 5, 45, 35]])


@pytest.mark.parametrize("kind", CALLS)
def test_the_files_say_the_same(kind, tmp_path):
    for T, cls in ((tensorlab, SummaryWriter), (torch, theirs.SummaryWriter)):
        with cls(str(tmp_path / T.__name__)) as writer:
            CALLS[kind](writer, T)
    ours, expected = (shown(tmp_path / T.__name__) for T in (tensorlab, torch))
    assert ours.keys() == expected.keys()
    for name in expected:
        assert ours[name] == expected[name], name


def without_times(found):
    return {
        name: [text.partition("\n")[2] for text in one] if isinstance(one, list) else one
        for name, one in found.items()
    }


def test_charts_and_hyperparameters(tmp_path):
    layout = {"a": {"b": ["Multiline", ["c", "d"]], "e": ["Margin", ["f", "g", "h"]]}, "i": {}}
    given = {"rate": 0.1, "kind": "sgd", "none": None}
    domains = {"kind": ["sgd", "adam"], "rate": [0.1, 0.2]}
    for T, cls in ((tensorlab, SummaryWriter), (torch, theirs.SummaryWriter)):
        with cls(str(tmp_path / T.__name__)) as writer:
            writer.add_custom_scalars(layout)
            writer.add_custom_scalars_multilinechart(["a", "b"])
            writer.add_custom_scalars_marginchart(["a", "b", "c"], "d", "e")
            writer.add_hparams(given, {"loss": T.tensor(0.5)}, domains, "run", 3)
            writer.add_hparams({"rate": T.tensor([0.25])}, {}, run_name="other")
    ours, expected = (without_times(shown(tmp_path / T.__name__)) for T in (tensorlab, torch))
    assert ours == expected


def test_figures(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    for T, cls in ((tensorlab, SummaryWriter), (torch, theirs.SummaryWriter)):
        with cls(str(tmp_path / T.__name__)) as writer:
            for close in (False, True):
                figures = [pyplot.figure(figsize=(1, 0.5)) for _ in range(2)]
                for figure in figures:
                    figure.gca().plot([1, 2, 3])
                writer.add_figure("a", figures[0], 1, close, 2.5)
                writer.add_figure("b", figures[1:], 1, close, 2.5)
            assert len(pyplot.get_fignums()) == 2
            pyplot.close("all")
    ours, expected = (shown(tmp_path / T.__name__) for T in (tensorlab, torch))
    assert ours == expected


# Of uint8 and of the types of 16 bits, PyTorch writes what TensorBoard cannot read.
@pytest.mark.parametrize("name", ["bool", "int8", "int32", "int64", "float32", "float64"])
def test_tensors(tmp_path, name):
    for T, cls in ((tensorlab, SummaryWriter), (torch, theirs.SummaryWriter)):
        with cls(str(tmp_path / T.__name__)) as writer:
            writer.add_tensor("a", (numbers(T, 2, 3) * 100).to(getattr(T, name)), 2, 3.5)
    ours, expected = (read(tmp_path / T.__name__).Tensors("a")[0] for T in (tensorlab, torch))
    assert ours.tensor_proto.dtype == expected.tensor_proto.dtype
    assert (ours.step, ours.wall_time) == (expected.step, expected.wall_time)
    found = make_ndarray(ours.tensor_proto)
    assert found.dtype.name == name
    assert found.tolist() == make_ndarray(expected.tensor_proto).tolist()


def test_where_pytorch_writes_something_else(tmp_path):
    """The differences that docs/appendix-differences.md names."""
    for T, cls in ((tensorlab, SummaryWriter), (torch, theirs.SummaryWriter)):
        with cls(str(tmp_path / T.__name__)) as writer:
            writer.add_scalar("large", T.tensor(1e6, dtype=T.bfloat16))
            writer.add_tensor("small", T.tensor([3], dtype=T.uint8))
            writer.add_tensor("half", T.tensor([1.5], dtype=T.float16))
            writer.add_hparams({"wide": True}, {}, run_name="run")
    ours, expected = (read(tmp_path / T.__name__) for T in (tensorlab, torch))
    assert ours.Scalars("large")[0].value == tensorlab.tensor(1e6).bfloat16().item()
    assert expected.Scalars("large")[0].value == float("inf")
    for tag, given in (("small", [3]), ("half", [1.5])):
        assert make_ndarray(ours.Tensors(tag)[0].tensor_proto).tolist() == given
        try:
            found = make_ndarray(expected.Tensors(tag)[0].tensor_proto).tolist()
        except (ValueError, OverflowError):
            found = None
        assert found != given
    texts = [str(events(tmp_path / T.__name__ / "run")) for T in (tensorlab, torch)]
    assert texts[0] != texts[1]


def test_folders_and_the_purge_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = []
    for cls in (SummaryWriter, theirs.SummaryWriter):
        folder = tmp_path / cls.__module__.partition(".")[0]
        with cls(folder, purge_step=4, filename_suffix=".x") as writer:
            writer.add_scalar("a", 1, 4, 2.5)
        written.append([str(event) for event in events(folder) if event.HasField("summary")])
        assert files(folder)[0].name.endswith(".x")
        starts = [event for event in events(folder) if event.HasField("session_log")]
        assert [one.step for one in starts] == [4]
    assert written[0] == written[1]


def test_the_signatures_are_the_same():
    import inspect

    ours, expected = (
        {
            name: [(one.name, one.default) for one in inspect.signature(value).parameters.values()]
            for name, value in vars(cls).items()
            if inspect.isfunction(value)
            and (name.startswith(("add_", "__init__", "get_", "fl", "cl")))
        }
        for cls in (SummaryWriter, theirs.SummaryWriter)
    )
    assert expected.keys() - ours.keys() == {"add_onnx_graph"}
    for name in expected.keys() & ours.keys():
        assert ours[name] == expected[name], name

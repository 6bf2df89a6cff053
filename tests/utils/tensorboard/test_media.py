"""Images, figures, video, sound and embeddings: the pixels and values that are read back."""

import io
import pathlib
import sys
import wave

import numpy as np
import pytest
from google.protobuf import text_format
from PIL import Image
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

import tensorlab
from tensorlab.errors import MissingExtra, ShapeError
from tensorlab.utils.tensorboard import SummaryWriter
from tests.utils.tensorboard.reading import events, read, values


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


def opened(encoded):
    return Image.open(io.BytesIO(encoded))


def pixels_in(writer, tag="x"):
    """Return the only image of a tag, as an array (height, width, 3)."""
    writer.flush()
    (event,) = read(writer.log_dir).Images(tag)
    found = np.asarray(opened(event.encoded_image_string))
    assert found.shape[:2] == (event.height, event.width)
    return found


RED = tensorlab.tensor([[[255, 0, 1, 2]] * 2, [[0, 255, 3, 4]] * 2, [[7, 8, 9, 10]] * 2])


# ------------------------------------------------------------ images
@pytest.mark.parametrize("dataformats", ["CHW", "HWC", "WHC", "chw", "CWH"])
def test_an_image_in_any_order(writer, dataformats):
    order = ["CHW".index(letter) for letter in dataformats.upper()]
    x = RED.to(tensorlab.uint8).permute(order)
    writer.add_image("x", x, 4, 2.5, dataformats)
    assert pixels_in(writer).tolist() == RED.permute(1, 2, 0).tolist()
    (event,) = events(writer.log_dir)
    assert (event.step, event.wall_time) == (4, 2.5)


def test_the_default_order_is_channels_first(writer):
    writer.add_image("x y", RED.to(tensorlab.uint8))
    assert pixels_in(writer, "x y").tolist() == RED.permute(1, 2, 0).tolist()


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16"])
def test_numbers_from_0_to_1_are_scaled_and_clipped(writer, name):
    values = tensorlab.tensor([[[-0.5, 0.0, 0.25, 0.5, 1.0, 1.5, float("inf"), float("nan")]]])
    x = values.to(getattr(tensorlab, name)).requires_grad_()
    writer.add_image("x", x)
    assert pixels_in(writer)[..., 0].tolist() == [[0, 0, 63, 127, 255, 255, 255, 0]]


def test_integers_and_truth_values_are_from_0_to_1(writer):
    writer.add_image("x", tensorlab.tensor([[0, 1, 2, -1]]), dataformats="HW")
    writer.add_image("y", tensorlab.tensor([[False, True]]), dataformats="WH")
    assert pixels_in(writer)[..., 1].tolist() == [[0, 255, 255, 0]]
    assert pixels_in(writer, "y")[..., 2].tolist() == [[0], [255]]


def test_four_channels_stay(writer):
    x = tensorlab.arange(16).reshape(4, 2, 2).to(tensorlab.uint8)
    writer.add_image("x", x)
    assert pixels_in(writer).tolist() == x.permute(1, 2, 0).tolist()


@pytest.mark.parametrize("channels", [1, 3])
def test_a_batch_is_a_grid_of_eight_columns(writer, channels):
    x = tensorlab.arange(10 * channels * 6).reshape(10, channels, 2, 3).to(tensorlab.uint8)
    writer.add_images("x", x, 1, 2.5)
    writer.add_images("list", list(x), dataformats="NCHW")
    writer.add_images("last", x.permute(0, 2, 3, 1), dataformats="NHWC")
    found = pixels_in(writer)
    assert found.shape == (4, 24, 3)
    for number in range(16):
        row, column = divmod(number, 8)
        part = found[2 * row : 2 * row + 2, 3 * column : 3 * column + 3]
        expected = x[number].permute(1, 2, 0).expand(2, 3, 3).tolist() if number < 10 else 0
        assert (part == expected).all()
    for tag in ("list", "last"):
        assert pixels_in(writer, tag).tolist() == found.tolist()
    event = events(writer.log_dir)[0]
    assert (event.step, event.wall_time) == (1, 2.5)


@pytest.mark.parametrize(
    ("shape", "options", "error", "message"),
    [
        ((2, 3), {}, ShapeError, r"the image has shape \(2, 3\) and dataformats is 'CHW'"),
        ((2, 4, 4), {}, ShapeError, "the image has 2 channels; expected 1, 3 or 4. Its shape"),
        ((3, 4, 5), {"dataformats": "HWC"}, ShapeError, "the image has 5 channels"),
        ((3, 4, 5), {"dataformats": "CHH"}, ValueError, "dataformats is 'CHH'; expected the lett"),
        ((3, 4), {"dataformats": "CW"}, ValueError, "dataformats is 'CW'; expected the letters"),
    ],
)
def test_images_that_are_refused(writer, shape, options, error, message):
    with pytest.raises(error, match=f"^add_image: .*{message}"):
        writer.add_image("x", tensorlab.zeros(shape), **options)
    boxes = tensorlab.zeros(1, 4)
    with pytest.raises(error, match=f"^add_image_with_boxes: .*{message}"):
        writer.add_image_with_boxes("x", tensorlab.zeros(shape), boxes, **options)
    with pytest.raises(ShapeError, match="^add_images: "):
        writer.add_images("x", tensorlab.zeros(3, 4, 4))
    writer.flush()
    assert values(writer.log_dir) == []


# ------------------------------------------------------------ boxes
def test_boxes_are_drawn(writer):
    boxes = tensorlab.tensor([[4.0, 6.0, 20.0, 26.0]], requires_grad=True)
    writer.add_image_with_boxes("x", tensorlab.zeros(3, 32, 40), boxes, 3, 4.5)
    found = pixels_in(writer)
    assert found.shape == (32, 40, 3)
    red = (found == [255, 0, 0]).all(axis=2)
    assert red[6, 4:20].all()
    assert red[26, 4:20].all()
    assert red[6:26, 4].all()
    assert red[6:26, 20].all()
    assert not red[8:25, 7:18].any()
    assert not red[:4].any()
    assert (found[~red] == 0).all()
    (event,) = events(writer.log_dir)
    assert (event.step, event.wall_time) == (3, 4.5)


def test_labels_and_scale_of_boxes(writer):
    boxes = tensorlab.tensor([[4, 6, 90, 50], [10, 60, 90, 90]])
    image = tensorlab.zeros(96, 128, 3)
    writer.add_image_with_boxes("plain", image, boxes, dataformats="HWC")
    writer.add_image_with_boxes("named", image, boxes, dataformats="HWC", labels=["one", "two"])
    writer.add_image_with_boxes("single", image, boxes[:1], dataformats="HWC", labels="one")
    writer.add_image_with_boxes("large", image, boxes, rescale=2, dataformats="HWC")
    plain, named, single = (pixels_in(writer, tag) for tag in ("plain", "named", "single"))
    assert (named[..., 0] > 0).sum() > (plain[..., 0] > 0).sum() + 50
    assert (single[:55] == named[:55]).all()
    (event,) = read(writer.log_dir).Images("large")
    assert opened(event.encoded_image_string).size == (256, 192)


def test_boxes_that_are_refused(writer):
    image = tensorlab.zeros(3, 8, 8)
    for boxes in (tensorlab.zeros(4), tensorlab.zeros(2, 3)):
        with pytest.raises(ShapeError, match=r"the boxes have shape .*expected \(number, 4\)"):
            writer.add_image_with_boxes("x", image, boxes)
    with pytest.raises(ValueError, match="there are 1 labels and 2 boxes"):
        writer.add_image_with_boxes("x", image, tensorlab.zeros(2, 4), labels=["a"])


# ------------------------------------------------------------ figures
@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def drawn(pyplot, colour):
    return pyplot.figure(figsize=(0.5, 0.25), dpi=100, facecolor=colour)


def test_a_figure(writer, pyplot):
    writer.add_figure("x", drawn(pyplot, (1, 0, 0.2)), 3, walltime=4.5)
    assert pyplot.get_fignums() == []
    found = pixels_in(writer)
    assert found.shape == (25, 50, 3)
    assert (found == [255, 0, 51]).all()
    (event,) = events(writer.log_dir)
    assert (event.step, event.wall_time) == (3, 4.5)


def test_figures_in_a_grid_that_stay_open(writer, pyplot):
    figures = [drawn(pyplot, (1, 0, 0)), drawn(pyplot, (0, 1, 0))]
    writer.add_figure("x", figures, close=False)
    assert len(pyplot.get_fignums()) == 2
    found = pixels_in(writer)
    assert found.shape == (25, 100, 3)
    assert (found[:, :50] == [255, 0, 0]).all()
    assert (found[:, 50:] == [0, 255, 0]).all()


def test_a_missing_matplotlib_is_named(writer, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtra, match="add_figure: needs Matplotlib; pip install matplotlib"):
        writer.add_figure("x", object())


# ------------------------------------------------------------ video and sound
def frames_in(writer, tag="x"):
    """Return the frames of a GIF, (time, height, width, 3), and how long each is shown, in milliseconds."""
    writer.flush()
    (event,) = read(writer.log_dir).Images(tag)
    gif = opened(event.encoded_image_string)
    assert gif.format == "GIF"
    found, times = [], []
    for number in range(gif.n_frames):
        gif.seek(number)
        found.append(np.asarray(gif.convert("RGB")))
        times.append(gif.info["duration"])
    assert found[0].shape[:2] == (event.height, event.width)
    assert gif.info["loop"] == 0
    return np.stack(found), times


def test_a_video(writer):
    x = (tensorlab.arange(3 * 3 * 2 * 5) * 2).reshape(1, 3, 3, 2, 5).to(tensorlab.uint8)
    writer.add_video("x", x, 4, fps=0.1, walltime=2.5)
    found, times = frames_in(writer)
    assert found.tolist() == x[0].permute(0, 2, 3, 1).tolist()
    assert times == [10_000] * 3
    (event,) = events(writer.log_dir)
    assert (event.step, event.wall_time) == (4, 2.5)
    assert event.summary.value[0].image.colorspace == 3


def test_videos_of_numbers_of_one_channel(writer):
    x = tensorlab.tensor([0.0, 0.5, 2.0], requires_grad=True).reshape(1, 3, 1, 1, 1)
    writer.add_video("x", x.expand(1, 3, 1, 2, 2))
    found, times = frames_in(writer)
    assert found.shape == (3, 2, 2, 3)
    assert found[:, 1, 1].tolist() == [[0] * 3, [127] * 3, [255] * 3]
    assert times == [250] * 3
    assert values(writer.log_dir)[0].image.colorspace == 1


@pytest.mark.parametrize(
    ("count", "rows", "columns"),
    [(1, 1, 1), (2, 1, 2), (3, 1, 4), (4, 2, 2), (5, 2, 4), (8, 2, 4), (9, 2, 8), (16, 4, 4)],
)
def test_videos_of_a_batch_are_side_by_side(writer, count, rows, columns):
    x = tensorlab.arange(1, count + 1).reshape(count, 1, 1, 1, 1) * 10
    x = tensorlab.cat([x, x + 1], 1).expand(count, 2, 1, 2, 3).to(tensorlab.uint8)
    writer.add_video("x", x)
    found, _ = frames_in(writer)
    assert found.shape == (2, rows * 2, columns * 3, 3)
    for number in range(rows * columns):
        row, column = divmod(number, columns)
        part = found[:, 2 * row : 2 * row + 2, 3 * column : 3 * column + 3]
        shades = [10 * number + 10, 10 * number + 11] if number < count else [0, 0]
        assert [sorted(set(frame.ravel().tolist())) for frame in part] == [[one] for one in shades]


@pytest.mark.parametrize("shape", [(2, 3, 4, 4), (2, 3, 3, 4), (1, 2, 2, 4, 4)])
def test_videos_that_are_refused(writer, shape):
    with pytest.raises(ShapeError, match="the video has shape .*with 1 or 3 channels"):
        writer.add_video("x", tensorlab.zeros(shape))


def test_sound(writer):
    x = tensorlab.tensor([[0.0, 0.5, -1.0, 1.0]], requires_grad=True)
    writer.add_audio("x", x, 3, 8000, 4.5)
    writer.add_audio("y", x[0].detach().to(tensorlab.bfloat16))
    writer.flush()
    found = read(writer.log_dir)
    (event,), (other,) = found.Audio("x"), found.Audio("y")
    assert (event.step, event.wall_time) == (3, 4.5)
    assert (event.sample_rate, event.length_frames) == (8000, 4)
    assert event.content_type == "audio/wav"
    assert other.sample_rate == 44100
    for one in (event, other):
        with wave.open(io.BytesIO(one.encoded_audio_string)) as file:
            assert file.getparams()[:4] == (1, 2, one.sample_rate, 4)
            samples = np.frombuffer(file.readframes(4), "<i2").tolist()
        assert samples == [0, 16383, -32767, 32767]
    assert values(writer.log_dir)[0].audio.num_channels == 1


def test_sound_that_is_too_loud_is_clipped(writer):
    with pytest.warns(UserWarning, match="add_audio: values beyond -1 and 1 are clipped") as seen:
        writer.add_audio("x", [0.25, -1.5, 1.25])
    assert len(seen) == 1
    writer.flush()
    (event,) = read(writer.log_dir).Audio("x")
    with wave.open(io.BytesIO(event.encoded_audio_string)) as file:
        assert np.frombuffer(file.readframes(3), "<i2").tolist() == [8191, -32767, 32767]
    with pytest.raises(ShapeError, match=r"the sound has shape \(2, 3\); expected \(1, length\)"):
        writer.add_audio("x", tensorlab.zeros(2, 3))


# ------------------------------------------------------------ embeddings
def config_in(folder):
    text = pathlib.Path(folder, "projector_config.pbtxt").read_text(encoding="utf-8")
    return text_format.Parse(text, ProjectorConfig()).embeddings


def test_points_alone(writer, tmp_path):
    writer.add_embedding(tensorlab.tensor([[0.5, 1], [2, 3]], requires_grad=True))
    (entry,) = config_in(tmp_path)
    assert entry.tensor_name == "default:00000"
    assert entry.tensor_path == "00000/default/tensors.tsv"
    assert (entry.metadata_path, entry.HasField("sprite")) == ("", False)
    assert (tmp_path / entry.tensor_path).read_bytes() == b"0.5\t1.0\n2.0\t3.0\n"
    assert [one.name for one in (tmp_path / "00000/default").iterdir()] == ["tensors.tsv"]


def test_points_with_labels_and_pictures(writer, tmp_path):
    pictures = (tensorlab.arange(5 * 3 * 2 * 2) * 4).reshape(5, 3, 2, 2).to(tensorlab.uint8)
    labels = ["a", 2, "ü", None, 0.5]
    points = tensorlab.arange(10).reshape(5, 2).to(tensorlab.bfloat16)
    writer.add_embedding(points, labels, pictures, tensorlab.tensor(12), 'a/b%c\\d"')
    (entry,) = config_in(tmp_path)
    assert entry.tensor_name == 'a/b%c\\d":00012'
    folder = '00012/a%2fb%25c%5cd"'
    assert entry.tensor_path == f"{folder}/tensors.tsv"
    assert entry.metadata_path == f"{folder}/metadata.tsv"
    assert entry.sprite.image_path == f"{folder}/sprite.png"
    assert list(entry.sprite.single_image_dim) == [2, 2]
    assert (tmp_path / entry.metadata_path).read_bytes() == "a\n2\nü\nNone\n0.5\n".encode()
    sprite = np.asarray(Image.open(tmp_path / entry.sprite.image_path))
    assert sprite.shape == (6, 6, 3)
    for number in range(9):
        row, column = divmod(number, 3)
        part = sprite[2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
        expected = pictures[number].permute(1, 2, 0).tolist() if number < 5 else 0
        assert (part == expected).all()


def test_pictures_of_one_channel_and_no_square(writer, tmp_path):
    pictures = tensorlab.linspace(0, 1, 24).reshape(4, 1, 2, 3)
    writer.add_embedding(tensorlab.zeros(4, 2), label_img=pictures, global_step=1)
    (entry,) = config_in(tmp_path)
    assert list(entry.sprite.single_image_dim) == [3, 2]
    sprite = np.asarray(Image.open(tmp_path / entry.sprite.image_path))
    assert sprite.shape == (4, 6, 3)
    assert sprite[2, 3].tolist() == [int(18 / 23 * 255)] * 3


def test_metadata_of_several_columns(writer, tmp_path):
    rows = [["a", 1], ["b", 2]]
    writer.add_embedding(tensorlab.zeros(2, 2), rows, metadata_header=["name", "number"])
    path = tmp_path / config_in(tmp_path)[0].metadata_path
    assert path.read_text() == "name\tnumber\na\t1\nb\t2\n"


def test_several_embeddings_of_one_writer(writer, tmp_path):
    for step in (0, 1, 0):
        writer.add_embedding(tensorlab.full((1, 1), step + 0.5), global_step=step)
    writer.add_embedding(tensorlab.zeros(1, 1), tag="other")
    assert [one.tensor_name for one in config_in(tmp_path)] == [
        *("default:00000", "default:00001", "other:00000")
    ]
    writer.close()
    with SummaryWriter(tmp_path) as other:
        other.add_embedding(tensorlab.zeros(1, 1), tag="new")
    assert [one.tensor_name for one in config_in(tmp_path)] == ["new:00000"]


def test_a_header_counts_only_with_metadata(writer, tmp_path):
    writer.add_embedding(tensorlab.zeros(1, 2), metadata_header=["a", "b"])
    assert config_in(tmp_path)[0].metadata_path == ""
    with pytest.raises(ValueError, match="has 1 names, and the first entry of metadata 2 values"):
        writer.add_embedding(tensorlab.zeros(1, 2), [[1, 2]], metadata_header=["a"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mat": tensorlab.zeros(2)}, ShapeError, r"mat has shape \(2,\); expected \(number of"),
        ({"metadata": ["a"]}, ValueError, "there are 1 entries of metadata and 2 points"),
        (
            {"metadata": [[1], [2]], "metadata_header": ["a", "b"]},
            ValueError,
            "metadata_header has 2 names, and the first entry of metadata 1 values",
        ),
        ({"label_img": tensorlab.zeros(2, 3, 4)}, ShapeError, "label_img has shape"),
        ({"label_img": tensorlab.zeros(2, 2, 4, 4)}, ShapeError, "with 1 or 3 channels"),
        ({"label_img": tensorlab.zeros(3, 1, 4, 4)}, ValueError, "there are 3 images and 2 points"),
    ],
)
def test_embeddings_that_are_refused_leave_nothing(writer, tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        writer.add_embedding(**{"mat": tensorlab.zeros(2, 2), **options})
    assert not any(one.is_dir() for one in tmp_path.iterdir())
    assert not (tmp_path / "projector_config.pbtxt").exists()

"""Summaries of what is seen and heard: images, boxes on them, figures, video, sound."""

import io
import warnings
import wave

import numpy as np

from ...errors import MissingExtra, ShapeError
from .arrays import as_array
from .protos import Summary, filled, tensorboardX
from .summaries import called

__all__ = ["audio", "figure_pixels", "image", "image_with_boxes", "video"]


def pixels(array):
    """Return bytes: integers of 8 bits as they are, anything else from 0 to 1; what lies outside is clipped."""
    if array.dtype == np.uint8:
        return array
    scaled = np.nan_to_num(array.astype(np.float32) * 255)
    return scaled.clip(0, 255).astype(np.uint8)


def as_rows(value, dataformats, what):
    """Return an image as an array (height, width, channels) of bytes; a batch is laid out as a grid."""
    array = as_array(value)
    if sorted(dataformats.upper()) not in (["H", "W"], sorted("CHW"), sorted("NCHW")):
        raise ValueError(
            f"{what}: dataformats is {dataformats!r}; expected the letters HW, CHW or NCHW in the order of the"
            " dimensions"
        )
    if array.ndim != len(dataformats):
        raise ShapeError(
            f"{what}: the image has shape {array.shape} and dataformats is {dataformats!r}; expected a letter for"
            " each dimension"
        )
    channels = array.shape[dataformats.upper().find("C")] if "C" in dataformats.upper() else 1
    if channels not in (1, 3, 4):
        raise ShapeError(
            f"{what}: the image has {channels} channels; expected 1, 3 or 4. Its shape is {array.shape}, and"
            f" dataformats is {dataformats!r}"
        )
    return pixels(tensorboardX.utils.convert_to_HWC(array, dataformats))


def image(tag, value, dataformats, what="add_image"):
    rows = as_rows(value, dataformats, what)
    return called(tag, filled.image(tag, rows, dataformats="HWC"))


def image_with_boxes(tag, value, boxes, rescale=1, dataformats="CHW", labels=None):
    rows, boxes = as_rows(value, dataformats, "add_image_with_boxes"), as_array(boxes)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ShapeError(
            f"add_image_with_boxes: the boxes have shape {boxes.shape}; expected (number, 4), each box as left, top,"
            " right, bottom"
        )
    labels = [labels] if isinstance(labels, str) else labels
    if labels is not None and len(labels) != len(boxes):
        raise ValueError(
            f"add_image_with_boxes: there are {len(labels)} labels and {len(boxes)} boxes; expected as many"
        )
    return called(tag, filled.image_boxes(tag, rows, boxes, rescale, "HWC", labels))


def figure_pixels(figure, close=True):
    """Return a figure of Matplotlib, or a list of them, as (channels, height, width), and its dataformats."""
    try:
        import matplotlib.pyplot  # noqa: F401 - tensorboardX needs it
    except ImportError as error:
        raise MissingExtra("add_figure: needs Matplotlib; pip install matplotlib") from error
    found = tensorboardX.utils.figure_to_image(figure, close)
    return found, "NCHW" if isinstance(figure, list) else "CHW"


# ---------------------------------------------------------------- video and sound
def video(tag, value, fps=4):
    """A batch of films (batch, time, channels, height, width), laid out as a grid, as an animated GIF."""
    from PIL import Image

    array = as_array(value)
    if array.ndim != 5 or array.shape[2] not in (1, 3):
        raise ShapeError(
            f"add_video: the video has shape {array.shape}; expected (batch, time, channels, height, width), with 1 or"
            " 3 channels"
        )
    frames = side_by_side(pixels(array))
    drawn = [Image.fromarray(one) for one in frames]
    file = io.BytesIO()
    options = {"duration": 1000 / fps, "loop": 0}  # 0: without an end
    drawn[0].save(file, "GIF", save_all=True, append_images=drawn[1:], **options)
    height, width = frames.shape[1:3]
    made = Summary.Image(
        height=height,
        width=width,
        colorspace=array.shape[2],
        encoded_image_string=file.getvalue(),
    )
    return Summary(value=[Summary.Value(tag=tag, image=made)])


def side_by_side(films):
    """Return frames, each with a grid of all films whose sides are powers of 2; one channel has no dimension."""
    count, time, channels, height, width = films.shape
    rows = 2 ** ((count.bit_length() - 1) // 2)
    columns = 2 ** (count - 1).bit_length() // rows
    grid = np.zeros((rows * columns, time, channels, height, width), np.uint8)
    grid[:count] = films
    grid = grid.reshape(rows, columns, time, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    grid = grid.reshape(time, rows * height, columns * width, channels)
    return grid[..., 0] if channels == 1 else grid


def audio(tag, value, sample_rate=44100):
    """One channel, as a WAV file of 16 bits; values lie from -1 to 1."""
    array = as_array(value).squeeze()
    if array.ndim != 1:
        raise ShapeError(f"add_audio: the sound has shape {array.shape}; expected (1, length)")
    if np.abs(array).max() > 1:
        warnings.warn("add_audio: values beyond -1 and 1 are clipped; scale them", stacklevel=3)
    samples = (array.clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.writeframes(samples.tobytes())
    made = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=made)])

"""Images: a tensor of pixels as a PNG, in a notebook or as a file."""

import struct
import zlib
from pathlib import Path

from ..errors import ShapeError

__all__ = ["Image", "image"]


class Image:
    """Pixels that a notebook shows as an image; `image` makes one.

    Parameters
    ----------
    pixels : Tensor of uint8, shape (height, width) or (height, width, 3)

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.viz.image(tensorlab.eye(2))._repr_png_()[:4]
    b'\x89PNG'
    """

    def __init__(self, pixels):
        self.pixels = pixels

    def __repr__(self):
        height, width = self.pixels.shape[:2]
        return f"<image of {width} x {height} pixels>"

    def _repr_png_(self):
        """Return the bytes of a PNG file (W3C Portable Network Graphics, 3rd edition)."""
        height, width = self.pixels.shape[:2]
        kind = 2 if self.pixels.dim() == 3 else 0  # color, or shades of gray
        lines = self.pixels.reshape(height, -1).contiguous().numpy()
        raw = b"".join(b"\0" + line.tobytes() for line in lines)  # 0: lines as they are
        header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
        parts = (b"IHDR", header), (b"IDAT", zlib.compress(raw)), (b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
            for name, data in parts
        )

    def save(self, path):
        """Write a PNG file."""
        Path(path).write_bytes(self._repr_png_())


def image(x, *, scale=1, low=None, high=None):
    """Return a tensor as an image, which a notebook shows.

    Parameters
    ----------
    x : Tensor, shape (height, width), (1, height, width) or (3, height, width), or a batch of
        these, (n, channels, height, width), whose images stand side by side
    scale : int, how many pixels of the screen a pixel takes, in each direction
    low, high : float, optional: what is black and what is white. By default a uint8 tensor goes
        from 0 to 255, and any other one from its least to its greatest element

    Returns
    -------
    Image

    Raises
    ------
    ShapeError
        If `x` has another shape.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import viz
    >>> viz.image(tensorlab.eye(8), scale=10)
    <image of 80 x 80 pixels>
    """
    pixels = x.detach()
    if pixels.dim() == 2:
        pixels = pixels[None]
    if pixels.dim() == 4:
        pixels = pixels.permute(1, 2, 0, 3).flatten(2)
    if pixels.dim() != 3 or pixels.shape[0] not in (1, 3) or pixels.numel() == 0:
        raise ShapeError(
            f"image: x has shape {tuple(x.shape)}; expected (height, width), or 1 or 3 channels before "
            "them, or a batch of such images"
        )
    is_bytes = str(pixels.dtype).endswith("uint8")
    pixels = pixels.float().cpu()
    low = (0.0 if is_bytes else pixels.min().item()) if low is None else low
    high = (255.0 if is_bytes else pixels.max().item()) if high is None else high
    shades = ((pixels - low) * (255 / max(high - low, 1e-12))).clamp(0, 255).round().byte()
    shades = shades.repeat_interleave(scale, 1).repeat_interleave(scale, 2)
    return Image(shades[0] if shades.shape[0] == 1 else shades.permute(1, 2, 0))

"""Modules that resample pictures; what they compute is in `ops/resampling.py`."""

from . import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resample a batch of signals, pictures or volumes: see `functional.interpolate`.

    Parameters
    ----------
    size : int or tuple of int, the new sizes
    scale_factor : float or tuple of float, new size over old size; one of both is given
    mode : "nearest", "linear", "bilinear", "bicubic" or "trilinear"
    align_corners : bool or None
    recompute_scale_factor : bool or None

    Examples
    --------
    >>> import tensorlab
    >>> Upsample(scale_factor=2)(tensorlab.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size=None,
        scale_factor=None,
        mode="nearest",
        align_corners=None,
        recompute_scale_factor=None,
    ):
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self):
        is_scale = self.scale_factor is not None
        given = f"scale_factor={self.scale_factor!r}" if is_scale else f"size={self.size!r}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Pictures by the nearest pixel; parameters as for Upsample.

    Examples
    --------
    >>> import tensorlab
    >>> UpsamplingNearest2d(scale_factor=2)(tensorlab.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1., 1., 2., 2.],
              [1., 1., 2., 2.]]]])
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Pictures by straight lines in both directions, corners aligned; parameters as for Upsample.

    Examples
    --------
    >>> import tensorlab
    >>> UpsamplingBilinear2d(size=(1, 3))(tensorlab.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)

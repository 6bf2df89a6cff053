"""A transform that blanks a random rectangle."""

from numbers import Number

from ..._core.interop.exchange import tensor
from ...nn.module import Module
from ...ops.creation import empty
from . import functional
from .draws import happens, whole
from .random_geometry import check_ranges, rectangles

__all__ = ["RandomErasing"]


class RandomErasing(Module):
    """Overwrite a random rectangle of a Tensor (..., channels, height, width) with probability `p`.

    Parameters
    ----------
    p : float, the probability
    scale : (least, largest) part of the image's area
    ratio : (least, largest) height divided by width
    value : number; sequence with one for each channel; or "random" for noise from a normal distribution
    inplace : True to write into the Tensor

    Raises
    ------
    TypeError, ValueError
        If an argument is something else, or `value` has another number of channels than the Tensor.

    Notes
    -----
    Ten rectangles are drawn; if none fits, nothing is erased. Source: Zhong et al., Random erasing data augmentation,
    2017, algorithm 1.

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> RandomErasing(p=0.0)(image) is image
    True
    """

    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False):
        super().__init__()
        if not isinstance(value, (Number, str, tuple, list)):
            raise TypeError(
                f"RandomErasing: value is {value!r}; Argument value should be either a number or str or a sequence"
            )
        if isinstance(value, str) and value != "random":
            raise ValueError(
                f"RandomErasing: value is {value!r}; If value is str, it should be 'random'"
            )
        check_ranges(scale, ratio, "RandomErasing")
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError(f"RandomErasing: scale is {scale}; Scale should be between 0 and 1")
        if not 0 <= p <= 1:
            raise ValueError(
                f"RandomErasing: p is {p}; Random erasing probability should be between 0 and 1"
            )
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(img, scale, ratio, value=None):
        """Draw a rectangle in `img`; return (top, left, height, width, what to write there).

        `value` is a list with a number for each channel, or one for all; None stands for noise. If no rectangle fits,
        it is the whole of `img` with `img` itself.
        """
        channels, had_height, had_width = img.shape[-3:]
        for height, width in rectangles(had_height * had_width, scale, ratio):
            if height >= had_height or width >= had_width:
                continue
            if value is None:
                written = empty(channels, height, width).normal_()
            else:
                written = tensor(value)[:, None, None]
            top = whole(had_height - height + 1)
            left = whole(had_width - width + 1)
            return top, left, height, width, written
        return 0, 0, had_height, had_width, img

    def forward(self, img):
        if not happens(self.p):
            return img
        value = self.value
        if isinstance(value, str):
            value = None
        else:
            value = [value] if isinstance(value, Number) else list(value)
            if len(value) not in (1, img.shape[-3]):
                raise ValueError(
                    f"RandomErasing: value has {len(value)} numbers; If value is a sequence, it should have either a "
                    f"single value or {img.shape[-3]} (number of input channels)"
                )
        rectangle = self.get_params(img, self.scale, self.ratio, value)
        return functional.erase(img, *rectangle, self.inplace)

    def __repr__(self):
        return (
            f"{type(self).__name__}(p={self.p}, scale={self.scale}, ratio={self.ratio}, value={self.value}, "
            f"inplace={self.inplace})"
        )

"""Layers that slide learned filters over signals, images and volumes, and the transposes of these."""

import math
from collections.abc import Iterable

from ..ops.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
]

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")
PADDING_WORDS = ("same", "valid")


def one_for_each_axis(value, n):
    """Return a tuple of n numbers: those given, in a sequence, tensor or array, or one number n times."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    is_sequence = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(value) if is_sequence else (value,) * n


class _Convolution(Module):
    """What a convolution and its transpose share: their weights and how they start."""

    axes = 0  # how many axes the filters slide along

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        groups,
        bias,
        padding_mode,
        weight_channels,
        device,
        dtype,
    ):
        super().__init__()
        name = type(self).__name__
        for what, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if groups < 1 or channels % groups:
                raise ValueError(
                    f"{name}: {what} is {channels} and groups {groups}; expected a divisor"
                )
        if padding_mode not in PADDING_MODES:
            raise ValueError(
                f"{name}: padding_mode is {padding_mode!r}; expected one of "
                f"{', '.join(PADDING_MODES)}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = one_for_each_axis(kernel_size, self.axes)
        self.stride = one_for_each_axis(stride, self.axes)
        is_word = isinstance(padding, str)
        self.padding = padding if is_word else one_for_each_axis(padding, self.axes)
        self.dilation = one_for_each_axis(dilation, self.axes)
        self.groups = groups
        self.padding_mode = padding_mode
        shape = (*weight_channels, *self.kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty((out_channels,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new initial values, uniform within 1 / sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = math.prod(self.weight.shape[1:])
        if self.bias is not None and fan_in > 0:
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0), ("groups", 1)):
            value = getattr(self, name, usual)
            if value not in (usual, (usual,) * self.axes):
                text += f", {name}={value}"
        if self.bias is None:
            text += ", bias=False"
        return text + (
            f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else ""
        )


class _Forward(_Convolution):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        self._check_word(padding, stride)
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            (out_channels, in_channels // max(groups, 1)),
            device,
            dtype,
        )

    def _check_word(self, padding, stride):
        """Refuse a padding that is neither numbers nor a word which fits the stride."""
        if not isinstance(padding, str):
            return
        name = type(self).__name__
        if padding not in PADDING_WORDS:
            raise ValueError(
                f"{name}: padding is {padding!r}; expected ints, or one of "
                f"{', '.join(PADDING_WORDS)}"
            )
        if padding == "same" and any(one != 1 for one in one_for_each_axis(stride, self.axes)):
            raise ValueError(
                f"{name}: padding='same' keeps the size, which stride={stride} does not; leave "
                f"stride out, or give padding as ints"
            )

    def forward(self, input):
        function = (F.conv1d, F.conv2d, F.conv3d)[self.axes - 1]
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._pairs(), mode=self.padding_mode)
            padding = 0
        return function(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def _pairs(self):
        """Return what F.pad puts before and behind each axis, the last axis first."""
        if self.padding == "valid":
            return (0,) * (2 * self.axes)
        pairs = []
        for k in range(self.axes - 1, -1, -1):
            reach = self.dilation[k] * (self.kernel_size[k] - 1)
            is_same = self.padding == "same"
            before = reach // 2 if is_same else self.padding[k]
            pairs += [before, reach - before if is_same else before]
        return tuple(pairs)


class Conv1d(_Forward):
    """Correlate signals, shape (batch, in_channels, length), with learned filters.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size : int, elements of a filter
    stride : int, from one place of the filter to the next
    padding : int, numbers before and behind the signal; "same" keeps the length, "valid" is none
    dilation : int, from one element of the filter to the next
    groups : int, channels are split into so many parts that do not see each other
    bias : bool, whether to add one number to each out channel
    padding_mode : "zeros", "reflect", "replicate" or "circular", what the padding holds
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Attributes
    ----------
    weight : Parameter, shape (out_channels, in_channels / groups, kernel_size)
    bias : Parameter, shape (out_channels,), or None

    Examples
    --------
    >>> import tensorlab
    >>> layer = Conv1d(3, 8, kernel_size=3, padding=1, stride=2)
    >>> layer(tensorlab.zeros(2, 3, 16)).shape
    tensorlab.Size([2, 8, 8])
    >>> layer.weight.shape
    tensorlab.Size([8, 3, 3])
    """

    axes = 1


class Conv2d(_Forward):
    """Correlate images, shape (batch, in_channels, height, width), with learned filters.

    Parameters are those of Conv1d; sizes are ints, or pairs for height and width.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.nn.Conv2d(3, 8, 3, padding=1)(tensorlab.ones(2, 3, 5, 5)).shape
    tensorlab.Size([2, 8, 5, 5])
    """

    axes = 2


class Conv3d(_Forward):
    """Correlate volumes, shape (batch, in_channels, depth, height, width), with learned filters.

    Parameters are those of Conv1d; sizes are ints, or triples.

    Examples
    --------
    >>> import tensorlab
    >>> layer = Conv3d(3, 8, kernel_size=3, padding=1, stride=2)
    >>> layer(tensorlab.zeros(2, 3, 16, 16, 16)).shape
    tensorlab.Size([2, 8, 8, 8, 8])
    >>> layer.weight.shape
    tensorlab.Size([8, 3, 3, 3, 3])
    """

    axes = 3


class _Transposed(_Convolution):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError(
                f"{type(self).__name__}: padding_mode is {padding_mode!r}, but only 'zeros' has a "
                f"transpose"
            )
        self.output_padding = one_for_each_axis(output_padding, self.axes)
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            (in_channels, out_channels // max(groups, 1)),
            device,
            dtype,
        )

    def forward(self, input, output_size=None):
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.axes - 1]
        return function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )

    def _output_padding(self, input, output_size):
        """Return the output padding that gives the size asked for."""
        if output_size is None:
            return self.output_padding
        wanted = tuple(output_size)[-self.axes :]
        found = []
        for k in range(self.axes):
            size = input.size(k - self.axes)
            least = (size - 1) * self.stride[k] - 2 * self.padding[k]
            least += self.dilation[k] * (self.kernel_size[k] - 1) + 1
            if not least <= wanted[k] < least + self.stride[k]:
                raise ValueError(
                    f"{type(self).__name__}: output_size {tuple(output_size)} asks for {wanted[k]} "
                    f"elements where {least} to {least + self.stride[k] - 1} are possible"
                )
            found.append(wanted[k] - least)
        return tuple(found)


class ConvTranspose1d(_Transposed):
    """Spread signals by learned filters: the gradient of Conv1d by its input, as a layer.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride, padding, dilation, groups, bias : those of the Conv1d it is the
        transpose of
    output_padding : int, elements more at the end: which of several lengths that Conv1d had met
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Attributes
    ----------
    weight : Parameter, shape (in_channels, out_channels / groups, kernel_size)
    bias : Parameter, shape (out_channels,), or None

    Examples
    --------
    >>> import tensorlab
    >>> layer = ConvTranspose1d(8, 3, kernel_size=4, padding=1, stride=2)
    >>> layer(tensorlab.zeros(2, 8, 8)).shape
    tensorlab.Size([2, 3, 16])
    """

    axes = 1


class ConvTranspose2d(_Transposed):
    """Spread images by learned filters; parameters as for ConvTranspose1d, sizes ints or pairs.

    Examples
    --------
    >>> import tensorlab
    >>> layer = ConvTranspose2d(8, 3, kernel_size=4, padding=1, stride=2)
    >>> layer(tensorlab.zeros(2, 8, 8, 8)).shape
    tensorlab.Size([2, 3, 16, 16])
    """

    axes = 2


class ConvTranspose3d(_Transposed):
    """Spread volumes by learned filters; parameters as for ConvTranspose1d, sizes ints or triples.

    Examples
    --------
    >>> import tensorlab
    >>> layer = ConvTranspose3d(8, 3, kernel_size=4, padding=1, stride=2)
    >>> layer(tensorlab.zeros(2, 8, 8, 8, 8)).shape
    tensorlab.Size([2, 3, 16, 16, 16])
    """

    axes = 3

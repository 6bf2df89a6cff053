"""Layers that bring the values of each sample to one scale: LayerNorm, GroupNorm, RMSNorm, LocalResponseNorm."""

import numbers

from ..ops.composite import cross_map_lrn
from ..ops.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class ScalingModule(Module):
    """A normalization's end: a learned weight that scales and a learned bias that shifts, if used."""

    def register_scale(self, shape, device, dtype, **used):
        """Register a parameter of this shape for each name, None where it is not used."""
        for name, is_used in used.items():
            values = empty(shape, device=device, dtype=dtype) if is_used else None
            self.register_parameter(name, None if values is None else Parameter(values))

    def reset_parameters(self):
        """Set the scale to 1 and the shift to 0."""
        for name, fill in (("weight", init.ones_), ("bias", init.zeros_)):
            parameter = self._parameters.get(name)
            if parameter is not None:
                fill(parameter)


class LayerNorm(ScalingModule):
    """Normalise over the last dimensions, then scale and shift each element by learned values.

    Parameters
    ----------
    normalized_shape : int or sequence of int, the sizes of the last dimensions
    eps : float, added to the variance
    elementwise_affine : bool, whether to scale and shift
    bias : bool, whether to shift
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Notes
    -----
    Source: Ba, Kiros and Hinton 2016, "Layer Normalization", equation 4.

    Examples
    --------
    >>> import tensorlab
    >>> LayerNorm(4)(tensorlab.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[-1.3416, -0.4472,  0.4472,  1.3416]],
           grad_fn=<NativeLayerNormBackward0>)
    """

    def __init__(
        self,
        normalized_shape,
        eps=1e-5,
        elementwise_affine=True,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        uses_bias = elementwise_affine and bias
        self.register_scale(
            self.normalized_shape, device, dtype, weight=elementwise_affine, bias=uses_bias
        )
        self.reset_parameters()

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(ScalingModule):
    """Divide by the root mean square over the last dimensions, then scale by learned values.

    Parameters
    ----------
    normalized_shape : int or sequence of int, the sizes of the last dimensions
    eps : float, added to the mean square; the epsilon of the type that is computed in if not given
    elementwise_affine : bool, whether to scale
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Notes
    -----
    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.

    Examples
    --------
    >>> import tensorlab
    >>> RMSNorm(2)(tensorlab.tensor([[3.0, 4.0]]))
    tensor([[0.8485, 1.1314]], grad_fn=<MulBackward0>)
    """

    def __init__(
        self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None
    ):
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_scale(self.normalized_shape, device, dtype, weight=elementwise_affine)
        self.reset_parameters()

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(ScalingModule):
    """Bring each sample to mean 0 and variance 1 within groups of channels, then scale and shift.

    Parameters
    ----------
    num_groups : int, a divisor of num_channels
    num_channels : int
    eps : float, added to the variance
    affine : bool, whether to scale and shift each channel
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given
    bias : bool, whether to shift

    Raises
    ------
    ValueError
        If the channels cannot be split into so many groups.

    Notes
    -----
    Source: Wu and He 2018, "Group Normalization", section 3.

    Examples
    --------
    >>> import tensorlab
    >>> layer = GroupNorm(2, 4)
    >>> x = tensorlab.randn(8, 4, 6) * 5 + 2
    >>> y = layer(x)
    >>> round(y[0, :2].var(correction=0).item(), 3)
    1.0
    """

    def __init__(
        self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True
    ):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels is {num_channels} and num_groups {num_groups}; expected a "
                f"divisor"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_scale((num_channels,), device, dtype, weight=affine, bias=affine and bias)
        self.reset_parameters()

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Divide by a power of the mean square of the neighbours in other channels: x / (k + alpha * mean(x**2)) ** beta.

    Parameters
    ----------
    size : int, channels that the mean goes over, zeros beyond the first and the last
    alpha, beta, k : float

    Notes
    -----
    Called with `input` of shape (batch, channels, length, ...). Source: Krizhevsky, Sutskever and Hinton 2012,
    "ImageNet Classification with Deep Convolutional Neural Networks", section 3.3.

    Examples
    --------
    >>> import tensorlab
    >>> LocalResponseNorm(2, alpha=1.0, beta=1.0)(tensorlab.ones(1, 3, 1))
    tensor([[[0.6667],
             [0.5000],
             [0.5000]]])
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm of images as older networks were trained with it; use LocalResponseNorm for new ones.

    Parameters are those of LocalResponseNorm; of an even `size` one channel less is taken.

    Notes
    -----
    The running sum of squares that the networks were trained with never drops the first channel: every later
    channel counts it as a neighbour, here as in PyTorch. The gradient is that of this function; PyTorch's differs
    from it, as its window lies one channel beside.

    Examples
    --------
    >>> import tensorlab
    >>> CrossMapLRN2d(2, alpha=1.0, beta=1.0)(tensorlab.ones(1, 3, 1, 1)).flatten()
    tensor([0.6667, 0.5000, 0.5000])
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        return cross_map_lrn(input, self.size, self.alpha, self.beta, self.k)

"""Layers that bring the values of each sample to mean 0 and variance 1: LayerNorm, GroupNorm, RMSNorm."""

import numbers

from ..ops.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["GroupNorm", "LayerNorm", "RMSNorm"]


class LayerNorm(Module):
    """Normalise over the last dimensions, then scale and shift each element by learned values.

    Parameters
    ----------
    normalized_shape : int or sequence of int, the sizes of the last dimensions
    eps : float, added to the variance
    elementwise_affine : bool, whether to scale and shift
    bias : bool, whether to shift
    device : "cpu" or None
    dtype : floating dtype, the default dtype if not given

    Notes
    -----
    Source: Ba, Kiros and Hinton 2016, "Layer Normalization", equation 4.
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
        for name, is_used in (("weight", True), ("bias", bias)):
            parameter = None
            if elementwise_affine and is_used:
                parameter = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self):
        """Set the scale to 1 and the shift to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide by the root mean square over the last dimensions, then scale by learned values.

    Parameters
    ----------
    normalized_shape : int or sequence of int, the sizes of the last dimensions
    eps : float, added to the mean square; the epsilon of the type that is computed in if not given
    elementwise_affine : bool, whether to scale
    device : "cpu" or None
    dtype : floating dtype, the default dtype if not given

    Notes
    -----
    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.
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
        weight = None
        if elementwise_affine:
            weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self):
        """Set the scale to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Bring each sample to mean 0 and variance 1 within groups of channels, then scale and shift.

    Parameters
    ----------
    num_groups : int, a divisor of num_channels
    num_channels : int
    eps : float, added to the variance
    affine : bool, whether to scale and shift each channel
    device : "cpu" or None
    dtype : floating dtype, the default dtype if not given
    bias : bool, whether to shift

    Raises
    ------
    ValueError
        If the channels cannot be split into so many groups.

    Notes
    -----
    Source: Wu and He 2018, "Group Normalization", section 3.
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
        for name, is_used in (("weight", affine), ("bias", affine and bias)):
            values = empty((num_channels,), device=device, dtype=dtype) if is_used else None
            self.register_parameter(name, None if values is None else Parameter(values))
        self.reset_parameters()

    def reset_parameters(self):
        """Set the scale to 1 and the shift to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )

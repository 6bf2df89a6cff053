"""Layers that bring values to mean 0 and variance 1: LayerNorm."""

import numbers

from ..ops.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["LayerNorm"]


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

"""Layers that multiply by learned matrices, and the layer that does nothing: Linear, Bilinear, Identity."""

import math

from ..ops.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Return the input.  Arguments are taken and ignored, so that it can stand for any layer.

    Parameters
    ----------
    *args, **kwargs : anything; nothing of it is used

    Examples
    --------
    >>> import tensorlab
    >>> Identity(54, anything=True)(tensorlab.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """Map the last dimension by a learned matrix: x @ weight.T + bias.

    Parameters
    ----------
    in_features, out_features : int
    bias : bool, whether to add one
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Attributes
    ----------
    weight : Parameter, shape (out_features, in_features)
    bias : Parameter, shape (out_features,), or None

    Notes
    -----
    Weight and bias start uniform within 1 / sqrt(in_features).
    Source: LeCun et al. 1998, "Efficient BackProp", section 4.6; the constant is PyTorch's.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> nn.Linear(3, 2)(tensorlab.ones(5, 3)).shape
    tensorlab.Size([5, 2])
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty((out_features,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new initial values."""
        # With this slope the bound sqrt(6 / ((1 + a**2) * in_features)) is 1 / sqrt(in_features).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """Multiply two inputs by a learned matrix for each feature of the result: x @ weight[o] @ y + bias[o].

    Parameters
    ----------
    in1_features, in2_features, out_features : int
    bias : bool, whether to add one
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Attributes
    ----------
    weight : Parameter, shape (out_features, in1_features, in2_features)
    bias : Parameter, shape (out_features,), or None

    Raises
    ------
    ValueError
        If `in1_features` is not above 0.

    Notes
    -----
    Weight and bias start uniform within 1 / sqrt(in1_features).

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> nn.Bilinear(3, 4, 2)(tensorlab.ones(5, 3), tensorlab.ones(5, 4)).shape
    tensorlab.Size([5, 2])
    """

    def __init__(
        self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None
    ):
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty((out_features,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new initial values."""
        if self.in1_features <= 0:
            raise ValueError(
                f"Bilinear: in1_features is {self.in1_features}; expected a number above 0"
            )
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """Linear by another name: what an attention ends with, so that it is printed as in PyTorch."""

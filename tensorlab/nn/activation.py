"""Activations: layers that act on each element, or on each slice along a dimension: ReLU, GELU, Softmax, ..."""

import warnings

from ..ops.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


# ---------------------------------------------------------------- the usual ones
class ReLU(Module):
    """max(x, 0) of each element, with `inplace` written over the input."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.relu(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Tanh(Module):
    """Hyperbolic tangent of each element."""

    def forward(self, input):
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x)) of each element."""

    def forward(self, input):
        return F.sigmoid(input)


class GELU(Module):
    """x * Phi(x) of each element, Phi being the standard normal distribution function.

    Parameters
    ----------
    approximate : "none", or "tanh" for the approximation by a tanh

    Notes
    -----
    Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", section 2.
    """

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """exp(x) / sum(exp(x)) along dimension `dim`: positive numbers that sum to 1."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax2d(Module):
    """The softmax over the channels of each pixel; input of shape (channels, height, width), with a batch or without.

    Raises
    ------
    ValueError
        If the input has another number of dimensions.
    """

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: the input has shape {tuple(input.shape)}; expected 3D or 4D"
            )
        return F.softmax(input, -3)


class LogSoftmax(Module):
    """log of the softmax along dimension `dim`, computed without overflow."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self):
        return f"dim={self.dim}"


# ---------------------------------------------------------------- smooth ones
class ELU(Module):
    """x above 0, alpha * (exp(x) - 1) below; with `inplace` written over the input.

    Source: Clevert, Unterthiner and Hochreiter 2016, "Exponential Linear Units", equation 15.
    """

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Module):
    """x above 0, alpha * (exp(x / alpha) - 1) below: an ELU without a kink for any alpha."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class SELU(Module):
    """A scaled ELU whose numbers keep mean 0 and variance 1 from layer to layer.

    Source: Klambauer et al. 2017, "Self-Normalizing Neural Networks", equation 2.
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.selu(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class SiLU(Module):
    """x * sigmoid(x) of each element, with `inplace` written over the input."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.silu(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Mish(Module):
    """x * tanh(softplus(x)) of each element, with `inplace` written over the input."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.mish(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta: a smooth ReLU; x itself where beta * x is above `threshold`."""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Module):
    """x / (1 + abs(x)) of each element."""

    def forward(self, input):
        return F.softsign(input)


class LogSigmoid(Module):
    """log(sigmoid(x)) of each element, computed without overflow."""

    def forward(self, input):
        return F.logsigmoid(input)


class Tanhshrink(Module):
    """x - tanh(x) of each element."""

    def forward(self, input):
        return F.tanhshrink(input)


class Softmin(Module):
    """exp(-x) / sum(exp(-x)) along dimension `dim`: the smallest gets most."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self):
        return f"dim={self.dim}"


class GLU(Module):
    """The first half of dimension `dim` times the sigmoid of the second half.

    Source: Dauphin et al. 2017, "Language Modeling with Gated Convolutional Networks", section 2.
    """

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


# ---------------------------------------------------------------- piecewise linear ones
class LeakyReLU(Module):
    """x above 0, negative_slope * x below; with `inplace` written over the input."""

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ReLU6(Module):
    """min(max(x, 0), 6) of each element, with `inplace` written over the input."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.relu6(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


def _renamed(old, given, name, value):
    """Return what an argument was given under its old name, with a warning, or else under its own."""
    if given is None:
        return value
    warnings.warn(
        f"Hardtanh: {old} is deprecated; write {name}={given}", FutureWarning, stacklevel=3
    )
    return given


class Hardtanh(Module):
    """x, but no less than min_val and no more than max_val; min_value and max_value are older names for them."""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__()
        self.min_val = _renamed("min_value", min_value, "min_val", min_val)
        self.max_val = _renamed("max_value", max_value, "max_val", max_val)
        self.inplace = inplace

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}" + (
            ", inplace=True" if self.inplace else ""
        )


class Hardsigmoid(Module):
    """0 below -3, 1 above 3, a straight line between."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module):
    """x * hardsigmoid(x) of each element.

    Source: Howard et al. 2019, "Searching for MobileNetV3", section 5.2.
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class Hardshrink(Module):
    """x, but 0 where abs(x) is no more than lambd."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.hardshrink(input, self.lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class Softshrink(Module):
    """x brought nearer to 0 by lambd, and 0 where that would cross it."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.softshrink(input, self.lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class Threshold(Module):
    """x where it is above `threshold`, `value` elsewhere; with `inplace` written over the input."""

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        inplace = ", inplace=True" if self.inplace else ""
        return f"threshold={self.threshold}, value={self.value}{inplace}"


class PReLU(Module):
    """x above 0, a learned multiple of it below.

    Parameters
    ----------
    num_parameters : int, one slope for all, or one for each channel
    init : float, where the slopes start
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Notes
    -----
    Source: He et al. 2015, "Delving Deep into Rectifiers", equation 1.
    """

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty((num_parameters,), device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Set the slopes to their start."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """x above 0, a multiple of it below: in training by random slopes from `lower` to `upper`, else by their mean.

    Source: Xu et al. 2015, "Empirical Evaluation of Rectified Activations in Convolutional Network", section 3.4.
    """

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (
            ", inplace=True" if self.inplace else ""
        )

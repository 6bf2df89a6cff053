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
    """max(x, 0) of each element, with `inplace` written over the input.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> ReLU()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.relu(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Tanh(Module):
    """Hyperbolic tangent of each element.

    Called with a floating tensor of any shape; returns one of the same shape.

    Examples
    --------
    >>> import tensorlab
    >>> Tanh()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.9640,  0.0000,  0.9640])
    """

    def forward(self, input):
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x)) of each element.

    Called with a floating tensor of any shape; returns one of the same shape.

    Examples
    --------
    >>> import tensorlab
    >>> Sigmoid()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([0.1192, 0.5000, 0.8808])
    """

    def forward(self, input):
        return F.sigmoid(input)


class GELU(Module):
    """x * Phi(x) of each element, Phi being the standard normal distribution function.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    approximate : "none", or "tanh" for the approximation by a tanh

    Notes
    -----
    Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", section 2.

    Examples
    --------
    >>> import tensorlab
    >>> GELU()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.0455,  0.0000,  1.9545])
    """

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """exp(x) / sum(exp(x)) along dimension `dim`: positive numbers that sum to 1.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    dim : int, along which the results sum to 1; None chooses one, with a warning

    Examples
    --------
    >>> import tensorlab
    >>> Softmax(dim=1)(tensorlab.tensor([[0.0, 0.0], [0.0, 1.0]]))
    tensor([[0.5000, 0.5000],
            [0.2689, 0.7311]])
    """

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax2d(Module):
    """The softmax over the channels of each pixel; input of shape (channels, height, width), with a batch or without.

    Called with images, shape (batch, channels, height, width) or without batch.

    Raises
    ------
    ValueError
        If the input has another number of dimensions.

    Examples
    --------
    >>> import tensorlab
    >>> Softmax2d()(tensorlab.zeros(1, 4, 2, 2))[0, :, 0, 0]
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: the input has shape {tuple(input.shape)}; expected 3D or 4D"
            )
        return F.softmax(input, -3)


class LogSoftmax(Module):
    """log of the softmax along dimension `dim`, computed without overflow.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    dim : int, along which the exponentials sum to 1; None chooses one, with a warning

    Examples
    --------
    >>> import tensorlab
    >>> LogSoftmax(dim=1)(tensorlab.tensor([[0.0, 0.0], [0.0, 1.0]]))
    tensor([[-0.6931, -0.6931],
            [-1.3133, -0.3133]])
    """

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

    Called with a floating tensor of any shape; returns one of the same shape.

    Source: Clevert, Unterthiner and Hochreiter 2016, "Exponential Linear Units", equation 15.

    Parameters
    ----------
    alpha : float, what it goes to far below 0
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> ELU()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.8647,  0.0000,  2.0000])
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
    """x above 0, alpha * (exp(x / alpha) - 1) below: an ELU without a kink for any alpha.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    alpha : float, what it goes to far below 0
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> CELU(alpha=0.5)(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.4908,  0.0000,  2.0000])
    """

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

    Called with a floating tensor of any shape; returns one of the same shape.

    Source: Klambauer et al. 2017, "Self-Normalizing Neural Networks", equation 2.

    Parameters
    ----------
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> SELU()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-1.5202,  0.0000,  2.1014])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.selu(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class SiLU(Module):
    """x * sigmoid(x) of each element, with `inplace` written over the input.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> SiLU()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.2384,  0.0000,  1.7616])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.silu(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Mish(Module):
    """x * tanh(softplus(x)) of each element, with `inplace` written over the input.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> Mish()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.2525,  0.0000,  1.9440])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.mish(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta: a smooth ReLU; x itself where beta * x is above `threshold`.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    beta : float, how sharply it bends
    threshold : float, above which x * beta is taken as it is

    Examples
    --------
    >>> import tensorlab
    >>> Softplus()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([0.1269, 0.6931, 2.1269])
    """

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Module):
    """x / (1 + abs(x)) of each element.

    Called with a floating tensor of any shape; returns one of the same shape.

    Examples
    --------
    >>> import tensorlab
    >>> Softsign()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.6667,  0.0000,  0.6667])
    """

    def forward(self, input):
        return F.softsign(input)


class LogSigmoid(Module):
    """log(sigmoid(x)) of each element, computed without overflow.

    Called with a floating tensor of any shape; returns one of the same shape.

    Examples
    --------
    >>> import tensorlab
    >>> LogSigmoid()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-2.1269, -0.6931, -0.1269])
    """

    def forward(self, input):
        return F.logsigmoid(input)


class Tanhshrink(Module):
    """x - tanh(x) of each element.

    Called with a floating tensor of any shape; returns one of the same shape.

    Examples
    --------
    >>> import tensorlab
    >>> Tanhshrink()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-1.0360,  0.0000,  1.0360])
    """

    def forward(self, input):
        return F.tanhshrink(input)


class Softmin(Module):
    """exp(-x) / sum(exp(-x)) along dimension `dim`: the smallest gets most.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    dim : int, along which the results sum to 1; None chooses one, with a warning

    Examples
    --------
    >>> import tensorlab
    >>> Softmin(dim=0)(tensorlab.tensor([0.0, 1.0]))
    tensor([0.7311, 0.2689])
    """

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self):
        return f"dim={self.dim}"


class GLU(Module):
    """The first half of dimension `dim` times the sigmoid of the second half.

    Called with a tensor whose dimension `dim` has an even size; returns one of half the
    size there.

    Source: Dauphin et al. 2017, "Language Modeling with Gated Convolutional Networks", section 2.

    Parameters
    ----------
    dim : int, the dimension that is split

    Raises
    ------
    ShapeError
        If the size is odd.

    Examples
    --------
    >>> import tensorlab
    >>> GLU()(tensorlab.tensor([1.0, 2.0, 0.0, 100.0]))
    tensor([0.5000, 2.0000])
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
    """x above 0, negative_slope * x below; with `inplace` written over the input.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    negative_slope : float, the slope below 0
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> LeakyReLU(0.1)(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.2000,  0.0000,  2.0000])
    """

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ReLU6(Module):
    """min(max(x, 0), 6) of each element, with `inplace` written over the input.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> ReLU6()(tensorlab.tensor([-2.0, 3.0, 8.0]))
    tensor([0., 3., 6.])
    """

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
    """x, but no less than min_val and no more than max_val; min_value and max_value are older names for them.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    min_val, max_val : float, the least and the greatest result
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> Hardtanh(-1.0, 1.5)(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-1.0000,  0.0000,  1.5000])
    """

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
    """0 below -3, 1 above 3, a straight line between.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> Hardsigmoid()(tensorlab.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module):
    """x * hardsigmoid(x) of each element.

    Called with a floating tensor of any shape; returns one of the same shape.

    Source: Howard et al. 2019, "Searching for MobileNetV3", section 5.2.

    Parameters
    ----------
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> Hardswish()(tensorlab.tensor([-4.0, 0.0, 1.5]))
    tensor([-0.0000, 0.0000, 1.1250])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class Hardshrink(Module):
    """x, but 0 where abs(x) is no more than lambd.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    lambd : float, the largest size that becomes 0

    Examples
    --------
    >>> import tensorlab
    >>> Hardshrink(0.5)(tensorlab.tensor([-2.0, 0.3, 2.0]))
    tensor([-2.,  0.,  2.])
    """

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.hardshrink(input, self.lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class Softshrink(Module):
    """x brought nearer to 0 by lambd, and 0 where that would cross it.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    lambd : float, 0 or more, what is taken off

    Examples
    --------
    >>> import tensorlab
    >>> Softshrink(0.5)(tensorlab.tensor([-2.0, 0.3, 2.0]))
    tensor([-1.5000,  0.0000,  1.5000])
    """

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.softshrink(input, self.lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class Threshold(Module):
    """x where it is above `threshold`, `value` elsewhere; with `inplace` written over the input.

    Called with a floating tensor of any shape; returns one of the same shape.

    Parameters
    ----------
    threshold : float, up to which elements are replaced
    value : float, what replaces them
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> Threshold(1.0, 9.0)(tensorlab.tensor([-2.0, 1.0, 2.0]))
    tensor([9., 9., 2.])
    """

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

    Called with a tensor whose dimension 1 holds the channels, if there are several slopes;
    returns one of its shape.

    Parameters
    ----------
    num_parameters : int, one slope for all, or one for each channel
    init : float, where the slopes start
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Notes
    -----
    Source: He et al. 2015, "Delving Deep into Rectifiers", equation 1.

    Examples
    --------
    >>> import tensorlab
    >>> PReLU()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.5000,  0.0000,  2.0000], grad_fn=<LeakyReluBackward0>)
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

    Called with a floating tensor of any shape; returns one of the same shape.

    Source: Xu et al. 2015, "Empirical Evaluation of Rectified Activations in Convolutional Network", section 3.4.

    Parameters
    ----------
    lower, upper : float, the slope below 0 is drawn between them; in evaluation it is their mean
    inplace : bool, whether to write over the input

    Examples
    --------
    >>> import tensorlab
    >>> RReLU().eval()(tensorlab.tensor([-2.0, 0.0, 2.0]))
    tensor([-0.4583,  0.0000,  2.0000])
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

"""Layers that act on each element and bend smoothly: ELU, SiLU, Mish, Softplus, ...

Those that every network has (ReLU, Tanh, Sigmoid, GELU) are in activation.py; those made of straight
pieces in piecewise.py.
"""

from . import functional as F
from .module import Module

__all__ = [
    "CELU",
    "ELU",
    "GLU",
    "SELU",
    "LogSigmoid",
    "Mish",
    "SiLU",
    "Softmin",
    "Softplus",
    "Softsign",
    "Tanhshrink",
]


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
        return F.softmin(input, self.dim)

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

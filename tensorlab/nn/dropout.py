"""Dropout: noise that keeps a network from leaning on single units."""

from . import functional as F
from .module import Module

__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
]


class Dropout(Module):
    """In training, set each element to 0 with probability `p` and scale the others by 1 / (1 - p).

    The scaling keeps the expected value, so that in evaluation nothing is left to do.

    Parameters
    ----------
    p : float from 0 to 1
    inplace : bool, whether to write over the input

    Raises
    ------
    ValueError
        If `p` is not a probability.

    Notes
    -----
    Source: Srivastava et al. 2014, "Dropout: A Simple Way to Prevent Neural Networks from
    Overfitting", section 10 (the scaled form).
    """

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        F.check_probability("Dropout", p)
        self.p = p
        self.inplace = inplace

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """Dropout of whole channels of signals, (batch, channels, length), or without batch."""

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(Dropout):
    """Dropout of whole channels of images, (batch, channels, height, width).

    Neighbouring pixels are alike, so that dropping single ones would take little away.
    Source: Tompson et al. 2015, "Efficient Object Localization Using Convolutional Networks",
    section 3.2.
    """

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(Dropout):
    """Dropout of whole channels of volumes, (batch, channels, depth, height, width), or without batch."""

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(Dropout):
    """Dropout that keeps mean 0 and variance 1 of its input; made to stand behind SELU.

    Source: Klambauer et al. 2017, "Self-Normalizing Neural Networks", section "New dropout technique".
    """

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(Dropout):
    """AlphaDropout of whole channels."""

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)

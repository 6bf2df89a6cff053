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

    Called with a floating tensor of any shape; returns one of the same shape.

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

    Examples
    --------
    >>> import tensorlab
    >>> layer = Dropout(0.5)
    >>> tensorlab.manual_seed(0)
    Generator(device='cpu', initial_seed=0)
    >>> layer(tensorlab.ones(6))
    tensor([0., 0., 2., 0., 0., 0.])
    >>> layer.eval()(tensorlab.ones(6))
    tensor([1., 1., 1., 1., 1., 1.])
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
    """Dropout of whole channels of signals, (batch, channels, length), or without batch.

    Parameters
    ----------
    p : float from 0 to 1, the probability that a channel becomes 0
    inplace : bool, whether to write over the input

    Raises
    ------
    ValueError
        If `p` is not a probability.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.manual_seed(0)
    Generator(device='cpu', initial_seed=0)
    >>> Dropout1d(0.5)(tensorlab.ones(1, 6, 4))[0, :, 0]
    tensor([0., 0., 2., 0., 0., 0.])
    """

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(Dropout):
    """Dropout of whole channels of images, (batch, channels, height, width).

    Neighbouring pixels are alike, so that dropping single ones would take little away.
    Source: Tompson et al. 2015, "Efficient Object Localization Using Convolutional Networks",
    section 3.2.

    Parameters
    ----------
    p : float from 0 to 1, the probability that a channel becomes 0
    inplace : bool, whether to write over the input

    Raises
    ------
    ValueError
        If `p` is not a probability.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.manual_seed(0)
    Generator(device='cpu', initial_seed=0)
    >>> Dropout2d(0.5)(tensorlab.ones(1, 6, 4, 4))[0, :, 0, 0]
    tensor([0., 0., 2., 0., 0., 0.])
    """

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(Dropout):
    """Dropout of whole channels of volumes, (batch, channels, depth, height, width), or without batch.

    Parameters
    ----------
    p : float from 0 to 1, the probability that a channel becomes 0
    inplace : bool, whether to write over the input

    Raises
    ------
    ValueError
        If `p` is not a probability.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.manual_seed(0)
    Generator(device='cpu', initial_seed=0)
    >>> Dropout3d(0.5)(tensorlab.ones(1, 6, 4, 4, 4))[0, :, 0, 0, 0]
    tensor([0., 0., 2., 0., 0., 0.])
    """

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(Dropout):
    """Dropout that keeps mean 0 and variance 1 of its input; made to stand behind SELU.

    Source: Klambauer et al. 2017, "Self-Normalizing Neural Networks", section "New dropout technique".

    Examples
    --------
    >>> import tensorlab
    >>> layer = AlphaDropout(0.5)
    >>> x = tensorlab.randn(10_000)
    >>> abs(layer(x).std().item() - 1) < 0.1  # mean and variance stay
    True
    """

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(Dropout):
    """AlphaDropout of whole channels.

    Examples
    --------
    >>> import tensorlab
    >>> layer = FeatureAlphaDropout(0.5)
    >>> layer(tensorlab.zeros(2, 3, 4)).shape
    tensorlab.Size([2, 3, 4])
    """

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)

"""Dropout: noise that keeps a network from leaning on single units."""

from . import functional as F
from .module import Module

__all__ = ["Dropout"]


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

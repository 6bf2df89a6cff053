"""Layers that compare vectors: by their angle, by their distance."""

from . import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along `dim`, whose lengths are at least `eps`.

    Called with two tensors that broadcast; returns one without dimension `dim`.

    Parameters
    ----------
    dim : int, the dimension of the vectors
    eps : float, the least length that is divided by

    Examples
    --------
    >>> import tensorlab
    >>> CosineSimilarity()(tensorlab.tensor([[1.0, 0.0]]), tensorlab.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference of vectors along the last dimension; eps is added to it.

    Called with two tensors that broadcast; returns one without the last dimension.

    Parameters
    ----------
    p : float, the norm
    eps : float, added to each difference, so that its derivative exists
    keepdim : bool, whether the last dimension stays, with size 1

    Examples
    --------
    >>> import tensorlab
    >>> PairwiseDistance()(tensorlab.tensor([[0.0, 0.0]]), tensorlab.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)

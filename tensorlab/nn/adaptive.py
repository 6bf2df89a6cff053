"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes in two steps, for which rare classes cost little."""

from collections import namedtuple
from itertools import pairwise

from ..ops.joining import cat
from . import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes that are sorted by how often they occur, and the loss that is minus their mean.

    The frequent classes, the shortlist, and one entry for each cluster of rarer ones share a softmax, the head. A
    cluster has a softmax of its own, over fewer features the rarer it is, and is computed for its own targets only:
    log p(class) = log p(cluster) + log p(class | cluster).

    Parameters
    ----------
    in_features : int
    n_classes : int
    cutoffs : sequence of int, in increasing order: the first class of each cluster, so that the
        first is the length of the shortlist
    div_value : float; cluster i has in_features // div_value**(i + 1) features
    head_bias : bool, whether the head has a bias
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Attributes
    ----------
    head : Linear, to the shortlist and the clusters
    tail : ModuleList, for each cluster a Sequential of two Linear

    Raises
    ------
    ValueError
        If `cutoffs` are not increasing integers between 1 and n_classes - 1.

    Notes
    -----
    Source: Grave et al. 2017, "Efficient softmax approximation for GPUs", section 4.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10], div_value=2.0)
    >>> layer(tensorlab.ones(3, 8), tensorlab.tensor([0, 5, 19])).output.shape
    tensorlab.Size([3])
    >>> layer.log_prob(tensorlab.ones(3, 8)).shape
    tensorlab.Size([3, 20])
    """

    def __init__(
        self,
        in_features,
        n_classes,
        cutoffs,
        div_value=4.0,
        head_bias=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        ends = [0, *cutoffs, n_classes]
        if (
            not cutoffs
            or any(int(end) != end for end in cutoffs)
            or any(low >= high for low, high in pairwise(ends))
        ):
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs are {cutoffs}; expected at least one integer, "
                f"in increasing order, between 1 and {n_classes - 1}, one less than n_classes"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters

        made = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            features = int(in_features // div_value ** (i + 1))
            reduce = Linear(in_features, features, bias=False, **made)
            self.tail.append(Sequential(reduce, Linear(features, high - low, bias=False, **made)))

    def reset_parameters(self):
        """Draw new initial values."""
        self.head.reset_parameters()
        for reduce, classify in self.tail:
            reduce.reset_parameters()
            classify.reset_parameters()

    def forward(self, input_, target_):
        """Return the log-probability of each target, and minus their mean.

        Parameters
        ----------
        input_ : Tensor, shape (batch, in_features) or (in_features,)
        target_ : Tensor of int64, shape (batch,) or ()

        Returns
        -------
        output : Tensor, of the shape of `target_`
        loss : Tensor, shape ()
        """
        self._check(input_, target_)
        is_single = target_.dim() == 0
        input, target = (x.unsqueeze(0) if is_single else x for x in (input_, target_))

        in_head = target  # a class of the shortlist, or the entry of a cluster
        in_cluster = input.new_zeros(target.shape)
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            log_probs = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            found = _pick(log_probs, target.index_select(0, rows) - low)
            in_cluster = in_cluster.index_copy(0, rows, found)
            in_head = in_head.index_fill(0, rows, self.shortlist_size + i)

        output = in_cluster + _pick(F.log_softmax(self.head(input), dim=1), in_head)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if is_single else output, loss)

    def log_prob(self, input):
        """Return the log-probabilities of all classes, (batch, n_classes), of inputs (batch, in_features)."""
        return self._all_classes(input, self.head(input))

    def predict(self, input):
        """Return the most probable class of each input, (batch,); most need the head alone."""
        head = self.head(input)
        classes = head.argmax(dim=1)
        in_tail = classes >= self.shortlist_size
        if in_tail.any():
            classes[in_tail] = self._all_classes(input[in_tail], head[in_tail]).argmax(dim=1)
        return classes

    def _all_classes(self, input, head):
        log_probs = F.log_softmax(head, dim=1)
        parts = [log_probs[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            entry = log_probs[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), dim=1) + entry)
        return cat(parts, dim=1)

    def _check(self, input, target):
        if target.dim() > 1 or input.dim() != target.dim() + 1 or input.shape[:-1] != target.shape:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: the input has shape {tuple(input.shape)} and the target "
                f"{tuple(target.shape)}; expected (batch, in_features) and (batch,), or (in_features,) and ()"
            )
        if target.numel() and not 0 <= target.min() <= target.max() < self.n_classes:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: targets are from {target.min().item()} to "
                f"{target.max().item()}; expected classes from 0 to {self.n_classes - 1}"
            )


def _pick(rows, places):
    """The element of each row that is at a place."""
    return rows.gather(1, places.unsqueeze(1)).squeeze(1)

"""Layers that pick rows of a learned table: Embedding, and EmbeddingBag, which sums them."""

from ..autograd import no_grad
from ..ops.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What both layers have: the table, and the options that their functions share."""

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx,
        max_norm,
        norm_type,
        scale_grad_by_freq,
        sparse,
        weight,
        is_frozen,
        device,
        dtype,
    ):
        super().__init__()
        kind = type(self).__name__
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None and not -num_embeddings <= padding_idx < max(num_embeddings, 1):
            raise AssertionError(
                f"{kind}: padding_idx is {padding_idx}; expected an index of the {num_embeddings} embeddings"
            )
        is_from_behind = padding_idx is not None and padding_idx < 0
        self.padding_idx = padding_idx + num_embeddings if is_from_behind else padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        shape = (num_embeddings, embedding_dim)
        if weight is None:
            weight = empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(weight, requires_grad=not is_frozen)
            self.reset_parameters()
        elif tuple(weight.shape) != shape:
            raise AssertionError(
                f"{kind}: the weight has shape {tuple(weight.shape)}; expected {shape}, "
                f"num_embeddings and embedding_dim"
            )
        else:
            self.weight = Parameter(weight, requires_grad=not is_frozen)
        self.sparse = sparse

    def reset_parameters(self):
        """Draw new initial values."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def _shape_of_table(kind, embeddings):
    if embeddings.dim() != 2:
        raise AssertionError(
            f"{kind}.from_pretrained: the embeddings have shape {tuple(embeddings.shape)}; expected a matrix"
        )
    return embeddings.shape


class Embedding(_Table):
    """Look up a learned vector for each index.

    Parameters
    ----------
    num_embeddings : int, how many vectors
    embedding_dim : int, length of each
    padding_idx : int or None, the index whose vector starts at 0 and is not learned
    max_norm : float or None; vectors that are used and longer are first scaled down to it, in place
    norm_type : float, the p of that norm
    scale_grad_by_freq : bool; divide each vector's gradient by how often it was used
    sparse : bool; the gradient of the weight is a tensor of layout sparse_coo that holds the
        vectors that were used, for `optim.SparseAdam`, `optim.SGD` and `optim.Adagrad`
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Attributes
    ----------
    weight : Parameter, shape (num_embeddings, embedding_dim), starts standard normal

    Raises
    ------
    AssertionError
        If `padding_idx` is not an index of the table.

    Examples
    --------
    >>> import tensorlab
    >>> layer = Embedding(10, 4)
    >>> layer(tensorlab.tensor([[1, 2, 3], [4, 5, 6]])).shape
    tensorlab.Size([2, 3, 4])
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            _freeze,
            device,
            dtype,
        )

    def forward(self, input):
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text + ", sparse=True" if self.sparse else text

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
    ):
        """Return a layer whose table is `embeddings`, a matrix; it is not learned unless `freeze` is False.

        >>> import tensorlab
        >>> from tensorlab import nn
        >>> layer = nn.Embedding.from_pretrained(tensorlab.eye(3))
        >>> layer(tensorlab.tensor([2]))
        tensor([[0., 0., 1.]])
        """
        rows, width = _shape_of_table(cls.__name__, embeddings)
        return cls(
            rows,
            width,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Look up the vectors of each bag of indices, and return their sum, mean or maximum.

    The bags are the rows of a matrix of indices, or begin in a vector where `offsets` say.

    Parameters
    ----------
    num_embeddings : int, how many vectors
    embedding_dim : int, length of each
    max_norm : float or None; vectors that are used and longer are first scaled down to it, in place
    norm_type : float, the p of that norm
    scale_grad_by_freq : bool; divide each vector's gradient by how often it was used; not for "max"
    mode : "sum", "mean" or "max"
    sparse : bool; the gradient of the weight is a tensor of layout sparse_coo that holds the
        vectors that were used; not for "max"
    include_last_offset : bool; offsets have one more number behind, the length of the input
    padding_idx : int or None, the index that is left out of its bags; its vector starts at 0
        and is not learned
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Attributes
    ----------
    weight : Parameter, shape (num_embeddings, embedding_dim), starts standard normal

    Raises
    ------
    AssertionError
        If `padding_idx` is not an index of the table.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> layer = nn.EmbeddingBag(10, 3, mode="sum")
    >>> layer(tensorlab.tensor([1, 2, 4, 5]), tensorlab.tensor([0, 3])).shape
    tensorlab.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
    ):
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            False,
            device,
            dtype,
        )
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        include_last_offset=False,
        padding_idx=None,
    ):
        """Return a layer whose table is `embeddings`, a matrix; it is not learned unless `freeze` is False.

        >>> import tensorlab
        >>> from tensorlab import nn
        >>> layer = nn.EmbeddingBag.from_pretrained(tensorlab.eye(3), mode="sum")
        >>> layer(tensorlab.tensor([[0, 2], [1, 1]]))
        tensor([[1., 0., 1.],
                [0., 2., 0.]])
        """
        rows, width = _shape_of_table(cls.__name__, embeddings)
        layer = cls(
            rows,
            width,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        layer.weight.requires_grad = not freeze
        return layer

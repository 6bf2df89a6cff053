"""The layers of a transformer: attention, and a small network at each place.

A layer adds to a sequence what each of its blocks makes of it, and normalizes, before the block
(`norm_first`) or after:

    x = x + block(norm(x))          or          x = norm(x + block(x))

An encoder layer has two blocks: the sequence attends to itself, then the network. A decoder layer has a third between
them: the sequence attends to the memory, which is what the encoder made of the source.
"""

from ..ops.multi_head_attention import canonical_mask
from . import functional as F
from .activation import GELU, ReLU
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .multihead_attention import MultiheadAttention
from .normalization import LayerNorm

__all__ = ["TransformerDecoderLayer", "TransformerEncoderLayer"]


def activation_function(activation):
    """Return the function of a name; what can be called is returned as it is."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(
            f"Transformer: activation is {activation!r}; expected 'relu', 'gelu' or a function"
        )
    return getattr(F, activation)


def number_of_activation(activation):
    """Return 1 for relu, 2 for gelu and 0 for others, as PyTorch's `activation_relu_or_gelu` does."""
    if activation is F.relu or isinstance(activation, ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, GELU) else 0


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself, then a network with one hidden layer at each place.

    Parameters
    ----------
    d_model : int, features
    nhead : int, heads of the attention
    dim_feedforward : int, width of the hidden layer
    dropout : float, the probability, for weights of the attention, the hidden layer and both blocks
    activation : "relu", "gelu" or a function, that of the hidden layer
    layer_norm_eps : float, added to variances
    batch_first : bool, whether sequences are (batch, length, d_model) and not (length, batch, d_model)
    norm_first : bool, whether a block gets what is normalized and not what was added
    bias : bool, whether projections and normalizations add one
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Notes
    -----
    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1; `norm_first`: Xiong et al. 2020,
    "On Layer Normalization in the Transformer Architecture", figure 1.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> nn.TransformerEncoderLayer(6, 2, batch_first=True)(tensorlab.ones(4, 7, 6)).shape
    tensorlab.Size([4, 7, 6])
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **made
        )
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        activation = activation_function(activation)
        self.activation_relu_or_gelu = number_of_activation(activation)
        self.activation = activation

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """Return what the layer makes of a sequence.

        Parameters
        ----------
        src : Tensor, shape (length, batch, d_model), with `batch_first` (batch, length,
            d_model), or (length, d_model)
        src_mask : Tensor, shape (length, length) or (batch * heads, length, length): True or
            -inf where a place may not look
        src_key_padding_mask : Tensor, shape (batch, length): True or -inf at padding
        is_causal : bool, the hint that src_mask is the causal mask
        """
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src.dtype
        )
        mask = canonical_mask(src_mask, "src_mask", None, "", src.dtype)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        attended, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout1(attended)

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Attention of a sequence to itself, then to a memory, then a network with one hidden layer at each place.

    The parameters are those of `TransformerEncoderLayer`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> target, memory = tensorlab.ones(5, 4, 6), tensorlab.ones(7, 4, 6)
    >>> nn.TransformerDecoderLayer(6, 2)(target, memory).shape
    tensorlab.Size([5, 4, 6])
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **made
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **made
        )
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = activation_function(activation)

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        """Return what the layer makes of a sequence and a memory.

        Parameters
        ----------
        tgt, memory : Tensor, shape (length, batch, d_model), with `batch_first`
            (batch, length, d_model), or (length, d_model)
        tgt_mask, memory_mask : Tensor, shape (target length, length) or (batch * heads, target
            length, length): True or -inf where a place of tgt may not look
        tgt_key_padding_mask, memory_key_padding_mask : Tensor, shape (batch, length): True or
            -inf at padding
        tgt_is_causal, memory_is_causal : bool, the hint that the mask is the causal mask
        """
        of_self = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        of_memory = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *of_self)
            x = x + self._mha_block(self.norm2(x), memory, *of_memory)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *of_self))
        x = self.norm2(x + self._mha_block(x, memory, *of_memory))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        attended, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout1(attended)

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        attended, _ = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout2(attended)

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

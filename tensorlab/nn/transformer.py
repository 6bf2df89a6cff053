"""The transformer: stacks of layers (transformer_layers.py) that read a source and write a target."""

import copy
import math
import warnings

from .._core.state.modes import is_grad_enabled
from ..backends import mha
from ..ops.creation import full
from ..ops.multi_head_attention import additive, canonical_mask
from . import functional as F
from . import init
from .container import ModuleList
from .module import Module, check_copies
from .normalization import LayerNorm
from .transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer

__all__ = ["Transformer", "TransformerDecoder", "TransformerEncoder"]


def square_subsequent_mask(sz, device=None, dtype=None):
    """-inf above the diagonal of a square and 0 elsewhere: no place looks at one after it."""
    return full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)


def is_causal_mask(mask, is_causal, size):
    """Return the hint `is_causal`, or if it is None whether the mask is the causal one of this size."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    causal = square_subsequent_mask(size, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def sequence_length(x, batch_first):
    return x.shape[1 if batch_first and x.dim() == 3 else 0]


def clones(module, n):
    """Return n copies of a module, which start with the same values."""
    check_copies("Transformer", "num_layers", n)
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


# ---------------------------------------------------------------- encoder
class TransformerEncoder(Module):
    """A stack of encoder layers, copies of one.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer, which is copied
    num_layers : int
    norm : Module, called at the end, or None
    enable_nested_tensor : bool; in evaluation without gradients, whether padding is cut off, so
        that what stands in its place in the result of the layers is 0
    mask_check : bool, taken and ignored: padding is cut off only where it is at the end

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> layer = nn.TransformerEncoderLayer(6, 2, batch_first=True)
    >>> nn.TransformerEncoder(layer, num_layers=3)(tensorlab.ones(4, 7, 6)).shape
    tensorlab.Size([4, 7, 6])
    """

    def __init__(
        self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True
    ):
        super().__init__()
        self.layers = clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        obstacle = obstacle_to_cutting(encoder_layer)
        if enable_nested_tensor and obstacle:
            warnings.warn(
                f"TransformerEncoder: enable_nested_tensor is True, but padding is not cut off: {obstacle}",
                stacklevel=2,
            )
        self.use_nested_tensor = enable_nested_tensor and not obstacle

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """Return what the layers make of a sequence; see `TransformerEncoderLayer.forward`.

        `is_causal` None means: look whether `mask` is the causal mask.
        """
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", mask, "mask", src.dtype
        )
        mask = canonical_mask(mask, "mask", None, "", src.dtype)
        cut = self._padding_to_cut(src, mask, padding)
        if cut is not None:
            padding = additive(cut, src.dtype)
        batch_first = self.layers[0].self_attn.batch_first
        is_causal = is_causal_mask(mask, is_causal, sequence_length(src, batch_first))
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if cut is not None:
            x = x.masked_fill(cut.unsqueeze(-1), 0.0)
        return x if self.norm is None else self.norm(x)

    def _padding_to_cut(self, src, mask, padding):
        """Return True for each place, (batch, length), that is cut off, or None where nothing is."""
        first = self.layers[0]
        if (
            padding is None
            or mask is not None
            or not (self.use_nested_tensor and mha.get_fastpath_enabled())
            or first.training
            or src.dim() != 3
            or (
                is_grad_enabled()
                and (src.requires_grad or any(p.requires_grad for p in first.parameters()))
            )
        ):
            return None
        cut = padding != 0
        is_at_end = not bool((cut[:, :-1] & ~cut[:, 1:]).any())
        return cut if is_at_end else None


def obstacle_to_cutting(layer):
    """Say why PyTorch makes no nested tensors for stacks of this layer; "" if it does."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer is no TransformerEncoderLayer"
    attention = layer.self_attn
    obstacles = {
        "norm_first is True": layer.norm_first,
        "batch_first is False": not attention.batch_first,
        "kdim or vdim is not embed_dim": not attention._qkv_same_embed_dim,
        "bias is False": attention.in_proj_bias is None,
        "activation is neither relu nor gelu": not layer.activation_relu_or_gelu,
        "norm1.eps and norm2.eps differ": layer.norm1.eps != layer.norm2.eps,
        "nhead is odd": attention.num_heads % 2 == 1,
    }
    return next((text for text, is_true in obstacles.items() if is_true), "")


# ---------------------------------------------------------------- decoder
class TransformerDecoder(Module):
    """A stack of decoder layers, copies of one.

    Parameters
    ----------
    decoder_layer : TransformerDecoderLayer, which is copied
    num_layers : int
    norm : Module, called at the end, or None

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import TransformerDecoderLayer
    >>> layer = TransformerDecoderLayer(8, nhead=2, dim_feedforward=16, batch_first=True)
    >>> decoder = TransformerDecoder(layer, num_layers=2)
    >>> decoder(tensorlab.zeros(1, 5, 8), tensorlab.zeros(1, 7, 8)).shape
    tensorlab.Size([1, 5, 8])
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """Return what the layers make of a sequence and a memory; see `TransformerDecoderLayer.forward`.

        `tgt_is_causal` None means: look whether `tgt_mask` is the causal mask.
        """
        batch_first = self.layers[0].self_attn.batch_first
        tgt_is_causal = is_causal_mask(tgt_mask, tgt_is_causal, sequence_length(tgt, batch_first))
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


# ---------------------------------------------------------------- both
class Transformer(Module):
    """An encoder for a source and a decoder that makes a target of it.

    Parameters
    ----------
    d_model : int, features
    nhead : int, heads of each attention
    num_encoder_layers, num_decoder_layers : int
    dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype :
        as in `TransformerEncoderLayer`
    custom_encoder, custom_decoder : Module, used instead of a stack of layers

    Notes
    -----
    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.  There is no embedding and no
    positional encoding.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> model = nn.Transformer(6, 2, 1, 1, batch_first=True)
    >>> source, target = tensorlab.ones(4, 7, 6), tensorlab.ones(4, 5, 6)
    >>> model(source, target, tgt_mask=model.generate_square_subsequent_mask(5)).shape
    tensorlab.Size([4, 5, 6])
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}

        def stack(stack_class, layer_class, n):
            layer = layer_class(
                d_model,
                nhead,
                dim_feedforward,
                dropout,
                activation,
                layer_norm_eps,
                batch_first,
                norm_first,
                **made,
            )
            return stack_class(layer, n, LayerNorm(d_model, eps=layer_norm_eps, **made))

        self.encoder = (
            stack(TransformerEncoder, TransformerEncoderLayer, num_encoder_layers)
            if custom_encoder is None
            else custom_encoder
        )
        self.decoder = (
            stack(TransformerDecoder, TransformerDecoderLayer, num_decoder_layers)
            if custom_decoder is None
            else custom_decoder
        )
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self):
        """Draw new initial values of all matrices."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """Return what the decoder makes of a target and of the source.

        Masks are as in `TransformerDecoderLayer.forward`; None for `src_is_causal` and
        `tgt_is_causal` means: look whether the mask is the causal mask.

        Raises
        ------
        RuntimeError
            If source and target have different batches, or not d_model features.
        """
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise RuntimeError(
                f"Transformer: src has shape {tuple(src.shape)} and tgt {tuple(tgt.shape)}; expected "
                f"equal batches in dimension {batch_dim}"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"Transformer: src has {src.shape[-1]} features and tgt {tgt.shape[-1]}; expected "
                f"{self.d_model}, d_model"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """Return the causal mask, shape (sz, sz): -inf above the diagonal, 0 elsewhere."""
        return square_subsequent_mask(sz, device, dtype)

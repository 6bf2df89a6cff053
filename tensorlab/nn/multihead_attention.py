"""Multi-head attention as a layer: MultiheadAttention."""

from ..errors import AttentionError
from ..ops.creation import empty
from ..ops.multi_head_attention import multi_head_attention_forward, once_for_each
from . import init
from .linear import NonDynamicallyQuantizableLinear
from .module import Module
from .parameter import Parameter

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Let each query take a mean of the values of similar keys, in several learned subspaces at once.

    Parameters
    ----------
    embed_dim : int, features of the query and of the result
    num_heads : int, how many subspaces; a divisor of embed_dim
    dropout : float, the probability with which a weight becomes 0 in training
    bias : bool, whether the projections add one
    add_bias_kv : bool, whether to append a learned key and value
    add_zero_attn : bool, whether to append a key and a value of zeros
    kdim, vdim : int, features of key and value; embed_dim if not given
    batch_first : bool, whether inputs and results are (batch, length, features) and not
        (length, batch, features)
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Attributes
    ----------
    in_proj_weight : Parameter, shape (3 * embed_dim, embed_dim), or None with other kdim or vdim
    q_proj_weight, k_proj_weight, v_proj_weight : Parameter, shape (embed_dim, features), or None
    in_proj_bias : Parameter, shape (3 * embed_dim,), or None
    out_proj : Linear
    bias_k, bias_v : Parameter, shape (1, 1, embed_dim), or None

    Raises
    ------
    ValueError
        If embed_dim or num_heads is not above 0.
    AttentionError
        If num_heads does not divide embed_dim.

    Notes
    -----
    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> x = tensorlab.ones(7, 2, 6)
    >>> out, weights = nn.MultiheadAttention(6, 3)(x, x, x)
    >>> out.shape, weights.shape
    (tensorlab.Size([7, 2, 6]), tensorlab.Size([2, 7, 7]))
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"MultiheadAttention: embed_dim is {embed_dim} and num_heads {num_heads}; expected "
                "numbers above 0"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if embed_dim % num_heads:
            raise AttentionError(
                f"MultiheadAttention: embed_dim is {embed_dim} and num_heads {num_heads}; expected a "
                "divisor"
            )

        def parameter(*shape):
            return Parameter(empty(shape, device=device, dtype=dtype))

        widths = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim}
        widths["v_proj_weight"] = self.vdim
        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in widths:
                self.register_parameter(name, None)
        else:
            for name, width in widths.items():
                self.register_parameter(name, parameter(embed_dim, width))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        """Draw new initial values; out_proj keeps its weight."""
        for weight in (
            self.in_proj_weight,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
        ):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        """Return (result, weights or None); `F.multi_head_attention_forward` explains the arguments.

        Batches are (length, batch, features), with `batch_first` (batch, length, features).
        """
        if query.is_nested:
            raise AssertionError(
                "MultiheadAttention does not support nested tensors; project them with Linear, split "
                "the heads with unflatten and transpose, and call scaled_dot_product_attention"
            )
        swaps = self.batch_first and query.dim() == 3
        if swaps:
            query, key, value = once_for_each(lambda x: x.transpose(0, 1), query, key, value)
        result, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (result.transpose(0, 1) if swaps else result), weights

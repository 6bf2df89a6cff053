"""Multi-head attention: project query, key and value, attend in several subspaces at once, project back.

Sequences are (length, batch, features), as in PyTorch. A head sees its own part of the features, so that

    (length, batch, heads * head_features)   ->   (batch, heads, length, head_features)

splits the last dimension and reorders the strides: nothing is copied, and batch and heads are the batch of
one attention. Masks become numbers that are added to the scores, 0 where a query may look and -inf where it may not.
"""

import math
import warnings

from tensorlab._core.dtypes import DTYPES
from tensorlab.errors import AttentionError, DTypeError, ShapeError
from tensorlab.ops.creation import zeros, zeros_like
from tensorlab.ops.dropout import dropout
from tensorlab.ops.joining import cat
from tensorlab.ops.linalg.affine import linear
from tensorlab.ops.padding import pad
from tensorlab.ops.scaled_dot_product import scaled_dot_product_attention
from tensorlab.ops.softmax import softmax

BOOL = DTYPES[0]
NAME = "multi_head_attention_forward"


# ---------------------------------------------------------------- masks
def canonical_mask(mask, name, other, other_name, dtype):
    """Return a mask as numbers to be added to scores; a boolean one is True where no query may look.

    `other`, if given, is a mask that should have the same type.
    """
    if mask is None:
        return None
    if not mask.dtype.is_floating_point and mask.dtype != BOOL:
        raise AttentionError(
            f"attention: {name} has type {mask.dtype}; expected bool or a floating type, convert it with .bool()"
        )
    if other is not None and other.dtype != mask.dtype:
        warnings.warn(
            f"attention: {name} has type {mask.dtype} and {other_name} {other.dtype}; mixing them is deprecated, give "
            f"both the same type",
            stacklevel=3,
        )
    return mask if mask.dtype.is_floating_point else additive(mask, dtype)


def additive(mask, dtype):
    """-inf where a boolean mask is True, else 0."""
    return zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)


def _check_sequences(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Raise unless all have as many dimensions as the query, 3 with a batch and 2 without, asks for."""
    if query.dim() not in (2, 3):
        raise AttentionError(
            f"{NAME}: query has shape {tuple(query.shape)}; expected (length, batch, features) or (length, features)"
        )
    expected = {"key": (key, (query.dim(),)), "value": (value, (query.dim(),))}
    expected["key_padding_mask"] = (key_padding_mask, (query.dim() - 1,))
    expected["attn_mask"] = (attn_mask, (2, 3))
    for name, (given, dims) in expected.items():
        if given is not None and given.dim() not in dims:
            raise AttentionError(
                f"{NAME}: query has {query.dim()} dimensions and {name} {given.dim()}; expected "
                f"{' or '.join(str(n) for n in dims)} dimensions for {name}"
            )
    if query.dim() == 2 and attn_mask is not None and attn_mask.dim() == 3:
        _check_shape("attn_mask", attn_mask, (num_heads, len(query), len(key)), AttentionError)


def _check_shape(name, x, shape, error):
    if tuple(x.shape) != tuple(shape):
        raise error(f"{NAME}: {name} has shape {tuple(x.shape)}; expected {tuple(shape)}")


def _merged_mask(attn_mask, key_padding_mask, scores, added_keys):
    """One mask for scores of shape (batch, heads, queries, keys), or None. All see the added keys, the last ones."""
    batch, heads, _, keys = scores

    def widened(mask):
        return pad(mask, (0, added_keys)) if added_keys else mask

    if attn_mask is not None:
        by_head = attn_mask.unflatten(0, (batch, heads)) if attn_mask.dim() == 3 else attn_mask
        attn_mask = widened(by_head)
    if key_padding_mask is None:
        return attn_mask
    padding = widened(key_padding_mask)
    _check_shape("key_padding_mask", padding, (batch, keys), AttentionError)
    padding = padding.view(batch, 1, 1, keys)
    return padding if attn_mask is None else attn_mask + padding


# ---------------------------------------------------------------- projections
def once_for_each(function, *tensors):
    """What a function makes of tensors; what is the same tensor before is the same one after."""
    made = {id(x): function(x) for x in tensors}
    return [made[id(x)] for x in tensors]


def _project(query, key, value, weight, bias):
    """The three projections by one weight, (3 * features, features); the same tensor takes part in one product."""
    features = query.shape[-1]
    _check_shape("in_proj_weight", weight, (3 * features, features), ShapeError)
    if query is key and key is value:
        return linear(query, weight, bias).chunk(3, -1)
    if key is value:
        sizes = (features, 2 * features)
        of_query, of_others = weight.split(sizes)
        bias_of_query, bias_of_others = (None, None) if bias is None else bias.split(sizes)
        return (
            linear(query, of_query, bias_of_query),
            *linear(key, of_others, bias_of_others).chunk(2, -1),
        )
    return _project_each((query, key, value), weight.chunk(3), bias)


def _project_each(inputs, weights, bias):
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True))


def _separate_weights(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight):
    """The three weights, checked: each maps what it is for to the features of the query."""
    weights = {"q_proj_weight": q_proj_weight, "k_proj_weight": k_proj_weight}
    weights["v_proj_weight"] = v_proj_weight
    for (name, weight), x in zip(weights.items(), (query, key, value), strict=True):
        if weight is None:
            raise AttentionError(
                f"{NAME}: use_separate_proj_weight is True, but {name} is None; give it"
            )
        _check_shape(name, weight, (query.shape[-1], x.shape[-1]), AttentionError)
    return tuple(weights.values())


def _split_heads(x, heads):
    """(length, batch, features) as (batch, heads, length, head_features), a view."""
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).permute(1, 2, 0, 3)


def _check_features(query, key, value, expected, heads, allows_others):
    """Raise unless features can be split into heads, and key and value fit one another.

    With `allows_others` these may have other features than the query.
    """
    features = query.shape[-1]
    if features != expected:
        raise AttentionError(
            f"{NAME}: query has {features} features; expected {expected}, embed_dim_to_check"
        )
    if features % heads:
        raise AttentionError(
            f"{NAME}: {features} features cannot be split into {heads} heads; expected a divisor"
        )
    fits = slice(0, 2) if allows_others else slice(None)
    if key.shape[fits] != value.shape[fits]:
        raise AttentionError(
            f"{NAME}: key has shape {tuple(key.shape)} and value {tuple(value.shape)}; they must be equal"
            + (" but for the features" if allows_others else "")
        )


def _static_heads(x, name, batch, heads, features):
    """What is given instead of a projection, (batch * heads, length, head_features), in four dimensions."""
    _check_shape(name, x, (batch * heads, x.shape[1], features // heads), AttentionError)
    return x.unflatten(0, (batch, heads))


def _with_zero(x):
    """Heads with one more key, all zeros, for a query that wants to see nothing."""
    return cat([x, zeros((*x.shape[:2], 1, x.shape[3]), dtype=x.dtype, device=x.device)], 2)


def _keys_of_heads(x, learned, static, name, heads, adds_zero):
    """Projected keys or values, or those that are given instead, by head; at the end what is added to them."""
    _, batch, features = x.shape
    if static is not None:
        x = _static_heads(static, name, batch, heads, features)
    else:
        x = x if learned is None else cat([x, learned.repeat(1, batch, 1)])
        x = _split_heads(x, heads)
    return _with_zero(x) if adds_zero else x


# ---------------------------------------------------------------- attention with its weights
def _attend_with_weights(q, k, v, mask, dropout_p):
    """(result, weights), by the plain formula: the weights are asked for, so they are kept.

    A query that may look at no key has weights of 0, and so a result of 0. Its softmax would be
    0 / 0, and its gradient would reach every weight of the projections as nan.
    """
    scores = (q * math.sqrt(1 / q.shape[-1])) @ k.transpose(-2, -1)
    if mask is not None:
        if mask.dtype != scores.dtype:
            raise DTypeError(
                f"{NAME}: the mask has type {mask.dtype} and the scores have type {scores.dtype}; convert it "
                "with .to()"
            )
        sees_nothing = (mask == -math.inf).all(-1, True)
        scores = scores + mask.masked_fill(sees_nothing, 0.0)
    weights = softmax(scores, -1)
    if mask is not None:
        weights = weights.masked_fill(sees_nothing, 0.0)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p, True)
    return weights @ v, weights


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention in `num_heads` learned subspaces; what `nn.MultiheadAttention` computes.

    Parameters
    ----------
    query : Tensor, shape (queries, batch, features) or (queries, features)
    key : Tensor, shape (keys, batch, key_features) or (keys, key_features)
    value : Tensor, shape (keys, batch, value_features) or (keys, value_features)
    embed_dim_to_check : int, the features that are expected
    num_heads : int, a divisor of features
    in_proj_weight : Tensor, shape (3 * features, features), unless there are separate ones
    in_proj_bias : Tensor, shape (3 * features,), or None
    bias_k, bias_v : Tensor, shape (1, 1, features), or None: one more key and its value
    add_zero_attn : bool, whether to add a key of zeros and its value
    dropout_p : float, the probability with which a weight becomes 0 in training
    out_proj_weight : Tensor, shape (features, features)
    out_proj_bias : Tensor, shape (features,), or None
    training : bool, whether to drop weights
    key_padding_mask : Tensor, shape (batch, keys) or (keys,): bool, True where a key is
        padding, or floating, added to the scores
    need_weights : bool, whether to return the weights, too; without, memory stays linear in the length
    attn_mask : Tensor, shape (queries, keys) or (batch * heads, queries, keys): bool, True
        where a query may not look, or floating, added to the scores
    use_separate_proj_weight : bool, whether to use the next three
    q_proj_weight, k_proj_weight, v_proj_weight : Tensor, shape (features, the input's features)
    static_k, static_v : Tensor, shape (batch * heads, keys, features / heads), instead of the
        projections of key and value
    average_attn_weights : bool, whether to return the mean of the weights of all heads
    is_causal : bool, the hint that `attn_mask` is the causal mask, which must be given

    Returns
    -------
    (Tensor, shape of query; weights or None): the weights have shape (batch, queries, keys), with one more
    dimension for the heads if they are not averaged, and one less without a batch

    Raises
    ------
    AttentionError
        If shapes, masks and weights do not fit together. It is a RuntimeError and an AssertionError.
    RuntimeError
        If `is_causal` is given without `attn_mask`, or `attn_mask` has not the shape of the scores.

    Notes
    -----
    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2.
    """
    _check_sequences(query, key, value, key_padding_mask, attn_mask, num_heads)
    is_batched = query.dim() == 3
    if not is_batched:
        query, key, value = once_for_each(lambda x: x.unsqueeze(1), query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    queries, batch, _ = query.shape

    if is_causal and attn_mask is None:
        raise RuntimeError(
            f"{NAME}: is_causal is a hint about attn_mask, which is missing; give "
            "nn.Transformer.generate_square_subsequent_mask(queries)"
        )
    key_padding_mask = canonical_mask(
        key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype
    )
    is_causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if is_causal else canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)

    _check_features(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        weights = _separate_weights(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _project_each((query, key, value), weights, in_proj_bias)
    elif in_proj_weight is None:
        raise AttentionError(
            f"{NAME}: in_proj_weight is None; give it, or separate weights and use_separate_proj_weight=True"
        )
    else:
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        in_batch = (batch * num_heads,) if attn_mask.dim() == 3 else ()
        _check_shape("attn_mask", attn_mask, (*in_batch, queries, len(key)), ShapeError)
    if (bias_k is None) != (bias_v is None):
        raise AttentionError(f"{NAME}: one of bias_k and bias_v is None; give both or neither")
    if bias_k is not None and not (static_k is None and static_v is None):
        raise AttentionError(
            f"{NAME}: bias_k and bias_v cannot be added to static_k or static_v; leave one of them out"
        )
    q = _split_heads(q, num_heads)
    k = _keys_of_heads(k, bias_k, static_k, "static_k", num_heads, add_zero_attn)
    v = _keys_of_heads(v, bias_v, static_v, "static_v", num_heads, add_zero_attn)
    added_keys = (bias_k is not None) + bool(add_zero_attn)
    scores = (batch, num_heads, queries, k.shape[2])
    mask = _merged_mask(attn_mask, key_padding_mask, scores, added_keys)

    dropout_p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        attended, weights = _attend_with_weights(q, k, v, mask, dropout_p)
        if average_attn_weights:
            weights = weights.mean(1)
        weights = weights if is_batched else weights.squeeze(0)
    else:
        attended = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    out = linear(attended.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    return (out if is_batched else out.squeeze(1)), weights

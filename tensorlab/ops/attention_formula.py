"""Attention in plain tensor operations: the formula, and its gradients.

It keeps all scores, queries * keys of them, so its memory grows with the square of the length. attention.pyx
computes the same in blocks; where that does not go (dropout, a mask that learns, second derivatives), this is used.
"""

import math

from tensorlab.ops.creation import ones
from tensorlab.ops.dropout import dropout
from tensorlab.ops.softmax import softmax


def causal_mask(query, key):
    """True where a query may look: query i at keys 0 to i."""
    return ones(query.shape[-2], key.shape[-2], dtype=bool, device=query.device).tril()


def attention_weights(query, key, mask, is_causal, scale):
    """softmax(query @ key^T * scale + mask) over the keys; a query that may look nowhere has weights of 0."""
    scores = query @ key.transpose(-2, -1) * scale
    if is_causal:
        mask = causal_mask(query, key)
    if mask is not None:
        scores = (
            scores + mask if mask.dtype.is_floating_point else scores.masked_fill(~mask, -math.inf)
        )
    sees_nothing = (scores == -math.inf).all(-1, True)
    return softmax(scores.masked_fill(sees_nothing, 0.0), -1).masked_fill(sees_nothing, 0.0)


def attention_by_formula(query, key, value, mask, dropout_p, is_causal, scale):
    """The weighted mean of the values."""
    weights = attention_weights(query, key, mask, is_causal, scale)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p, True)
    return weights @ value


def attention_gradients(grad, query, key, value, mask, is_causal, scale):
    """The gradients by query, key and value, to be differentiated again."""
    weights = attention_weights(query, key, mask, is_causal, scale)
    grad_weights = grad @ value.transpose(-2, -1)
    grad_scores = weights * (grad_weights - (grad_weights * weights).sum(-1, True)) * scale
    return (
        grad_scores @ key,
        grad_scores.transpose(-2, -1) @ query,
        weights.transpose(-2, -1) @ grad,
    )

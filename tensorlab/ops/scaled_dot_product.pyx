"""scaled_dot_product_attention: it reads its options and chooses what computes, blocks or the formula."""

import contextlib
import math

from tensorlab._core.tensor cimport TensorBase

from tensorlab._core.dispatch.autocast import in_lower, without_autocast
from tensorlab._core.dtypes import DTYPES
from tensorlab._core.dispatch.levels import is_differentiated
from tensorlab._core.state.settings_number import note_setting
from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.attention import attention
from tensorlab.ops.attention_formula import attention_by_formula
from tensorlab.ops.meshgrid import broadcast_shapes

NAME = "scaled_dot_product_attention"
BOOL, FLOAT32 = DTYPES[0], DTYPES[8]

# PyTorch's ways, by the names of its switches, in the order in which they are tried. The first two
# are one here: in blocks. The last two are for devices that are not here.
WAYS = ("flash", "mem_efficient", "math", "cudnn", "overrideable")
ways = list(WAYS)  # those that are allowed


def allow(names):
    """Let attention be computed in these ways only, in this order."""
    ways[:] = names
    note_setting("ways of attention", tuple(ways), WAYS)


@contextlib.contextmanager
def allowed(names):
    """Let attention be computed in these ways only, inside a `with` block."""
    before = list(ways)
    allow(names)
    try:
        yield {}
    finally:
        allow(before)


def switch(name, is_on):
    """Allow or forbid one way, as `backends.cuda` does."""
    allow([way for way in WAYS if (is_on if way == name else way in ways)])


def scaled_dot_product_attention(
    TensorBase query not None,
    TensorBase key not None,
    TensorBase value not None,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    *,
    scale=None,
    enable_gqa=False,
):
    """softmax(query @ key^T * scale + mask) @ value: each query's mean of the values of similar keys.

    Parameters
    ----------
    query : Tensor, shape (*, queries, features), floating
    key : Tensor, shape (*, keys, features)
    value : Tensor, shape (*, keys, value_features)
    attn_mask : Tensor, broadcast to (*, queries, keys): bool, True where a query may look, or
        floating, added to the scores; or a `nn.attention.bias.CausalBias`
    dropout_p : float, the probability with which a weight becomes 0; give 0 in evaluation
    is_causal : bool; query i looks at keys 0 to i
    scale : float, 1 / sqrt(features) unless given
    enable_gqa : bool; several heads of the query, dimension -3, share one of key and value

    Returns
    -------
    Tensor, shape (*, queries, value_features); 0 for a query that may look at no key

    Raises
    ------
    RuntimeError
        If both `attn_mask` and `is_causal` are given, or `sdpa_kernel` allows no way to compute this.
    ShapeError, DTypeError
        If shapes or types do not fit together.

    Notes
    -----
    Memory grows with the length, not with its square, unless weights are dropped, the mask needs a
    gradient, or the gradient is differentiated again.
    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1.

    >>> import tensorlab
    >>> query, key = tensorlab.tensor([[1., 0.]]), tensorlab.eye(2)
    >>> tensorlab.nn.functional.scaled_dot_product_attention(query, key, key * 3, scale=1000.)
    tensor([[3., 0.]])
    """
    if hasattr(attn_mask, "options"):  # a CausalBias, which says what it stands for
        attn_mask, is_causal = attn_mask.options(is_causal, query.device)
    query, key, value = in_lower((query, key, value))
    if enable_gqa:
        key, value = _for_each_head(key, query, "key"), _for_each_head(value, query, "value")
    _check(query, key, value, attn_mask)
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            f"{NAME}: both attn_mask and is_causal are given; put the causal mask into attn_mask"
        )
    if scale is None:
        scale = 1 / math.sqrt(max(1, query.size(-1)))  # without features, all scores are 0
    dtype = query.dtype
    if dtype.itemsize == 2:  # computed in float32: the result alone is rounded to half
        query, key, value = query.float(), key.float(), value.float()
    if attn_mask is not None and attn_mask.dtype not in (BOOL, query.dtype):
        attn_mask = attn_mask.to(query.dtype)
    return without_autocast(_attend, query, key, value, attn_mask, dropout_p, is_causal, scale).to(dtype)


def _attend(query, key, value, attn_mask, dropout_p, is_causal, scale):
    if _goes_in_blocks(query, attn_mask, dropout_p):
        query, key, value = _in_one_batch(query, key, value)
        if attn_mask is not None:
            attn_mask = attn_mask.expand(*_batch_of(query), query.size(-2), key.size(-2))
        return attention(query, key, value, attn_mask, is_causal, scale)
    return attention_by_formula(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _goes_in_blocks(query, mask, dropout_p):
    """Whether attention.pyx is to compute it; raises if nothing may that could."""
    learns_mask = mask is not None and is_differentiated(mask)
    is_possible = not (dropout_p > 0.0 or learns_mask)
    for way in ways:
        if way == "math":
            return False
        if is_possible and way in ("flash", "mem_efficient"):
            return True
    raise RuntimeError(
        f"{NAME}: no backend that sdpa_kernel allows can compute this; allow SDPBackend.MATH"
        + ("" if is_possible else ", which alone can drop weights and learn masks")
    )


def _check(query, key, value, mask):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ShapeError(
            f"{NAME}: query has {query.dim()} dimensions, key {key.dim()} and value {value.dim()}; expected "
            "(*, length, features)"
        )
    if not query.dtype == key.dtype == value.dtype:
        raise DTypeError(
            f"{NAME}: query has type {query.dtype}, key {key.dtype} and value {value.dtype}; they must be equal, "
            f"convert them with .to()"
        )
    if not query.dtype.is_floating_point:
        raise DTypeError(
            f"{NAME}: query has type {query.dtype}; expected a floating type, convert it with .float()"
        )
    batch = _batch(query, key, value)
    if mask is None:
        return
    if mask.dtype not in (BOOL, FLOAT32, query.dtype):
        other = "" if query.dtype is FLOAT32 else ", float32"
        raise DTypeError(
            f"{NAME}: attn_mask has type {mask.dtype}; expected bool{other} or {query.dtype}, that of query"
        )
    scores = (*batch, query.size(-2), key.size(-2))
    if not _can_be_broadcast(mask.shape, scores):
        raise ShapeError(
            f"{NAME}: attn_mask has shape {tuple(mask.shape)}; expected one that can be broadcast to {scores}"
        )


def _batch_of(x):
    """The sizes of a tensor but for its last two."""
    return tuple(x.shape)[: x.dim() - 2]


def _batch(query, key, value):
    """The common batch; raises unless the matrices fit, too."""
    batch, others = _batch_of(query), (_batch_of(key), _batch_of(value))
    if others != (batch, batch):
        try:
            batch = tuple(broadcast_shapes(batch, *others))
        except RuntimeError:
            batch = None
    if batch is None or query.size(-1) != key.size(-1) or key.size(-2) != value.size(-2):
        raise ShapeError(
            f"{NAME}: query has shape {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)}; "
            "expected (*, queries, features), (*, keys, features) and (*, keys, value_features)"
        )
    return batch


def _can_be_broadcast(shape, wider):
    return len(shape) <= len(wider) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(wider), strict=False)
    )


def _in_one_batch(*tensors):
    """Query, key and value with equal batches: views, expanded where they are broadcast."""
    batch = _batch(*tensors)
    return [
        x if _batch_of(x) == batch else x.expand(*batch, x.size(-2), x.size(-1)) for x in tensors
    ]


def _for_each_head(x, query, name):
    """Keys or values of fewer heads, repeated for each head of the query."""
    if x.dim() < 3 or query.dim() < 3:
        return x
    if query.size(-3) % max(1, x.size(-3)):
        raise ShapeError(
            f"{NAME}: query has shape {tuple(query.shape)} and {name} {tuple(x.shape)}; with enable_gqa, heads are "
            f"dimension -3, and those of {name} must divide those of query"
        )
    return x.repeat_interleave(query.size(-3) // max(1, x.size(-3)), -3)

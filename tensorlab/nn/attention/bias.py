"""Masks for `scaled_dot_product_attention` that are descriptions: nothing of the size of the scores is stored."""

import enum
import warnings

from ... import _missing
from ..._core.dispatch.overrides import disabled_tensor_function
from ..._tensor import Tensor
from ...ops.creation import ones

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Where the triangle of a causal mask that is no square begins.

    UPPER_LEFT: query i looks at keys 0 to i. LOWER_RIGHT: the last query looks at all keys, and each before it at one
    less, as where earlier keys come from a cache.
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask, to be given as `attn_mask`.

    Parameters
    ----------
    variant : CausalVariant
    seq_len_q, seq_len_kv : int, queries and keys

    Raises
    ------
    AssertionError
        If `variant` is no CausalVariant.
    """

    __tensor_function__ = disabled_tensor_function  # results of ops are plain tensors

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(
                f"CausalBias: variant is of type {type(variant).__name__}; expected a CausalVariant"
            )
        # one number that is shown everywhere, in the shape that PyTorch's has
        return ones(()).expand(variant, seq_len_q, seq_len_kv).as_subclass(cls)

    def __init__(self, variant, seq_len_q, seq_len_kv):
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if variant == CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                f"CausalBias: with {seq_len_q} queries and {seq_len_kv} keys aligned at the lower right, the first "
                "queries see nothing; their results are 0",
                stacklevel=3,
            )

    def _materialize(self, device=None):
        """Return the mask as a tensor: True where a query may look."""
        shift = self.seq_len_kv - self.seq_len_q if self.variant == CausalVariant.LOWER_RIGHT else 0
        return ones(self.seq_len_q, self.seq_len_kv, dtype=bool, device=device).tril(shift)

    def options(self, is_causal, device):
        """Return (attn_mask, is_causal) that say the same to `scaled_dot_product_attention`.

        Raises
        ------
        ValueError
            If `is_causal` is given, too.
        """
        if is_causal:
            raise ValueError(
                "scaled_dot_product_attention: both a CausalBias and is_causal are given; leave is_causal out"
            )
        if self.variant == CausalVariant.UPPER_LEFT or self.seq_len_q == self.seq_len_kv:
            return None, True
        return self._materialize(device), False

    def __repr__(self, *, tensor_contents=None):
        return repr(self._materialize())


def causal_upper_left(*size):
    """Return the causal mask whose triangle begins at the upper left; the same as `is_causal=True`.

    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two(size, "causal_upper_left"))


def causal_lower_right(*size):
    """Return the causal mask whose triangle ends at the lower right: the last query looks at all keys.

    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two(size, "causal_lower_right"))


def _two(size, name):
    if len(size) != 2:
        raise AssertionError(f"{name}: {len(size)} sizes are given; expected two, queries and keys")
    return size


def __getattr__(name):
    raise _missing.refuse(__name__, name)

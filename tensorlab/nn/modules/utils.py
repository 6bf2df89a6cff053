"""Small functions that programs take from nn.modules.utils."""

from collections.abc import Iterable
from itertools import repeat

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n, name="parse"):
    """Return a function that makes a tuple: of an iterable its elements, of anything else n copies."""

    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """Return the elements in reverse order, each n times: what F.pad takes."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Take a prefix such as "module." off the names of a state dict, in place.

    Parameters
    ----------
    state_dict : dict, with `_metadata` or without
    prefix : str
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if key == prefix.removesuffix("."):
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key.removeprefix(prefix)] = metadata.pop(key)

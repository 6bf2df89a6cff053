"""Tools around training: `utils.data` feeds it with batches."""

from .. import _missing
from . import data

__all__ = ["data"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

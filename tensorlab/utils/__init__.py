"""Tools around training: `utils.data` feeds it with batches, `utils.dlpack` shares memory with other libraries."""

from .. import _missing
from . import data, dlpack

__all__ = ["data", "dlpack"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

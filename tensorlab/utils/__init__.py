"""Tools around training: `utils.data` feeds it with batches."""

from . import data

__all__ = ["data"]

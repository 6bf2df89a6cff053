"""Batching rules: `rules.py` says what one is; the others have those of families of ops."""

from tensorlab.func.batching import (
    convolutions,
    dims,
    elements,
    indexing,
    losses,
    norms,
    planes,
    products,
    random_numbers,
    recurrent,
    refusals,
    tables,
    views,
)
from tensorlab.func.batching.rules import Same, batching, run_batched

__all__ = ["Same", "batching", "run_batched"]

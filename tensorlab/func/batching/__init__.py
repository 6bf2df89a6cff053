"""Batching rules: see `rules.py` for what one is; the others have the rules of families of ops."""

from tensorlab.func.batching import dims, products, views  # noqa: F401
from tensorlab.func.batching.rules import Same, batching, run_batched

__all__ = ["Same", "batching", "run_batched"]

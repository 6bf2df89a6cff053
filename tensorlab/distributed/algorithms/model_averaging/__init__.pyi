"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.distributed.algorithms.model_averaging import averagers as averagers

__all__ = [
    "averagers",
]

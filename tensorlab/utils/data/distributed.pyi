"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.utils.data import DistributedSampler as DistributedSampler

__all__ = [
    "DistributedSampler",
]

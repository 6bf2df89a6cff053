"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.utils import checkpoint as checkpoint
from tensorlab.utils import data as data
from tensorlab.utils import dlpack as dlpack
from tensorlab.utils import hooks as hooks

__all__ = [
    "checkpoint",
    "data",
    "dlpack",
    "hooks",
]

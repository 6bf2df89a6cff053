"""PyTorch's place for trees: see `tensorlab/_pytree.py`."""

from tensorlab._pytree import *  # noqa: F403
from tensorlab._pytree import KINDS as KINDS
from tensorlab._pytree import SUPPORTED_NODES as SUPPORTED_NODES
from tensorlab._pytree import __all__ as __all__

"""PyTorch's place for trees: see `tensorlab/_pytree.py`, which this is."""

import sys

from tensorlab import _pytree

sys.modules[__name__] = _pytree

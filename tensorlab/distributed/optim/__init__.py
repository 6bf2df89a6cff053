"""Optimizers for several ranks."""

from tensorlab import _missing
from tensorlab.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from tensorlab.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
__getattr__ = _missing.refusing(__name__)

"""Averaging models, instead of gradients."""

from tensorlab import _missing
from tensorlab.distributed.algorithms.model_averaging import averagers

__all__ = ["averagers"]


__getattr__ = _missing.refusing(__name__)

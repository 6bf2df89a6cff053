"""Averaging models, in place of gradients."""

from tensorlab.distributed.algorithms.model_averaging import averagers

__all__ = ["averagers"]

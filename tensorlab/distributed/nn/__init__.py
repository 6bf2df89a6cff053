"""Collectives that autograd follows."""

from tensorlab import _missing
from tensorlab.distributed.nn import functional
from tensorlab.distributed.nn.functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)
from tensorlab.distributed.process_groups import group
from tensorlab.distributed.reduce_ops import ReduceOp

__all__ = [
    "ReduceOp",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "functional",
    "gather",
    "group",
    "reduce",
    "reduce_scatter",
    "scatter",
]
__getattr__ = _missing.refusing(__name__)

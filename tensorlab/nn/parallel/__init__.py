"""Modules that train on several devices or in several processes."""

from ..._on_demand import on_demand
from .data_parallel import DataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
__getattr__, __dir__ = on_demand(
    __name__, ("distributed",), {"DistributedDataParallel": "distributed"}
)

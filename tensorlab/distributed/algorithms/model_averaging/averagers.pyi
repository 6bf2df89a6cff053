"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.distributed import ProcessGroup

__all__ = [
    "ModelAverager",
    "PeriodicModelAverager",
]


class ModelAverager:
    process_group: Any
    def __init__(self, process_group: ProcessGroup | None=None) -> None: ...
    def average_parameters(self, params: Any) -> Any: ...

class PeriodicModelAverager(ModelAverager):
    def __init__(self, period: builtins.int, warmup_steps: builtins.int=0, process_group: ProcessGroup | None=None) -> None: ...
    def average_parameters(self, params: Any) -> Any: ...

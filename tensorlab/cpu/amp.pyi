"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
import tensorlab
import tensorlab.amp

__all__ = [
    "GradScaler",
    "autocast",
]


class GradScaler(tensorlab.amp.GradScaler):
    def __init__(self, init_scale: builtins.float=65536.0, growth_factor: builtins.float=2.0, backoff_factor: builtins.float=0.5, growth_interval: builtins.float=2000, enabled: builtins.bool=True) -> None: ...

class autocast(tensorlab.autocast):
    def __init__(self, enabled: builtins.bool=True, dtype: Any=..., cache_enabled: builtins.bool=True) -> None: ...

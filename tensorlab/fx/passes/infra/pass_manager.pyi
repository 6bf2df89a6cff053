"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "PassManager",
]


class PassManager:
    def __call__(self, module: Any) -> Any: ...
    def __init__(self, passes: Any=..., steps: builtins.float=1) -> None: ...
    def add_pass(self, one: Any) -> Any: ...

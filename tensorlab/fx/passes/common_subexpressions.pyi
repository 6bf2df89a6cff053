"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.fx.passes.infra.pass_base import PassBase

__all__ = [
    "CSEPass",
]


class CSEPass(PassBase):
    banned_ops: Any
    def __init__(self, banned_ops: Any=None) -> None: ...
    def call(self, graph_module: Any) -> Any: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.fx.passes.infra.pass_base import PassBase

__all__ = [
    "DeadCodePass",
]


class DeadCodePass(PassBase):
    def call(self, graph_module: Any) -> Any: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "PassBase",
    "PassResult",
]


class PassBase:
    def __call__(self, graph_module: Any) -> Any: ...
    def call(self, graph_module: Any) -> Any: ...
    def ensures(self, graph_module: Any) -> Any: ...
    def requires(self, graph_module: Any) -> Any: ...

class PassResult(tuple):
    def __repr__(self) -> str: ...
    @property
    def graph_module(self) -> Any: ...
    @property
    def modified(self) -> Any: ...

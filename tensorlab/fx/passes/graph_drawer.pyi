"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "FxGraphDrawer",
]


class FxGraphDrawer:
    def __init__(self, graph_module: Any, name: Any, *, most_nodes: builtins.float=100) -> None: ...
    def get_all_dot_graphs(self) -> Any: ...
    def get_dot_graph(self, submod_name: Any=None) -> Any: ...
    def get_main_dot_graph(self) -> Any: ...
    def get_submod_dot_graph(self, submod_name: Any) -> Any: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.fx.graph_module import GraphModule

__all__ = [
    "Partition",
    "split_module",
]

def split_module(m: Any, root_m: Any, split_callback: Any, qualname_map: Any=None, keep_original_order: builtins.bool=False, keep_original_node_name: builtins.bool=False, *, partition_affix: Any=None) -> GraphModule: ...


class Partition:
    def __init__(self, name: Any) -> None: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.fx.passes import common_subexpressions as common_subexpressions
from tensorlab.fx.passes import dead_code as dead_code
from tensorlab.fx.passes import graph_drawer as graph_drawer
from tensorlab.fx.passes import shape_prop as shape_prop
from tensorlab.fx.passes import split_module as split_module

__all__ = [
    "common_subexpressions",
    "dead_code",
    "graph_drawer",
    "shape_prop",
    "split_module",
]

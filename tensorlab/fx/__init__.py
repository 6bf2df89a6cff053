"""fx: programs as graphs that programs can read and change.

`symbolic_trace` runs a function or a module with proxies instead of tensors, and writes down
what is called: a `Graph` of `Node`s.
`GraphModule` writes a graph as Python source again, and runs it.  Between the two stand passes,
which change graphs.

PyTorch's names and behaviour.  Left out: programs whose Python branches on values; symbolic shapes.
"""

from tensorlab import _missing
from tensorlab.fx import immutable_collections
from tensorlab.fx.graph import CodeGen, Graph, PythonCode
from tensorlab.fx.node import Node, has_side_effect, map_aggregate, map_arg
from tensorlab.fx.wrapping import wrap

__all__ = [
    "CodeGen",
    "Graph",
    "Node",
    "PythonCode",
    "has_side_effect",
    "immutable_collections",
    "map_aggregate",
    "map_arg",
    "wrap",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

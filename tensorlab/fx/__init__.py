"""fx: programs as graphs that programs can read and change.

`symbolic_trace` runs a function or a module with proxies instead of tensors, and writes down
what is called: a `Graph` of `Node`s.
`GraphModule` writes a graph as Python source again, and runs it.  Between the two stand passes,
which change graphs.

PyTorch's names and behaviour.  Left out: programs whose Python branches on values; symbolic shapes.
"""

from tensorlab import _missing
from tensorlab.fx import immutable_collections, subgraph_rewriter
from tensorlab.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from tensorlab.fx.graph import CodeGen, Graph, PythonCode
from tensorlab.fx.graph_module import GraphModule
from tensorlab.fx.interpreter import Interpreter, Transformer
from tensorlab.fx.node import Node, has_side_effect, map_aggregate, map_arg
from tensorlab.fx.proxy import Attribute, Proxy, TraceError
from tensorlab.fx.subgraph_rewriter import replace_pattern, replace_pattern_with_filters

__all__ = [
    "PH",
    "Attribute",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "PythonCode",
    "TraceError",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "immutable_collections",
    "map_aggregate",
    "map_arg",
    "replace_pattern",
    "replace_pattern_with_filters",
    "subgraph_rewriter",
    "symbolic_trace",
    "wrap",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

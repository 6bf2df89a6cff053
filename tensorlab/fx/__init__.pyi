"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.fx.proxy import Attribute as Attribute
from tensorlab.fx.graph import CodeGen as CodeGen
from tensorlab.fx.graph import Graph as Graph
from tensorlab.fx.graph_module import GraphModule as GraphModule
from tensorlab.fx.interpreter import Interpreter as Interpreter
from tensorlab.fx.node import Node as Node
from tensorlab.fx.proxy import Proxy as Proxy
from tensorlab.fx.graph import PythonCode as PythonCode
from tensorlab.fx.proxy import TraceError as TraceError
from tensorlab.fx.interpreter import Transformer as Transformer
from tensorlab.fx import immutable_collections as immutable_collections
from tensorlab.fx import subgraph_rewriter as subgraph_rewriter
from typing import Any
from tensorlab.fx.proxy import TracerBase

__all__ = [
    "Attribute",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "PH",
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

PH: Any

def has_side_effect(fn: Any) -> Any: ...
def map_aggregate(a: Any, fn: Any) -> Any: ...
def map_arg(a: Any, fn: Any) -> Any: ...
def replace_pattern(gm: Any, pattern: Any, replacement: Any) -> Any: ...
def replace_pattern_with_filters(gm: Any, pattern: Any, replacement: Any=None, match_filters: Any=None, ignore_literals: builtins.bool=False, replacement_callback: Any=None) -> Any: ...
def symbolic_trace(root: Any, concrete_args: Any=None) -> GraphModule: ...
def wrap(fn_or_name: Any) -> Any: ...


class ProxyableClassMeta(type):
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __init__(self, name: Any, bases: Any, attributes: Any) -> None: ...

class Tracer(TracerBase):
    param_shapes_constant: builtins.bool
    def __init__(self, autowrap_modules: Any=..., autowrap_functions: Any=..., param_shapes_constant: builtins.bool=False) -> None: ...
    def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any: ...
    def create_arg(self, a: Any) -> Any: ...
    def create_args_for_root(self, root_fn: Any, is_module: Any, concrete_args: Any=None) -> Any: ...
    def get_fresh_qualname(self, prefix: Any) -> Any: ...
    def getattr(self, attr: Any, attr_val: Any, parameter_proxy_cache: Any) -> Any: ...
    def is_leaf_module(self, m: Any, module_qualified_name: Any) -> Any: ...
    def path_of_module(self, mod: Any) -> Any: ...
    def trace(self, root: Any, concrete_args: Any=None) -> Graph: ...

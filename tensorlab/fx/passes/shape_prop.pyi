"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab import _dtype
from tensorlab.fx.interpreter import Interpreter
from tensorlab import Size

__all__ = [
    "ShapeProp",
    "TensorMetadata",
]


class ShapeProp(Interpreter):
    def propagate(self, *args: Any) -> Any: ...
    def run_node(self, n: Any) -> Any: ...

class TensorMetadata(tuple):
    def __repr__(self) -> str: ...
    @property
    def dtype(self) -> _dtype: ...
    @property
    def is_quantized(self) -> builtins.bool: ...
    @property
    def memory_format(self) -> Any: ...
    @property
    def qparams(self) -> Any: ...
    @property
    def requires_grad(self) -> builtins.bool: ...
    @property
    def shape(self) -> Size: ...
    @property
    def stride(self) -> Any: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab import Tensor

__all__ = [
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "vhp",
    "vjp",
]

def hessian(func: Any, inputs: Any, create_graph: builtins.bool=False, strict: builtins.bool=False, vectorize: builtins.bool=False, outer_jacobian_strategy: str='reverse-mode') -> Tensor: ...
def hvp(func: Any, inputs: Any, v: Any=None, create_graph: builtins.bool=False, strict: builtins.bool=False) -> Any: ...
def jacobian(func: Any, inputs: Any, create_graph: builtins.bool=False, strict: builtins.bool=False, vectorize: builtins.bool=False, strategy: str='reverse-mode') -> Tensor: ...
def jvp(func: Any, inputs: Any, v: Any=None, create_graph: builtins.bool=False, strict: builtins.bool=False) -> Any: ...
def vhp(func: Any, inputs: Any, v: Any=None, create_graph: builtins.bool=False, strict: builtins.bool=False) -> Any: ...
def vjp(func: Any, inputs: Any, v: Any=None, create_graph: builtins.bool=False, strict: builtins.bool=False) -> Any: ...

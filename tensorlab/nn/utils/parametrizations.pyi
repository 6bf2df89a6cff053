"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.nn import Module

__all__ = [
    "orthogonal",
    "spectral_norm",
    "weight_norm",
]

def orthogonal(module: Any, name: str='weight', orthogonal_map: Any=None, *, use_trivialization: builtins.bool=True) -> Module: ...
def spectral_norm(module: Any, name: str='weight', n_power_iterations: builtins.float=1, eps: builtins.float=1e-12, dim: Any=None) -> Module: ...
def weight_norm(module: Any, name: str='weight', dim: builtins.int | None=0) -> Module: ...

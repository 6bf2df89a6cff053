"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "functional_call",
]

def functional_call(module: Any, parameters_and_buffers: Any, args: Any=None, kwargs: Any=None, *, tie_weights: builtins.bool=True, strict: builtins.bool=False) -> Any: ...

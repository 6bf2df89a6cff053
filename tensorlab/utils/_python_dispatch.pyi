"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from typing_extensions import Self

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing",
    "transform_subclass",
]

def is_traceable_wrapper_subclass(t: Any) -> Any: ...
def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any: ...
def transform_subclass(t: Any, callback: Any, outer_size: Any=None, outer_stride: Any=None) -> Any: ...


class BaseTorchDispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any=..., kwargs: Any=None) -> Any: ...

class TorchDispatchMode:
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: Any) -> None: ...
    def __init__(self, _dispatch_key: Any=None) -> None: ...
    def __torch_dispatch__(self, func: Any, types: Any, args: Any=..., kwargs: Any=None) -> Any: ...
    @classmethod
    def push(self, *args: Any, **kwargs: Any) -> Any: ...
    supports_higher_order_operators: builtins.bool

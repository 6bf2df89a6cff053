"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from typing_extensions import Self
from tensorlab import Tensor

__all__ = [
    "RemovableHandle",
    "unserializable_hook",
]

def unserializable_hook(f: Any) -> Any: ...


class RemovableHandle:
    id: builtins.int
    def remove(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: Any) -> None: ...
    entries: Any
    key: Tensor | None
    def __init__(self, entries: Any, key: Tensor | None=None, *, extra_dict: Any=None) -> None: ...
    @property
    def extra_dict_ref(self) -> Any: ...
    @property
    def hooks_dict_ref(self) -> Any: ...
    @staticmethod
    def new_key() -> Any: ...
    next_id: builtins.int

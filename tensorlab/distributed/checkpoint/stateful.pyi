"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "Stateful",
]


class Stateful:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    __parameters__: tuple[Any, ...]
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...
    def state_dict(self) -> Any: ...

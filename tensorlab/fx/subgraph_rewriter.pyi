"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "Match",
    "ReplacedPatterns",
    "replace_pattern",
    "replace_pattern_with_filters",
]

def replace_pattern(gm: Any, pattern: Any, replacement: Any) -> Any: ...
def replace_pattern_with_filters(gm: Any, pattern: Any, replacement: Any=None, match_filters: Any=None, ignore_literals: builtins.bool=False, replacement_callback: Any=None) -> Any: ...


class Match(tuple):
    def __repr__(self) -> str: ...
    @property
    def anchor(self) -> Any: ...
    @property
    def nodes_map(self) -> Any: ...

class ReplacedPatterns:
    anchor: Any
    nodes_map: dict[Any, Any]
    replacements: list[Any]
    def __eq__(self, other: object) -> builtins.bool: ...
    __hash__: None  # type: ignore[assignment]
    def __init__(self, anchor: Any, nodes_map: dict, replacements: list) -> None: ...
    def __repr__(self) -> str: ...

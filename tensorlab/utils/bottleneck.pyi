"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "main",
    "report",
]

def main(arguments: Any=None) -> Any: ...
def report(path: Any, arguments: Any=...) -> Any: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "assert_allclose",
    "assert_close",
]

def assert_allclose(actual: Any, expected: Any, rtol: Any=None, atol: Any=None, equal_nan: builtins.bool=True, msg: str='') -> Any: ...
def assert_close(actual: Any, expected: Any, *, allow_subclasses: builtins.bool=True, rtol: Any=None, atol: Any=None, equal_nan: builtins.bool=False, check_device: builtins.bool=True, check_dtype: builtins.bool=True, check_layout: builtins.bool=True, check_stride: builtins.bool=False, msg: Any=None) -> None: ...

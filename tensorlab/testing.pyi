"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from collections.abc import Sequence
from typing import Any
from tensorlab import _dtype, _memory_format, _Device
from tensorlab import Tensor

__all__ = [
    "assert_allclose",
    "assert_close",
    "make_tensor",
]

def assert_allclose(actual: Any, expected: Any, rtol: Any=None, atol: Any=None, equal_nan: builtins.bool=True, msg: str='') -> Any: ...
def assert_close(actual: Any, expected: Any, *, allow_subclasses: builtins.bool=True, rtol: Any=None, atol: Any=None, equal_nan: builtins.bool=False, check_device: builtins.bool=True, check_dtype: builtins.bool=True, check_layout: builtins.bool=True, check_stride: builtins.bool=False, msg: Any=None) -> None: ...
def make_tensor(*shape: builtins.int | Sequence[builtins.int], dtype: _dtype, device: _Device, low: builtins.float | None=None, high: builtins.float | None=None, requires_grad: builtins.bool=False, noncontiguous: builtins.bool=False, exclude_zero: builtins.bool=False, memory_format: _memory_format | None=None) -> Tensor: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]

def conv1d_input(input_size: Any, weight: Any, grad_output: Any, stride: builtins.float=1, padding: builtins.float=0, dilation: builtins.float=1, groups: builtins.float=1) -> Any: ...
def conv1d_weight(input: Any, weight_size: Any, grad_output: Any, stride: builtins.float=1, padding: builtins.float=0, dilation: builtins.float=1, groups: builtins.float=1) -> Any: ...
def conv2d_input(input_size: Any, weight: Any, grad_output: Any, stride: builtins.float=1, padding: builtins.float=0, dilation: builtins.float=1, groups: builtins.float=1) -> Any: ...
def conv2d_weight(input: Any, weight_size: Any, grad_output: Any, stride: builtins.float=1, padding: builtins.float=0, dilation: builtins.float=1, groups: builtins.float=1) -> Any: ...
def conv3d_input(input_size: Any, weight: Any, grad_output: Any, stride: builtins.float=1, padding: builtins.float=0, dilation: builtins.float=1, groups: builtins.float=1) -> Any: ...
def conv3d_weight(input: Any, weight_size: Any, grad_output: Any, stride: builtins.float=1, padding: builtins.float=0, dilation: builtins.float=1, groups: builtins.float=1) -> Any: ...

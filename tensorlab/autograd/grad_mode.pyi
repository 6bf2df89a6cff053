"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.autograd import enable_grad as enable_grad
from tensorlab.autograd import inference_mode as inference_mode
from tensorlab.autograd import no_grad as no_grad
from tensorlab.autograd import set_grad_enabled as set_grad_enabled
from tensorlab.autograd import set_multithreading_enabled as set_multithreading_enabled
from typing import Any

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

def is_grad_enabled() -> builtins.bool: ...
def is_inference_mode_enabled() -> builtins.bool: ...
def is_multithreading_enabled() -> Any: ...

"""Autograd as users see it: backward, grad, modes, custom functions."""

from tensorlab._core.engine import backward, grad
from tensorlab.autograd.function import Function
from tensorlab.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "Function",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]

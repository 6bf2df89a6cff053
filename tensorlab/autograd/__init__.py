"""Autograd as users see it: backward, grad, modes, custom functions."""

from tensorlab import _missing
from tensorlab._core.engine import backward, grad
from tensorlab.autograd.function import Function
from tensorlab.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from tensorlab.autograd.gradcheck import gradcheck, gradgradcheck
from tensorlab.autograd.variable import Variable

__all__ = [
    "Function",
    "Variable",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

"""Autograd as users see it: backward, grad, modes, custom functions."""

from tensorlab._core.dispatch.levels import set_batching
from tensorlab._core.engine.backward import backward, grad
from tensorlab._core.graph.saved import SavedTensor
from tensorlab._on_demand import on_demand
from tensorlab.autograd import graph
from tensorlab.autograd.anomaly_mode import (
    detect_anomaly,
    set_detect_anomaly,
    set_detect_data_writes,
)
from tensorlab.autograd.function import Function
from tensorlab.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from tensorlab.autograd.gradcheck import gradcheck, gradgradcheck

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_detect_data_writes",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def _batching():
    """What a batch of backward passes needs of the transforms, which few programs import."""
    from tensorlab.func.batching import batching, run_batched

    return batching, run_batched


set_batching(_batching)

__getattr__, __dir__ = on_demand(
    __name__,
    ("forward_ad", "functional", "profiler", "profiler_util", "variable"),
    {"Variable": "variable"},
)

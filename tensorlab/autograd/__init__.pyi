"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.autograd.function import Function as Function
from tensorlab.autograd import forward_ad as forward_ad
from tensorlab.autograd import functional as functional
from tensorlab.autograd import graph as graph
from tensorlab.autograd import profiler as profiler
from tensorlab.autograd import profiler_util as profiler_util
from collections.abc import Callable, Sequence
from typing import Any, overload
from typing_extensions import Self, TypeVar
from tensorlab import Tensor

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

_F = TypeVar('_F', bound=Callable[..., Any])
class _Mode:

    def __enter__(self) -> None:
        ...

    def __exit__(self, *exception: Any) -> None:
        ...

    def __call__(self, function: _F) -> _F:
        ...

    def clone(self) -> Self:
        ...

def backward(tensors: Tensor | Sequence[Tensor], grad_tensors: Any=None, retain_graph: builtins.bool | None=None, create_graph: builtins.bool=False, grad_variables: Any=None, inputs: Sequence[Tensor] | Tensor | None=None) -> None: ...
def grad(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Any=None, retain_graph: builtins.bool | None=None, create_graph: builtins.bool=False, only_inputs: builtins.bool=True, allow_unused: builtins.bool | None=None, is_grads_batched: builtins.bool=False, materialize_grads: builtins.bool=False) -> tuple[Tensor, ...]: ...
def gradcheck(func: Any, inputs: Any, *, eps: builtins.float=1e-06, atol: builtins.float=1e-05, rtol: builtins.float=0.001, raise_exception: builtins.bool=True, nondet_tol: builtins.float=0.0, check_undefined_grad: builtins.bool=True, check_grad_dtypes: builtins.bool=False, check_batched_grad: builtins.bool=False, check_batched_forward_grad: builtins.bool=False, check_forward_ad: builtins.bool=False, check_backward_ad: builtins.bool=True, fast_mode: builtins.bool=False, masked: Any=None) -> builtins.bool: ...
def gradgradcheck(func: Any, inputs: Any, grad_outputs: Any=None, *, eps: builtins.float=1e-06, atol: builtins.float=1e-05, rtol: builtins.float=0.001, gen_non_contig_grad_outputs: builtins.bool=False, raise_exception: builtins.bool=True, nondet_tol: builtins.float=0.0, check_undefined_grad: builtins.bool=True, check_grad_dtypes: builtins.bool=False, check_batched_grad: builtins.bool=False, check_fwd_over_rev: builtins.bool=False, check_rev_over_rev: builtins.bool=True, fast_mode: builtins.bool=False, masked: builtins.bool=False) -> builtins.bool: ...
def is_multithreading_enabled() -> Any: ...


class SavedTensor:
    def __repr__(self, /) -> str: ...
    @property
    def data(self) -> Any: ...
    def register_hooks(self, pack: Any, unpack: Any) -> Any: ...
    @property
    def unpack_hook(self) -> Any: ...

class Variable(Tensor):
    def __init__(self, data: Any, requires_grad: builtins.bool=False) -> None: ...

class detect_anomaly(_Mode):
    def __init__(self, check_nan: builtins.bool=True) -> None: ...

class enable_grad(_Mode):
    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: _F) -> _F: ...

class inference_mode(_Mode):
    @overload
    def __new__(cls, mode: builtins.bool=True) -> Self: ...
    @overload
    def __new__(cls, mode: _F) -> _F: ...
    def __init__(self, mode: builtins.bool=True) -> None: ...

class no_grad(_Mode):
    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: _F) -> _F: ...

class set_detect_anomaly:
    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> None: ...
    def __init__(self, mode: Any, check_nan: builtins.bool=True) -> None: ...

class set_detect_data_writes:
    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> None: ...
    def __init__(self, mode: Any) -> None: ...

class set_grad_enabled(_Mode):
    def __init__(self, mode: builtins.bool) -> None: ...
    mode: Any

class set_multithreading_enabled(_Mode):
    def __init__(self, mode: builtins.bool) -> None: ...
    mode: Any

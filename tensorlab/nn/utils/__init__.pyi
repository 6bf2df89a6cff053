"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.nn.utils import parametrizations as parametrizations
from tensorlab.nn.utils import parametrize as parametrize
from tensorlab.nn.utils import prune as prune
from tensorlab.nn.utils import rnn as rnn
from tensorlab.nn.utils import stateless as stateless
from collections.abc import Iterable, Sequence
from typing import Any
from tensorlab import _memory_format
from tensorlab.nn import Module
from tensorlab.nn import Parameter
from tensorlab import Tensor

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]

def clip_grad_norm(parameters: Tensor | Iterable[Tensor], max_norm: builtins.float, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Tensor: ...
def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: builtins.float, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Tensor: ...
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: builtins.float, foreach: builtins.bool | None=None) -> None: ...
def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: builtins.float, total_norm: Any, foreach: builtins.bool | None=None) -> None: ...
def convert_conv2d_weight_memory_format(module: Module, memory_format: _memory_format) -> Module: ...
def convert_conv3d_weight_memory_format(module: Module, memory_format: _memory_format) -> Module: ...
def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: builtins.bool=False) -> Module: ...
def fuse_conv_bn_weights(conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: Any, bn_w: Any, bn_b: Any, transpose: builtins.bool=False) -> tuple[Parameter, Parameter]: ...
def fuse_linear_bn_eval(linear: Any, bn: Any) -> Module: ...
def fuse_linear_bn_weights(linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: Any, bn_w: Any, bn_b: Any) -> tuple[Parameter, Parameter]: ...
def get_total_norm(tensors: Sequence[Tensor] | Tensor, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Tensor: ...
def parameters_to_vector(parameters: Tensor | Iterable[Tensor]) -> Tensor: ...
def remove_spectral_norm(module: Module, name: str='weight') -> Module: ...
def remove_weight_norm(module: Module, name: str='weight') -> Module: ...
def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Module: ...
def spectral_norm(module: Module, name: str='weight', n_power_iterations: builtins.float=1, eps: builtins.float=1e-12, dim: builtins.int | None=None) -> Module: ...
def vector_to_parameters(vec: Tensor, parameters: Tensor | Iterable[Tensor]) -> None: ...
def weight_norm(module: Module, name: str='weight', dim: builtins.int | None=0) -> Module: ...

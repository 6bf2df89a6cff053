"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.nn.utils import parametrizations as parametrizations
from tensorlab.nn.utils import parametrize as parametrize
from tensorlab.nn.utils import prune as prune
from tensorlab.nn.utils import rnn as rnn
from tensorlab.nn.utils import stateless as stateless
from collections.abc import Iterable, Sequence
from typing import Any
from tensorlab.nn import Module
from tensorlab import Tensor

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]

def clip_grad_norm(parameters: Tensor | Iterable[Tensor], max_norm: builtins.float, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Tensor: ...
def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: builtins.float, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Tensor: ...
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: builtins.float, foreach: builtins.bool | None=None) -> None: ...
def clip_grads_with_norm_(parameters: Tensor | Iterable[Tensor], max_norm: builtins.float, total_norm: Any, foreach: builtins.bool | None=None) -> Tensor: ...
def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: builtins.bool=False) -> Tensor: ...
def fuse_conv_bn_weights(conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: Any, bn_w: Any, bn_b: Any, transpose: builtins.bool=False) -> Tensor: ...
def fuse_linear_bn_eval(linear: Any, bn: Any) -> Tensor: ...
def fuse_linear_bn_weights(linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: Any, bn_w: Any, bn_b: Any) -> Tensor: ...
def get_total_norm(tensors: Sequence[Tensor] | Tensor, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Tensor: ...
def parameters_to_vector(parameters: Tensor | Iterable[Tensor]) -> Tensor: ...
def remove_weight_norm(module: Module, name: str='weight') -> Module: ...
def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Module: ...
def vector_to_parameters(vec: Tensor, parameters: Tensor | Iterable[Tensor]) -> None: ...
def weight_norm(module: Module, name: str='weight', dim: builtins.int | None=0) -> Module: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.nn.utils import rnn as rnn
from collections.abc import Iterable, Sequence
from tensorlab import Tensor

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]

def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: builtins.float, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Tensor: ...
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: builtins.float, foreach: builtins.bool | None=None) -> None: ...
def get_total_norm(tensors: Sequence[Tensor] | Tensor, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Tensor: ...
def parameters_to_vector(parameters: Tensor | Iterable[Tensor]) -> Tensor: ...
def vector_to_parameters(vec: Tensor, parameters: Tensor | Iterable[Tensor]) -> None: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from collections.abc import Sequence
from typing import Any
from tensorlab.distributed import ProcessGroup
from tensorlab import Tensor

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

def all_gather(tensor: Tensor, group: ProcessGroup | None=None) -> tuple[Tensor, ...]: ...
def all_reduce(tensor: Any, op: Any=..., group: ProcessGroup | None=None) -> Tensor: ...
def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: ProcessGroup | None=None) -> tuple[Tensor, ...]: ...
def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Sequence[builtins.int] | None=None, input_split_sizes: Sequence[builtins.int] | None=None, group: ProcessGroup | None=None) -> Tensor: ...
def broadcast(tensor: Any, src: builtins.int, group: ProcessGroup | None=None) -> Tensor: ...
def gather(tensor: Tensor, dst: builtins.int=0, group: ProcessGroup | None=None) -> tuple[Tensor, ...]: ...
def reduce(tensor: Any, dst: builtins.int, op: Any=..., group: ProcessGroup | None=None) -> Tensor: ...
def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any=..., group: ProcessGroup | None=None) -> Tensor: ...
def scatter(tensors: list[Tensor], src: builtins.int=0, group: ProcessGroup | None=None) -> Tensor: ...

"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.distributed import DeviceMesh
from tensorlab.nn import Module
from tensorlab.distributed.tensor.placement_types import Replicate
from tensorlab.distributed.tensor.placement_types import Shard

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]

def loss_parallel() -> Any: ...
def parallelize_module(module: Module, device_mesh: DeviceMesh | None=None, parallelize_plan: Any=None, *, src_data_rank: builtins.int=0) -> Module: ...


class ColwiseParallel(ParallelStyle):
    input_layouts: Any
    output_layouts: Any
    use_local_output: builtins.bool
    default_output: Shard
    def placements_of(self, module: Module) -> Any: ...
    def __init__(self, *, input_layouts: Any=None, output_layouts: Any=None, use_local_output: builtins.bool=True) -> None: ...
    def __repr__(self) -> str: ...
    default_input: Replicate

class ParallelStyle:
    def described(self, names: Any) -> Any: ...
    src_data_rank: builtins.int

class PrepareModuleInput(ParallelStyle):
    input_layouts: Any
    desired_input_layouts: Any
    input_kwarg_layouts: Any
    desired_input_kwarg_layouts: Any
    use_local_output: builtins.bool
    def __init__(self, *, input_layouts: Any=None, desired_input_layouts: Any=None, input_kwarg_layouts: Any=None, desired_input_kwarg_layouts: Any=None, use_local_output: builtins.bool=False) -> None: ...
    def __repr__(self) -> str: ...

class PrepareModuleInputOutput(ParallelStyle):
    def __init__(self, *, input_layouts: Any=None, desired_input_layouts: Any=None, input_kwarg_layouts: Any=None, desired_input_kwarg_layouts: Any=None, use_local_input: builtins.bool=False, output_layouts: Any, desired_output_layouts: Any, use_local_output: builtins.bool=True) -> None: ...
    def __repr__(self) -> str: ...

class PrepareModuleOutput(ParallelStyle):
    output_layouts: Any
    desired_output_layouts: Any
    use_local_output: builtins.bool
    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: builtins.bool=True) -> None: ...
    def __repr__(self) -> str: ...

class RowwiseParallel(ParallelStyle):
    input_layouts: Any
    output_layouts: Any
    use_local_output: builtins.bool
    default_input: Shard
    def placements_of(self, module: Module) -> Any: ...
    def __init__(self, *, input_layouts: Any=None, output_layouts: Any=None, use_local_output: builtins.bool=True) -> None: ...
    def __repr__(self) -> str: ...
    default_output: Replicate

class SequenceParallel(ParallelStyle):
    def __init__(self, *, sequence_dim: builtins.int=1, use_local_output: builtins.bool=False) -> None: ...
    def __repr__(self) -> str: ...

"""What `FullyShardedDataParallel` can be told: strategies, dtypes, and forms of state dicts."""

import dataclasses
import enum
from typing import Any

from tensorlab.nn.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(enum.Enum):
    """What each rank keeps but a part of.

    FULL_SHARD: parameters, gradients and the optimizer's state. SHARD_GRAD_OP: the same, but
    the whole parameters stay between forward and backward. NO_SHARD: nothing, as in
    DistributedDataParallel. HYBRID_SHARD: FULL_SHARD within a machine, or what the first group
    says, and copies of it.

    Examples
    --------
    >>> [one.name for one in ShardingStrategy][:4]
    ['FULL_SHARD', 'SHARD_GRAD_OP', 'NO_SHARD', 'HYBRID_SHARD']
    """

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(enum.Enum):
    """When backward begins to gather the next parameters: before or after those of a module are used.

    Examples
    --------
    >>> [one.name for one in BackwardPrefetch]
    ['BACKWARD_PRE', 'BACKWARD_POST']
    """

    BACKWARD_PRE = 1
    BACKWARD_POST = 2


class StateDictType(enum.Enum):
    """What `state_dict` holds: whole tensors, this rank's parts, or DTensors.

    Examples
    --------
    >>> [one.name for one in StateDictType]
    ['FULL_STATE_DICT', 'LOCAL_STATE_DICT', 'SHARDED_STATE_DICT']
    """

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


class OptimStateKeyType(enum.Enum):
    """How the state dict of an optimizer names parameters.

    Examples
    --------
    >>> [one.name for one in OptimStateKeyType]
    ['PARAM_NAME', 'PARAM_ID']
    """

    PARAM_NAME = 1
    PARAM_ID = 2


@dataclasses.dataclass
class MixedPrecision:
    """The dtypes that a sharded module computes and reduces in.

    Parameters
    ----------
    param_dtype, reduce_dtype, buffer_dtype : dtype, optional, of the gathered parameters, of
        gradients while they're reduced, and of buffers
    keep_low_precision_grads : bool, accepted for PyTorch's sake: gradients have the parameters'
        dtype
    cast_forward_inputs, cast_root_forward_inputs : bool, whether floating-point inputs are
        converted to param_dtype, in any module or in the root

    Examples
    --------
    >>> import tensorlab
    >>> MixedPrecision(param_dtype=tensorlab.bfloat16).param_dtype
    tensorlab.bfloat16
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = (BatchNorm1d, BatchNorm2d, BatchNorm3d)


@dataclasses.dataclass
class CPUOffload:
    """Whether parameters are kept on the cpu, where everything is here.

    Examples
    --------
    >>> CPUOffload(offload_params=True)
    CPUOffload(offload_params=True)
    """

    offload_params: bool = False


@dataclasses.dataclass
class StateDictConfig:
    """Settings of state dicts.

    Parameters
    ----------
    offload_to_cpu : bool, accepted for PyTorch's sake
    """

    offload_to_cpu: bool = False


@dataclasses.dataclass
class FullStateDictConfig(StateDictConfig):
    """Settings of whole state dicts.

    Parameters
    ----------
    rank0_only : bool, whether the other ranks get an empty one

    Examples
    --------
    >>> FullStateDictConfig(rank0_only=True)  # the others need no memory for it
    FullStateDictConfig(offload_to_cpu=False, rank0_only=True)
    """

    rank0_only: bool = False


@dataclasses.dataclass
class LocalStateDictConfig(StateDictConfig):
    """Settings of state dicts of this rank's parts."""


@dataclasses.dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Settings of state dicts of DTensors."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class OptimStateDictConfig:
    """Settings of state dicts of optimizers.

    Parameters
    ----------
    offload_to_cpu : bool, accepted for PyTorch's sake
    """

    offload_to_cpu: bool = True


@dataclasses.dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Settings of whole state dicts of optimizers.

    Parameters
    ----------
    rank0_only : bool, whether the other ranks get an empty one
    """

    rank0_only: bool = False


@dataclasses.dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Settings of state dicts of this rank's parts."""

    offload_to_cpu: bool = False


@dataclasses.dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Settings of state dicts of DTensors."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class StateDictSettings:
    """The form of a model's state dicts, and its settings."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig

"""What `fully_shard` can be told: dtypes, and where shards are kept."""

import dataclasses
from typing import Any

__all__ = ["CPUOffloadPolicy", "DataParallelMeshDims", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes that a sharded module computes and reduces in; the optimizer works on the shards
    in their own dtype.

    Parameters
    ----------
    param_dtype : dtype, optional: of the gathered parameters, so of forward and backward
    reduce_dtype : dtype, optional: of the gradients while they are reduced; by default
        param_dtype
    output_dtype : dtype, optional: what floating-point outputs are converted to
    cast_forward_inputs : bool, whether floating-point inputs are converted to param_dtype

    Examples
    --------
    >>> import tensorlab
    >>> MixedPrecisionPolicy(param_dtype=tensorlab.bfloat16).cast_forward_inputs
    True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclasses.dataclass(frozen=True)
class OffloadPolicy:
    """No offloading: shards are kept where they are."""


@dataclasses.dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """Keep shards on the cpu, where everything is here: it changes nothing.

    Parameters
    ----------
    pin_memory : bool, accepted for PyTorch's sake
    """

    pin_memory: bool = True


@dataclasses.dataclass(frozen=True)
class DataParallelMeshDims:
    """Names of the dimensions of a mesh that shard and replicate, for `dp_mesh_dims`.

    Parameters
    ----------
    shard, replicate : str or tuple of str, optional
    """

    shard: Any = None
    replicate: Any = None

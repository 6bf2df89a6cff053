"""Mixed precision of DistributedDataParallel: computing in a small dtype, steps in a large one.

The parameters keep their dtype. Forward converts them, which is an op as any other to autograd,
so the gradients that backward ends with have the parameters' dtype again.
"""

import dataclasses
from typing import Any

from ..._pytree import tree_map
from ..._tensor import Tensor
from ..utils.stateless import replaced


@dataclasses.dataclass
class _MixedPrecision:
    """The dtypes in which DistributedDataParallel computes and reduces; None leaves one as it is.

    Parameters
    ----------
    param_dtype : dtype, optional, of parameters and inputs in forward and backward. What a
        checkpoint computes again isn't converted: use autocast there
    reduce_dtype : dtype, optional, in which gradients travel; by default param_dtype
    buffer_dtype : dtype, optional, of the module's floating-point buffers
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None

    @property
    def travels_in(self):
        """The dtype in which gradients are reduced, or None."""
        return self.reduce_dtype or self.param_dtype


def check(policy):
    """Raise an error unless this is a `_MixedPrecision`."""
    if not isinstance(policy, _MixedPrecision):
        raise TypeError(
            f"DistributedDataParallel: mixed_precision is a {type(policy).__name__}; expected "
            "nn.parallel.distributed._MixedPrecision(param_dtype=...)"
        )


def converted(value, dtype):
    """Return a structure with its floating-point tensors in another dtype."""
    return tree_map(
        lambda x: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x, value
    )


def convert_buffers(module, policy, ignored):
    """Convert the floating-point buffers for good."""
    for name, buffer in module.named_buffers():
        if policy.buffer_dtype is not None and name not in ignored:
            buffer.data = converted(buffer.data, policy.buffer_dtype)


def call(module, policy, ignored, inputs, kwargs):
    """Call a module with parameters and inputs in the small dtype."""
    dtype = policy.param_dtype
    if dtype is None:
        return module(*inputs, **kwargs)
    small = {
        name: converted(p, dtype) for name, p in module.named_parameters() if name not in ignored
    }
    inputs, kwargs = converted((inputs, kwargs), dtype)
    with replaced(module, small):
        return module(*inputs, **kwargs)

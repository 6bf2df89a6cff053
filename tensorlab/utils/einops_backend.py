"""einops on tensors: importing this file lets `einops.rearrange(tensor, ...)` and its like work.

einops asks each subclass of its AbstractBackend whether it knows the type of a tensor; here is ours.
(`einops.array_api` needs no such thing: it goes through `x.__array_namespace__()`.)
"""

from tensorlab.errors import MissingExtra

try:
    from einops._backends import AbstractBackend
except ImportError as error:
    raise MissingExtra(
        "tensorlab.utils.einops_backend: needs einops; pip install einops"
    ) from error

from tensorlab._core.interop.arrays import from_numpy
from tensorlab._tensor import Tensor
from tensorlab.ops.joining import cat, stack
from tensorlab.ops.linalg.einsum import einsum
from tensorlab.ops.ranges import arange

__all__ = ["TensorlabBackend"]


class TensorlabBackend(AbstractBackend):
    """What einops needs of a library of tensors."""

    framework_name = "tensorlab"

    def is_appropriate_type(self, tensor):
        return isinstance(tensor, Tensor)

    def from_numpy(self, x):
        return from_numpy(x)

    def to_numpy(self, x):
        return x.detach().numpy()

    def arange(self, start, stop):
        return arange(start, stop)

    def transpose(self, x, axes):
        return x.permute(axes)

    def reduce(self, x, operation, axes):
        if operation in ("min", "max"):
            operation = "a" + operation
        if operation in ("amin", "amax", "sum", "mean"):
            return getattr(x, operation)(tuple(axes))
        for axis in sorted(axes, reverse=True):  # any, all, prod: one axis at a time
            x = getattr(x, operation)(axis)
        return x

    def stack_on_zeroth_dimension(self, tensors):
        return stack(tensors)

    def add_axis(self, x, new_position):
        return x.unsqueeze(new_position)

    def add_axes(self, x, n_axes, pos2len):
        sizes = [-1] * n_axes
        for position, length in pos2len.items():
            x = x.unsqueeze(position)
            sizes[position] = length
        return x.expand(sizes)  # not repeated: an axis of stride 0 costs nothing

    def tile(self, x, repeats):
        return x.repeat(repeats)

    def concat(self, tensors, axis):
        return cat(tensors, axis)

    def is_float_type(self, x):
        return x.is_floating_point()

    def einsum(self, pattern, *x):
        return einsum(pattern, *x)

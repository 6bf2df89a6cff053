"""A tensor that writes down what runs below autograd, backward included.

Runs in tensorlab and, with `torch` for `tensorlab` in the imports, in PyTorch.
"""

from typing import ClassVar

import tensorlab as torch
from tensorlab.utils._pytree import tree_map_only


class BelowTensor(torch.Tensor):
    """Holds a plain tensor, and keeps a line for each op in `BelowTensor.log`."""

    log: ClassVar = []  # one for all

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(cls, lambda x: x.inner, (args, kwargs or {}))
        cls.log.append(str(func))
        return tree_map_only(torch.Tensor, cls, func(*args, **kwargs))

    def __repr__(self):
        return f"BelowTensor({self.inner})"


def below(values):
    """Return a BelowTensor of some values, and start a new log."""
    BelowTensor.log.clear()
    return BelowTensor(torch.tensor(values))

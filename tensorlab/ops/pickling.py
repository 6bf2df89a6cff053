"""Pickles and deep copies of tensors.

A tensor is taken apart into its storage and the numbers that describe its layout, so strides and
offsets survive, and two tensors over one storage still share it if they are pickled or copied
together.
"""

import copy
import copyreg
import warnings

from tensorlab._core.dispatch.subclass import make_subclass
from tensorlab._core.dtypes import DTYPES
from tensorlab._core.engine.autograd_fields import leaf_hooks
from tensorlab._core.interop.exchange import frombuffer
from tensorlab._core.storage import Storage, new_meta_storage
from tensorlab.errors import GradientError
from tensorlab.ops.complex_numbers import _neg_view, conj
from tensorlab.ops.resizing import tensor_over

UINT8 = DTYPES[1]


def storage_from(data):
    """Return a storage of our own with a copy of some bytes."""
    if not data:
        return Storage()
    return frombuffer(data, dtype=UINT8).clone().untyped_storage()


def reduce_storage(storage):
    """Take a storage apart for a pickle."""
    if storage.is_meta:
        return new_meta_storage, (len(storage),)
    if not len(storage):
        return storage_from, (b"",)
    return storage_from, (bytearray(memoryview(tensor_over(storage, UINT8, 0, None, None))),)


copyreg.pickle(Storage, reduce_storage)


def rebuild_tensor(cls, storage, dtype, offset, size, stride, requires_grad, bits=None):
    """Put a tensor together again."""
    x = make_subclass(cls, with_bits(tensor_over(storage, dtype, offset, size, stride), bits))
    return x.requires_grad_(requires_grad) if requires_grad else x


def parts_of(x):
    parts = (x.dtype, x.storage_offset(), tuple(x.shape), x.stride(), x.requires_grad)
    return (*parts, bits) if (bits := bits_of(x)) else parts


def bits_of(x):
    """Return what PyTorch's files call the metadata of a tensor: which lazy bits it has."""
    return {name: True for name, has in (("conj", x.is_conj), ("neg", x.is_neg)) if has()}


def with_bits(x, bits):
    """Return the view of x that has these lazy bits."""
    x = conj(x) if bits and bits.get("conj") else x
    return _neg_view(x) if bits and bits.get("neg") else x


def reduce_tensor(self, protocol):
    """Take a tensor apart for a pickle or a shallow copy.

    It comes back as a leaf, with its attributes and requires_grad, and without its hooks.
    """
    for hook in leaf_hooks(self):
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"pickle: the hook {hook!r} of a tensor is left out; mark it with utils.hooks.unserializable_hook "
                "if that is meant",
                UserWarning,
                stacklevel=2,
            )
    state = self.__dict__ or None
    return rebuild_tensor, (type(self), self.untyped_storage(), *parts_of(self)), state


def set_attributes(self, state):
    """Give an unpickled tensor the attributes that the pickled one had."""
    self.__dict__.update(state)


def deepcopy_tensor(self, memo):
    """Copy a leaf with its memory, its gradient and its attributes.

    Raises
    ------
    GradientError
        If the tensor was computed from others: a copy could not be a part of the same graph.
    """
    if id(self) in memo:
        return memo[id(self)]
    if self.requires_grad and not self.is_leaf:
        raise GradientError(
            "deepcopy: this tensor was computed from others, and a copy would not be a part of "
            "their graph; only leaves can be copied so. Copy its detach(), or use clone()"
        )
    if hasattr(type(self), "__torch_dispatch__"):
        return deepcopy_wrapper(self, memo)
    x = self.detach().clone() if bits_of(self) else self  # whose copy has none, as in PyTorch
    made = rebuild_tensor(type(self), copy.deepcopy(x.untyped_storage(), memo), *parts_of(x))
    memo[id(self)] = made.requires_grad_(self.requires_grad)
    made.grad = copy.deepcopy(self.grad, memo)
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


def deepcopy_wrapper(self, memo):
    """The same for a class that decides itself what its ops do: its memory is what `clone` of it copies."""
    made = memo[id(self)] = self.detach().clone()
    if type(made) is not type(self):
        raise RuntimeError(
            f"deepcopy: clone() of a {type(self).__name__} gives a {type(made).__name__}; let its "
            f"__torch_dispatch__ return its own class there, or define __deepcopy__"
        )
    made.requires_grad_(self.requires_grad)
    made.grad = copy.deepcopy(self.grad, memo)
    for name, value in self.__dict__.items():
        if name not in made.__dict__:
            made.__dict__[name] = copy.deepcopy(value, memo)
    return made

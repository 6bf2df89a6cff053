"""What backward keeps of gathered parameters: not their values, but how to get them again.

While the forward of a sharded module runs, each tensor that autograd saves is looked at. One
that lies in the memory of a gathered parameter is replaced by a `Handle`, so that the memory
can go; backward gathers the parameters once more and looks at the same place in them.
"""

import dataclasses
import threading
from typing import Any

from tensorlab._tensor import Tensor
from tensorlab.autograd.graph import saved_tensors_hooks
from tensorlab.distributed.tensor.tensors import DTensor
from tensorlab.nn.parameter import Parameter

GATHERED = threading.local()  # .at: dict of addresses to (group, number of the parameter)


@dataclasses.dataclass
class Handle:
    """A tensor in the memory of a gathered parameter.

    Attributes
    ----------
    group : Group
    number : int, which of its parameters
    size, stride, offset : where in the memory it lies
    spec : Spec or None, of a DTensor
    """

    group: Any
    number: int
    size: tuple
    stride: tuple
    offset: int
    spec: Any = None


def addresses():
    """Return the dict of this thread."""
    if not hasattr(GATHERED, "at"):
        GATHERED.at = {}
    return GATHERED.at


def register(group):
    """Note the memory of a group's whole parameters."""
    for number, x in enumerate(group.wholes):
        if x.numel():
            addresses()[x.untyped_storage().data_ptr()] = group, number


def unregister(group):
    """Forget the memory of a group's whole parameters."""
    for x in group.wholes:
        if x.numel():
            addresses().pop(x.untyped_storage().data_ptr(), None)


def pack(x):
    """Return what backward keeps instead of a tensor."""
    local, spec = (x._local_tensor, x._spec) if isinstance(x, DTensor) else (x, None)
    known = addresses()
    if not known or type(local) not in (Tensor, Parameter) or not local.numel():
        return x
    found = known.get(local.untyped_storage().data_ptr())
    if found is None:
        return x
    return Handle(*found, tuple(local.shape), tuple(local.stride()), local.storage_offset(), spec)


def unpack(kept):
    """Return the tensor of a handle, gathered again if need be."""
    if not isinstance(kept, Handle):
        return kept
    kept.group.before_backward()
    local = kept.group.gathered()[kept.number].as_strided(kept.size, kept.stride, kept.offset)
    return local if kept.spec is None else DTensor(local, kept.spec)


def without_gathered():
    """Return the block in which what autograd saves is looked at."""
    return saved_tensors_hooks(pack, unpack)

"""pin_memory: the tensors of a batch in memory that an accelerator reads in its own time."""

from collections.abc import Mapping, Sequence

from tensorlab._core.state.devices import accelerator_name
from tensorlab._tensor import Tensor

__all__ = ["pin_memory", "pinning"]


def pin_memory(data, device=None):
    """Return a batch with its tensors pinned; other things as they are. An object with
    `pin_memory()` does it itself.
    """
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        return type(data)({key: pin_memory(one) for key, one in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(pin_memory, data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return type(data)([pin_memory(one) for one in data])
    return data


def pinning(loader):
    """What a loader does with each batch: pin it, if it is asked to and there is an accelerator."""
    return pin_memory if loader.pin_memory and accelerator_name() is not None else None

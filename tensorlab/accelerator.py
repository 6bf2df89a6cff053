"""The accelerator of this machine: the device that `utils.rename_privateuse1_backend` has named, if it is registered.

A program without one gets PyTorch's answers for a machine without one.
"""

import contextlib

from tensorlab import _missing
from tensorlab._core.device import device as Device
from tensorlab._core.state.devices import accelerator_name
from tensorlab._streams import backend_of, current_stream, set_stream

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available():
    """Whether there is an accelerator.

    Examples
    --------
    >>> is_available()
    False
    """
    return accelerator_name() is not None


def device_count():
    """How many accelerators there are: 0 or 1.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.accelerator.device_count()
    0
    """
    return int(is_available())


def current_accelerator(check_available=False):
    """Return the device of the accelerator, without a number; None if there is none.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.accelerator.current_accelerator() is None
    True
    """
    return Device(accelerator_name()) if is_available() else None


def current_device_index():
    """Return the number of the accelerator in use: 0."""
    backend_of(None, "accelerator.current_device_index")
    return 0


def set_device_index(device, /):
    """Choose the accelerator by its number, of which there is one, 0; negative: leave it as it is.

    Raises
    ------
    DeviceError
        If there is none.
    RuntimeError
        For another number.
    """
    backend_of(None, "accelerator.set_device_index")
    number = device if isinstance(device, int) else Device(device).index or 0
    if number > 0:
        raise RuntimeError(
            f"accelerator.set_device_index: {number} is not there; there is one accelerator, number 0"
        )


current_device_idx, set_device_idx = current_device_index, set_device_index


@contextlib.contextmanager
def device_index(device, /):
    """A block in which the accelerator of this number is in use; None: leave it as it is."""
    if device is not None:
        set_device_index(device)
    yield


def synchronize(device=None, /):
    """Wait until the accelerator has done all its work.

    Raises
    ------
    DeviceError
        If there is none.
    """
    _, backend = backend_of(None if isinstance(device, int) else device, "accelerator.synchronize")
    if hasattr(backend, "synchronize"):
        backend.synchronize(None)


# ---------------------------------------------------------------- its memory
def _asked(name, default, device=None):
    _, backend = backend_of(None if isinstance(device, int) else device, f"accelerator.{name}")
    return getattr(backend, name)() if hasattr(backend, name) else default


def empty_cache():
    """Give memory that no tensor uses back."""
    _asked("empty_cache", None)


def memory_stats(device_index=None, /):
    """What the accelerator's allocator has counted, by name; {} if it counts nothing.

    The names are PyTorch's: "allocated_bytes.all.current" and its ".peak", "reserved_bytes.all. ...".
    """
    return _asked("memory_stats", {}, device_index)


def memory_allocated(device_index=None, /):
    """Bytes that tensors use."""
    return memory_stats(device_index).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device_index=None, /):
    """The most that it was since the start, or since `reset_peak_memory_stats`."""
    return memory_stats(device_index).get("allocated_bytes.all.peak", 0)


def memory_reserved(device_index=None, /):
    """Bytes that the allocator holds, in use or not."""
    return memory_stats(device_index).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device_index=None, /):
    """The most that it was."""
    return memory_stats(device_index).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device_index=None, /):
    """Let the peaks be counted from now on."""
    _asked("reset_peak_memory_stats", None, device_index)


def reset_accumulated_memory_stats(device_index=None, /):
    """Let the sums be counted from now on."""
    _asked("reset_accumulated_memory_stats", None, device_index)


__getattr__ = _missing.refusing(__name__)

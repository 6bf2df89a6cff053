"""CUDA devices: there are none, and a program that asks first runs on the processor instead.

What programs call whether or not there is such a device works and does nothing, as in PyTorch built without CUDA:
seeding, emptying caches, counting memory. What needs a device raises DeviceError.
"""

from tensorlab import _missing
from tensorlab._core.device import no_accelerator
from tensorlab.cuda import amp
from tensorlab.typed_tensors import NAMES

__all__ = [
    "amp",
    "current_device",
    "device_count",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state_all",
    "synchronize",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


# ------------------------------------------------------------------------------ is there one?
def is_available():
    """False: there is no CUDA device.

    Examples
    --------
    >>> is_available()
    False
    """
    return False


def is_initialized():
    """False: nothing has been set up.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.is_initialized()
    False
    """
    return False


def is_bf16_supported(including_emulation=True):
    """False: there is no device to support it. On the processor, bfloat16 tensors work.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.is_bf16_supported(), tensorlab.ones(2, dtype=tensorlab.bfloat16).sum()
    (False, tensor(2., dtype=tensorlab.bfloat16))
    """
    return False


def is_tf32_supported():
    """False: there is no device to support it."""
    return False


def device_count():
    """0: how many devices there are.

    Examples
    --------
    >>> device_count()
    0
    """
    return 0


def get_arch_list():
    """Return []: kinds of devices that this copy was built for.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.get_arch_list()
    []
    """
    return []


# ------------------------------------------------------------------------------ what does nothing
def manual_seed(seed):
    """Seed the random numbers of the current device: nothing to do. `tensorlab.manual_seed` seeds those in use.

    Examples
    --------
    >>> manual_seed(0)
    """


def manual_seed_all(seed):
    """Seed the random numbers of all devices: nothing to do.

    Examples
    --------
    >>> manual_seed_all(0)
    """


def seed():
    """Seed the current device at random: nothing to do.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.seed()
    """


def seed_all():
    """Seed all devices at random: nothing to do.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.seed_all()
    """


def get_rng_state_all():
    """Return []: the states of the devices' random numbers.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.get_rng_state_all()
    []
    """
    return []


def set_rng_state_all(new_states):
    """Restore the states of the devices' random numbers: nothing to do.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.set_rng_state_all(tensorlab.cuda.get_rng_state_all())
    """


def empty_cache():
    """Give the devices' unused memory back: nothing to do. `tensorlab.empty_cache` does it for the processor's.

    Examples
    --------
    >>> empty_cache()
    """


# ------------------------------------------------------------------------------ memory
def memory_allocated(device=None):
    """0: bytes of tensors on the device.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.memory_allocated()
    0
    """
    return 0


def max_memory_allocated(device=None):
    """0: the most bytes that tensors on the device have had.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.max_memory_allocated()
    0
    """
    return 0


def memory_reserved(device=None):
    """0: bytes that the device's allocator holds.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.memory_reserved()
    0
    """
    return 0


def max_memory_reserved(device=None):
    """0: the most bytes that the device's allocator has held.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.max_memory_reserved()
    0
    """
    return 0


def memory_stats(device=None):
    """Return {}: what the device's allocator has done. `tensorlab.memory_stats` knows of the processor's.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.memory_stats()
    {}
    """
    return {}


def reset_peak_memory_stats(device=None):
    """Start counting the most bytes again: an error, since there is no device.

    Examples
    --------
    >>> import tensorlab
    >>> if tensorlab.cuda.is_available():
    ...     tensorlab.cuda.reset_peak_memory_stats()
    """
    raise no_accelerator("cuda.reset_peak_memory_stats")


def mem_get_info(device=None):
    """Bytes free and in all: an error, since there is no device.

    Examples
    --------
    >>> import tensorlab
    >>> if tensorlab.cuda.is_available():
    ...     free, total = tensorlab.cuda.mem_get_info()
    """
    raise no_accelerator("cuda.mem_get_info")


# ------------------------------------------------------------------------------ what needs a device
def init():
    """Set CUDA up: an error, since there is no device."""
    raise no_accelerator("cuda.init")


def current_device():
    """The number of the device in use: an error, since there is none.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.current_device()
    Traceback (most recent call last):
        ...
    tensorlab.errors.DeviceError: cuda.current_device: tensorlab computes on the ...
    """
    raise no_accelerator("cuda.current_device")


def set_device(device):
    """Use a device from now on: an error, since there is none. A negative number means none, and does nothing.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cuda.set_device(-1)
    >>> tensorlab.cuda.set_device(0)
    Traceback (most recent call last):
        ...
    tensorlab.errors.DeviceError: cuda.set_device: tensorlab computes on the processor ...
    """
    if not (isinstance(device, int) and device < 0):
        raise no_accelerator("cuda.set_device")


def synchronize(device=None):
    """Wait for the device: an error, since there is none. The processor has finished when a call returns.

    Examples
    --------
    >>> import tensorlab
    >>> if tensorlab.cuda.is_available():  # as programs write it, before they read a clock
    ...     tensorlab.cuda.synchronize()
    """
    raise no_accelerator("cuda.synchronize")


def get_device_name(device=None):
    """The device's name: an error, since there is none.

    Examples
    --------
    >>> import tensorlab
    >>> [tensorlab.cuda.get_device_name(i) for i in range(tensorlab.cuda.device_count())]
    []
    """
    raise no_accelerator("cuda.get_device_name")


def get_device_capability(device=None):
    """What the device can do: an error, since there is none.

    Examples
    --------
    >>> import tensorlab
    >>> if tensorlab.cuda.is_available():
    ...     major, minor = tensorlab.cuda.get_device_capability()
    """
    raise no_accelerator("cuda.get_device_capability")


def get_device_properties(device=None):
    """The device's facts: an error, since there is none.

    Examples
    --------
    >>> import tensorlab
    >>> [tensorlab.cuda.get_device_properties(i) for i in range(tensorlab.cuda.device_count())]
    []
    """
    raise no_accelerator("cuda.get_device_properties")


def get_rng_state(device="cuda"):
    """The state of the device's random numbers: an error, since there is none.

    Examples
    --------
    >>> import tensorlab
    >>> if tensorlab.cuda.is_available():
    ...     state = tensorlab.cuda.get_rng_state()
    """
    raise no_accelerator("cuda.get_rng_state")


def ipc_collect():
    """Collect memory shared between processes: an error, since there is no device."""
    raise no_accelerator("cuda.ipc_collect")


# ------------------------------------------------------------------------------ old types
class NoTensor(type):
    """The kind of class that cuda.FloatTensor is: nothing is an instance, and none can be made."""

    def __call__(cls, *args, **kwargs):
        raise TypeError(
            f"cuda.{cls.__name__}: there is no CUDA device; use tensorlab.{cls.__name__}, or tensor()"
        )

    def __instancecheck__(cls, x):
        return False


for _name in NAMES:
    globals()[f"{_name}Tensor"] = NoTensor(
        f"{_name}Tensor",
        (),
        {"__module__": __name__, "__doc__": "Tensors on a CUDA device; there are none."},
    )

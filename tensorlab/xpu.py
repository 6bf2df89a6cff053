"""Intel's accelerators: there are none, and a program that asks first runs on the processor instead."""

from tensorlab import _missing
from tensorlab._core.device import no_accelerator

__all__ = [
    "device_count",
    "empty_cache",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "synchronize",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def is_available():
    """False: there is no such device.

    Examples
    --------
    >>> is_available()
    False
    """
    return False


def device_count():
    """0: how many devices there are.

    Examples
    --------
    >>> device_count()
    0
    """
    return 0


def manual_seed(seed):
    """Seed the current device's random numbers: nothing to do.

    Examples
    --------
    >>> manual_seed(0)
    """


def manual_seed_all(seed):
    """Seed all devices' random numbers: nothing to do.

    Examples
    --------
    >>> manual_seed_all(0)
    """


def empty_cache():
    """Give the devices' unused memory back: nothing to do.

    Examples
    --------
    >>> empty_cache()
    """


def synchronize(device=None):
    """Wait for the device: an error, since there is none."""
    raise no_accelerator("xpu.synchronize")

"""The accelerator of this machine, of whatever make: there is none that tensorlab knows."""

from tensorlab import _missing
from tensorlab._core.device import no_accelerator

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def is_available():
    """False: there is no accelerator."""
    return False


def device_count():
    """0: how many accelerators there are."""
    return 0


def current_accelerator(check_available=False):
    """Return None: the device of the accelerator, if there were one."""
    return


def synchronize(device=None):
    """Wait for the accelerator: an error, since there is none."""
    raise no_accelerator("accelerator.synchronize")

"""The processor, asked as if it were an accelerator: it is always there, and never lags behind."""

from tensorlab import _missing
from tensorlab.cpu import amp

__all__ = ["amp", "current_device", "device_count", "is_available", "synchronize"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def is_available():
    """True: tensors are computed here."""
    return True


def device_count():
    """1: all processors together count as one device."""
    return 1


def current_device():
    """Return "cpu"."""
    return "cpu"


def synchronize(device=None):
    """Wait until all is computed: it is, when a call returns."""

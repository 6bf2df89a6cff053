"""A device to learn from: its memory, queues and kernels are Python and Cython, and behave as a
graphics card's.

    import lab_device                   # registers "lab", and lets it be the accelerator
    x = tensorlab.ones(2, 3, device="lab")

Its parts:

    lab_memory.py   blocks of bytes that the processor's kernels can't reach, and a caching allocator for them
    lab_queues.py   streams: threads that do what is put into them, one after the other; events; a log with times
    lab_races.py    who wrote and read a block, and whether one of them may be too early
    lab_kernels.py  what runs there: NumPy on those bytes, and a product of matrices in Cython
    lab_backend.py  what tensorlab asks of a device, made of these
"""

import sys

from lab_backend import Backend
from lab_kernels import make_kernels
from lab_races import RaceError

import tensorlab
from tensorlab.utils import generate_methods_for_privateuse1_backend, rename_privateuse1_backend
from tensorlab.utils.backend_registration import (
    _register_device_module,
    register_backend,
    register_kernels,
)

__all__ = [
    "BACKEND",
    "RaceError",
    "current_device",
    "device_count",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "set_rng_state",
    "settings",
    "synchronize",
    "timeline",
]

BACKEND = Backend()
settings = BACKEND.settings  # .latency: seconds that each kernel takes longer; .finds_races

register_backend("lab", BACKEND)
rename_privateuse1_backend("lab")
generate_methods_for_privateuse1_backend()
register_kernels("lab", make_kernels(BACKEND))


def timeline():
    """What the device has done since it was asked last: a list of (stream's number, name, start,
    end), in seconds.
    """
    tensorlab.accelerator.synchronize()
    return BACKEND.take_log()


# ---------------------------------------------------------------- what programs ask of tensorlab.lab
def is_available():
    """True: it is a part of this process."""
    return True


def device_count():
    """One device."""
    return 1


def current_device():
    """Number 0."""
    return 0


def synchronize(device=None):
    """Wait until all streams have done their work."""
    BACKEND.synchronize(None)


# Random numbers are drawn on the cpu and copied here, so that they are the same in both places.
manual_seed = tensorlab.manual_seed


def get_rng_state(device="lab"):
    """The state of the generator that the device draws from."""
    return tensorlab.get_rng_state()


def set_rng_state(state, device="lab"):
    """Put it back."""
    tensorlab.set_rng_state(state)


_register_device_module("lab", sys.modules[__name__])

"""Tools around training: `utils.data` feeds it with batches, `checkpoint` saves memory, `dlpack` shares it.

`utils.tensorboard` writes logs; it needs a library of its own, so you import it by name.
"""

from .. import _missing
from . import backend_registration, checkpoint, data, dlpack, hooks
from .backend_registration import (
    generate_methods_for_privateuse1_backend,
    rename_privateuse1_backend,
)

__all__ = [
    "backend_registration",
    "checkpoint",
    "data",
    "dlpack",
    "generate_methods_for_privateuse1_backend",
    "hooks",
    "rename_privateuse1_backend",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

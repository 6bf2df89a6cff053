"""Tools around training: `utils.data` feeds it with batches, `checkpoint` saves memory, `dlpack` shares it.

`utils.tensorboard` writes logs; it needs a library of its own, so you import it by name.
"""

from .. import _missing
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

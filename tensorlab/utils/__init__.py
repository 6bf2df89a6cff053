"""Tools around training: `utils.data` feeds it with batches, `checkpoint` saves memory, `dlpack` shares it, and
`benchmark` measures.

`utils.tensorboard` writes logs; it needs a library of its own, so you import it by name.
"""

from .._on_demand import on_demand
from . import backend_registration, checkpoint, data, dlpack, hooks
from .backend_registration import (
    generate_methods_for_privateuse1_backend,
    rename_privateuse1_backend,
)

__all__ = [
    "backend_registration",
    "benchmark",
    "bottleneck",
    "checkpoint",
    "cpp_extension",
    "data",
    "dlpack",
    "generate_methods_for_privateuse1_backend",
    "hooks",
    "rename_privateuse1_backend",
]


__getattr__, __dir__ = on_demand(__name__, ("benchmark", "bottleneck", "cpp_extension"))

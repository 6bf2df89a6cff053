"""The path of PyTorch's `utils.data._utils`, under which programs reach for `collate.default_collate_fn_map`."""

from .. import collate
from .. import pinning as pin_memory

__all__ = ["collate", "pin_memory"]

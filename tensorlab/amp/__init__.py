"""Mixed precision: products run in bfloat16 or float16, and what needs more bits in float32.

`autocast` lets ops choose their types in a block. `GradScaler` scales the loss, so that small
gradients survive in float16.
"""

from tensorlab import _missing
from tensorlab.amp.autocast_mode import autocast, is_autocast_available
from tensorlab.amp.custom_functions import custom_bwd, custom_fwd
from tensorlab.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

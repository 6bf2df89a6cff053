"""Mixed precision under its older names; write `amp.autocast("cuda", ...)` instead."""

import warnings

from tensorlab import _missing, amp
from tensorlab.amp.older_names import older_classes

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

autocast, GradScaler = older_classes("cuda")


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def _warn_of_the_older_name(name):
    warnings.warn(
        f"`cuda.amp.{name}(args...)` is deprecated; write `amp.{name}(args..., device_type='cuda')`",
        FutureWarning,
        stacklevel=3,
    )


def custom_fwd(fwd=None, *, cast_inputs=None):
    """Write `amp.custom_fwd(device_type="cuda")` instead."""
    _warn_of_the_older_name("custom_fwd")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """Write `amp.custom_bwd(device_type="cuda")` instead."""
    _warn_of_the_older_name("custom_bwd")
    return amp.custom_bwd(bwd, device_type="cuda")

"""Mixed precision under its older names; write `amp.autocast("cuda", ...)` instead."""

import warnings

from tensorlab import _missing, amp

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def _warn_of_the_older_name(name):
    warnings.warn(
        f"`cuda.amp.{name}(args...)` is deprecated; write `amp.{name}('cuda', args...)`",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    """Write `amp.autocast("cuda", ...)` instead. Without such a device it does nothing."""

    def __init__(self, enabled=True, dtype=amp.float16, cache_enabled=True):
        _warn_of_the_older_name("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """Write `amp.GradScaler("cuda", ...)` instead. Without such a device it does nothing."""

    def __init__(
        self,
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        _warn_of_the_older_name("GradScaler")
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


def custom_fwd(fwd=None, *, cast_inputs=None):
    """Write `amp.custom_fwd(device_type="cuda")` instead."""
    _warn_of_the_older_name("custom_fwd")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """Write `amp.custom_bwd(device_type="cuda")` instead."""
    _warn_of_the_older_name("custom_bwd")
    return amp.custom_bwd(bwd, device_type="cuda")

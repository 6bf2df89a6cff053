"""Mixed precision under its older names; write `amp.autocast("cpu", ...)` instead."""

import warnings

from tensorlab import _missing, amp

__all__ = ["GradScaler", "autocast"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def _warn_of_the_older_name(name):
    warnings.warn(
        f"`cpu.amp.{name}(args...)` is deprecated; write `amp.{name}('cpu', args...)`",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    """Write `amp.autocast("cpu", ...)` instead."""

    def __init__(self, enabled=True, dtype=amp.bfloat16, cache_enabled=True):
        _warn_of_the_older_name("autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """Write `amp.GradScaler("cpu", ...)` instead."""

    def __init__(
        self,
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        _warn_of_the_older_name("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)

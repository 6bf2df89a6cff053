"""Mixed precision under its older names; write `amp.autocast("cpu", ...)` instead."""

from tensorlab import _missing
from tensorlab.amp.older_names import older_classes

__all__ = ["GradScaler", "autocast"]

autocast, GradScaler = older_classes("cpu")


def __getattr__(name):
    raise _missing.refuse(__name__, name)

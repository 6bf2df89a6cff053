"""The debug level, from TORCH_DISTRIBUTED_DEBUG, for programs that ask or set it."""

import enum
import os

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]

VARIABLE = "TORCH_DISTRIBUTED_DEBUG"


class DebugLevel(enum.IntEnum):
    """How much PyTorch checks and prints. Here ranks compare what they call at every level.

    Examples
    --------
    >>> [level.name for level in DebugLevel]
    ['OFF', 'INFO', 'DETAIL']
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


def level_in_environment():
    """Return the level that the environment names.

    Raises
    ------
    RuntimeError
        If it names none.
    """
    text = (os.environ.get(VARIABLE) or "OFF").upper()
    if text not in DebugLevel.__members__:
        raise RuntimeError(f"{VARIABLE} is {text!r}; expected OFF, INFO or DETAIL")
    return DebugLevel[text]


chosen: list = [None]  # the level that was set, unless the environment says it


def get_debug_level():
    """Return the level that was set, or that the environment names.

    Examples
    --------
    >>> get_debug_level()
    <DebugLevel.OFF: 0>
    """
    return level_in_environment() if chosen[0] is None else chosen[0]


def set_debug_level(level):
    """Set the level that `get_debug_level` returns.

    Raises
    ------
    TypeError
        If it is no DebugLevel.

    Examples
    --------
    >>> set_debug_level(DebugLevel.DETAIL)
    >>> get_debug_level().name
    'DETAIL'
    >>> set_debug_level(DebugLevel.OFF)
    """
    if not isinstance(level, DebugLevel):
        raise TypeError(f"set_debug_level: level is {level!r}; expected a DebugLevel")
    chosen[0] = level


def set_debug_level_from_env():
    """Go back to what the environment says.

    Examples
    --------
    >>> import os
    >>> os.environ["TORCH_DISTRIBUTED_DEBUG"] = "INFO"
    >>> set_debug_level_from_env()
    >>> get_debug_level().name
    'INFO'
    >>> del os.environ["TORCH_DISTRIBUTED_DEBUG"]
    >>> set_debug_level_from_env()
    """
    chosen[0] = None

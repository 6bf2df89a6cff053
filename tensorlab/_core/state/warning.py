"""Warnings that a program gets once, however often it does what they warn of."""

import warnings

# Whether to warn each time, as `set_warn_always` asks; and what has been said so far.
state = {"always": False}
said: set[str] = set()


def warn_once(message, stacklevel=2):
    """Give a UserWarning, unless the program has had it.

    `stacklevel` is that of `warnings.warn`, seen from the caller: compiled functions have no frame,
    so that 2 names the line that called one.
    """
    if state["always"] or message not in said:
        said.add(message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel)

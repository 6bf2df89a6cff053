"""Apple's accelerator: not here."""

from tensorlab import _missing


def is_available():
    """False: there is no such device.

    Examples
    --------
    >>> is_available()
    False
    """
    return False


def is_built():
    """False: this copy was built without it."""
    return False


__getattr__ = _missing.refusing(__name__)

"""Apple's accelerator: not here."""


def is_available():
    """False: there is no such device."""
    return False


def is_built():
    """False: this copy was built without it."""
    return False

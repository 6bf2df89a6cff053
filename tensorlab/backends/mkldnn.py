"""oneDNN, Intel's library of layers: not here; layers are tensorlab's own loops."""

enabled = False


def is_available():
    """False: no layer is computed by oneDNN."""
    return False

"""OpenMP, which splits loops over threads."""

from tensorlab import _build_info


def is_available():
    """Say whether this copy was built with it; without, every loop runs on one thread."""
    return _build_info.openmp

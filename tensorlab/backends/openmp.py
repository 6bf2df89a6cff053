"""Splitting loops over threads, for which PyTorch uses OpenMP and tensorlab a pool of its own."""

from tensorlab import _build_info


def is_available():
    """Say whether loops are split over threads; a copy that was built without threads runs them on one."""
    return _build_info.threads

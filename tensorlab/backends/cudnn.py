"""cuDNN, NVIDIA's library of layers: not here. Its switches can be set, since programs set them first of all."""

import contextlib

enabled = True
benchmark = False
benchmark_limit = None
deterministic = False
allow_tf32 = True


def is_available():
    """False: there is no cuDNN."""
    return False


def is_acceptable(tensor):
    """False: cuDNN computes with no tensor."""
    return False


def version():
    """Return None: there is no cuDNN that could have one."""
    return


def set_flags(
    _enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None
):
    """Set the switches that are given, and return what all were before, in this order."""
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    before = tuple(globals()[name] for name in names)
    for name, value in zip(names, given, strict=True):
        if value is not None:
            globals()[name] = value
    return before


@contextlib.contextmanager
def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True):
    """Set the switches for as long as the context lasts."""
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)

"""MKL, Intel's library of linear algebra: not here; matrices are multiplied by the BLAS that SciPy carries."""

from tensorlab import _missing


def is_available():
    """False: `tensorlab.__config__.show()` says which BLAS is used."""
    return False


__getattr__ = _missing.refusing(__name__)

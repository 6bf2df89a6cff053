"""How this copy of tensorlab was built, and what it runs on: `tensorlab.__config__.show()`."""

import platform

from tensorlab import _build_info
from tensorlab._finder import LEVELS, processor_level
from tensorlab.threads import get_num_threads

__all__ = ["has_threads", "show"]

has_threads = _build_info.threads


def show() -> None:
    """Print the compiler, its flags, the capability in use, the threads and the BLAS.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.__config__.show()
    compiler    ...
    flags       ...
    capability  ...
    threads     ...
    BLAS        ...
    Cython      ...
    Python      ...
    """
    rows = {
        "compiler": _build_info.compiler,
        "flags": _build_info.flags,
        "capability": capability(),
        "threads": get_num_threads() if has_threads else "1: built without threads",
        "BLAS": blas(),
        "Cython": _build_info.cython,
        "Python": platform.python_version(),
    }
    print("\n".join(f"{name:<12}{value}" for name, value in rows.items()))


def capability() -> str:
    """Return the vector instructions that the loops use, and why these."""
    if _build_info.variants:
        return f"{LEVELS[processor_level()]} (chosen at import among {', '.join(LEVELS)})"
    return f"{_build_info.capability} (built for {_build_info.march})"


def blas():
    """Return the library that multiplies matrices, with its version."""
    import scipy.linalg.cython_blas  # noqa: F401 - loads the library; late, for it takes 70 ms
    from threadpoolctl import threadpool_info

    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = (
        f"{library['internal_api']} {library['version']}"
        for library in found
        if "scipy" in library["filepath"]
    )
    return next(names, "SciPy's, of a kind that threadpoolctl does not know")

"""How this copy of tensorlab was built, and what it runs on: `tensorlab.__config__.show()`."""

import platform

from tensorlab import _build_info
from tensorlab._capability import LEVELS, processor_level
from tensorlab.threads import get_num_threads

__all__ = ["openmp", "show"]

openmp = _build_info.openmp


def show():
    """Print the compiler, its flags, the capability in use, the threads and the BLAS.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.__config__.show()
    compiler    ...
    flags       ...
    capability  ...
    OpenMP      ...
    threads     ...
    BLAS        ...
    Cython      ...
    Python      ...
    """
    rows = {
        "compiler": _build_info.compiler,
        "flags": _build_info.flags,
        "capability": capability(),
        "OpenMP": "yes" if openmp else "no: loops run on one thread",
        "threads": get_num_threads(),
        "BLAS": blas(),
        "Cython": _build_info.cython,
        "Python": platform.python_version(),
    }
    print("\n".join(f"{name:<12}{value}" for name, value in rows.items()))


def capability():
    """Return the vector instructions that the loops use, and why these."""
    if _build_info.variants:
        return f"{LEVELS[processor_level()]} (chosen at import among {', '.join(LEVELS)})"
    return f"{_build_info.capability} (built for {_build_info.march})"


def blas():
    """Return the library that multiplies matrices, with its version and threads."""
    import scipy.linalg.cython_blas  # noqa: F401 - loads the library; late, for it takes 70 ms
    from threadpoolctl import threadpool_info

    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = (
        f"{library['internal_api']} {library['version']}, {library['num_threads']} thread(s)"
        for library in found
        if "scipy" in library["filepath"]
    )
    return next(names, "SciPy's, of a kind that threadpoolctl does not know")

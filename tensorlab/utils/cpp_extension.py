"""Extensions in C++, which tensorlab has none of: a program that was written for PyTorch's
module imports its names, and a call says what to use instead.

    load_inline("clips", cpp_sources=source)    # NotImplementedError: ... use cython_extension

Its extensions are written in Cython, in the form that the package's own ops have
(`utils.cython_extension`).
"""

from tensorlab import _missing

__all__ = ["BuildExtension", "CUDAExtension", "CppExtension", "load", "load_inline"]


def _refusing(name, instead):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"cpp_extension.{name}: tensorlab's extensions are written in Cython; {instead}"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not there: extensions are written in Cython; {instead}."
    return refuse


_BUILT = "use tensorlab.utils.cython_extension.load, which builds a .pyx the first time"
load = _refusing("load", "use tensorlab.utils.cython_extension.load")
load_inline = _refusing("load_inline", "use tensorlab.utils.cython_extension.load_inline")
CppExtension = _refusing("CppExtension", _BUILT)
CUDAExtension = _refusing("CUDAExtension", _BUILT)
BuildExtension = _refusing("BuildExtension", _BUILT)

__getattr__ = _missing.refusing(__name__)

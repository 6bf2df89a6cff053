"""Libraries that PyTorch computes with, and their switches: which of them are here, and what the switches do.

Switches for libraries that are not here can be set and read, and change nothing.
"""

from tensorlab import _missing

from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

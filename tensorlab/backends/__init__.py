"""Libraries that PyTorch computes with, and their switches: which of them are here, and what the switches do.

Switches for libraries that are not here can be set and read, and change nothing.
"""

from tensorlab._on_demand import on_demand

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp"]


__getattr__, __dir__ = on_demand(__name__, __all__)

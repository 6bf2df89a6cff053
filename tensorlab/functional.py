"""The path of PyTorch's module `torch.functional`: functions of the package's front, under their second name."""

import sys

from tensorlab import _missing

__all__ = sorted(
    [
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block_diag",
        "broadcast_shapes",
        "broadcast_tensors",
        "cartesian_prod",
        "cdist",
        "chain_matmul",
        "einsum",
        "istft",
        "lu",
        "meshgrid",
        "norm",
        "pca_lowrank",
        "split",
        "stft",
        "svd_lowrank",
        "tensordot",
        "unique",
        "unique_consecutive",
        "unravel_index",
    ]
)  # looked up at the front when a program asks for one


def __getattr__(name):
    if name in __all__:
        return getattr(sys.modules["tensorlab"], name)
    raise _missing.refuse(__name__, name)


def __dir__():
    return sorted({*globals(), *__all__})

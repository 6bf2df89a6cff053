"""The path of PyTorch's module `torch.functional`: functions of the package's front, under their second name."""

from tensorlab import _missing

from .ops.indexing.parts import unravel_index
from .ops.joining import atleast_1d, atleast_2d, atleast_3d
from .ops.linalg.composed import cdist
from .ops.linalg.einsum import einsum, tensordot
from .ops.linalg.low_rank import pca_lowrank, svd_lowrank
from .ops.linalg.matrix_functions import chain_matmul
from .ops.linalg.older_names import lu
from .ops.meshgrid import broadcast_shapes, broadcast_tensors, cartesian_prod, meshgrid
from .ops.norms import norm
from .ops.short_time_fourier import istft, stft
from .ops.splitting import split
from .ops.triangles import block_diag
from .ops.uniques import unique, unique_consecutive

__all__ = [
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
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "split",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]

__getattr__ = _missing.refusing(__name__)

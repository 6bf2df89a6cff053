"""Sparse tensors: those that hold only the elements that are not 0, and where these are.

`sparse_coo_tensor` and `sparse_csr_tensor` at the front make them, and so does `x.to_sparse()` of a
dense one. The products here have gradients that are sparse where the matrix is.
"""

from tensorlab import _missing, _planned
from tensorlab.sparse import conversion, copying, pointwise, products, reductions, shapes
from tensorlab.sparse.checks import check_sparse_tensor_invariants
from tensorlab.sparse.creation import spdiags
from tensorlab.sparse.functions import (
    addmm,
    as_sparse_gradcheck,
    log_softmax,
    mm,
    sampled_addmm,
    softmax,
    sum,
)

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]

globals().update(
    _planned.names(
        __name__,
        "SparseSemiStructuredTensor to_sparse_semi_structured",
        until="two of four weights that are 0 make nothing faster on a processor: keep the weight "
        "dense, or use to_sparse_bsr.",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)

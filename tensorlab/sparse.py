"""Sparse tensors: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """SparseSemiStructuredTensor addmm as_sparse_gradcheck check_sparse_tensor_invariants
        log_softmax mm sampled_addmm softmax spdiags sum to_sparse_semi_structured""",
        until="tensors are strided: keep indices and values in two tensors, and add up "
        "products with index_add_.",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)

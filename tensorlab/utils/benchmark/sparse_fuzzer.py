"""FuzzedSparseTensor: sparse inputs of random shapes and densities."""

import math

from tensorlab._core.dtypes import BY_NAME
from tensorlab._core.interop.exchange import tensor
from tensorlab.ops.joining import cat
from tensorlab.ops.random_factories import rand, randn_like
from tensorlab.sparse.creation import sparse_coo_tensor
from tensorlab.utils.benchmark.fuzzer import FuzzedTensor

__all__ = ["FuzzedSparseTensor"]


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse tensor that is made of drawn parameters, among them `density`, `coalesced` and, if `sparse_dim` is
    given, `sparse_dim`.

    Parameters
    ----------
    name, size, min_elements, max_elements, dim_parameter, dtype, cuda : as of a FuzzedTensor
    sparse_dim, density, coalesced : str, the names of these parameters
    nnz : taken for PyTorch's sake
    """

    def __init__(
        self,
        name,
        size,
        min_elements=None,
        max_elements=None,
        dim_parameter=None,
        sparse_dim=None,
        nnz=None,
        density=None,
        coalesced=None,
        dtype=BY_NAME["float32"],
        cuda=False,
    ):
        super().__init__(
            name,
            size,
            min_elements=min_elements,
            max_elements=max_elements,
            dim_parameter=dim_parameter,
            dtype=dtype,
            cuda=cuda,
        )
        self._density, self._coalesced, self._sparse_dim = density, coalesced, sparse_dim

    @staticmethod
    def sparse_tensor_constructor(size, dtype, sparse_dim, nnz, is_coalesced):
        """A tensor with `nnz` values; with twice as many, at the same places, if it is not to be coalesced."""
        size = [size] * sparse_dim if isinstance(size, int) else list(size)
        values = FuzzedTensor.default_tensor_constructor((nnz, *size[sparse_dim:]), dtype)
        extent = tensor(size[:sparse_dim]).unsqueeze(1)
        indices = (rand(sparse_dim, nnz) * extent).long()
        if not is_coalesced:
            values = cat([values, randn_like(values)])
            indices = cat([indices, indices], 1)
        made = sparse_coo_tensor(indices, values, size)
        return made.coalesce() if is_coalesced else made

    def _make_tensor(self, params, state):
        size, _, _ = self._sizes(params)
        density, is_coalesced = params["density"], params["coalesced"]
        sparse_dim = min(params["sparse_dim"] if self._sparse_dim else len(size), len(size))
        nnz = math.ceil(sum(size) * density)
        made = self.sparse_tensor_constructor(size, self._dtype, sparse_dim, nnz, is_coalesced)
        return made, {
            "numel": int(made.numel()),
            "shape": made.size(),
            "is_coalesced": made.is_coalesced(),
            "density": density,
            "sparsity": 1.0 - density,
            "sparse_dim": made.sparse_dim(),
            "dense_dim": made.dense_dim(),
            "is_hybrid": len(size) > sparse_dim,
            "dtype": str(self._dtype),
        }

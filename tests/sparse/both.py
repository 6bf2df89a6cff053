"""Sparse tensors of both packages: PyTorch's as ours, and whether two are the same."""

import numpy as np

import tensorlab

COMPRESSED = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
LAYOUTS = ("sparse_coo", *COMPRESSED)


def name_of(thing):
    """The name of a dtype or a layout, without that of the package."""
    return str(thing).rpartition(".")[2]


def ours(x):
    """PyTorch's tensors in an argument as ours, with the same indices and values."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(ours, x)) if type(x) in (list, tuple) else tuple(x)
    if isinstance(x, dict):
        return {key: ours(value) for key, value in x.items()}
    if type(x).__module__ == "torch" and type(x).__name__ in ("dtype", "layout"):
        return getattr(tensorlab, name_of(x))
    if type(x).__name__ not in ("Tensor", "Parameter"):
        return x
    held, layout = x.detach(), name_of(x.layout)
    if layout == "strided":
        made = tensorlab.from_numpy(held.numpy().copy())
    elif layout == "sparse_coo":
        parts = ours(held._indices()), ours(held._values())
        made = tensorlab.sparse_coo_tensor(
            *parts, tuple(x.shape), is_coalesced=x.is_coalesced(), check_invariants=True
        )
    else:
        by_row = layout in ("sparse_csr", "sparse_bsr")
        names = ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
        parts = [ours(getattr(held, name)()) for name in names]
        made = tensorlab.sparse_compressed_tensor(
            *parts,
            ours(held.values()),
            tuple(x.shape),
            layout=getattr(tensorlab, layout),
            check_invariants=True,
        )
    return made.requires_grad_() if x.requires_grad else made


def check_parts(x):
    """Assert that indices are inside, and rise if a tensor of layout sparse_coo says that they do."""
    indices, values = x._indices().numpy(), x._values()
    assert indices.shape == (x.sparse_dim(), values.shape[0])
    assert tuple(x.shape) == (*x.shape[: x.sparse_dim()], *values.shape[1:])
    if indices.size:
        assert indices.min() >= 0
        assert (indices.max(1) < x.shape[: x.sparse_dim()]).all()
        if x.is_coalesced():
            flat = np.ravel_multi_index(indices, tuple(x.shape[: x.sparse_dim()]))
            assert (np.diff(flat) > 0).all()


def assert_same(got, wanted, tolerance=1e-5):
    """Assert that two results have the same layout, dtype, shape and elements."""
    if isinstance(wanted, (list, tuple)):
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other, tolerance)
        return
    assert name_of(got.layout) == name_of(wanted.layout)
    assert name_of(got.dtype) == name_of(wanted.dtype)
    assert tuple(got.shape) == tuple(wanted.shape)
    if got.layout == tensorlab.sparse_coo:
        assert (got.sparse_dim(), got.dense_dim()) == (wanted.sparse_dim(), wanted.dense_dim())
        check_parts(got)
    np.testing.assert_allclose(
        got.detach().to_dense().numpy(),
        wanted.detach().to_dense().numpy(),
        rtol=tolerance,
        atol=tolerance,
    )

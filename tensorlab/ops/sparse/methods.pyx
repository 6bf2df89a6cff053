"""Methods of dense tensors that lead to sparse ones, and what a dense tensor says when it is asked for indices.

The classes of sparse tensors inherit Tensor, so they lie above this file; tensorlab/sparse hands down what makes one. That
package is imported when the first sparse tensor is made: a program without any neither loads nor meets it.
"""
from tensorlab._core.tensor cimport TensorBase

import importlib

from tensorlab._core.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from tensorlab.errors import ShapeError

cdef object convert = None          # (x, layout, blocksize, sparse_dim) -> tensor of that layout
cdef object attach_gradient = None  # (table, out, indices, padding_idx, rows_of) -> out, through which a sparse gradient flows
cdef object make_empty = None       # (where, size, layout, dtype, device, requires_grad) -> tensor that holds nothing


def set_makers(conversion, attachment, emptiness):
    """Take what makes sparse tensors: one that changes the layout, (x, layout, blocksize, sparse_dim), one that makes the
    gradient of a table of rows, (table, out, indices, padding_idx, rows_of), and one that makes tensors that hold nothing,
    (where, size, layout, dtype, device, requires_grad)."""
    global convert, attach_gradient, make_empty
    convert, attach_gradient, make_empty = conversion, attachment, emptiness


cdef int load_makers() except -1:
    if convert is None:
        importlib.import_module("tensorlab.sparse")
    return 0


cdef bint is_sparse_layout(object layout) except -1:
    return layout in (sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)


cdef object empty_sparse(str where, object size, object layout, object dtype, object device, bint requires_grad):
    """A tensor of a sparse layout that holds nothing: all its elements are 0."""
    load_makers()
    return make_empty(where, size, layout, dtype, device, requires_grad)


cpdef object with_sparse_gradient(TensorBase table, TensorBase out, TensorBase indices, padding_idx, rows_of):
    """`out`, which was computed from rows of a table, with a gradient for the table that holds only these rows.

    Parameters
    ----------
    table : Tensor, shape (rows, width)
    out : Tensor, computed from table.detach()
    indices : Tensor, which rows
    padding_idx : int, the row that gets no gradient, or -1
    rows_of : function that is given the gradient of `out`, and returns that of the rows, one for each index
    """
    load_makers()
    return attach_gradient(table, out, indices, padding_idx, rows_of)


# ---------------------------------------------------------------- to sparse
def to_sparse(TensorBase self not None, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The elements that are not 0, and where they are: a tensor of a sparse layout; gradients flow through.

    Parameters
    ----------
    sparse_dim : int; so many dimensions, the first ones, have indices, and the others stay dense; all unless given.
        Or a layout
    layout : layout: sparse_coo (default), sparse_csr, sparse_csc, sparse_bsr or sparse_bsc
    blocksize : pair of int, the shape of a block; for bsr and bsc
    dense_dim : int; so many dimensions, the last ones, stay dense; for compressed layouts

    Raises
    ------
    RuntimeError
        If the arguments do not go together.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[0.0, 3.0], [0.0, 0.0]]).to_sparse()
    tensor(indices=tensor([[0],
                           [1]]),
           values=tensor([3.]),
           size=(2, 2), nnz=1, layout=tensorlab.sparse_coo)
    """
    if isinstance(sparse_dim, str):
        sparse_dim, layout = None, sparse_dim
    layout = sparse_coo if layout is None else layout
    if layout == strided:
        return to_dense(self)
    if not is_sparse_layout(layout):
        raise RuntimeError(f"to_sparse: layout must be one of the sparse ones, not {layout!r}")
    if layout in (sparse_bsr, sparse_bsc):
        if blocksize is None:
            raise RuntimeError(f"to_sparse: layout {layout} needs blocksize=, the shape of a block")
    elif blocksize is not None:
        raise RuntimeError(f"to_sparse: blocksize is for layouts sparse_bsr and sparse_bsc, not {layout}")
    if layout == sparse_coo:
        if sparse_dim is None:
            sparse_dim = self.ndim_ - (dense_dim or 0)
        if not (1 if self.ndim_ else 0) <= sparse_dim <= self.ndim_:
            raise RuntimeError(f"to_sparse: sparse_dim argument must be in [{1 if self.ndim_ else 0}, {self.ndim_}] range, "
                               f"but {sparse_dim} is given")
    else:
        if sparse_dim is not None and sparse_dim != 2:
            raise RuntimeError(f"to_sparse: layout {layout} has 2 sparse dims, not {sparse_dim}")
        if self.ndim_ - (dense_dim or 0) < 2:
            raise RuntimeError(f"to_sparse: layout {layout} needs a matrix or a batch of them; a tensor of {self.ndim_} "
                               f"dimensions with dense_dim {dense_dim or 0} has none")
        sparse_dim = self.ndim_ - (dense_dim or 0)
    load_makers()
    return convert(self, layout, None if blocksize is None else tuple(blocksize), sparse_dim)


def to_sparse_coo(TensorBase self not None):
    """The tensor in layout sparse_coo: each element that is not 0 with its index.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([0.0, 3.0]).to_sparse_coo().indices()
    tensor([[1]])
    """
    return to_sparse(self)


def to_sparse_csr(TensorBase self not None, dense_dim=None):
    """The matrix in layout sparse_csr: where each row begins, and the column of each element.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return to_sparse(self, layout=sparse_csr, dense_dim=dense_dim)


def to_sparse_csc(TensorBase self not None, dense_dim=None):
    """The matrix in layout sparse_csc: where each column begins, and the row of each element.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[0, 7], [8, 9]]).to_sparse_csc().values()
    tensor([8, 7, 9])
    """
    return to_sparse(self, layout=sparse_csc, dense_dim=dense_dim)


def to_sparse_bsr(TensorBase self not None, blocksize, dense_dim=None):
    """The matrix in layout sparse_bsr: as sparse_csr, but each value is a block.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.eye(4).to_sparse_bsr((2, 2)).values().shape
    tensorlab.Size([2, 2, 2])
    """
    return to_sparse(self, layout=sparse_bsr, blocksize=blocksize, dense_dim=dense_dim)


def to_sparse_bsc(TensorBase self not None, blocksize, dense_dim=None):
    """The matrix in layout sparse_bsc: as sparse_csc, but each value is a block.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.eye(4).to_sparse_bsc((2, 2)).values().shape
    tensorlab.Size([2, 2, 2])
    """
    return to_sparse(self, layout=sparse_bsc, blocksize=blocksize, dense_dim=dense_dim)


def sparse_mask(TensorBase self not None, TensorBase mask not None):
    """The elements at the places where a sparse tensor holds some, as a tensor of its layout.

    Raises
    ------
    RuntimeError
        If the mask is dense, or has another shape.

    Examples
    --------
    >>> import tensorlab
    >>> mask = tensorlab.eye(2).to_sparse()
    >>> tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(mask).values()
    tensor([1., 4.])
    """
    if mask.layout == strided:
        raise RuntimeError("sparse_mask: the mask is dense; it must be a sparse tensor, mask.to_sparse(), or use where")
    if self.shape != mask.shape:
        raise ShapeError(f"sparse_mask: operands have incompatible sizes: self has size {tuple(self.shape)} and mask has size "
                         f"{tuple(mask.shape)}")
    return mask._places_in(self)


# ---------------------------------------------------------------- dense tensors
def to_dense(TensorBase self not None, dtype=None, *, masked_grad=None):
    """The tensor with all its elements: this one, as it is dense.

    Parameters
    ----------
    dtype : dtype of the result
    masked_grad : bool; of a sparse tensor, whether its gradient has only the elements that it holds (the default)

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.eye(2).to_sparse().to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return self if dtype is None else self.to(dtype)


def sparse_dim(TensorBase self not None):
    """How many dimensions are given by indices: 0 of a dense tensor.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, 3)
    >>> x.sparse_dim(), x.to_sparse().sparse_dim()
    (0, 2)
    """
    return 0


def dense_dim(TensorBase self not None):
    """How many dimensions are not given by indices: all of a dense tensor's.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, 3)
    >>> x.dense_dim(), x.to_sparse(1).dense_dim()
    (2, 1)
    """
    return self.ndim_


cdef object refusal(TensorBase x, str name, str wanted):
    return RuntimeError(f"{name}: expected a tensor of layout {wanted}, but this one has layout {x.layout}; "
                        f"to_sparse(layout=...) makes one")


def coalesce(TensorBase self not None):
    """The tensor of layout sparse_coo with each index once, in rising order: an error for other layouts.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (3,))
    >>> x.coalesce().values()
    tensor([5.])
    """
    raise refusal(self, "coalesce", "sparse_coo")


def is_coalesced(TensorBase self not None):
    """Whether a tensor of layout sparse_coo has each index once: an error for other layouts.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (3,))
    >>> x.is_coalesced(), x.coalesce().is_coalesced()
    (False, True)
    """
    raise refusal(self, "is_coalesced", "sparse_coo")


def indices(TensorBase self not None):
    """The indices of a coalesced tensor of layout sparse_coo: an error for other layouts.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[0, 7], [8, 0]]).to_sparse().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    raise refusal(self, "indices", "sparse_coo")


def values(TensorBase self not None):
    """The elements that a sparse tensor holds: an error for a dense one.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[0, 7], [8, 0]]).to_sparse().values()
    tensor([7, 8])
    """
    raise refusal(self, "values", "sparse_coo, or compressed")


def crow_indices(TensorBase self not None):
    """Where each row begins among the elements: an error for layouts other than sparse_csr and sparse_bsr.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[0, 7], [8, 9]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 3])
    """
    raise refusal(self, "crow_indices", "sparse_csr or sparse_bsr")


def col_indices(TensorBase self not None):
    """The column of each element: an error for layouts other than sparse_csr and sparse_bsr.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[0, 7], [8, 9]]).to_sparse_csr().col_indices()
    tensor([1, 0, 1])
    """
    raise refusal(self, "col_indices", "sparse_csr or sparse_bsr")


def ccol_indices(TensorBase self not None):
    """Where each column begins among the elements: an error for layouts other than sparse_csc and sparse_bsc.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[0, 7], [8, 9]]).to_sparse_csc().ccol_indices()
    tensor([0, 1, 3])
    """
    raise refusal(self, "ccol_indices", "sparse_csc or sparse_bsc")


def row_indices(TensorBase self not None):
    """The row of each element: an error for layouts other than sparse_csc and sparse_bsc.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[0, 7], [8, 9]]).to_sparse_csc().row_indices()
    tensor([1, 0, 1])
    """
    raise refusal(self, "row_indices", "sparse_csc or sparse_bsc")


def held_count(TensorBase self not None):
    """How many elements a sparse tensor holds: an error for a dense one."""
    raise refusal(self, "_nnz", "sparse_coo, or compressed")


def raw_indices(TensorBase self not None):
    """The indices of a tensor of layout sparse_coo as they are: an error for other layouts."""
    raise refusal(self, "_indices", "sparse_coo")


def raw_values(TensorBase self not None):
    """The values of a tensor of layout sparse_coo as they are: an error for other layouts."""
    raise refusal(self, "_values", "sparse_coo")

"""Rows of a table by number: embedding, and one_hot, the same with the identity matrix as the table.

    embedding       out[..., :] = weight[input[...], :]

It is index_select on rows, with two differences in its gradient: a padding row gets none, and rows may be scaled by how
often they were used.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from tensorlab._core.op cimport Op
from tensorlab._core.dtypes cimport INT64, item_size
from tensorlab._core.graph cimport ndim_of
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize
from tensorlab._core.recording cimport record
from tensorlab._core.tensor cimport TensorBase, alias_as, is_meta, memory_of
from tensorlab.ops.filling cimport zeros_beside
from tensorlab.ops.indexing.index_iterator cimport ADD
from tensorlab.ops.indexing.index_along_dim cimport index_vector, select_forward, write_slices

from tensorlab.errors import DTypeError, IndexOutOfRange, ShapeError


cdef TensorBase as_vector(TensorBase index):
    """Contiguous indices of any shape as one row."""
    cdef ssize one = 1
    return alias_as(index, 1, &index.numel_, &one, index.data_)


cdef TensorBase in_shape(TensorBase rows, TensorBase index):
    """Rows (n, width) as (*index.shape, width)."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int d
    if index.ndim_ + 1 > MAX_NDIM:
        raise ShapeError(f"embedding: the result would have more than {MAX_NDIM} dimensions")
    sizes[index.ndim_] = rows.sizes[1]
    strides[index.ndim_] = 1
    for d in range(index.ndim_ - 1, -1, -1):
        sizes[d] = index.sizes[d]
        strides[d] = strides[d + 1] * max(sizes[d + 1], 1)
    return alias_as(rows, index.ndim_ + 1, sizes, strides, rows.data_)


# ---------------------------------------------------------------- embedding
cdef Op EMBEDDING = Op("embedding(Tensor weight, Tensor indices, int padding_idx, bool scale_grad_by_freq) -> Tensor")

@EMBEDDING.derivative("weight")
def embedding_derivative(grad, indices, padding_idx, scale_grad_by_freq, weight_shape):
    return run_embedding_backward(<TensorBase?>grad, <TensorBase?>indices, weight_shape[0], padding_idx, scale_grad_by_freq)

cdef object run_embedding(TensorBase weight, TensorBase indices, ssize padding, bint scales):
    cdef TensorBase index = index_vector(indices, "embedding")
    cdef TensorBase out = in_shape(select_forward(weight, 0, as_vector(index), "embedding"), index)
    return record(EMBEDDING, out, (weight, indices, padding, scales))


# ---------------------------------------------------------------- embedding_backward
cdef bint count_uses(int64_t* counts, ssize rows, const int64_t* index, ssize n) noexcept nogil:
    """How often each row was used; False if an index is no row."""
    cdef ssize i
    cdef uint64_t at
    for i in range(n):
        at = <uint64_t>index[i]
        if at >= <uint64_t>rows:
            return False
        counts[at] += 1
    return True

cdef Op EMBEDDING_BACKWARD = Op("embedding_backward(Tensor grad, Tensor indices, int rows, int padding_idx, "
                                "bool scale_grad_by_freq) -> Tensor")

@EMBEDDING_BACKWARD.derivative("grad")
def embedding_backward_derivative(grad, indices, rows, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        grad = grad / uses(<TensorBase?>indices, rows)
    if padding_idx >= 0:
        grad = grad.index_fill(0, indices.new_tensor([padding_idx]), 0)
    return run_embedding(grad, indices, -1, False)

cdef object uses(TensorBase indices, ssize rows):
    """How often each row was used, as a column; at least 1."""
    cdef ssize[2] sizes
    cdef TensorBase counts, index
    sizes[0] = rows
    sizes[1] = 1
    counts = zeros_beside(indices, INT64, 2, sizes)
    index = index_vector(indices, "embedding")
    if not is_meta(counts):
        if not count_uses(<int64_t*>memory_of(counts), rows, <const int64_t*>memory_of(index), index.numel_):
            raise IndexOutOfRange(f"embedding: the saved indices name a row that a table of {rows} rows does not have; they were "
                                  f"changed after the forward pass")
    return counts.clamp(min=1)

cdef object run_embedding_backward(TensorBase grad, TensorBase indices, ssize rows, ssize padding, bint scales):
    """The gradient of the table: rows of grad added where they came from."""
    cdef ssize[2] sizes
    cdef TensorBase index = index_vector(indices, "embedding"), out, flat
    sizes[0] = rows
    sizes[1] = grad.sizes[grad.ndim_ - 1]
    out = zeros_beside(grad, grad.dtype_, 2, sizes)
    flat = grad.detach().reshape(index.numel_, sizes[1]) if sizes[1] > 0 else grad
    if sizes[1] > 0:
        write_slices(out, 0, as_vector(index), flat, ADD, "embedding")
    if padding >= 0 and not is_meta(out):
        memset(memory_of(out) + padding * sizes[1] * item_size[out.dtype_], 0, sizes[1] * item_size[out.dtype_])
    if scales:
        out = out / uses(indices, rows)
    return record(EMBEDDING_BACKWARD, out, (grad, indices, rows, padding, scales))


# ---------------------------------------------------------------- the public functions
cdef int shorten_rows(TensorBase weight, TensorBase indices, double max_norm, double norm_type) except -1:
    """Scale down, in place and unseen by autograd, the used rows whose norm is larger."""
    cdef object rows = weight.detach()
    for i in sorted(set(indices.reshape(-1).tolist())):
        norm = rows[i].abs().pow(norm_type).sum().pow(1 / norm_type).item()
        if norm > max_norm:
            rows[i] *= max_norm / (norm + 1e-7)
    return 0

def embedding(TensorBase input not None, TensorBase weight not None, padding_idx=None, max_norm=None, double norm_type=2.0,
              bint scale_grad_by_freq=False, bint sparse=False):
    """Rows of a table by number.

    Parameters
    ----------
    input : Tensor of int64 or int32, of any shape
    weight : Tensor, shape (rows, width)
    padding_idx : int; this row gets no gradient
    max_norm : float; rows that are used and have a larger norm are first scaled down to it, in place
    norm_type : float, the p of that norm
    scale_grad_by_freq : bool; divide each row's gradient by how often it was used
    sparse : bool, without effect: gradients are dense

    Returns
    -------
    Tensor, shape (*input.shape, width)

    Raises
    ------
    IndexOutOfRange
        If a number is no row of the table.

    >>> import tensorlab
    >>> table = tensorlab.tensor([[1., 2.], [3., 4.]])
    >>> tensorlab.nn.functional.embedding(tensorlab.tensor([1, 1, 0]), table)
    tensor([[3., 4.],
            [3., 4.],
            [1., 2.]])
    """
    cdef ssize padding = -1
    if ndim_of(weight) != 2:
        raise ShapeError(f"embedding: the weight must be a matrix, not of shape {shape_text(weight.ndim_, weight.sizes)}")
    if padding_idx is not None:
        padding = padding_idx
        if padding < -weight.sizes[0] or padding >= weight.sizes[0]:
            raise AssertionError(f"embedding: padding_idx {padding} is no row of a table of {weight.sizes[0]} rows")
        padding += weight.sizes[0] if padding < 0 else 0
    if max_norm is not None:
        shorten_rows(weight, input, max_norm, norm_type)
    return run_embedding(weight, input, padding, scale_grad_by_freq)


def one_hot(TensorBase tensor not None, ssize num_classes=-1):
    """Vectors of zeros with a one at a position.

    Parameters
    ----------
    tensor : Tensor of int64, of any shape: the positions
    num_classes : int, length of the vectors; one more than the largest position unless given

    Returns
    -------
    Tensor of int64, shape (*tensor.shape, num_classes)

    >>> import tensorlab
    >>> tensorlab.nn.functional.one_hot(tensorlab.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    cdef TensorBase index, out
    cdef ssize[MAX_NDIM] sizes
    cdef ssize i, largest = -1
    cdef int64_t* at
    cdef int64_t* ones
    cdef uint64_t position
    cdef int d
    if tensor.dtype_ != INT64:
        raise DTypeError(f"one_hot: the positions must be of type int64, not {tensor.dtype}")
    if tensor.ndim_ + 1 > MAX_NDIM:
        raise ShapeError(f"one_hot: the result would have more than {MAX_NDIM} dimensions")
    index = index_vector(tensor, "one_hot")
    if not is_meta(index) or num_classes == -1:
        at = <int64_t*>memory_of(index)
        for i in range(index.numel_):
            if at[i] < 0:
                raise ShapeError(f"one_hot: position {at[i]} is negative")
            largest = max(largest, <ssize>at[i])
    if num_classes == -1:
        if index.numel_ == 0:
            raise ShapeError("one_hot: num_classes cannot be told from no positions; give it")
        num_classes = largest + 1
    elif num_classes <= largest or num_classes < 1:
        raise ShapeError(f"one_hot: num_classes is {num_classes}, which must be larger than the largest position, {largest}")
    for d in range(index.ndim_):
        sizes[d] = index.sizes[d]
    sizes[index.ndim_] = num_classes
    out = zeros_beside(index, INT64, index.ndim_ + 1, sizes)
    if is_meta(out):
        return out
    ones = <int64_t*>memory_of(out)
    for i in range(index.numel_):
        position = <uint64_t>at[i]
        if position >= <uint64_t>num_classes:           # it was less than that above: another thread writes to the positions
            raise ShapeError(f"one_hot: position {<int64_t>position} came up while the op ran, which is no class of the "
                             f"{num_classes}; another thread writes to the positions, give a clone of them")
        ones[i * num_classes + <ssize>position] = 1
    return out

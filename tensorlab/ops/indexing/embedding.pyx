"""Rows of a table by number: embedding, and one_hot, the same with the identity matrix as the table.

    embedding       out[..., :] = weight[input[...], :]

It is index_select on rows, with two differences in its gradient: a padding row gets none, and rows may be scaled by how
often they were used.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from tensorlab._core.dispatch.dispatch cimport run_2, run_4
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport INT64, item_size
from tensorlab._core.graph.graph cimport should_record
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize, view_strides
from tensorlab._core.loops.iterator cimport contiguous_copy
from tensorlab._core.tensor cimport BOXED, TensorBase, alias_as, empty_beside, is_meta, memory_of, result_beside
from tensorlab.ops.filling cimport fill_zero, refuse_negative as refuse_negative_sizes, zeros_beside
from tensorlab.ops.indexing.index_iterator cimport ADD, refresh
from tensorlab.ops.indexing.index_along_dim cimport (
    check_index_type, index_vector, refuse_negative, select_forward, select_to, write_slices
)
from tensorlab.ops.sparse.methods cimport with_sparse_gradient


from tensorlab.errors import DTypeError, IndexOutOfRange, ShapeError, SliceOutOfRange
from tensorlab.ops.norms import norm
from tensorlab.ops.uniques import unique


cdef TensorBase as_vector(TensorBase index):
    """Contiguous indices of any shape as one row."""
    cdef ssize one = 1
    return alias_as(index, 1, &index.numel_, &one, index.data_)


cdef int in_shape(TensorBase index, ssize width, ssize* sizes) except -1:
    """The sizes (*index.shape, width); returns how many."""
    cdef int d
    if index.ndim_ + 1 > MAX_NDIM:
        raise ShapeError(f"embedding: the result would have more than {MAX_NDIM} dimensions")
    for d in range(index.ndim_):
        sizes[d] = index.sizes[d]
    sizes[index.ndim_] = width
    return index.ndim_ + 1


# ---------------------------------------------------------------- embedding
cdef Op EMBEDDING = Op("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False) -> Tensor",
                       fixed="bool sparse=False", checks_values=True)

@EMBEDDING.derivative("weight")
def embedding_derivative(grad, indices, padding_idx, scale_grad_by_freq, weight_shape):
    grad_weight = run_4(EMBEDDING_BACKWARD, grad, indices, weight_shape[0], padding_idx)
    return grad_weight / run_2(EMBEDDING_USES, indices, weight_shape[0]) if scale_grad_by_freq else grad_weight

cdef int check_table(TensorBase weight) except -1:
    if weight.ndim_ != 2:
        raise ShapeError(f"embedding: the weight must be a matrix, not of shape {shape_text(weight.ndim_, weight.sizes)}")
    return 0

@EMBEDDING.infer
def embedding_infer(TensorBase weight, TensorBase indices, padding_idx, scale_grad_by_freq):
    cdef ssize[MAX_NDIM] sizes
    check_index_type(indices, "embedding")
    refresh(weight)
    check_table(weight)
    return result_beside(weight, weight.dtype_, in_shape(indices, weight.sizes[1], sizes), sizes)

@EMBEDDING.kernel
def embedding_kernel(TensorBase out, TensorBase weight, TensorBase indices, padding_idx, scale_grad_by_freq):
    cdef TensorBase index = as_vector(index_vector(indices, "embedding"))
    cdef ssize[2] sizes, strides
    sizes[0], sizes[1] = index.numel_, weight.sizes[1]
    strides[0], strides[1] = max(sizes[1], 1), 1
    select_to(alias_as(out, 2, sizes, strides, out.data_), weight, 0, index, "embedding")


# ---------------------------------------------------------------- how often each row is used
cdef bint count_uses(int64_t* counts, ssize rows, const int64_t* index, ssize n) noexcept nogil:
    """False if an index is no row."""
    cdef ssize i
    cdef uint64_t at
    for i in range(n):
        at = <uint64_t>index[i]
        if at >= <uint64_t>rows:
            return False
        counts[at] += 1
    return True

cdef Op EMBEDDING_USES = Op("embedding_uses(Tensor indices, int rows) -> Tensor", aten=None)

@EMBEDDING_USES.infer
def embedding_uses_infer(TensorBase indices, ssize rows):
    cdef ssize[2] sizes
    sizes[0], sizes[1] = rows, 1
    refuse_negative_sizes(2, sizes)
    return result_beside(indices, INT64, 2, sizes)

@EMBEDDING_USES.kernel
def embedding_uses_kernel(TensorBase out, TensorBase indices, ssize rows):
    """How often each row is used, as a column; at least 1, because it is divided by."""
    cdef TensorBase index = index_vector(indices, "embedding")
    cdef int64_t* count = <int64_t*>memory_of(out)
    cdef ssize i
    fill_zero(out)
    if not count_uses(count, rows, <const int64_t*>memory_of(index), index.numel_):
        raise IndexOutOfRange(f"embedding: the saved indices name a row that a table of {rows} rows does not have; they were "
                              f"changed after the forward pass")
    for i in range(rows):
        count[i] = max(count[i], <int64_t>1)


# ---------------------------------------------------------------- embedding_backward
cdef Op EMBEDDING_BACKWARD = Op("embedding_backward(Tensor grad, Tensor indices, int rows, int padding_idx=-1) -> Tensor")

@EMBEDDING_BACKWARD.derivative("grad")
def embedding_backward_derivative(grad, indices, padding_idx):
    if padding_idx >= 0:
        grad = grad.index_fill(0, indices.new_tensor([padding_idx]), 0)
    return run_4(EMBEDDING, grad, indices, -1, False)

@EMBEDDING_BACKWARD.infer
def embedding_backward_infer(TensorBase grad, TensorBase indices, ssize rows, ssize padding_idx):
    cdef ssize[2] sizes
    cdef int d
    cdef bint fits = grad.ndim_ == indices.ndim_ + 1
    for d in range(indices.ndim_):
        fits = fits and grad.sizes[d] == indices.sizes[d]
    if not fits:
        raise ShapeError(f"embedding_backward: the gradient has shape {shape_text(grad.ndim_, grad.sizes)}, which is not that of "
                         f"the indices, {shape_text(indices.ndim_, indices.sizes)}, and a width")
    sizes[0] = rows
    sizes[1] = grad.sizes[grad.ndim_ - 1]
    if padding_idx >= sizes[0]:
        raise IndexOutOfRange(f"embedding_backward: padding_idx {padding_idx} is no row of a table of {sizes[0]} rows")
    refuse_negative_sizes(2, sizes)
    return result_beside(grad, grad.dtype_, 2, sizes)

@EMBEDDING_BACKWARD.kernel
def embedding_backward_kernel(TensorBase out, TensorBase grad, TensorBase indices, rows, ssize padding_idx):
    """The gradient of the table: rows of grad added where they came from."""
    cdef ssize[2] sizes, strides
    cdef ssize row_bytes
    cdef TensorBase index = as_vector(index_vector(indices, "embedding"))
    fill_zero(out)
    sizes[0], sizes[1] = index.numel_, out.sizes[1]
    if sizes[1] == 0:
        return
    if not view_strides(grad.ndim_, grad.sizes, grad.strides, 2, sizes, strides):
        grad = contiguous_copy(grad)
        strides[0], strides[1] = sizes[1], 1
    refuse_negative(out, 0, index, SliceOutOfRange, "embedding")
    write_slices(out, 0, index, alias_as(grad, 2, sizes, strides, grad.data_), ADD, "embedding")
    if padding_idx >= 0:
        row_bytes = sizes[1] * item_size[out.dtype_]
        memset(memory_of(out) + padding_idx * row_bytes, 0, row_bytes)


# ---------------------------------------------------------------- the public functions
cdef int shorten_rows(TensorBase weight, TensorBase indices, double max_norm, double norm_type, str where) except -1:
    """Scale down, in place and unseen by autograd, the used rows whose norm is larger."""
    cdef object table = weight.detach()
    if is_meta(weight) or indices.numel_ == 0:
        return 0
    if (weight.keys | indices.keys) & BOXED:            # under vmap other rows are used in each example
        norms = norm(table, norm_type, 1, keepdim=True)
        is_used = table.new_zeros(table.shape[:1], dtype=bool).index_fill(0, indices.reshape(-1), True)
        table.mul_((max_norm / (norms + 1e-7)).where((norms > max_norm) & is_used.unsqueeze(1), 1))
        return 0
    used = index_vector(unique(indices), where)
    rows = select_forward(table, 0, used, where)
    norms = norm(rows, norm_type, 1, keepdim=True)
    is_longer = norms > max_norm
    if is_longer.any():
        table.index_copy_(0, used, (rows * (max_norm / (norms + 1e-7))).where(is_longer, rows))
    return 0

cdef ssize row_number(TensorBase weight, ssize number, object error, str where) except -1:
    """A row, which may be counted from behind, counted from 0."""
    if number < -weight.sizes[0] or number >= weight.sizes[0]:
        raise error(f"{where}: padding_idx {number} is no row of a table of {weight.sizes[0]} rows")
    return number + weight.sizes[0] if number < 0 else number

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
    sparse : bool; the gradient of the table is a tensor of layout sparse_coo that holds the rows that were used, for
        `optim.SparseAdam`, `optim.SGD` and `optim.Adagrad`

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
    check_table(weight)
    if padding_idx is not None:
        padding = row_number(weight, padding_idx, AssertionError, "embedding")
    if max_norm is not None:
        shorten_rows(weight, input, max_norm, norm_type, "embedding")
    if sparse and should_record(weight):
        return embedding_sparse(weight, input, padding, scale_grad_by_freq)
    return run_4(EMBEDDING, weight, input, padding, scale_grad_by_freq)

cdef object embedding_sparse(TensorBase weight, TensorBase indices, ssize padding, bint scale_grad_by_freq):
    """embedding, with a sparse gradient."""
    out = run_4(EMBEDDING, weight.detach(), indices, padding, False)

    def rows_of(grad):
        if scale_grad_by_freq:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients; give sparse=False, "
                               "or scale the rows yourself")
        return grad

    return with_sparse_gradient(weight, out, indices, padding, rows_of)


# ---------------------------------------------------------------- one_hot
cdef Op ONE_HOT = Op("one_hot(Tensor x, int num_classes=-1) -> Tensor",
                     checks_values=True)

cdef int one_hot_sizes(TensorBase x, ssize classes, ssize* sizes) except -1:
    cdef int d
    if classes < 1:
        raise ShapeError(f"one_hot: num_classes is {classes}; it must be at least 1, or -1 for the largest position and one")
    for d in range(x.ndim_):
        sizes[d] = x.sizes[d]
    sizes[x.ndim_] = classes
    return x.ndim_ + 1

cdef int check_one_hot(TensorBase x) except -1:
    if x.dtype_ != INT64:
        raise DTypeError(f"one_hot: the positions must be of type int64, not {x.dtype}")
    if x.ndim_ + 1 > MAX_NDIM:
        raise ShapeError(f"one_hot: the result would have more than {MAX_NDIM} dimensions")
    return 0

@ONE_HOT.kernel
def one_hot_kernel(TensorBase x, ssize num_classes):
    """The result is made here: without num_classes its last size depends on the largest position."""
    cdef TensorBase index, out
    cdef ssize[MAX_NDIM] sizes
    cdef ssize i, largest = -1, classes = num_classes
    cdef int64_t* at
    cdef int64_t* ones
    cdef uint64_t position
    check_one_hot(x)
    if is_meta(x) and classes != -1:
        return empty_beside(x, INT64, one_hot_sizes(x, classes, sizes), sizes)
    index = index_vector(x, "one_hot")
    at = <int64_t*>memory_of(index)
    for i in range(index.numel_):
        if at[i] < 0:
            raise ShapeError(f"one_hot: position {at[i]} is negative")
        largest = max(largest, <ssize>at[i])
    if classes == -1:
        if index.numel_ == 0:
            raise ShapeError("one_hot: num_classes cannot be told from no positions; give it")
        classes = largest + 1
    elif classes <= largest:
        raise ShapeError(f"one_hot: num_classes is {classes}, which must be larger than the largest position, {largest}")
    out = zeros_beside(index, INT64, one_hot_sizes(x, classes, sizes), sizes)
    ones = <int64_t*>memory_of(out)
    for i in range(index.numel_):
        position = <uint64_t>at[i]
        if position >= <uint64_t>classes:               # it was less than that above: another thread writes to the positions
            raise ShapeError(f"one_hot: position {<int64_t>position} came up while the op ran, which is no class of the "
                             f"{classes}; another thread writes to the positions, give a clone of them")
        ones[i * classes + <ssize>position] = 1
    return out

def one_hot(TensorBase input not None, ssize num_classes=-1):
    """Vectors of zeros with a one at a position.

    Parameters
    ----------
    input : Tensor of int64, of any shape: the positions
    num_classes : int, length of the vectors; one more than the largest position unless given

    Returns
    -------
    Tensor of int64, shape (*input.shape, num_classes)

    >>> import tensorlab
    >>> tensorlab.nn.functional.one_hot(tensorlab.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    return run_2(ONE_HOT, input, num_classes)

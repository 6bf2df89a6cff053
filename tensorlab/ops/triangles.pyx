"""Triangles and diagonals of matrices: tril, triu, diag, diag_embed, trace, diagflat, block_diag, and indices of triangles.

Row i of the lower triangle of diagonal d keeps columns 0 to i + d; the upper one keeps columns i + d and beyond. All of
them take batches: the last two dimensions are the matrix.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from tensorlab._core.out_argument cimport store_out
from tensorlab._core.op cimport Op
from tensorlab._core.operands cimport check_same_place
from tensorlab._core.dtypes cimport BOOL, INT32, INT64, default_float, dtype_code, dtype_object, item_size, promotion
from tensorlab._core.layout cimport MAX_NDIM, int_argument, plain_ints, ssize, wrap_dim
from tensorlab._core.iterator cimport contiguous_copy, copy_into
from tensorlab._core.recording cimport begin_record_inplace, end_record_inplace, record
from tensorlab._core.tensor cimport TensorBase, empty_tensor, is_meta, memory_of, meta_tensor
from tensorlab.ops.copying cimport run_row_major_clone
from tensorlab.ops.filling cimport zeros_beside, zeros_tensor
from tensorlab.ops.joining cimport read_tensors
from tensorlab.ops.reshaping cimport reshape_to
from tensorlab.ops.slicing cimport part_of

from tensorlab._core.device import is_meta_device
from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.slicing import diagonal as diagonal_view


# ---------------------------------------------------------------- tril and triu
cdef void clear_row(char* row, ssize stride, int size, ssize first, ssize last) noexcept nogil:
    """Zero columns first to last - 1."""
    cdef ssize j
    if last <= first:
        return
    if stride == 1:
        memset(row + first * size, 0, (last - first) * size)
    else:
        for j in range(first, last):
            memset(row + j * stride * size, 0, size)


cdef int clear_triangle(TensorBase x, ssize diagonal, bint keep_lower) except -1:
    """Zero what is not in the triangle, whatever the strides of x."""
    cdef int size = item_size[x.dtype_], batch = x.ndim_ - 2, d
    cdef ssize[MAX_NDIM] index
    cdef ssize rows = x.sizes[batch], columns = x.sizes[batch + 1], i, edge
    cdef char* matrix = x.data_
    if x.numel_ == 0 or is_meta(x):
        return 0
    for d in range(batch):
        index[d] = 0
    with nogil:
        while True:
            for i in range(rows):
                edge = min(max(i + diagonal + keep_lower, 0), columns)      # first column right of the edge
                if keep_lower:
                    clear_row(matrix + i * x.strides[batch] * size, x.strides[batch + 1], size, edge, columns)
                else:
                    clear_row(matrix + i * x.strides[batch] * size, x.strides[batch + 1], size, 0, edge)
            d = batch - 1
            while d >= 0:
                index[d] += 1
                matrix += x.strides[d] * size
                if index[d] < x.sizes[d]:
                    break
                matrix -= x.sizes[d] * x.strides[d] * size
                index[d] = 0
                d -= 1
            if d < 0:
                break
    return 0


cdef Op TRIL = Op("tril(Tensor x, int diagonal) -> Tensor")

@TRIL.derivative("x")
def tril_derivative(grad, diagonal):
    return tril(grad, diagonal)

cdef Op TRIU = Op("triu(Tensor x, int diagonal) -> Tensor")

@TRIU.derivative("x")
def triu_derivative(grad, diagonal):
    return triu(grad, diagonal)


cdef int check_matrix(TensorBase x, str where) except -1:
    if x.ndim_ < 2:
        raise ShapeError(f"{where}: a tensor with at least 2 dimensions is needed, not {x.ndim_}")
    return 0


cdef object run_triangle(Op op, TensorBase x, object diagonal, object out):
    cdef TensorBase result
    check_matrix(x, op.name)
    result = contiguous_copy(x)
    clear_triangle(result, diagonal, op is TRIL)
    if out is not None:
        return store_out(op.name, result, out, (x,))
    return record(op, result, (x, diagonal))


cdef object run_triangle_inplace(Op op, TensorBase x, object diagonal):
    cdef object node
    cdef ssize checked = diagonal
    check_matrix(x, op.name + "_")
    node = begin_record_inplace(op, x, (x, diagonal))
    clear_triangle(x, checked, op is TRIL)
    return end_record_inplace(node, x)


def tril(TensorBase input not None, diagonal=0, *, out=None):
    """The lower triangle of a matrix, or of each matrix of a batch; zeros elsewhere.

    Parameters
    ----------
    diagonal : int; the highest diagonal that is kept: 0 the main one, positive above it

    >>> import tensorlab
    >>> tensorlab.tril(tensorlab.ones(2, 3))
    tensor([[1., 0., 0.],
            [1., 1., 0.]])
    """
    return run_triangle(TRIL, input, diagonal, out)


def triu(TensorBase input not None, diagonal=0, *, out=None):
    """The upper triangle of a matrix, or of each matrix of a batch; zeros elsewhere.

    Parameters
    ----------
    diagonal : int; the lowest diagonal that is kept: 0 the main one, positive above it

    >>> import tensorlab
    >>> tensorlab.triu(tensorlab.ones(2, 3))
    tensor([[1., 1., 1.],
            [0., 1., 1.]])
    """
    return run_triangle(TRIU, input, diagonal, out)


def tril_(TensorBase input not None, diagonal=0):
    """`tril`, written over `input`."""
    return run_triangle_inplace(TRIL, input, diagonal)


def triu_(TensorBase input not None, diagonal=0):
    """`triu`, written over `input`."""
    return run_triangle_inplace(TRIU, input, diagonal)


cdef object sum_of_clipped(object last, object most):
    """The sum of min(k, most) for k from 1 to `last`."""
    last = max(last, 0)
    ramp = min(last, most)
    return ramp * (ramp + 1) // 2 + (last - ramp) * most


cdef object triangle_indices(object row, object col, object offset, bint lower, object dtype, object device, str where):
    cdef int code = dtype_code(dtype, INT64)
    cdef ssize rows = row, columns = col, above = offset, i, j, n, first, last, start = 0, stop = 0
    cdef ssize[2] sizes
    cdef TensorBase out
    if rows < 0 or columns < 0:
        raise ShapeError(f"{where}: {rows} rows and {columns} columns are asked for; both must be at least 0")
    if code != INT64 and code != INT32:
        raise UnsupportedDType(f"{where}: indices are int64 or int32, not {dtype_object(code)}")
    # in Python's ints, which do not overflow: the rows with indices, and how many indices there are
    above = min(max(above, -rows), columns)
    row, col, offset = rows, columns, above
    wanted = sum_of_clipped(row + offset, col) - sum_of_clipped(offset, col)
    if not lower:
        wanted = row * col - sum_of_clipped(row + offset - 1, col) + sum_of_clipped(offset - 1, col)
    if wanted > 1 << 58:
        raise ShapeError(f"{where}: {wanted} indices are asked for, more than fit in memory")
    sizes[0] = 2
    n = wanted
    if n > 0:
        start = max(0, -offset) if lower else 0
        stop = row if lower else min(row, col - offset)
    sizes[1] = n
    if is_meta_device(device, where):
        return meta_tensor(code, 2, sizes, NULL)
    out = empty_tensor(code, 2, sizes)
    n = 0
    for i in range(start, stop):
        first = 0 if lower else min(max(i + above, 0), columns)
        last = min(max(i + above + 1, 0), columns) if lower else columns
        for j in range(first, last):
            if code == INT64:
                (<int64_t*>memory_of(out))[n] = i
                (<int64_t*>memory_of(out))[n + sizes[1]] = j
            else:
                (<int32_t*>memory_of(out))[n] = <int32_t>i
                (<int32_t*>memory_of(out))[n + sizes[1]] = <int32_t>j
            n += 1
    return out


def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """Indices of the lower triangle of a matrix, row by row: a tensor of shape (2, n), rows and columns.

    >>> import tensorlab
    >>> tensorlab.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return triangle_indices(row, col, offset, True, dtype, device, "tril_indices")


def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """Indices of the upper triangle of a matrix, row by row: a tensor of shape (2, n), rows and columns."""
    return triangle_indices(row, col, offset, False, dtype, device, "triu_indices")


# ---------------------------------------------------------------- diag_embed
cdef Op DIAG_EMBED = Op("diag_embed(Tensor x, int offset, int dim1, int dim2) -> Tensor")

@DIAG_EMBED.derivative("x")
def diag_embed_derivative(grad, offset, dim1, dim2):
    return diagonal_view(grad, offset, dim1, dim2)

def diag_embed(TensorBase input not None, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last dimension of `input` on a diagonal, and zeros elsewhere.

    Parameters
    ----------
    offset : int; above the main diagonal if positive, below if negative
    dim1, dim2 : int; where the two dimensions of the matrices shall be

    >>> import tensorlab
    >>> tensorlab.diag_embed(tensorlab.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    cdef int ndim, first, second, i, k = 0
    cdef ssize[MAX_NDIM] sizes
    cdef ssize above = int_argument(offset, "diag_embed", "offset")
    cdef TensorBase out
    dim1, dim2 = plain_ints(dim1), plain_ints(dim2)
    ndim = input.ndim_ + 1
    first, second = wrap_dim(dim1, ndim, "diag_embed"), wrap_dim(dim2, ndim, "diag_embed")
    if input.ndim_ == 0 or input.ndim_ == MAX_NDIM:
        raise ShapeError(f"diag_embed: a tensor with 1 to {MAX_NDIM - 1} dimensions is needed, not {input.ndim_}")
    if first == second:
        raise ShapeError(f"diag_embed: dim1 and dim2 are both dimension {first}; they must differ")
    for i in range(ndim):
        if i == first or i == second:
            sizes[i] = input.sizes[input.ndim_ - 1] + (above if above >= 0 else -above)
        else:
            sizes[i] = input.sizes[k]
            k += 1
    out = zeros_beside(input, input.dtype_, ndim, sizes)
    copy_into(diagonal_view(out, above, first, second), input)
    return record(DIAG_EMBED, out, (input, above, first, second))


# ---------------------------------------------------------------- diag, diagflat
def diag(TensorBase input not None, diagonal=0, *, out=None):
    """A vector as the diagonal of a square matrix, or a copy of the diagonal of a matrix.

    >>> import tensorlab
    >>> tensorlab.diag(tensorlab.tensor([[1, 2], [3, 4]]), 1)
    tensor([2])
    """
    cdef TensorBase result
    if input.ndim_ == 1:
        result = diag_embed(input, diagonal)
    elif input.ndim_ == 2:
        result = run_row_major_clone(diagonal_view(input, diagonal))
    else:
        raise ShapeError(f"diag: a vector or a matrix is needed, not a tensor with {input.ndim_} dimensions; use "
                         f"diagonal or diag_embed for batches")
    return store_out("diag", result, out, (input,))


cdef Op TRACE = Op("trace(Tensor x) -> Tensor")

@TRACE.derivative("x")
def trace_derivative(grad, x_shape):
    return grad.new_zeros(x_shape).diagonal_scatter(grad.expand(min(x_shape)))

def trace(TensorBase input not None):
    """The sum of a matrix's diagonal; of integers in int64.

    Raises
    ------
    RuntimeError
        If the tensor has other than 2 dimensions, or holds bools.

    >>> import tensorlab
    >>> tensorlab.trace(tensorlab.tensor([[1., 2.], [3., 4.]]))
    tensor(5.)
    """
    if input.ndim_ != 2:
        raise ShapeError(f"trace: a matrix is needed, not a tensor with {input.ndim_} dimensions; use "
                         f"diagonal(dim1=-2, dim2=-1).sum(-1) for batches")
    if input.dtype_ == BOOL:
        raise UnsupportedDType("trace: bools cannot be summed so; convert with .to() first, or count them with diagonal().sum()")
    return record(TRACE, diagonal_view(input.detach()).sum(), (input,))


def diagflat(TensorBase input not None, offset=0):
    """All elements, in row-major order, as the diagonal of a square matrix."""
    cdef ssize n = input.numel_
    return diag_embed(reshape_to(input, 1, &n), offset)


# ---------------------------------------------------------------- block_diag
cdef Op BLOCK_DIAG = Op("block_diag(Tensor[] tensors, Any shapes) -> Tensor")

@BLOCK_DIAG.derivative("tensors", is_list=True)
def block_diag_derivative(grad, shapes):
    cdef list out = []
    cdef ssize row = 0, column = 0, rows, columns
    for shape in shapes:
        rows, columns = (1,) * (2 - len(shape)) + tuple(shape)
        out.append(grad.narrow(0, row, rows).narrow(1, column, columns).reshape(shape))
        row += rows
        column += columns
    return out

def block_diag(*tensors):
    """A matrix with the given ones along its diagonal, and zeros elsewhere; vectors count as rows.

    >>> import tensorlab
    >>> tensorlab.block_diag(tensorlab.tensor([[1, 2]]), tensorlab.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    cdef list parts = read_tensors(tensors, "block_diag"), blocks = []
    cdef ssize[2] sizes, size
    cdef ssize row = 0, column = 0
    cdef int dtype
    cdef TensorBase x, out
    if len(parts) == 0:
        sizes[0], sizes[1] = 1, 0
        return zeros_tensor(default_float(), 2, sizes)
    sizes[0] = sizes[1] = 0
    dtype = (<TensorBase>parts[0]).dtype_
    for one in parts:
        x = <TensorBase>one
        if x.ndim_ > 2:
            raise ShapeError(f"block_diag: tensors with at most 2 dimensions are needed, not {x.ndim_}")
        dtype = promotion[dtype][x.dtype_]
        size[0] = x.sizes[0] if x.ndim_ == 2 else 1
        size[1] = x.sizes[x.ndim_ - 1] if x.ndim_ > 0 else 1
        blocks.append(reshape_to(x.detach(), 2, size))
        sizes[0] += size[0]
        sizes[1] += size[1]
    out = zeros_beside(<TensorBase>parts[0], dtype, 2, sizes)
    for one in blocks:
        x = <TensorBase>one
        check_same_place(out, x, "block_diag")
        copy_into(part_of(part_of(out, 0, row, x.sizes[0], 1), 1, column, x.sizes[1], 1), x)
        row += x.sizes[0]
        column += x.sizes[1]
    return record(BLOCK_DIAG, out, (parts, tuple([one.shape for one in parts])))

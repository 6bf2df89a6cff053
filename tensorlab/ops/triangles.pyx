"""Triangles and diagonals of matrices: tril, triu, diag, diag_embed, trace, diagflat, block_diag, and indices of triangles.

Row i of the lower triangle of diagonal d keeps columns 0 to i + d; the upper one keeps columns i + d and beyond. All of
them take batches: the last two dimensions are the matrix.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from tensorlab._core.dispatch.dispatch cimport run_1, run_2, run_4, run_5
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport check_same_place
from tensorlab._core.dispatch.out_argument cimport store_out
from tensorlab._core.dtypes cimport (
    BOOL, INT32, INT64, common_dtype, default_float, dtype_code, dtype_object, item_size, sum_dtype
)
from tensorlab._core.layout cimport MAX_NDIM, int_argument, plain_ints, ssize, wrap_dim
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.loops.loop_nest cimport (
    IndexCounter, count_along, next_index, start_counter
)
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.tensor cimport TensorBase, alias_as, memory_of, pending_tensor, result_beside
from tensorlab.ops.copying cimport run_row_major_clone
from tensorlab.ops.factories cimport check_layout, device_or_default, strided_result
from tensorlab.ops.filling cimport fill_zero
from tensorlab.ops.joining cimport read_tensors
from tensorlab.ops.reshaping cimport reshape_to
from tensorlab.ops.reductions cimport sum_to
from tensorlab.ops.slicing cimport diagonal_kernel

from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.slicing import diagonal as diagonal_of


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
    cdef int size = item_size[x.dtype_], batch = x.ndim_ - 2
    cdef IndexCounter at                                # of matrices
    cdef ssize rows = x.sizes[batch], columns = x.sizes[batch + 1], i, edge
    cdef char* row
    if x.numel_ == 0:
        return 0
    start_counter(&at, batch, x.sizes)
    count_along(&at, 0, x.data_, x.strides, size)
    with nogil:
        while True:
            for i in range(rows):
                row = at.data[0] + i * x.strides[batch] * size
                edge = min(max(i + diagonal + keep_lower, 0), columns)      # first column right of the edge
                if keep_lower:
                    clear_row(row, x.strides[batch + 1], size, edge, columns)
                else:
                    clear_row(row, x.strides[batch + 1], size, 0, edge)
            if not next_index(&at, 1):
                break
    return 0


cdef Op TRIL = Op("tril(Tensor x, int diagonal=0) -> Tensor")

@TRIL.derivative("x")
def tril_derivative(grad, diagonal):
    return tril(grad, diagonal)

cdef Op TRIU = Op("triu(Tensor x, int diagonal=0) -> Tensor")

@TRIU.derivative("x")
def triu_derivative(grad, diagonal):
    return triu(grad, diagonal)


cdef TensorBase matrix_result(TensorBase x, str where):
    if x.ndim_ < 2:
        raise ShapeError(f"{where}: a tensor with at least 2 dimensions is needed, not {x.ndim_}")
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)


@TRIL.infer
def tril_infer(TensorBase x, ssize diagonal):
    return matrix_result(x, "tril")

@TRIL.kernel
def tril_kernel(TensorBase out, TensorBase x, ssize diagonal):
    triangle_to(out, x, diagonal, True)

@TRIU.infer
def triu_infer(TensorBase x, ssize diagonal):
    return matrix_result(x, "triu")

@TRIU.kernel
def triu_kernel(TensorBase out, TensorBase x, ssize diagonal):
    triangle_to(out, x, diagonal, False)

cdef int triangle_to(TensorBase out, TensorBase x, ssize diagonal, bint keep_lower) except -1:
    if out is not x:
        copy_into(out, x)
    return clear_triangle(out, diagonal, keep_lower)

cdef Op TRIL_ = inplace_op(TRIL)
cdef Op TRIU_ = inplace_op(TRIU)


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
    return run_2(TRIL, input, diagonal, out)


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
    return run_2(TRIU, input, diagonal, out)


def tril_(TensorBase input not None, diagonal=0):
    """`tril`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.ones(3, 3).tril_()
    tensor([[1., 0., 0.],
            [1., 1., 0.],
            [1., 1., 1.]])
    """
    return run_2(TRIL_, input, diagonal)


def triu_(TensorBase input not None, diagonal=0):
    """`triu`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.ones(3, 3).triu_(1)
    tensor([[0., 1., 1.],
            [0., 0., 1.],
            [0., 0., 0.]])
    """
    return run_2(TRIU_, input, diagonal)


cdef object sum_of_clipped(object last, object most):
    """The sum of min(k, most) for k from 1 to `last`."""
    last = max(last, 0)
    ramp = min(last, most)
    return ramp * (ramp + 1) // 2 + (last - ramp) * most


cdef struct Triangle:
    ssize rows
    ssize columns
    ssize above                 # of the main diagonal is the triangle's edge
    ssize start                 # rows with indices
    ssize stop
    ssize count                 # of indices
    int dtype


cdef Triangle read_triangle(object row, object col, object offset, bint lower, object dtype, str where) except *:
    cdef Triangle triangle
    triangle.dtype = dtype_code(dtype, INT64)
    triangle.rows, triangle.columns, triangle.above = row, col, offset
    if triangle.rows < 0 or triangle.columns < 0:
        raise ShapeError(f"{where}: {row} rows and {col} columns are asked for; both must be at least 0")
    if triangle.dtype != INT64 and triangle.dtype != INT32:
        raise UnsupportedDType(f"{where}: indices are int64 or int32, not {dtype_object(triangle.dtype)}")
    # in Python's ints, which do not overflow: the rows with indices, and how many indices there are
    triangle.above = min(max(triangle.above, -triangle.rows), triangle.columns)
    row, col, offset = triangle.rows, triangle.columns, triangle.above
    wanted = sum_of_clipped(row + offset, col) - sum_of_clipped(offset, col)
    if not lower:
        wanted = row * col - sum_of_clipped(row + offset - 1, col) + sum_of_clipped(offset - 1, col)
    if wanted > 1 << 58:
        raise ShapeError(f"{where}: {wanted} indices are asked for, more than fit in memory")
    triangle.count, triangle.start, triangle.stop = wanted, 0, 0
    if wanted > 0:
        triangle.start = max(0, -offset) if lower else 0
        triangle.stop = row if lower else min(row, col - offset)
    return triangle


cdef int write_indices(TensorBase out, object row, object col, object offset, bint lower, object dtype, str where) except -1:
    cdef Triangle triangle = read_triangle(row, col, offset, lower, dtype, where)
    cdef ssize n = 0, i, j, first, last
    for i in range(triangle.start, triangle.stop):
        first = 0 if lower else min(max(i + triangle.above, 0), triangle.columns)
        last = min(max(i + triangle.above + 1, 0), triangle.columns) if lower else triangle.columns
        for j in range(first, last):
            if triangle.dtype == INT64:
                (<int64_t*>memory_of(out))[n] = i
                (<int64_t*>memory_of(out))[n + triangle.count] = j
            else:
                (<int32_t*>memory_of(out))[n] = <int32_t>i
                (<int32_t*>memory_of(out))[n + triangle.count] = <int32_t>j
            n += 1
    return 0


cdef TensorBase indices_result(object row, object col, object offset, bint lower, object dtype, object device, str where):
    cdef Triangle triangle = read_triangle(row, col, offset, lower, dtype, where)
    cdef ssize[2] sizes
    sizes[0], sizes[1] = 2, triangle.count
    return strided_result(triangle.dtype, 2, sizes, NULL, device, where)


cdef Op TRIL_INDICES = Op("tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, Device? device=None) "
                          "-> Tensor")
cdef Op TRIU_INDICES = Op("triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, Device? device=None) "
                          "-> Tensor")

@TRIL_INDICES.infer
def tril_indices_infer(row, col, offset, dtype, device):
    return indices_result(row, col, offset, True, dtype, device, "tril_indices")

@TRIL_INDICES.kernel
def tril_indices_kernel(TensorBase out, row, col, offset, dtype, device):
    write_indices(out, row, col, offset, True, dtype, "tril_indices")

@TRIU_INDICES.infer
def triu_indices_infer(row, col, offset, dtype, device):
    return indices_result(row, col, offset, False, dtype, device, "triu_indices")

@TRIU_INDICES.kernel
def triu_indices_kernel(TensorBase out, row, col, offset, dtype, device):
    write_indices(out, row, col, offset, False, dtype, "triu_indices")


def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """Indices of the lower triangle of a matrix, row by row: a tensor of shape (2, n), rows and columns.

    >>> import tensorlab
    >>> tensorlab.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    check_layout(layout, "tril_indices")
    return run_5(TRIL_INDICES, row, col, offset, dtype, device_or_default(device))


def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """Indices of the upper triangle of a matrix, row by row: a tensor of shape (2, n), rows and columns.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    check_layout(layout, "triu_indices")
    return run_5(TRIU_INDICES, row, col, offset, dtype, device_or_default(device))


# ---------------------------------------------------------------- diag_embed
cdef Op DIAG_EMBED = Op("diag_embed(Tensor x, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")

@DIAG_EMBED.derivative("x")
def diag_embed_derivative(grad, offset, dim1, dim2):
    return diagonal_of(grad, offset, dim1, dim2)

@DIAG_EMBED.infer
def diag_embed_infer(TensorBase x, offset, dim1, dim2):
    cdef int ndim = x.ndim_ + 1, first, second, i, k = 0
    cdef ssize[MAX_NDIM] sizes
    cdef ssize above = int_argument(offset, "diag_embed", "offset")
    first, second = wrap_dim(dim1, ndim, "diag_embed"), wrap_dim(dim2, ndim, "diag_embed")
    if x.ndim_ == 0 or x.ndim_ == MAX_NDIM:
        raise ShapeError(f"diag_embed: a tensor with 1 to {MAX_NDIM - 1} dimensions is needed, not {x.ndim_}")
    if first == second:
        raise ShapeError(f"diag_embed: dim1 and dim2 are both dimension {first}; they must differ")
    for i in range(ndim):
        if i == first or i == second:
            sizes[i] = x.sizes[x.ndim_ - 1] + (above if above >= 0 else -above)
        else:
            sizes[i] = x.sizes[k]
            k += 1
    return result_beside(x, x.dtype_, ndim, sizes)

@DIAG_EMBED.kernel
def diag_embed_kernel(TensorBase out, TensorBase x, ssize offset, dim1, dim2):
    fill_zero(out)
    copy_into(diagonal_kernel(out, offset, wrap_dim(dim1, out.ndim_), wrap_dim(dim2, out.ndim_)), x)

def diag_embed(TensorBase input not None, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last dimension of `input` on a diagonal, and zeros elsewhere.

    Parameters
    ----------
    offset : int; above the main diagonal if positive, below if negative
    dim1, dim2 : int; where the two dimensions of the matrices go

    >>> import tensorlab
    >>> tensorlab.diag_embed(tensorlab.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    return run_4(DIAG_EMBED, input, int_argument(offset, "diag_embed", "offset"), plain_ints(dim1), plain_ints(dim2))


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
        result = run_row_major_clone(diagonal_of(input, diagonal))
    else:
        raise ShapeError(f"diag: a vector or a matrix is needed, not a tensor with {input.ndim_} dimensions; use "
                         f"diagonal or diag_embed for batches")
    return store_out("diag", result, out, (input,))


cdef Op TRACE = Op("trace(Tensor x) -> Tensor")

@TRACE.derivative("x")
def trace_derivative(grad, x_shape):
    return grad.new_zeros(x_shape).diagonal_scatter(grad.expand(min(x_shape)))

@TRACE.infer
def trace_infer(TensorBase x):
    if x.ndim_ != 2:
        raise ShapeError(f"trace: a matrix is needed, not a tensor with {x.ndim_} dimensions; use "
                         f"diagonal(dim1=-2, dim2=-1).sum(-1) for batches")
    if x.dtype_ == BOOL:
        raise UnsupportedDType("trace: bools cannot be summed so; convert with .to() first, or count them with diagonal().sum()")
    return result_beside(x, sum_dtype(x.dtype_), 0, NULL)

@TRACE.kernel
def trace_kernel(TensorBase out, TensorBase x):
    sum_to(out, diagonal_kernel(x, 0, 0, 1), 1, NULL, 0)

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
    return run_1(TRACE, input)


def diagflat(TensorBase input not None, offset=0):
    """All elements, in row-major order, as the diagonal of a square matrix.

    Parameters
    ----------
    input : Tensor, of any shape
    offset : int, the diagonal: above 0 to the right, below 0 to the left

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.diagflat(tensorlab.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    cdef ssize n = input.numel_
    return diag_embed(reshape_to(input, 1, &n), offset)


# ---------------------------------------------------------------- block_diag
cdef Op BLOCK_DIAG = Op("block_diag(Tensor[] tensors) -> Tensor")

@BLOCK_DIAG.derivative("tensors", is_list=True)
def block_diag_derivative(grad, tensors_shape):
    cdef list out = []
    cdef ssize row = 0, column = 0, rows, columns
    for shape in tensors_shape:
        rows, columns = (1,) * (2 - len(shape)) + tuple(shape)
        out.append(grad.narrow(0, row, rows).narrow(1, column, columns).reshape(shape))
        row += rows
        column += columns
    return out

cdef TensorBase as_matrix(TensorBase x):
    """An alias with 2 dimensions: a vector is a row."""
    cdef ssize[2] sizes, strides
    if x.ndim_ > 2:
        raise ShapeError(f"block_diag: tensors with at most 2 dimensions are needed, not {x.ndim_}")
    if x.ndim_ == 2:
        return x
    sizes[0], strides[0] = 1, x.numel_
    sizes[1], strides[1] = x.numel_, x.strides[0] if x.ndim_ == 1 else 1
    return alias_as(x, 2, sizes, strides, x.data_)

@BLOCK_DIAG.infer
def block_diag_infer(tensors):
    cdef list blocks = [as_matrix(<TensorBase>one) for one in tensors]
    cdef ssize[2] sizes
    cdef int dtype
    cdef TensorBase x, out
    if len(blocks) == 0:
        sizes[0], sizes[1] = 1, 0
        return pending_tensor(ON_CPU, default_float(), 2, sizes, NULL)
    sizes[0] = sizes[1] = 0
    dtype = (<TensorBase>blocks[0]).dtype_
    for one in blocks:
        x = <TensorBase>one
        dtype = common_dtype(dtype, x.dtype_)
        sizes[0] += x.sizes[0]
        sizes[1] += x.sizes[1]
    out = result_beside(<TensorBase>blocks[0], dtype, 2, sizes)
    for one in blocks:
        check_same_place(out, <TensorBase>one, "block_diag")
    return out

@BLOCK_DIAG.kernel
def block_diag_kernel(TensorBase out, tensors):
    cdef ssize row = 0, column = 0
    cdef TensorBase x
    fill_zero(out)
    for one in tensors:
        x = as_matrix(<TensorBase>one)
        copy_into(alias_as(out, 2, x.sizes, out.strides,
                           out.data_ + (row * out.strides[0] + column) * item_size[out.dtype_]), x)
        row += x.sizes[0]
        column += x.sizes[1]

def block_diag(*tensors):
    """A matrix with the given ones along its diagonal, and zeros elsewhere; vectors count as rows.

    >>> import tensorlab
    >>> tensorlab.block_diag(tensorlab.tensor([[1, 2]]), tensorlab.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    return run_1(BLOCK_DIAG, read_tensors(tensors, "block_diag"))

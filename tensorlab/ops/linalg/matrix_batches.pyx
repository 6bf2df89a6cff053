"""Batches of matrices as LAPACK takes them, and one loop over them.

A matrix of LAPACK's lies in memory column after column. The results of a factorisation do so, too, so that LAPACK writes
where they are to be; what it reads and overwrites is a copy of that form, of all matrices of a batch at once. So a job is a
few addresses and steps, and its body calls LAPACK for the matrices `begin` to `end`:

    address     + step      + 2 * step
    |- a[0] --|- a[1] --|- a[2] --|         column, column, ... each

The batch is shared out over our threads, and BLAS keeps to the thread that called it (blas_library.pyx says why).
"""
from libc.stdint cimport int32_t

from tensorlab._core.dispatch.layers cimport keys_of
from tensorlab._core.dtypes cimport (
    COMPLEX32, COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, HALF, INEXACT, is_in, item_size
)
from tensorlab._core.graph.graph cimport should_record
from tensorlab._core.layout cimport MAX_NDIM, broadcast_into, shape_text, ssize
from tensorlab._core.loops.iterator cimport contiguous_copy, copy_into
from tensorlab._core.loops.parallel cimport grain_of, parallel_for, range_body
from tensorlab._core.dispatch.operands cimport check_same_place
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, memory_of, result_beside
from tensorlab.ops.linalg.blas_library cimport hold_blas, release_blas
from tensorlab.ops.linalg.lapack_library cimport C, D, S, Z, load_lapack

from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType

cdef enum:
    GRAIN = 1 << 14             # multiplications that make a thread worth starting


# ---------------------------------------------------------------- checks
cdef int check_numbers(str where, TensorBase x, str name="A") except -1:
    """Raise unless the elements are of a type that LAPACK knows."""
    if not is_in(x.dtype_, INEXACT):
        raise UnsupportedDType(f"{where}: {name} is of {x.dtype}; expected a floating or complex type, so convert it with "
                               f".to() first")
    if is_in(x.dtype_, HALF | 1 << COMPLEX32):
        raise UnsupportedDType(f"{where}: {name} is of {x.dtype}, in which too few digits are left to work with; "
                               f"convert it with .float() first")
    return 0


cdef int check_matrix(str where, TensorBase x, str name="A") except -1:
    """Raise unless x is a matrix or a batch of them, of a type that LAPACK knows."""
    if x.ndim_ < 2:
        raise ShapeError(f"{where}: {name} has shape {shape_text(x.ndim_, x.sizes)}; expected a matrix, or a batch of "
                         f"them: two dimensions or more")
    return check_numbers(where, x, name)


cdef int check_square(str where, TensorBase x, str name="A") except -1:
    """Raise unless x is a square matrix or a batch of them, of a type that LAPACK knows."""
    if x.ndim_ >= 2 and x.sizes[x.ndim_ - 1] != x.sizes[x.ndim_ - 2]:
        raise ShapeError(f"{where}: {name} has shape {shape_text(x.ndim_, x.sizes)}; expected square matrices, as many "
                         f"rows as columns")
    return check_matrix(where, x, name)


cdef int check_alike(str where, TensorBase x, TensorBase y, str name_x="A", str name_y="B") except -1:
    """Raise unless both are of one type and on one device."""
    check_same_place(x, y, where)
    if x.dtype_ != y.dtype_:
        raise DTypeError(f"{where}: {name_x} is of {x.dtype} and {name_y} of {y.dtype}; expected one type, so convert "
                         f"one of them with .to() first")
    return 0


cdef int batch_shape(str where, TensorBase x, int dims_x, TensorBase y, int dims_y, ssize* sizes) except -1:
    """Broadcast the batches of x and y, without the last dimensions of each, to `sizes`; returns how many there are."""
    cdef int ndim = 0
    broadcast_into(x.ndim_ - dims_x, x.sizes, &ndim, sizes)
    if broadcast_into(y.ndim_ - dims_y, y.sizes, &ndim, sizes) < 0:
        raise ShapeError(f"{where}: the batches of {shape_text(x.ndim_, x.sizes)} and {shape_text(y.ndim_, y.sizes)} "
                         f"cannot be broadcast together: counted from the right, sizes must be equal or 1")
    return ndim


# ---------------------------------------------------------------- layouts
cdef TensorBase expanded(TensorBase x, int dims, int ndim, const ssize* sizes):
    """x with `ndim` batch dimensions of these sizes before its last `dims`; stride 0 where it is broadcast."""
    cdef ssize[MAX_NDIM] new_sizes, strides
    cdef int i, shift = ndim + dims - x.ndim_
    for i in range(ndim + dims):
        new_sizes[i] = sizes[i] if i < ndim else x.sizes[i - shift]
        strides[i] = 0 if i < shift or (i < ndim and x.sizes[i - shift] == 1) else x.strides[i - shift]
    return alias_as(x, ndim + dims, new_sizes, strides, x.data_)


cdef ssize matrix_count(TensorBase x) noexcept:
    cdef ssize count = 1
    cdef int i
    for i in range(x.ndim_ - 2):
        count *= x.sizes[i]
    return count


cdef void column_strides(int ndim, const ssize* sizes, ssize* strides) noexcept nogil:
    """Of matrices in row-major order, each of them column after column."""
    cdef ssize step = max(<ssize>1, sizes[ndim - 2]) * max(<ssize>1, sizes[ndim - 1])
    cdef int i
    strides[ndim - 2] = 1
    strides[ndim - 1] = max(<ssize>1, sizes[ndim - 2])
    for i in range(ndim - 3, -1, -1):
        strides[i] = step
        step *= max(<ssize>1, sizes[i])


cdef TensorBase columns_result(TensorBase x, int dtype, int ndim, const ssize* sizes):
    """A result, without memory yet, whose matrices lie column after column."""
    cdef ssize[MAX_NDIM] strides
    column_strides(ndim, sizes, strides)
    return result_beside(x, dtype, ndim, sizes, strides)


cdef TensorBase matrices_beside(TensorBase x, ssize rows, ssize columns):
    """Such a result with the batch of x and matrices of this size."""
    cdef ssize[MAX_NDIM] sizes
    cdef int i
    for i in range(x.ndim_ - 2):
        sizes[i] = x.sizes[i]
    sizes[x.ndim_ - 2], sizes[x.ndim_ - 1] = rows, columns
    return columns_result(x, x.dtype_, x.ndim_, sizes)


cdef TensorBase batch_beside(TensorBase x, int dtype, int dims=0, ssize size=0):
    """A row-major result with the batch of x: a number for each matrix, or with dims=1 `size` numbers."""
    cdef ssize[MAX_NDIM] sizes
    cdef int i
    for i in range(x.ndim_ - 2):
        sizes[i] = x.sizes[i]
    if dims == 1:
        sizes[x.ndim_ - 2] = size
    return result_beside(x, dtype, x.ndim_ - 2 + dims, sizes)


cdef bint has_columns(TensorBase x) noexcept:
    """Do its matrices lie one after the other, each column after column?"""
    cdef ssize[MAX_NDIM] strides
    cdef int i
    column_strides(x.ndim_, x.sizes, strides)
    for i in range(x.ndim_):
        if x.sizes[i] != 1 and x.strides[i] != strides[i]:
            return False
    return True


cdef TensorBase new_columns(TensorBase x):
    cdef ssize[MAX_NDIM] strides
    column_strides(x.ndim_, x.sizes, strides)
    return empty_beside(x, x.dtype_, x.ndim_, x.sizes, strides)


cdef TensorBase columns_copy(TensorBase x):
    """A copy whose matrices lie column after column, for LAPACK to overwrite."""
    cdef TensorBase out = new_columns(x)
    copy_into(out, x)
    return out


cdef TensorBase columns_of(TensorBase x):
    """x itself if its matrices lie column after column, else a copy; it is only read."""
    return x if has_columns(x) else columns_copy(x)


cdef TensorBase columns_for(TensorBase out):
    """Where LAPACK writes a result: the result itself if it can; `put_back` brings it there else."""
    return out if has_columns(out) else new_columns(out)


cdef TensorBase plain_for(TensorBase out):
    """The same of numbers in row-major order."""
    return out if out.is_contiguous_ else empty_beside(out, out.dtype_, out.ndim_, out.sizes)


# ---------------------------------------------------------------- the loop
cdef int column_of(TensorBase x) except -1:
    """The column of LAPACK's table for the type of x."""
    if x.dtype_ == FLOAT32:
        return S
    if x.dtype_ == FLOAT64:
        return D
    if x.dtype_ == COMPLEX64:
        return C
    if x.dtype_ == COMPLEX128:
        return Z
    raise UnsupportedDType(f"linalg: no function of LAPACK is known for {x.dtype}")


cdef int start_job(Job* job, TensorBase x) except -1:
    """Begin a job over the matrices of x, its first tensor."""
    job.column = column_of(x)
    job.size = item_size[x.dtype_]
    job.m, job.n, job.k = <int>x.sizes[x.ndim_ - 2], <int>x.sizes[x.ndim_ - 1], 0
    job.count = matrix_count(x)
    job.tensors = 0
    job.out_of_memory = False
    return add_matrices(job, x)


cdef int add_matrices(Job* job, TensorBase x, int dims=2) except -1:
    """A tensor whose last `dims` dimensions belong to one matrix."""
    cdef ssize step = item_size[x.dtype_]
    cdef int i
    for i in range(x.ndim_ - dims, x.ndim_):
        step *= x.sizes[i]
    job.data[job.tensors], job.steps[job.tensors] = memory_of(x), step
    job.tensors += 1
    return 0


cdef int run_job(range_body body, Job* job, ssize work) except -1:
    """Let the body work on all matrices; `work` is how many multiplications one of them takes."""
    if job.count == 0:
        return 0
    load_lapack()
    hold_blas()
    with nogil:
        parallel_for(body, job, job.count, grain_of(GRAIN, max(work, <ssize>1)))
    release_blas()
    if job.out_of_memory:
        raise MemoryError()
    return 0


cdef object first_failure(TensorBase info):
    """Of the info of each matrix, the first that isn't 0: (its name, info); None if all are."""
    cdef TensorBase plain = info if info.is_contiguous_ else contiguous_copy(info)
    cdef int32_t* codes = <int32_t*>memory_of(plain)
    cdef ssize i, rest
    cdef int d
    for i in range(plain.numel_):
        if codes[i] != 0:
            break
    else:
        return None
    if info.ndim_ == 0:
        return "the matrix", codes[i]
    place, rest = [], i
    for d in range(info.ndim_ - 1, -1, -1):
        place.insert(0, rest % info.sizes[d])
        rest //= info.sizes[d]
    return f"matrix {place[0] if info.ndim_ == 1 else tuple(place)} of the batch", codes[i]


cdef bint wants_vectors(TensorBase A):
    """Will the derivative of eigenvalues or singular values ask for the vectors? Of a wrapper nothing is known, so then yes."""
    return should_record(A) or keys_of(A)

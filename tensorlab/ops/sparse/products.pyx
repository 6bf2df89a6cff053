"""Sparse matrix times dense matrix, the products of pairs of rows that its gradient needs, and the grouping of elements by row.

row_products.h has the inner loops. Here is what calls them for a range of rows or of elements, and checks the indices before: a
sparse tensor may have been made without a check.
"""
from libc.stdint cimport int64_t, uint64_t

from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, INT64
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport plain_as
from tensorlab._core.loops.parallel cimport share_work
from tensorlab._core.tensor cimport TensorBase, empty_beside, memory_of

from tensorlab.errors import IndexOutOfRange

cdef extern from "row_products.h" nogil:
    void tl_row_products_32(float* out, const int64_t* starts, ssize rows, const float* values, const int64_t* columns,
                            const float* dense, ssize width)
    void tl_row_products_64(double* out, const int64_t* starts, ssize rows, const double* values, const int64_t* columns,
                            const double* dense, ssize width)
    float tl_dot_32(const float* x, const float* y, ssize width)
    double tl_dot_64(const double* x, const double* y, ssize width)

cdef enum:
    GRAIN = 16384               # products that are worth a thread
    ROWS = 64                   # whose elements stay in the cache while the columns are gone through


cdef bint are_inside(const int64_t* indices, ssize count, ssize size) noexcept nogil:
    """Is each index at least 0 and below a size?"""
    cdef uint64_t largest = 0
    cdef ssize k
    for k in range(count):
        largest = max(largest, <uint64_t>indices[k])
    return count == 0 or largest < <uint64_t>size


def outside(ssize size):
    """The error for indices that are not inside."""
    return IndexOutOfRange(f"sparse product: an index is outside of {size} columns; check the tensor with check_invariants=True")


# ---------------------------------------------------------------- sparse times dense
cdef struct Product:
    const int64_t* starts       # of each row among the elements; n + 1
    const int64_t* columns
    void* values
    void* dense
    void* out
    ssize inner, width          # the dense matrix is inner x width
    bint is_double
    bint is_wrong               # a column is outside


cdef void multiply_rows(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Product* job = <Product*>context
    cdef const int64_t* starts
    cdef ssize i = begin, rows
    while i < end:
        starts, rows = job.starts + i, min(<ssize>ROWS, end - i)
        if not are_inside(job.columns + starts[0], starts[rows] - starts[0], job.inner):
            job.is_wrong = True
            return
        if job.is_double:
            tl_row_products_64(<double*>job.out + i * job.width, starts, rows, <double*>job.values, job.columns,
                               <double*>job.dense, job.width)
        else:
            tl_row_products_32(<float*>job.out + i * job.width, starts, rows, <float*>job.values, job.columns,
                               <float*>job.dense, job.width)
        i += rows


def rows_times_dense(TensorBase starts not None, TensorBase columns not None, TensorBase values not None,
                     TensorBase dense not None):
    """The product of a matrix in compressed rows and a dense matrix, both float32 or both float64.

    Parameters
    ----------
    starts : Tensor of int64, shape (rows + 1,): where each row begins among the elements
    columns : Tensor of int64, shape (nnz,)
    values : Tensor, shape (nnz,)
    dense : Tensor, shape (inner, width), of the same type

    Raises
    ------
    IndexOutOfRange
        If starts don't rise from 0 to nnz, or a column is outside.
    """
    cdef Product job
    cdef TensorBase out
    cdef ssize[2] sizes
    cdef ssize i, count
    starts, columns = plain_as(starts, INT64), plain_as(columns, INT64)
    values, dense = plain_as(values, values.dtype_), plain_as(dense, values.dtype_)
    sizes[0], sizes[1] = starts.numel_ - 1, dense.sizes[1]
    out = empty_beside(dense, values.dtype_, 2, sizes)
    count = values.numel_
    job.starts, job.columns = <const int64_t*>memory_of(starts), <const int64_t*>memory_of(columns)
    job.values, job.dense, job.out = memory_of(values), memory_of(dense), memory_of(out)
    job.inner, job.width, job.is_wrong = dense.sizes[0], sizes[1], False
    job.is_double = values.dtype_ == FLOAT64
    for i in range(sizes[0]):
        job.is_wrong |= job.starts[i] > job.starts[i + 1]
    if job.is_wrong or columns.numel_ != count or job.starts[0] != 0 or job.starts[sizes[0]] != count:
        raise IndexOutOfRange(f"sparse product: where rows begin must rise from 0 to {count}, the number of elements; check the "
                              f"tensor with check_invariants=True")
    share_work(multiply_rows, &job, sizes[0], count * job.width, GRAIN)
    if job.is_wrong:
        raise outside(job.inner)
    return out


# ---------------------------------------------------------------- rows times rows
cdef struct Dots:
    const int64_t* rows
    const int64_t* columns
    void* first
    void* second
    void* out
    ssize width
    bint is_double


cdef void multiply_pairs(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Dots* job = <Dots*>context
    cdef ssize k, x, y
    for k in range(begin, end):
        x, y = job.rows[k] * job.width, job.columns[k] * job.width
        if job.is_double:
            (<double*>job.out)[k] = tl_dot_64(<double*>job.first + x, <double*>job.second + y, job.width)
        else:
            (<float*>job.out)[k] = tl_dot_32(<float*>job.first + x, <float*>job.second + y, job.width)


def products_of_rows(TensorBase rows not None, TensorBase columns not None, TensorBase first not None,
                     TensorBase second not None):
    """For each pair (rows[k], columns[k]) the product of a row of `first` and a row of `second`: an element of first @ second.T.

    Parameters
    ----------
    rows, columns : Tensor of int64, shape (nnz,)
    first, second : Tensor, shape (n, width) and (m, width), both float32 or both float64

    Raises
    ------
    IndexOutOfRange
        If there is no such row.
    """
    cdef Dots job
    cdef TensorBase out
    rows, columns = plain_as(rows, INT64), plain_as(columns, INT64)
    first, second = plain_as(first, first.dtype_), plain_as(second, first.dtype_)
    out = empty_beside(first, first.dtype_, 1, &rows.numel_)
    job.rows, job.columns = <const int64_t*>memory_of(rows), <const int64_t*>memory_of(columns)
    job.first, job.second, job.out = memory_of(first), memory_of(second), memory_of(out)
    job.width, job.is_double = first.sizes[1], first.dtype_ == FLOAT64
    if not are_inside(job.rows, rows.numel_, first.sizes[0]):
        raise outside(first.sizes[0])
    if not are_inside(job.columns, rows.numel_, second.sizes[0]):
        raise outside(second.sizes[0])
    share_work(multiply_pairs, &job, rows.numel_, rows.numel_ * job.width, GRAIN)
    return out


# ---------------------------------------------------------------- elements by row
def group_by(TensorBase keys not None, ssize count):
    """Where the elements of each key from 0 to count - 1 begin, if they are in order of keys, and what brings them into it.

    Parameters
    ----------
    keys : Tensor of int64, shape (nnz,): the row of each element, say
    count : int

    Returns
    -------
    starts : Tensor of int64, shape (count + 1,)
    order : Tensor of int64, shape (nnz,), which leaves elements of one key in their order; or None: they are in order

    Raises
    ------
    IndexOutOfRange
        If a key is outside.
    """
    cdef ssize k, size = count + 1
    cdef int64_t key, begin = 0
    cdef bint is_sorted = True
    keys = plain_as(keys, INT64)
    cdef const int64_t* key_of = <const int64_t*>memory_of(keys)
    cdef TensorBase starts = empty_beside(keys, INT64, 1, &size)
    cdef int64_t* start_of = <int64_t*>memory_of(starts)
    if not are_inside(key_of, keys.numel_, count):
        raise outside(count)
    for k in range(size):
        start_of[k] = 0
    for k in range(keys.numel_):
        start_of[key_of[k] + 1] += 1
    for k in range(1, keys.numel_):
        is_sorted &= key_of[k - 1] <= key_of[k]
    for k in range(1, size):
        start_of[k] += start_of[k - 1]
    if is_sorted:
        return starts, None
    cdef TensorBase order = empty_beside(keys, INT64, 1, &keys.numel_)
    cdef int64_t* place = <int64_t*>memory_of(order)
    for k in range(keys.numel_):                # each start moves on to the next one while its elements are put down
        key = key_of[k]
        place[start_of[key]] = k
        start_of[key] += 1
    for k in range(size):                       # and so stands one place too far to the left
        begin, start_of[k] = start_of[k], begin
    return starts, order


def can_multiply(TensorBase values not None):
    """Is there a loop for elements of this type?"""
    return values.dtype_ == FLOAT32 or values.dtype_ == FLOAT64

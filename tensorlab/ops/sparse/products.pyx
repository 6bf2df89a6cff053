"""Sparse matrix times dense matrix: the rows of the dense one that the indices name, weighted and added up.

Each row of the result is a few rows of the dense matrix. A chunk of it stays in registers while the elements of a row are
gone through, so that memory sees one read of a dense chunk for each element, and one write for each chunk of the result.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, INT64
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport plain_as
from tensorlab._core.loops.parallel cimport share_work
from tensorlab._core.tensor cimport TensorBase, empty_beside, memory_of

from tensorlab.errors import IndexOutOfRange

cdef enum:
    CHUNK = 32                  # columns of the result that are added up at once
    GRAIN = 16384               # products that are worth a thread

ctypedef fused floating:
    float
    double

cdef struct Product:
    const int64_t* starts       # of each row among the elements; n + 1
    const int64_t* columns
    void* values
    void* dense
    void* out
    ssize rows, inner, width    # the sparse matrix is rows x inner, the dense one inner x width
    bint is_wrong               # a column is outside


cdef inline void add_chunk(floating* total, floating value, const floating* row, ssize width) noexcept nogil:
    cdef ssize j
    if width == CHUNK:
        for j in range(CHUNK):
            total[j] += value * row[j]
    else:
        for j in range(width):
            total[j] += value * row[j]


cdef void multiply_rows_as(Product* job, ssize begin, ssize end, floating* values) noexcept nogil:
    cdef const floating* dense = <const floating*>job.dense
    cdef floating* out = <floating*>job.out
    cdef floating[CHUNK] total
    cdef ssize i, j, k, width
    for i in range(begin, end):
        j = 0
        while j < job.width:
            width = min(<ssize>CHUNK, job.width - j)
            memset(total, 0, CHUNK * sizeof(floating))
            for k in range(job.starts[i], job.starts[i + 1]):
                if <uint64_t>job.columns[k] >= <uint64_t>job.inner:
                    job.is_wrong = True
                    return
                add_chunk(total, values[k], dense + job.columns[k] * job.width + j, width)
            for k in range(width):
                out[i * job.width + j + k] = total[k]
            j += CHUNK


cdef void multiply_rows_float(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Product* job = <Product*>context
    multiply_rows_as(job, begin, end, <float*>job.values)


cdef void multiply_rows_double(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Product* job = <Product*>context
    multiply_rows_as(job, begin, end, <double*>job.values)


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
    job.rows, job.inner, job.width, job.is_wrong = sizes[0], dense.sizes[0], sizes[1], False
    for i in range(job.rows):
        job.is_wrong |= job.starts[i] > job.starts[i + 1]
    if job.is_wrong or columns.numel_ != count or job.starts[0] != 0 or job.starts[job.rows] != count:
        raise IndexOutOfRange(f"sparse product: where rows begin must rise from 0 to {count}, the number of elements; check the "
                              f"tensor with check_invariants=True")
    if values.dtype_ == FLOAT32:
        share_work(multiply_rows_float, &job, job.rows, count * job.width, GRAIN)
    else:
        share_work(multiply_rows_double, &job, job.rows, count * job.width, GRAIN)
    if job.is_wrong:
        raise IndexOutOfRange(f"sparse product: an index is outside of {job.inner} columns; check the tensor with "
                              f"check_invariants=True")
    return out


def can_multiply(TensorBase values not None):
    """Is there a loop for elements of this type?"""
    return values.dtype_ == FLOAT32 or values.dtype_ == FLOAT64

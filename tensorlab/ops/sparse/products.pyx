"""Sparse matrix times dense matrix, the products of pairs of rows that its gradient needs, and the grouping of elements by row.

row_products.h has the inner loops. Here is what calls them for a range of rows or of elements, and checks the indices before: a
sparse tensor may have been made without a check.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, INT64, real
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

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define tl_lowest_bit(bits) __builtin_ctzll(bits)
    #else
    static int tl_lowest_bit(uint64_t bits) { int i = 0; while (!(bits >> i & 1)) i++; return i; }
    #endif
    """
    int lowest_bit "tl_lowest_bit" (uint64_t bits) nogil

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


cdef int check_starts(const int64_t* starts, ssize rows, TensorBase columns, TensorBase values) except -1:
    """Raise unless `starts`, of so many rows, rises from 0 to the number of elements."""
    cdef ssize count = values.numel_
    cdef bint is_wrong = columns.numel_ != count
    cdef ssize i
    for i in range(rows):
        is_wrong |= starts[i] > starts[i + 1]
    if is_wrong or starts[0] != 0 or starts[rows] != count:
        raise IndexOutOfRange(f"sparse product: where rows begin must rise from 0 to {count}, the number of elements; check the "
                              f"tensor with check_invariants=True")
    return 0


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
    starts, columns = plain_as(starts, INT64), plain_as(columns, INT64)
    values, dense = plain_as(values, values.dtype_), plain_as(dense, values.dtype_)
    sizes[0], sizes[1] = starts.numel_ - 1, dense.sizes[1]
    out = empty_beside(dense, values.dtype_, 2, sizes)
    job.starts, job.columns = <const int64_t*>memory_of(starts), <const int64_t*>memory_of(columns)
    job.values, job.dense, job.out = memory_of(values), memory_of(dense), memory_of(out)
    job.inner, job.width, job.is_wrong = dense.sizes[0], sizes[1], False
    job.is_double = values.dtype_ == FLOAT64
    check_starts(job.starts, sizes[0], columns, values)
    share_work(multiply_rows, &job, sizes[0], values.numel_ * job.width, GRAIN)
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


# ---------------------------------------------------------------- sparse times sparse
cdef struct Rows:               # a matrix in compressed rows
    const int64_t* starts
    const int64_t* columns
    void* values
    ssize count                 # rows


cdef Rows rows_of(TensorBase starts, TensorBase columns, TensorBase values) except *:
    """The parts of a matrix in compressed rows, whose starts are checked."""
    cdef Rows rows
    rows.starts, rows.columns = <const int64_t*>memory_of(starts), <const int64_t*>memory_of(columns)
    rows.values, rows.count = memory_of(values), starts.numel_ - 1
    check_starts(rows.starts, rows.count, columns, values)
    return rows


cdef void count_products(Rows* x, Rows* y, int64_t* starts, int64_t* last_row) noexcept nogil:
    """Where each row of the product begins. last_row has, for each column, the last row that has an element there."""
    cdef ssize i, j, k
    cdef int64_t count
    starts[0] = 0
    for i in range(x.count):
        count = 0
        for j in range(x.starts[i], x.starts[i + 1]):
            for k in range(y.starts[x.columns[j]], y.starts[x.columns[j] + 1]):
                count += last_row[y.columns[k]] != i
                last_row[y.columns[k]] = i
        starts[i + 1] = starts[i] + count


cdef void add_products(Rows* x, Rows* y, int64_t* columns, real* values, real* sums,
                       uint64_t* is_held, uint64_t* has_held, ssize words) noexcept nogil:
    """The product's columns, rising in each row, and its values.

    `sums` has a number for each column, `is_held` a bit for each, and `has_held` a bit for each word of `is_held`. All are 0
    before and after a row. Bits are read from low to high, so that the columns of a row need not be sorted.
    """
    cdef ssize i, j, k, word
    cdef int64_t column, place = 0
    cdef real factor
    cdef uint64_t held, bits
    for i in range(x.count):
        for j in range(x.starts[i], x.starts[i + 1]):
            factor = (<real*>x.values)[j]
            for k in range(y.starts[x.columns[j]], y.starts[x.columns[j] + 1]):
                column = y.columns[k]
                sums[column] += factor * (<real*>y.values)[k]
                is_held[column >> 6] |= <uint64_t>1 << (column & 63)
                has_held[column >> 12] |= <uint64_t>1 << ((column >> 6) & 63)
        for word in range(words):
            held, has_held[word] = has_held[word], 0
            while held:
                j = (word << 6) + lowest_bit(held)
                held &= held - 1
                bits, is_held[j] = is_held[j], 0
                while bits:
                    column = (j << 6) + lowest_bit(bits)
                    bits &= bits - 1
                    columns[place], values[place] = column, sums[column]
                    sums[column] = 0
                    place += 1


def rows_times_rows(TensorBase x_starts not None, TensorBase x_columns not None, TensorBase x_values not None,
                    TensorBase y_starts not None, TensorBase y_columns not None, TensorBase y_values not None, ssize width):
    """The product of two matrices in compressed rows, both float32 or both float64.

    Parameters
    ----------
    x_starts, x_columns, x_values : Tensor, shapes (rows + 1,), (nnz,) and (nnz,)
    y_starts, y_columns, y_values : Tensor, the same of the second matrix, which has `width` columns

    Returns
    -------
    starts, columns, values : Tensor
        The product has an element wherever two elements meet, also if what they add up to is 0; columns rise in each row.

    Raises
    ------
    IndexOutOfRange
        If starts don't rise from 0 to the number of elements, or a column is outside.
    """
    cdef ssize size, words = (width + 4095) // 4096
    cdef Rows x, y
    x_starts, x_columns, x_values = plain_as(x_starts, INT64), plain_as(x_columns, INT64), plain_as(x_values, x_values.dtype_)
    y_starts, y_columns, y_values = plain_as(y_starts, INT64), plain_as(y_columns, INT64), plain_as(y_values, x_values.dtype_)
    x, y = rows_of(x_starts, x_columns, x_values), rows_of(y_starts, y_columns, y_values)
    if not are_inside(x.columns, x_columns.numel_, y.count):
        raise outside(y.count)
    if not are_inside(y.columns, y_columns.numel_, width):
        raise outside(width)
    size = max(width, words * 65)               # one number for each column; afterwards the bits
    cdef TensorBase scratch = empty_beside(x_starts, INT64, 1, &size)
    cdef int64_t* marks = <int64_t*>memory_of(scratch)
    cdef TensorBase starts = empty_beside(x_starts, INT64, 1, &x_starts.numel_)
    cdef int64_t* start_of = <int64_t*>memory_of(starts)
    memset(marks, 0xFF, size * sizeof(int64_t))
    with nogil:
        count_products(&x, &y, start_of, marks)
    size = start_of[x.count]
    cdef TensorBase columns = empty_beside(x_starts, INT64, 1, &size)
    cdef TensorBase values = empty_beside(x_values, x_values.dtype_, 1, &size)
    cdef TensorBase sums = empty_beside(x_values, x_values.dtype_, 1, &width)
    cdef int64_t* column_of = <int64_t*>memory_of(columns)
    cdef void* value_of = memory_of(values)
    cdef void* sum_of = memory_of(sums)
    cdef uint64_t* bits = <uint64_t*>marks
    memset(marks, 0, scratch.numel_ * sizeof(int64_t))
    memset(sum_of, 0, width * (4 if x_values.dtype_ == FLOAT32 else 8))
    with nogil:
        if x_values.dtype_ == FLOAT32:
            add_products(&x, &y, column_of, <float*>value_of, <float*>sum_of, bits, bits + 64 * words, words)
        else:
            add_products(&x, &y, column_of, <double*>value_of, <double*>sum_of, bits, bits + 64 * words, words)
    return starts, columns, values


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

"""The distinct elements of a tensor.

Elements are sorted, and a run of equal ones makes one element of the result. Whole numbers that lie close together, as
labels do, are counted instead, in a table with a place for each number from the least to the largest.
"""
from libc.stdint cimport int64_t, uint64_t, uint8_t

from tensorlab._core.dispatch.dispatch cimport run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport BOOL, BOOLEAN, INT64, INTEGRAL, is_in
from tensorlab._core.graph.graph cimport ndim_of
from tensorlab._core.layout cimport ssize, wrap_dim
from tensorlab._core.loops.iterator cimport plain_as
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.tensor cimport TensorBase, empty_tensor, memory_of, takes_part
from tensorlab.ops.filling cimport zeros_tensor
from tensorlab.ops.sorted_values cimport sorted_values

from tensorlab._core.engine.function import without_derivative
from tensorlab.errors import DimensionError, IndexOutOfRange, ShapeError
from tensorlab.ops.joining import cat
from tensorlab.ops.sorting import sort

cdef enum:
    SHORT_TABLE = 256           # places of a table that pays for any number of elements
    LONG_TABLE = 65536          # and of one that fits the cache


# ---------------------------------------------------------------- runs
# For n elements in order, with a mark at each that differs from the one before: how long each run is, and the number of the
# run that element order[i] belongs to; without an order, element i.
cdef Op RUNS = Op("runs(Tensor is_new, Tensor? order=None) -> (Tensor counts, Tensor inverse)",
                  aten=None, checks_values=True)

@RUNS.kernel
def runs_kernel(TensorBase is_new, TensorBase order):
    cdef TensorBase counts, inverse
    cdef ssize i, at, n = is_new.numel_, run = -1, count = 0
    cdef int64_t* lengths
    cdef int64_t* to
    cdef int64_t* place = NULL
    cdef const uint8_t* starts = <uint8_t*>memory_of(is_new)
    if is_new.dtype_ != BOOL or is_new.ndim_ != 1 or not is_new.is_contiguous_ or (n > 0 and not starts[0]):
        raise ShapeError("runs: the marks must be a contiguous vector of bools, the first of them True")
    if order is not None:
        if order.dtype_ != INT64 or order.numel_ != n or not order.is_contiguous_:
            raise ShapeError(f"runs: the order must be a contiguous vector of {n} int64")
        place = <int64_t*>memory_of(order)
    for i in range(n):
        count += i == 0 or starts[i] != 0
    counts, inverse = empty_tensor(INT64, 1, &count), zeros_tensor(INT64, 1, &n)
    lengths, to = <int64_t*>memory_of(counts), <int64_t*>memory_of(inverse)
    for i in range(n):
        if (i == 0 or starts[i]) and run + 1 < count:   # no more than were counted, should another thread write to the marks
            run += 1
            lengths[run] = 0
        lengths[run] += 1
        at = i if place == NULL else place[i]
        if at < 0 or at >= n:
            raise IndexOutOfRange(f"runs: {at} is no index of {n} elements; valid are 0 to {n - 1}")
        to[at] = run
    return counts, inverse


cdef object marks(object x):
    """True at each element that differs from the one before, and at the first."""
    n = x.numel()
    if n == 0:
        return x.new_empty((0,)).bool()
    return cat([x.new_ones((1,)).bool(), x.narrow(0, 1, n - 1) != x.narrow(0, 0, n - 1)])


cdef object chosen_results(str op, TensorBase input, object values, object inverse, object counts, bint return_inverse,
                           bint return_counts):
    (values,) = without_derivative(op, (input,), (values,))
    results = [values]
    if return_inverse:
        results.append(inverse)
    if return_counts:
        results.append(counts)
    return tuple(results) if len(results) > 1 else values


# ---------------------------------------------------------------- counting
cdef void find_range(const int64_t* x, ssize n, int64_t* least, int64_t* largest) noexcept nogil:
    cdef int64_t low = x[0], high = x[0]
    cdef ssize i
    for i in range(n):
        low = min(low, x[i])
        high = max(high, x[i])
    least[0], largest[0] = low, high


cdef ssize count_values(const int64_t* x, ssize n, int64_t least, int64_t* table, ssize size) noexcept nogil:
    """Count each value in its place of the table; return how many places are not 0. What another thread has made of a
    value meanwhile may have no place."""
    cdef ssize i, count = 0
    cdef uint64_t place
    for i in range(n):
        place = <uint64_t>x[i] - <uint64_t>least
        if place < <uint64_t>size:
            table[place] += 1
    for i in range(size):
        count += table[i] != 0
    return count


cdef void list_values(int64_t* table, ssize size, int64_t least, int64_t* values, int64_t* counts) noexcept nogil:
    """What was counted, in order. A value's place in the table receives its number."""
    cdef ssize i, count = 0
    for i in range(size):
        if table[i] != 0:
            values[count] = least + i
            counts[count] = table[i]
            table[i] = count
            count += 1


cdef void number_elements(const int64_t* x, ssize n, int64_t least, const int64_t* table, ssize size,
                          int64_t* inverse) noexcept nogil:
    cdef ssize i
    cdef uint64_t place
    for i in range(n):
        place = <uint64_t>x[i] - <uint64_t>least
        inverse[i] = table[place] if place < <uint64_t>size else 0


cdef tuple distinct_by_counting(TensorBase flat, bint with_inverse):
    """`distinct` of whole numbers; None if they do not lie close together."""
    cdef TensorBase x = plain_as(flat, INT64), table, values, counts, inverse = None
    cdef int64_t* at = <int64_t*>memory_of(x)
    cdef int64_t least, largest
    cdef ssize n = x.numel_, size, count
    with nogil:
        find_range(at, n, &least, &largest)
    if <uint64_t>largest - <uint64_t>least >= <uint64_t>min(max(n, <ssize>SHORT_TABLE), <ssize>LONG_TABLE):
        return None
    size = largest - least + 1
    table = zeros_tensor(INT64, 1, &size)
    with nogil:
        count = count_values(at, n, least, <int64_t*>table.data_, size)
    values, counts = empty_tensor(INT64, 1, &count), empty_tensor(INT64, 1, &count)
    list_values(<int64_t*>table.data_, size, least, <int64_t*>values.data_, <int64_t*>counts.data_)
    if with_inverse:
        inverse = empty_tensor(INT64, 1, &n)
        with nogil:
            number_elements(at, n, least, <int64_t*>table.data_, size, <int64_t*>inverse.data_)
    return plain_as(values, flat.dtype_), inverse, counts


# ---------------------------------------------------------------- distinct elements
cdef tuple distinct(object flat, bint with_inverse):
    """(values, number of each element's value, how often each value occurs) of a contiguous vector, values sorted.
    Without the second, which may then be None, the sort needs no indices."""
    cdef TensorBase x = <TensorBase>flat
    if is_in(x.dtype_, INTEGRAL | BOOLEAN) and x.numel_ > 0 and x.storage_.device == ON_CPU and not takes_part(x):
        found = distinct_by_counting(x, with_inverse)
        if found is not None:
            return found
    values, order = sort(flat) if with_inverse else (sorted_values(flat, 0), None)
    is_new = marks(values)
    counts, inverse = run_2(RUNS, is_new, order)
    return values[is_new], inverse, counts


cdef int dim_of_slices(TensorBase input, object dim, str where) except -1:
    """The dimension along which slices are compared, from 0 up; they must have elements, if there are any."""
    cdef int i, d, ndim = ndim_of(input)
    if ndim == 0:
        raise DimensionError(f"{where}: a tensor without dimensions has no slices; leave out dim")
    d = wrap_dim(dim, ndim, where)
    for i in range(ndim):
        if i != d and input.sizes[i] == 0:
            raise ShapeError(f"{where}: the slices along dimension {d} of a tensor of shape {tuple(input.shape)} have no "
                             f"elements to be compared")
    return d


# ---------------------------------------------------------------- unique
def unique(TensorBase input not None, bint sorted=True, bint return_inverse=False, bint return_counts=False, dim=None):
    """The distinct elements of a tensor, sorted; or the distinct slices along a dimension.

    Parameters
    ----------
    input : Tensor
    sorted : bool; the result is sorted in any case
    return_inverse : bool, also return for each element the index of its value
    return_counts : bool, also return how often each value occurs
    dim : int or None; None means single elements

    Returns
    -------
    Tensor, or a tuple (values, inverse, counts) of what was asked for. Slices are sorted by their first element, then
    by their second, and so on. Each nan is a value of its own.

    >>> import tensorlab
    >>> tensorlab.unique(tensorlab.tensor([3, 1, 3]), return_inverse=True, return_counts=True)
    (tensor([1, 3]), tensor([1, 0, 1]), tensor([1, 2]))
    """
    x = input.detach()
    if dim is None:
        values, inverse, counts = distinct(x.reshape(-1).contiguous(), return_inverse)
        inverse = inverse.reshape(input.shape) if return_inverse else None
        return chosen_results("unique", input, values, inverse, counts, return_inverse, return_counts)
    d = dim_of_slices(input, dim, "unique")
    slices = x.movedim(d, 0)
    rows = slices.reshape([x.size(d), input.numel_ // max(x.size(d), 1)])
    # Number the rows by their first column; then, column after column, by (number so far, element of the column).
    number = rows.new_zeros((rows.size(0),)).long()
    for column in range(rows.size(1)):
        _, ranks, counts = distinct(rows.select(1, column).contiguous(), True)
        _, number, _ = distinct(number * counts.numel() + ranks, True)
    _, inverse, counts = distinct(number, True)
    order = sort(inverse)[1]
    first_of_each = order[marks(inverse[order])]
    values = slices.index_select(0, first_of_each).movedim(0, d)
    return chosen_results("unique", input, values, inverse, counts, return_inverse, return_counts)


# ---------------------------------------------------------------- unique_consecutive
def unique_consecutive(TensorBase input not None, bint return_inverse=False, bint return_counts=False, dim=None):
    """One element of each run of equal neighbours in the flattened tensor; or one slice of each run along a dimension.

    Parameters
    ----------
    input : Tensor
    return_inverse : bool, also return for each element, or slice, the number of its run
    return_counts : bool, also return how long each run is
    dim : int or None; None means single elements

    Raises
    ------
    IndexError
        If `dim` is out of range, or the tensor has no dimensions.
    RuntimeError
        If the slices have no elements.

    >>> import tensorlab
    >>> tensorlab.unique_consecutive(tensorlab.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    cdef int d
    cdef ssize n
    x = input.detach()
    if dim is None:
        flat = x.reshape(-1).contiguous()
        is_new = marks(flat)
        counts, inverse = run_2(RUNS, is_new, None)
        return chosen_results("unique_consecutive", input, flat[is_new], inverse.reshape(input.shape), counts, return_inverse,
                              return_counts)
    d = dim_of_slices(input, dim, "unique_consecutive")
    n = input.sizes[d]
    slices = x.movedim(d, 0)
    rows = slices.reshape([n, input.numel_ // max(n, 1)])
    is_new = x.new_ones((n,)).bool()
    is_new[1:] = (rows[1:] != rows[:n - 1]).any(1)
    counts, inverse = run_2(RUNS, is_new, None)
    values = slices.index_select(0, is_new.nonzero().reshape(-1)).movedim(0, d)
    return chosen_results("unique_consecutive", input, values, inverse, counts, return_inverse, return_counts)

"""What is selected by True and False, or by being other than zero: nonzero and argwhere, the base of indexing by masks."""
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from tensorlab._core.dispatch.dispatch cimport run_1
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport NO_DERIVATIVE, store_out
from tensorlab._core.dtypes cimport BOOL, INT64, UINT8, item_size
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport copy_as
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, empty_tensor, memory_of


# ---------------------------------------------------------------- positions of what is not zero
cdef ssize count_nonzero(const uint8_t* x, ssize n) noexcept nogil:
    cdef ssize i, total = 0
    for i in range(n):
        total += x[i] != 0
    return total


cdef void find_nonzero(const uint8_t* x, ssize n, int64_t* out, ssize count) noexcept nogil:
    """Positions, in ascending order, of the `count` elements that are not zero.

    Eight zeros are skipped at once. Among eight others no branch depends on the data: each
    position is written where the next one belongs, and stays if it counts. Another thread may
    write to x after the count: what is new then is left out, and what is gone leaves zeros.
    """
    cdef ssize i = 0, j, k = 0
    cdef uint64_t eight
    while i + 8 <= n and k + 8 <= count:
        memcpy(&eight, x + i, 8)
        if eight != 0:
            for j in range(i, i + 8):
                out[k] = j
                k += x[j] != 0
        i += 8
    while i < n and k < count:                  # near the end of `out`, write only what counts
        if i + 8 <= n:
            memcpy(&eight, x + i, 8)
            if eight == 0:
                i += 8
                continue
        if x[i] != 0:
            out[k] = i
            k += 1
        i += 1
    while k < count:
        out[k] = 0
        k += 1


cdef TensorBase as_mask(TensorBase x):
    """A byte for each element, other than 0 where the element is (nan is): x itself, if it is that already."""
    cdef bint is_mask = x.is_contiguous_ and (x.dtype_ == BOOL or x.dtype_ == UINT8)
    return x if is_mask else copy_as(x, BOOL)           # a cast to bool asks whether an element differs from 0


cdef TensorBase flat_nonzero(TensorBase x):
    """Positions of what is not zero, counted in row-major order: int64, 1-d."""
    cdef TensorBase out, mask = as_mask(x)
    cdef ssize n
    with nogil:
        n = count_nonzero(<uint8_t*>memory_of(mask), mask.numel_)
    out = empty_tensor(INT64, 1, &n)
    if n > 0:
        with nogil:
            find_nonzero(<uint8_t*>memory_of(mask), mask.numel_, <int64_t*>memory_of(out), n)
    return out


cdef void unravel_column(int64_t* out, const int64_t* positions, ssize n, ssize inner, ssize size) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = positions[i] // inner % size


cdef TensorBase unravel(TensorBase positions, TensorBase x, int dim):
    """Index along dimension `dim` of each flat position in a tensor of x's shape."""
    cdef TensorBase out = empty_beside(positions, INT64, 1, positions.sizes)
    cdef ssize inner = 1
    cdef int d
    for d in range(dim + 1, x.ndim_):
        inner *= x.sizes[d]
    with nogil:
        unravel_column(<int64_t*>memory_of(out), <int64_t*>memory_of(positions), positions.numel_, inner, x.sizes[dim])
    return out


# ---------------------------------------------------------------- nonzero
cdef void split_column(int64_t* positions, int64_t* out, ssize n, ssize size) noexcept nogil:
    """The remainders of ascending positions go to `out`, their quotients stay. Few of them need a division: the quotient is
    mostly that of the position before, or the next."""
    cdef ssize i, at, quotient = 0, start = 0           # start = quotient * size
    for i in range(n):
        at = positions[i] - start
        if at >= size or at < 0:                        # below 0 only what another thread's writes have left at the end
            quotient = quotient + 1 if size <= at < 2 * size else positions[i] // size
            start = quotient * size
            at = positions[i] - start
        out[i] = at
        positions[i] = quotient


cdef TensorBase nonzero_columns(TensorBase x):
    """One row for each dimension: the indices of all elements that are not zero. A 0-d tensor has no dimension."""
    cdef TensorBase mask = as_mask(x), out
    cdef ssize[2] sizes
    cdef int64_t* first
    cdef int d
    with nogil:
        sizes[1] = count_nonzero(<uint8_t*>memory_of(mask), mask.numel_)
    sizes[0] = x.ndim_
    out = empty_tensor(INT64, 2, sizes)
    if out.numel_ == 0:
        return out
    first = <int64_t*>memory_of(out)
    with nogil:                                         # the positions are found in the first row, and split from the last on
        find_nonzero(<uint8_t*>mask.data_, mask.numel_, first, sizes[1])
        for d in range(x.ndim_ - 1, 0, -1):
            split_column(first, first + d * sizes[1], sizes[1], x.sizes[d])
    return out


cdef Op NONZERO = Op("nonzero(Tensor x) -> Tensor")

@NONZERO.kernel
def nonzero_kernel(TensorBase x):
    """The transpose: one row for each element that is not zero. Its strides, column after column, are PyTorch's."""
    cdef TensorBase columns = nonzero_columns(x)
    cdef ssize[2] sizes, strides
    sizes[0] = columns.sizes[1]
    sizes[1] = columns.sizes[0]
    strides[0] = 1
    strides[1] = columns.sizes[1]
    return alias_as(columns, 2, sizes, strides, columns.data_)

cdef Op NONZERO_NUMPY = Op("nonzero_numpy(Tensor x) -> Tensor[]")           # PyTorch's name for it

@NONZERO_NUMPY.kernel
def nonzero_numpy_kernel(TensorBase x):
    """The columns of that matrix."""
    cdef TensorBase columns
    cdef ssize one = 1
    cdef int d
    if x.ndim_ == 0:
        return (flat_nonzero(x),)                       # counts as a vector of one element
    columns = nonzero_columns(x)
    return tuple([alias_as(columns, 1, &columns.sizes[1], &one, columns.data_ + item_size[INT64] * d * columns.sizes[1])
                  for d in range(x.ndim_)])


def nonzero(TensorBase input not None, *, out=None, bint as_tuple=False):
    """Where elements are not zero.

    Parameters
    ----------
    input : Tensor
    as_tuple : bool; give one vector for each dimension, which together index those elements

    Returns
    -------
    Tensor of int64, shape (number of elements that are not zero, dimensions of `input`), or a tuple of vectors

    >>> import tensorlab
    >>> tensorlab.nonzero(tensorlab.tensor([0, 5, 0, 7]))
    tensor([[1],
            [3]])
    """
    if not as_tuple:
        result = run_1(NONZERO, input)
        return result if out is None else store_out("nonzero", result, out, (input,), NO_DERIVATIVE)
    if out is not None:
        raise TypeError("nonzero: out= takes one matrix; leave it out, or as_tuple")
    return run_1(NONZERO_NUMPY, input)


def argwhere(TensorBase input not None):
    """Where elements are not zero, one row of indices each: `nonzero` by another name.

    >>> import tensorlab
    >>> tensorlab.argwhere(tensorlab.tensor([[1, 0], [0, 1]]))
    tensor([[0, 0],
            [1, 1]])
    """
    return run_1(NONZERO, input)

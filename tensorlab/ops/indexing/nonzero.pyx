"""What is selected by True and False, or by being other than zero: nonzero and argwhere, the base of indexing by masks.

The mask is read twice: its True are counted, chunk by chunk, then threads fill in what each chunk selects. Bytes of the
mask become bits, eight elements are decided on at once, and a table has for each number of eight bits the places of its
ones:

    0 1 0 0 1 0 0 1  ->  1, 4, 7, and five that do not count: they are written, but over them goes what comes next

Another thread may write to the mask after the count: what is new then is left out, and what is gone leaves zeros.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

from tensorlab._core.dispatch.dispatch cimport run_1
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport NO_DERIVATIVE, store_out
from tensorlab._core.dtypes cimport BOOL, INT64, MAX_ITEMSIZE, UINT8, item_size, two_words
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport copy_as
from tensorlab._core.loops.parallel cimport share_work
from tensorlab._core.tensor cimport (
    TensorBase, alias_as, empty_beside, empty_tensor, give_memory, memory_of, result_beside
)

cdef extern from "take_eight.h" nogil:
    uint32_t bits_of_32 "tl_bits_of_32"(const uint8_t* bytes)
    void take_eight "tl_take_eight"(int32_t* to, const int32_t* x, const uint8_t* order)
    void number_eight "tl_number_eight"(int64_t* to, int64_t first, const uint8_t* order)

cdef enum:
    MAX_CHUNKS = 64
    SHORT = 64                  # elements of a row up to which rows are joined
    CHUNK = 16384               # elements that a chunk has at least, and that make a thread worth starting

cdef struct position:           # what is selected if no tensor is given: the number of the element
    int64_t value

ctypedef fused selected:
    uint8_t
    uint16_t
    int32_t
    int64_t
    two_words
    position

ctypedef ssize (*select_loop)(const uint8_t* mask, ssize n, void* x, void* out, ssize room) noexcept nogil


# ---------------------------------------------------------------- one chunk
cdef uint8_t[256][8] places_of_ones
cdef uint8_t[256] ones

cdef void fill_table() noexcept:
    cdef int bits, j
    for bits in range(256):
        for j in range(8):
            if bits >> j & 1:
                places_of_ones[bits][ones[bits]] = j
                ones[bits] += 1

fill_table()

cdef ssize count_nonzero(const uint8_t* x, ssize n) noexcept nogil:
    cdef uint8_t[64] counts                             # of every 64th element, up to 255
    cdef ssize i = 0, total = 0, _block
    cdef int j
    while i + 64 <= n:
        memset(counts, 0, 64)
        for _block in range(min((n - i) // 64, <ssize>255)):
            for j in range(64):
                counts[j] += x[i + j] != 0
            i += 64
        for j in range(64):
            total += counts[j]
    for i in range(i, n):
        total += x[i] != 0
    return total

cdef inline void select_one(selected* x, ssize i, selected* out) noexcept nogil:
    if selected is position:
        out.value = x.value + i
    else:
        out[0] = x[i]

cdef inline ssize select_eight(uint32_t bits, selected* x, ssize i,
                               selected* out) noexcept nogil:
    """Write those of elements i to i + 7 that count, then others; return how many count."""
    cdef const uint8_t* places = places_of_ones[bits]
    cdef int j
    if selected is int32_t:
        take_eight(out, x + i, places)
    elif selected is position:
        number_eight(<int64_t*>out, x.value + i, places)
    else:
        for j in range(8):
            select_one(x, i + places[j], out + j)
    return ones[bits]

cdef ssize select(const uint8_t* mask, ssize n, selected* x, selected* out, ssize room) noexcept nogil:
    """Write those of n elements that the mask selects, but no more than there is `room` for; return how many these are.
    Of positions, x has the first."""
    cdef uint32_t bits
    cdef uint64_t eight
    cdef ssize i = 0, k = 0
    cdef int part
    while i + 32 <= n and k + 32 <= room:
        bits = bits_of_32(mask + i)
        if bits != 0:
            for part in range(4):
                k += select_eight(bits >> 8 * part & 255, x, i + 8 * part, out + k)
        i += 32
    while i < n and k < room:                           # near the end of `out`, one by one, though zeros are skipped
        if i + 8 <= n:
            memcpy(&eight, mask + i, 8)
            if eight == 0:
                i += 8
                continue
        select_one(x, i, out + k)
        k += mask[i] != 0
        i += 1
    return k


# ---------------------------------------------------------------- all chunks
cdef struct Selection:
    const uint8_t* mask
    ssize n
    ssize chunk                                         # elements of one
    ssize chunks
    ssize[MAX_CHUNKS + 1] starts                        # how many are selected before each chunk, and at last by all

cdef inline ssize chunk_size(Selection* selection, ssize c) noexcept nogil:
    return min(selection.chunk, selection.n - c * selection.chunk)

cdef void count_chunks(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Selection* selection = <Selection*>context
    cdef ssize c
    for c in range(begin, end):
        selection.starts[c + 1] = count_nonzero(selection.mask + c * selection.chunk, chunk_size(selection, c))

cdef ssize start_selection(Selection* selection, TensorBase mask) except -1:
    """Find out how many each chunk selects; returned is the sum."""
    cdef ssize c
    selection.mask, selection.n = <uint8_t*>memory_of(mask), mask.numel_
    selection.chunk = max(<ssize>CHUNK, (selection.n // MAX_CHUNKS + 64) & ~<ssize>63)
    selection.chunks = (selection.n + selection.chunk - 1) // selection.chunk
    selection.starts[0] = 0
    share_work(count_chunks, selection, selection.chunks, selection.n, CHUNK)
    for c in range(selection.chunks):
        selection.starts[c + 1] += selection.starts[c]
    return selection.starts[selection.chunks]

cdef TensorBase as_mask(TensorBase x):
    """A byte for each element, other than 0 where the element is (nan is): x itself, if it is that already."""
    cdef bint is_mask = x.is_contiguous_ and (x.dtype_ == BOOL or x.dtype_ == UINT8)
    return x if is_mask else copy_as(x, BOOL)           # a cast to bool asks whether an element differs from 0


# ---------------------------------------------------------------- elements where a mask is True
cdef struct ElementsJob:
    Selection selection
    select_loop loop
    char* x
    char* out
    int size                                            # bytes of an element

cdef void fill_elements(void* context, ssize begin, ssize end) noexcept nogil:
    cdef ElementsJob* job = <ElementsJob*>context
    cdef Selection* selection = &job.selection
    cdef ssize c, at, start, room, count
    for c in range(begin, end):
        at, start = c * selection.chunk, selection.starts[c]
        room = selection.starts[c + 1] - start
        count = job.loop(selection.mask + at, chunk_size(selection, c), job.x + at * job.size,
                         job.out + start * job.size, room)
        memset(job.out + (start + count) * job.size, 0, (room - count) * job.size)

cdef select_loop[MAX_ITEMSIZE + 1] select_loops         # by the size of an element
select_loops[1] = <select_loop>select[uint8_t]
select_loops[2] = <select_loop>select[uint16_t]
select_loops[4] = <select_loop>select[int32_t]
select_loops[8] = <select_loop>select[int64_t]
select_loops[16] = <select_loop>select[two_words]

cdef TensorBase where_true(TensorBase x, TensorBase mask):
    """The elements of x, which is contiguous, where a mask of the same shape is not zero."""
    cdef ElementsJob job
    cdef TensorBase out, bytes_of_mask = as_mask(mask)
    cdef ssize n = start_selection(&job.selection, bytes_of_mask)
    out = result_beside(x, x.dtype_, 1, &n)
    give_memory(out)
    job.x, job.out, job.size, job.loop = memory_of(x), out.data_, item_size[x.dtype_], select_loops[item_size[x.dtype_]]
    if n > 0:
        share_work(fill_elements, &job, job.selection.chunks, job.selection.n, CHUNK)
    return out


# ---------------------------------------------------------------- positions of what is not zero
cdef struct ColumnsJob:
    Selection selection
    int ndim
    int first                                           # the dimensions from this one on make a row
    ssize row
    ssize[MAX_NDIM] sizes
    int64_t* out                                        # a column for each dimension
    ssize count

cdef void split_column(int64_t* positions, int64_t* out, ssize n, ssize size) noexcept nogil:
    """The remainders of ascending positions go to `out`, their quotients stay. Few of them need a division: the quotient
    is mostly that of the position before, or the next."""
    cdef ssize i, at, quotient = 0, start = 0           # start = quotient * size
    for i in range(n):
        at = positions[i] - start
        if at >= size or at < 0:                        # below 0 in the next row, where positions begin anew
            quotient = quotient + 1 if size <= at < 2 * size else positions[i] // size
            start = quotient * size
            at = positions[i] - start
        out[i] = at
        positions[i] = quotient

cdef inline void fill(int64_t* out, ssize n, int64_t value) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = value

cdef void fill_chunk(ColumnsJob* job, ssize at, ssize n, ssize start, ssize room) noexcept nogil:
    """What the n elements from `at` on select: row by row positions in the row, which are then split."""
    cdef int64_t* column = job.out + job.first * job.count + start
    cdef ssize end = at + n, k = 0, row, size, found, index
    cdef position inside
    cdef int d
    while at < end:
        row = at // job.row
        inside.value = at - row * job.row
        size = min(job.row - inside.value, end - at)
        found = select(job.selection.mask + at, size, &inside, <position*>(column + k), room - k)
        for d in range(job.first - 1, -1, -1):
            index, row = row % job.sizes[d], row // job.sizes[d]
            fill(job.out + d * job.count + start + k, found, index)
        k += found
        at += size
    for d in range(job.first + 1):
        memset(job.out + d * job.count + start + k, 0, (room - k) * sizeof(int64_t))
    for d in range(job.ndim - 1, job.first, -1):
        split_column(column, job.out + d * job.count + start, room, job.sizes[d])

cdef void fill_columns(void* context, ssize begin, ssize end) noexcept nogil:
    cdef ColumnsJob* job = <ColumnsJob*>context
    cdef ssize* starts = job.selection.starts
    cdef ssize c
    for c in range(begin, end):
        fill_chunk(job, c * job.selection.chunk, chunk_size(&job.selection, c), starts[c], starts[c + 1] - starts[c])

cdef TensorBase find_columns(TensorBase x, int ndim, const ssize* sizes):
    """The indices of all elements that are not zero: one row of int64 for each dimension of the shape given for x."""
    cdef ColumnsJob job
    cdef TensorBase out, mask = as_mask(x)
    cdef ssize[2] out_sizes
    out_sizes[0], out_sizes[1] = ndim, start_selection(&job.selection, mask)
    out = empty_tensor(INT64, 2, out_sizes)
    if out.numel_ == 0:
        return out
    job.ndim, job.first, job.out, job.count = ndim, ndim - 1, <int64_t*>memory_of(out), out_sizes[1]
    memcpy(job.sizes, sizes, ndim * sizeof(ssize))
    job.row = sizes[job.first]
    while job.row < SHORT and job.first > 0:
        job.first -= 1
        job.row *= sizes[job.first]
    share_work(fill_columns, &job, job.selection.chunks, job.selection.n, CHUNK)
    return out

cdef TensorBase flat_nonzero(TensorBase x):
    """Positions of what is not zero, counted in row-major order: int64, 1-d."""
    cdef ssize one = 1
    cdef TensorBase columns = find_columns(x, 1, &x.numel_)
    return alias_as(columns, 1, &columns.sizes[1], &one, columns.data_)


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
cdef Op NONZERO = Op("nonzero(Tensor x) -> Tensor")

@NONZERO.kernel
def nonzero_kernel(TensorBase x):
    """The transpose: one row for each element that is not zero. Its strides, column after column, are PyTorch's."""
    cdef TensorBase columns = find_columns(x, x.ndim_, x.sizes)
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
    columns = find_columns(x, x.ndim_, x.sizes)
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

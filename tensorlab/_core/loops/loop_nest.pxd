"""Loops over any number of dimensions: how few are needed, and an index to count through them.

Every iterator is made of these two. Both are inline, so that a number of operands that a caller
writes down is a constant to the compiler: small tensors feel each instruction.
"""
from tensorlab._core.layout cimport MAX_NDIM, ssize

cdef enum:
    MAX_COUNTED = 6             # operands that one index leads, as many as a DimIterator has


# ---------------------------------------------------------------- fewer dimensions
cdef inline int coalesce(int ndim, ssize* sizes, int operands, ssize** strides) noexcept nogil:
    """Drop dimensions of size 1, sort the others by operand 0's stride, and merge neighbours.

    `strides[k]` has one stride of operand k for each dimension. Neighbours merge if they
    continue one another in every operand. Returns how many dimensions are left.

    Dimensions of equal stride show the same elements, as windows that overlap do, and
    what a write leaves in them depends on the order. It is PyTorch's: the smaller size
    last, or else the smaller stride of another operand.
    """
    cdef int i, j, k, last = 0, n = 0
    cdef bint continues
    for i in range(ndim):
        if sizes[i] != 1:
            if i != n:
                sizes[n] = sizes[i]
                for k in range(operands):
                    strides[k][n] = strides[k][i]
            j = n                       # insertion sort: the largest stride first
            while j > 0 and belongs_outside(j, sizes, operands, strides):
                sizes[j - 1], sizes[j] = sizes[j], sizes[j - 1]
                for k in range(operands):
                    strides[k][j - 1], strides[k][j] = strides[k][j], strides[k][j - 1]
                j -= 1
            n += 1
    for i in range(1, n):
        continues = True
        for k in range(operands):
            if strides[k][last] != strides[k][i] * sizes[i]:
                continues = False
                break
        if continues:
            sizes[last] *= sizes[i]
        else:
            last += 1
            sizes[last] = sizes[i]
        for k in range(operands):
            strides[k][last] = strides[k][i]
    return last + 1 if n > 0 else 0


cdef inline bint belongs_outside(int j, const ssize* sizes, int operands,
                                 ssize** strides) noexcept nogil:
    """Of two neighbouring dimensions, should the inner one, j, be outside?"""
    cdef int k
    if strides[0][j - 1] != strides[0][j] or strides[0][j] == 0:
        return strides[0][j - 1] < strides[0][j]
    if sizes[j - 1] < sizes[j]:
        return True
    for k in range(1, operands):
        if strides[k][j - 1] != strides[k][j] and strides[k][j - 1] != 0 and strides[k][j] != 0:
            return strides[k][j - 1] < strides[k][j]
    return False


# ---------------------------------------------------------------- counting
cdef struct Digit:                          # one dimension; as long as a cache line
    ssize index
    ssize size
    ssize[MAX_COUNTED] steps                # bytes from one index to the next, of each operand

cdef struct IndexCounter:
    int ndim
    char* data[MAX_COUNTED]                 # where each operand has the element of this index
    Digit[MAX_NDIM] digits


cdef inline void start_counter(IndexCounter* at, int ndim, const ssize* sizes) noexcept nogil:
    """Begin at index 0 everywhere. No size may be 0; without dimensions there is one index."""
    cdef int d
    at.ndim = ndim
    for d in range(ndim):
        at.digits[d].index = 0
        at.digits[d].size = sizes[d]


cdef inline void count_along(IndexCounter* at, int k, char* data, const ssize* strides,
                             ssize item_size) noexcept nogil:
    """Lead operand k, whose first element is at `data`; its strides count elements."""
    cdef int d
    at.data[k] = data
    for d in range(at.ndim):
        at.digits[d].steps[k] = strides[d] * item_size


cdef inline void start_like(IndexCounter* at, const IndexCounter* first) noexcept nogil:
    """Begin where another counter is. Most of its struct is not in use, and not copied."""
    cdef int d, k
    at.ndim = first.ndim
    for k in range(MAX_COUNTED):
        at.data[k] = first.data[k]
    for d in range(first.ndim):
        at.digits[d] = first.digits[d]


cdef inline bint next_index(IndexCounter* at, int operands) noexcept nogil:
    """Go to the next index in row-major order; after the last, back to the first: False."""
    cdef Digit* digit
    cdef int d, k
    for d in range(at.ndim - 1, -1, -1):
        digit = &at.digits[d]
        digit.index += 1
        if digit.index < digit.size:
            for k in range(operands):
                at.data[k] += digit.steps[k]
            return True
        for k in range(operands):
            at.data[k] -= (digit.size - 1) * digit.steps[k]
        digit.index = 0
    return False


cdef inline void skip_indices(IndexCounter* at, int operands, ssize n) noexcept nogil:
    """From the first index go to the one that is n indices later."""
    cdef Digit* digit
    cdef int d, k
    for d in range(at.ndim - 1, -1, -1):
        digit = &at.digits[d]
        digit.index = n % digit.size
        n = n // digit.size
        for k in range(operands):
            at.data[k] += digit.index * digit.steps[k]

"""Shape and stride arithmetic: no tensors, no memory, only integers.

The one equation behind it all: element (i0, i1, ...) of a tensor lies at

    offset + i0 * stride0 + i1 * stride1 + ...

elements from the start of its storage. A view changes the numbers and leaves the memory alone.
"""
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.number cimport PyIndex_Check, PyNumber_AsSsize_t, PyNumber_Index
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE

from tensorlab.errors import DimensionError, NumberOutOfRange, ShapeError, SizeOutOfRange

cdef extern from *:
    bint multiply_overflows "__builtin_mul_overflow"(ssize, ssize, ssize*) nogil
    bint add_overflows "__builtin_add_overflow"(ssize, ssize, ssize*) nogil

cdef ssize BEYOND_ALL = (<ssize>1 << 62)    # elements: more than any memory has, and a sum of two of them still fits


cdef ssize count_elements(int ndim, const ssize* sizes) except -1:
    """The product of the sizes."""
    cdef ssize n = 1
    cdef int i
    for i in range(ndim):
        if sizes[i] == 0:
            return 0
    for i in range(ndim):
        if multiply_overflows(n, sizes[i], &n) or n > (<ssize>1 << 60):
            raise ShapeError(f"shape {shape_text(ndim, sizes)} has more elements than memory has addresses; "
                             f"make it smaller")
    return n


cdef void contiguous_strides(int ndim, const ssize* sizes, ssize* strides) noexcept nogil:
    """Row-major: the last dimension is next to itself."""
    cdef ssize stride = 1
    cdef int i
    for i in range(ndim - 1, -1, -1):
        strides[i] = stride
        stride *= sizes[i] if sizes[i] > 1 else 1


cdef bint is_contiguous(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil:
    """True if the elements lie in row-major order without gaps.

    Dimensions of size 1 may have any stride.
    """
    cdef ssize stride = 1
    cdef int i
    for i in range(ndim):
        if sizes[i] == 0:
            return True
    for i in range(ndim - 1, -1, -1):
        if sizes[i] != 1:
            if strides[i] != stride:
                return False
            stride *= sizes[i]
    return True


cdef int sort_by_stride(int ndim, const ssize* sizes, const ssize* strides, int* order) noexcept nogil:
    """Indices of the dimensions larger than 1, smallest stride first; returns how many."""
    cdef int i, j, n = 0
    for i in range(ndim):
        if sizes[i] != 1:
            j = n
            while j > 0 and strides[order[j - 1]] > strides[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
            n += 1
    return n


cdef bint is_dense(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil:
    """True if some order of the dimensions is contiguous: no gaps, no element twice."""
    cdef int[MAX_NDIM] order
    cdef ssize stride = 1
    cdef int i, n
    for i in range(ndim):
        if sizes[i] == 0:
            return True
    n = sort_by_stride(ndim, sizes, strides, order)
    for i in range(n):
        if strides[order[i]] != stride:
            return False
        stride *= sizes[order[i]]
    return True


cdef bint has_internal_overlap(int ndim, const ssize* sizes,
                               const ssize* strides) noexcept nogil:
    """True if two indices surely share an element: a dimension larger than 1 has stride 0.

    This is PyTorch's test too: it finds what `expand` makes, not every overlap that
    `as_strided` can make.
    """
    cdef int i
    if is_dense(ndim, sizes, strides):
        return False
    for i in range(ndim):
        if strides[i] == 0 and sizes[i] > 1:
            return True
    return False


cdef bint is_canonical(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil:
    """True if even the dimensions of size 1 have the stride that `contiguous_strides` gives."""
    cdef ssize stride = 1
    cdef int i
    for i in range(ndim - 1, -1, -1):
        if strides[i] != stride:
            return False
        stride *= sizes[i] if sizes[i] > 1 else 1
    return True


cdef bint may_have_internal_overlap(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil:
    """False if surely no two indices share an element: each stride reaches beyond all smaller dimensions together."""
    cdef int[MAX_NDIM] order
    cdef ssize reach = 0
    cdef int i, n
    for i in range(ndim):
        if sizes[i] == 0:
            return False
    n = sort_by_stride(ndim, sizes, strides, order)
    for i in range(n):
        if strides[order[i]] <= reach:
            return True
        reach += (sizes[order[i]] - 1) * strides[order[i]]
    return False


cdef void channels_last_strides(const ssize* sizes, ssize* strides) noexcept nogil:
    """Strides of an (N, C, H, W) tensor whose channels lie next to each other."""
    strides[1] = 1
    strides[3] = sizes[1]
    strides[2] = strides[3] * sizes[3]
    strides[0] = strides[2] * sizes[2]


cdef bint is_channels_last(const ssize* sizes, const ssize* strides) noexcept nogil:
    """True for an (N, C, H, W) tensor of that layout. Dimensions of size 1 may have any stride."""
    cdef ssize[4] expected
    cdef int i
    channels_last_strides(sizes, expected)
    for i in range(4):
        if sizes[i] != 1 and strides[i] != expected[i]:
            return False
    return True


cdef ssize extent(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil:
    """Elements from the first to the last that the layout reaches, both included: 0 for an
    empty layout, BEYOND_ALL for more than an integer can hold."""
    cdef ssize last = 0, reach
    cdef int i
    for i in range(ndim):
        if sizes[i] == 0:
            return 0
    for i in range(ndim):
        if multiply_overflows(sizes[i] - 1, strides[i], &reach):
            return BEYOND_ALL
        if add_overflows(last, reach, &last):
            return BEYOND_ALL
    return last + 1 if last < BEYOND_ALL else BEYOND_ALL


cdef bint view_strides(int ndim, const ssize* sizes, const ssize* strides, int new_ndim,
                       const ssize* new_sizes, ssize* new_strides) noexcept nogil:
    """The view rule: find strides for `new_sizes` over the same memory; False if there are none.

    Walk both shapes from the right. A run of old dimensions that continue one another in memory
    (stride[i] == size[i + 1] * stride[i + 1]) is one chunk; each chunk must be cut into whole new dimensions.
    """
    cdef int view_dim = new_ndim - 1
    cdef int i
    cdef ssize chunk_stride, chunk_count = 1, view_count = 1
    cdef bint empty = False
    for i in range(ndim):
        empty = empty or sizes[i] == 0
    if empty:
        if ndim == new_ndim:
            for i in range(ndim):
                if sizes[i] != new_sizes[i]:
                    break
            else:
                for i in range(ndim):
                    new_strides[i] = strides[i]
                return True
        contiguous_strides(new_ndim, new_sizes, new_strides)
        return True
    if ndim == 0:
        for i in range(new_ndim):
            new_strides[i] = 1
        return True
    chunk_stride = strides[ndim - 1]
    for i in range(ndim - 1, -1, -1):
        chunk_count *= sizes[i]
        # the chunk ends where the next dimension to the left does not continue it
        if i == 0 or (sizes[i - 1] != 1 and strides[i - 1] != chunk_count * chunk_stride):
            while view_dim >= 0 and (view_count < chunk_count or new_sizes[view_dim] == 1):
                new_strides[view_dim] = view_count * chunk_stride
                view_count *= new_sizes[view_dim]
                view_dim -= 1
            if view_count != chunk_count:
                return False
            if i > 0:
                chunk_stride = strides[i - 1]
                chunk_count = 1
                view_count = 1
    return view_dim == -1


cdef void dense_strides(int ndim, const ssize* sizes, int operands, const ssize** operand_strides,
                        ssize* strides) noexcept nogil:
    """Strides for a new result that keep the order of dimensions of its operands.

    `operand_strides[k]` has one stride for each dimension of the result, 0 where operand k is broadcast. The first
    operand that has an opinion on two dimensions decides which of them is the inner one (PyTorch's rule; its sort is
    repeated here to the letter, because the strides of results are visible).
    """
    cdef int[MAX_NDIM] order                # innermost first
    cdef int i, j, k, moving, verdict, a, b
    cdef ssize x, y, stride = 1
    cdef bint is_reordered = False
    for i in range(ndim):
        order[i] = ndim - 1 - i
    for i in range(1, ndim):
        moving = i
        for j in range(i - 1, -1, -1):
            a = order[j]
            b = order[moving]
            verdict = 0
            for k in range(operands):
                x = operand_strides[k][a]
                y = operand_strides[k][b]
                if x == 0 or y == 0:
                    continue
                if x != y:
                    verdict = -1 if x < y else 1
                    break
                if sizes[a] > sizes[b]:
                    verdict = 1
                    break
            if verdict > 0:
                order[j] = b
                order[moving] = a
                moving = j
            elif verdict < 0:
                break
    for i in range(ndim):
        if order[i] != ndim - 1 - i:
            is_reordered = True
    for i in range(ndim):
        strides[order[i]] = stride
        stride *= sizes[order[i]] if is_reordered or sizes[order[i]] > 1 else 1     # so 0 comes up, as in PyTorch


cdef int broadcast_into(int ndim, const ssize* sizes, int* out_ndim,
                        ssize* out_sizes) noexcept nogil:
    """Widen `out_sizes` so that `sizes` broadcasts to it; -1 if they do not fit, else 0."""
    cdef int i, shift, k
    if ndim > out_ndim[0]:
        shift = ndim - out_ndim[0]
        for i in range(out_ndim[0] - 1, -1, -1):
            out_sizes[i + shift] = out_sizes[i]
        for i in range(shift):
            out_sizes[i] = 1
        out_ndim[0] = ndim
    shift = out_ndim[0] - ndim
    for i in range(ndim):
        k = i + shift
        if out_sizes[k] == 1:
            out_sizes[k] = sizes[i]
        elif sizes[i] != 1 and sizes[i] != out_sizes[k]:
            return -1
    return 0


cdef object exact_int = int.__pos__         # of a subclass of int, the int


cdef object plain_int(object given):
    if PyLong_CheckExact(given) or isinstance(given, bool) or not PyIndex_Check(given):
        return given
    given = PyNumber_Index(given)
    return given if PyLong_CheckExact(given) else exact_int(given)


cdef object as_plain_ints(object given):
    """`plain_ints` of what is neither an int nor None."""
    cdef tuple several
    if isinstance(given, (tuple, list)):
        several = tuple(given)
        for one in several:
            if not PyLong_CheckExact(one):
                return tuple([plain_int(one) for one in several])
        return several
    return plain_int(given)


cdef ssize int_argument(object given, str where, str name) except? -1:
    """The number in an argument that must be an int. A bool is none here, as in PyTorch: it is too often a slip."""
    if not PyLong_CheckExact(given) and (isinstance(given, bool) or not PyIndex_Check(given)):
        raise TypeError(f"{where}: {name} must be an int, not {type(given).__name__}")
    return as_ssize(given, where, name)


cdef ssize as_ssize(object given, str where, str name) except? -1:
    cdef int overflow
    cdef ssize n
    if PyLong_CheckExact(given):
        n = PyLong_AsLongLongAndOverflow(given, &overflow)
        if not overflow:
            return n
    else:
        try:
            return PyNumber_AsSsize_t(given, OverflowError)
        except OverflowError:
            pass
    raise NumberOutOfRange(f"{where + ': ' if where else ''}{name} {int(given)} does not fit in 64 bits")


cdef int wrap_dim(object dim, int ndim, str where="") except -1:
    """A dimension number counted from 0; negative ones count from the end. A 0-d tensor has dimensions 0 and -1."""
    cdef ssize d
    cdef int n = ndim if ndim > 0 else 1
    if not PyLong_CheckExact(dim) and (isinstance(dim, bool) or not PyIndex_Check(dim)):
        raise TypeError(f"{where or 'dim'}: a dimension must be an int, not {type(dim).__name__}")
    d = as_ssize(dim, where, "dimension")
    if d < -n or d >= n:
        raise DimensionError(f"{where + ': ' if where else ''}dimension {d} is out of range: a tensor with {ndim} "
                             f"dimensions has dimensions {-n} to {n - 1}")
    return d + n if d < 0 else d


cdef bint read_plain_ints(tuple sizes, int n, ssize* out) noexcept:
    """The usual case, short: all are Python ints that fit."""
    cdef int i, overflow
    for i in range(n):
        if not PyLong_CheckExact(<object>PyTuple_GET_ITEM(sizes, i)):
            return False
        out[i] = PyLong_AsLongLongAndOverflow(<object>PyTuple_GET_ITEM(sizes, i), &overflow)
        if overflow:
            return False
    return True


cdef int read_sizes(object sizes, ssize* out, str where) except -1:
    """Copy a sequence of ints, or the one sequence in a tuple of arguments, to C; returns how many."""
    cdef int i, n
    cdef tuple given
    if PyTuple_CheckExact(sizes) and PyTuple_GET_SIZE(sizes) <= MAX_NDIM:
        n = <int>PyTuple_GET_SIZE(sizes)
        if read_plain_ints(<tuple>sizes, n, out):
            return n
    if isinstance(sizes, tuple) and PyTuple_GET_SIZE(sizes) == 1 and isinstance((<tuple>sizes)[0], (tuple, list)):
        sizes = (<tuple>sizes)[0]
    elif not isinstance(sizes, (tuple, list)):
        if not PyIndex_Check(sizes):
            raise TypeError(f"{where}: sizes must be ints, not {type(sizes).__name__}")
        sizes = (sizes,)
    given = tuple(sizes)
    if len(given) > MAX_NDIM:
        raise ShapeError(f"{where}: {len(given)} dimensions given, at most {MAX_NDIM} are supported")
    n = <int>len(given)
    for i in range(n):
        size = given[i]
        if not PyIndex_Check(size) or isinstance(size, bool):
            raise TypeError(f"{where}: sizes must be ints, not {type(size).__name__} {size!r} at position {i}")
        try:
            out[i] = PyNumber_AsSsize_t(size, OverflowError)
        except OverflowError:
            raise SizeOutOfRange(f"{where}: size {size} at position {i} does not fit in 64 bits") from None
    return n


cdef str shape_text(int ndim, const ssize* sizes):
    """A shape as error messages show it: (2, 3), (4,), ()."""
    return str(tuple([sizes[i] for i in range(ndim)]))

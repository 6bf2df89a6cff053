"""The iterator of reductions: brings any layout, any type and any choice of dimensions to two kinds of inner loops.

1. `set_up` sorts the dimensions into kept and reduced ones, each kind by the input's stride, and merges neighbours that
   continue one another. What is left is at most a few dimensions; the last of each kind has the smallest stride.
2. If the last reduced dimension has the smaller stride, memory is read along it and each row becomes one total ("rows").
   If the last kept dimension has it, a strip of totals is kept in the L1 cache and whole rows are folded into it
   ("columns"): a sum over the first dimension of a matrix reads its memory in order too.
3. Elements that do not lie next to each other, or are of another type, are gathered into a buffer first.
4. Totals are folded in a wide type, finalized (divided, rooted) and only then rounded to the type of the result.
5. Large reductions are split over threads: along a kept dimension, or, where there is none that is long enough, along a
   reduced one into partial totals that are merged.
"""
from cpython.number cimport PyIndex_Check
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tensorlab._core.dtypes cimport MAX_ITEMSIZE, item_size, refuse_loop
from tensorlab._core.layout cimport MAX_NDIM, contiguous_strides, ssize, wrap_dim
from tensorlab._core.loops.conversion cimport check_convertible, convert
from tensorlab._core.loops.loop_nest cimport (
    IndexCounter, coalesce, count_along, next_index, start_counter
)
from tensorlab._core.loops.parallel cimport NOGIL_WORK, grain_of, parallel_for, thread_count
from tensorlab._core.tensor cimport TensorBase, give_memory, memory_of, result_beside

from tensorlab.errors import ShapeError

cdef enum:
    BUFFER = 2048               # gathered elements: 16 KiB
    GRAIN = 32768               # elements that make a thread worth starting

cdef struct Reduction:
    const Reducer* reducer
    finalize_loop finalize
    double parameter
    char* x
    int x_dtype
    char* out
    int out_dtype
    char* extra                             # NULL if there is none; strided as the result is
    int kept_ndim
    ssize[MAX_NDIM] kept_sizes
    ssize[MAX_NDIM] kept_strides            # of the input
    ssize[MAX_NDIM] out_strides
    int reduced_ndim
    ssize[MAX_NDIM] reduced_sizes
    ssize[MAX_NDIM] reduced_strides


# ---------------------------------------------------------------- arguments and results
cdef unsigned int read_dims(object dim, int ndim, str where) except? 0xffffffff:
    """A bit for each dimension to reduce. None and () mean all of them."""
    cdef unsigned int mask = 0, bit
    if dim is None:
        return (<unsigned int>1 << ndim) - 1
    if PyIndex_Check(dim):
        return <unsigned int>1 << wrap_dim(dim, ndim, where)
    if not isinstance(dim, (tuple, list)):
        raise TypeError(f"{where}: dim must be an int or a tuple of ints, not {type(dim).__name__}")
    for one in dim:
        bit = <unsigned int>1 << wrap_dim(one, ndim, where)
        if mask & bit:
            raise ShapeError(f"{where}: dimension {one} appears twice in dim={tuple(dim)}; name each dimension once")
        mask |= bit
    return mask if mask else (<unsigned int>1 << ndim) - 1


cdef TensorBase reduced_tensor(int dtype, TensorBase x, unsigned int mask, bint keepdim):
    cdef TensorBase out = reduced_result(dtype, x, mask, keepdim)
    give_memory(out)
    return out


cdef TensorBase reduced_result(int dtype, TensorBase x, unsigned int mask, bint keepdim):
    """A result of x's shape without the reduced dimensions, or (keepdim) with size 1 there; row-major."""
    cdef ssize[MAX_NDIM] sizes
    cdef int i, ndim = 0
    for i in range(x.ndim_):
        if not mask >> i & 1:
            sizes[ndim] = x.sizes[i]
            ndim += 1
        elif keepdim:
            sizes[ndim] = 1
            ndim += 1
    return result_beside(x, dtype, ndim, sizes)


cdef ssize reduced_count(TensorBase x, unsigned int mask) noexcept:
    """How many elements are folded into each total."""
    cdef ssize n = 1
    cdef int i
    for i in range(x.ndim_):
        if mask >> i & 1:
            n *= x.sizes[i]
    return n


# ---------------------------------------------------------------- setting up
cdef void set_up(Reduction* r, TensorBase x, unsigned int mask) noexcept:
    """Describe the reduction of x; the result is row-major over the kept dimensions."""
    cdef ssize* kept[2]
    cdef ssize* reduced = r.reduced_strides
    cdef int i, k = 0, n = 0
    for i in range(x.ndim_):
        if mask >> i & 1:
            r.reduced_sizes[n], r.reduced_strides[n] = x.sizes[i], x.strides[i]
            n += 1
        else:
            r.kept_sizes[k], r.kept_strides[k] = x.sizes[i], x.strides[i]
            k += 1
    contiguous_strides(k, r.kept_sizes, r.out_strides)
    kept[0], kept[1] = r.kept_strides, r.out_strides
    r.kept_ndim = coalesce(k, r.kept_sizes, 2, kept)
    r.reduced_ndim = coalesce(n, r.reduced_sizes, 1, &reduced)
    # A kind without dimensions gets one of size 1, whose stride (never used) makes the other kind the one to read along.
    if r.reduced_ndim == 0:
        r.reduced_ndim = 1
        r.reduced_sizes[0] = 1
        r.reduced_strides[0] = <ssize>1 << 40
    if r.kept_ndim == 0:
        r.kept_ndim = 1
        r.kept_sizes[0] = 1
        r.kept_strides[0] = <ssize>1 << 41
        r.out_strides[0] = 1


# ---------------------------------------------------------------- folding
cdef inline bint reads_columns(Reduction* r) noexcept nogil:
    return r.kept_strides[r.kept_ndim - 1] < r.reduced_strides[r.reduced_ndim - 1]


cdef void fold_plane(Reduction* r, char* x, ssize width, char* totals, const void* extra) noexcept nogil:
    """Fold the last reduced dimension of `width` neighbours in the last kept dimension."""
    cdef char[BUFFER * MAX_ITEMSIZE] buffer
    cdef const Reducer* reducer = r.reducer
    cdef ssize kept_stride = r.kept_strides[r.kept_ndim - 1], stride = r.reduced_strides[r.reduced_ndim - 1]
    cdef ssize n = r.reduced_sizes[r.reduced_ndim - 1], i, j, m
    cdef int size = item_size[r.x_dtype], kernel_size = item_size[reducer.dtype]
    cdef int total_size = item_size[reducer.total_dtype]
    cdef bint same_type = r.x_dtype == reducer.dtype
    if reads_columns(r):
        if same_type and (kept_stride == 1 or width == 1):
            reducer.columns(totals, x, n, stride, width, extra)
            return
        j = 0
        while j < n:
            m = min(BUFFER // width, n - j)
            for i in range(m):
                convert(buffer + i * width * kernel_size, reducer.dtype, 1,
                        x + (j + i) * stride * size, r.x_dtype, kept_stride, width)
            reducer.columns(totals, buffer, m, width, width, extra)
            j += m
    elif same_type and (stride == 1 or n == 1):
        reducer.rows(totals, x, width, kept_stride, n, extra)
    else:
        for i in range(width):
            j = 0
            while j < n:
                m = min(<ssize>BUFFER, n - j)
                convert(buffer, reducer.dtype, 1, x + (i * kept_stride + j * stride) * size, r.x_dtype, stride, m)
                reducer.rows(totals + i * total_size, buffer, 1, 0, m,
                             <char*>extra + i * total_size if r.extra != NULL else extra)
                j += m


cdef void fold_strip(Reduction* r, char* x, ssize width, char* totals, const void* extra) noexcept nogil:
    """Fold all reduced dimensions."""
    cdef IndexCounter at                                # of planes
    cdef int d
    for d in range(r.reduced_ndim):
        if r.reduced_sizes[d] == 0:
            return
    start_counter(&at, r.reduced_ndim - 1, r.reduced_sizes)
    count_along(&at, 0, x, r.reduced_strides, item_size[r.x_dtype])
    while True:
        fold_plane(r, at.data[0], width, totals, extra)
        if not next_index(&at, 1):
            return


cdef void run_part(Reduction* r) noexcept nogil:
    """All totals, strip by strip of the last kept dimension."""
    cdef char[MAX_TOTALS * MAX_ITEMSIZE] totals
    cdef char[MAX_TOTALS * MAX_ITEMSIZE] extra_row
    cdef IndexCounter at                                # of the kept dimensions but for the last
    cdef const Reducer* reducer = r.reducer
    cdef const void* extra = &r.parameter
    cdef int d, last = r.kept_ndim - 1, size = item_size[r.x_dtype], out_size = item_size[r.out_dtype]
    cdef int total_size = item_size[reducer.total_dtype], operands = 2 if r.extra == NULL else 3
    cdef ssize strip = MAX_TOTALS, width, i, j, out_stride = r.out_strides[last]
    if r.kept_strides[last] != 1:
        strip = 256                                     # gathered by columns: 8 rows of a strip fill the buffer
    elif r.x_dtype != reducer.dtype:
        strip = 512                                     # converted row by row: 4 of them fill it
    for d in range(r.kept_ndim):
        if r.kept_sizes[d] == 0:
            return
    start_counter(&at, last, r.kept_sizes)
    count_along(&at, 0, r.x, r.kept_strides, size)
    count_along(&at, 1, r.out, r.out_strides, out_size)
    count_along(&at, 2, r.extra, r.out_strides, total_size)
    while True:
        j = 0
        while j < r.kept_sizes[last]:
            width = min(strip, r.kept_sizes[last] - j)
            for i in range(width):
                memcpy(totals + i * total_size, reducer.start, total_size)
            if r.extra != NULL:
                convert(extra_row, reducer.total_dtype, 1, at.data[2] + j * out_stride * total_size, reducer.total_dtype,
                        out_stride, width)
                extra = extra_row
            fold_strip(r, at.data[0] + j * r.kept_strides[last] * size, width, totals, extra)
            if r.finalize != NULL:
                r.finalize(totals, width, r.parameter)
            convert(at.data[1] + j * out_stride * out_size, r.out_dtype, out_stride, totals, reducer.total_dtype, 1, width)
            j += width
        if not next_index(&at, operands):
            return


# ---------------------------------------------------------------- threads
cdef int largest(const ssize* sizes, int ndim) noexcept nogil:
    cdef int i, best = 0
    for i in range(1, ndim):
        if sizes[i] > sizes[best]:
            best = i
    return best


cdef struct Split:                  # of a reduction over threads
    Reduction* whole
    int dim                         # which is shared out, kept or reduced
    int parts                       # of a reduced dimension,
    char* partials                  # whose totals go here
    ssize count                     # totals of a part


cdef void run_kept_share(void* context, ssize begin, ssize end) noexcept nogil:
    """The totals from `begin` to `end` of a kept dimension."""
    cdef Split* split = <Split*>context
    cdef Reduction r = split.whole[0]
    cdef int d = split.dim
    r.x += begin * r.kept_strides[d] * item_size[r.x_dtype]
    r.out += begin * r.out_strides[d] * item_size[r.out_dtype]
    if r.extra != NULL:
        r.extra += begin * r.out_strides[d] * item_size[r.reducer.total_dtype]
    r.kept_sizes[d] = end - begin
    run_part(&r)


cdef void run_reduced_shares(void* context, ssize begin, ssize end) noexcept nogil:
    """Partial totals over the parts `begin` to `end` of a reduced dimension."""
    cdef Split* split = <Split*>context
    cdef Reduction r
    cdef int d = split.dim
    cdef ssize part, first, n = split.whole.reduced_sizes[d]
    for part in range(begin, end):
        r = split.whole[0]
        first = n * part // split.parts
        r.x += first * r.reduced_strides[d] * item_size[r.x_dtype]
        r.reduced_sizes[d] = n * (part + 1) // split.parts - first
        r.out_dtype = r.reducer.total_dtype
        r.out = split.partials + part * split.count * item_size[r.out_dtype]
        r.finalize = NULL
        run_part(&r)


cdef void merge_shares(Reduction* r, char* partials, int shares, ssize count) noexcept nogil:
    """Fold the partial totals into the first of them, finalize and write the result."""
    cdef int total_size = item_size[r.reducer.total_dtype]
    r.reducer.merge(partials, partials + count * total_size, shares - 1, count, count, &r.parameter)
    if r.finalize != NULL:
        r.finalize(partials, count, r.parameter)
    convert(r.out, r.out_dtype, 1, partials, r.reducer.total_dtype, 1, count)


cdef int run_shares(Reduction* r, int threads, ssize work, ssize count) except -1:
    """Split over threads along the longest dimension that allows it."""
    cdef Split split
    cdef bint by_columns
    cdef ssize n
    split.whole, split.parts, split.count = r, threads, count
    split.dim = largest(r.kept_sizes, r.kept_ndim)
    n = r.kept_sizes[split.dim]
    by_columns = reads_columns(r) and split.dim == r.kept_ndim - 1
    if n >= threads * (64 if by_columns else 1) or count > MAX_TOTALS:
        # Columns are read row by row: a single wide piece for each thread.
        with nogil:
            parallel_for(run_kept_share, &split, n, max(64, n // threads) if by_columns else grain_of(GRAIN, work // n))
        return 0
    split.partials = <char*>malloc(threads * count * item_size[r.reducer.total_dtype])
    if split.partials == NULL:
        raise MemoryError()
    split.dim = largest(r.reduced_sizes, r.reduced_ndim)
    with nogil:
        parallel_for(run_reduced_shares, &split, threads, 1)
        merge_shares(r, split.partials, threads, count)
    free(split.partials)
    return 0


cdef int fold_all(const Reducer* reducer, TensorBase out, TensorBase x, finalize_loop finalize, double parameter) except -1:
    """The short cut: a small row becomes one number. A sum of 8 elements takes an eighth fewer instructions with it."""
    cdef char[MAX_ITEMSIZE] total
    memcpy(total, reducer.start, MAX_ITEMSIZE)
    reducer.rows(total, memory_of(x), 1, 0, x.numel_, &parameter)
    if finalize != NULL:
        finalize(total, 1, parameter)
    convert(memory_of(out), out.dtype_, 1, total, reducer.total_dtype, 1, 1)
    return 0


cdef int run_reduction(const Reducer* reducer, TensorBase out, TensorBase x, unsigned int mask, TensorBase extra,
                       finalize_loop finalize, double parameter) except -1:
    """Reduce the dimensions in `mask` into `out`, a new row-major tensor.

    `extra`, or None, is row-major too, of the totals' type, with one element for each total.
    """
    cdef Reduction r
    cdef int threads
    if reducer.rows == NULL:
        refuse_loop(out.dtype_)
    if (out.numel_ == 1 and x.is_contiguous_ and 0 < x.numel_ < NOGIL_WORK and x.dtype_ == reducer.dtype and extra is None):
        fold_all(reducer, out, x, finalize, parameter)
        return 0
    if x.dtype_ != reducer.dtype or out.dtype_ != reducer.total_dtype:
        check_convertible(reducer.dtype, x.dtype_)
        check_convertible(out.dtype_, reducer.total_dtype)
    r.reducer = reducer
    r.finalize = finalize
    r.parameter = parameter
    r.x = memory_of(x)
    r.x_dtype = x.dtype_
    r.out = memory_of(out)
    r.out_dtype = out.dtype_
    r.extra = memory_of(extra) if extra is not None else NULL
    set_up(&r, x, mask)
    if x.numel_ < NOGIL_WORK:
        run_part(&r)
        return 0
    threads = thread_count(x.numel_, GRAIN)
    if threads == 1:
        with nogil:
            run_part(&r)
        return 0
    return run_shares(&r, threads, x.numel_, out.numel_)

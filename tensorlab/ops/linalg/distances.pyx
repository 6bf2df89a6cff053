"""Distances of the rows of one matrix from the rows of another, without the differences of all pairs in memory.

The rows of the second matrix are laid out column after column, so that a vector holds one feature of several of them. Then it
is subtracted at once from a feature of a row of the first matrix, and the sums of a tile of pairs grow in registers.
"""
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tensorlab._core.dispatch.dispatch cimport run_4
from tensorlab._core.dispatch.layers cimport keys_of
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport is_double, real
from tensorlab._core.graph.graph cimport should_record
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport plain, put_back
from tensorlab._core.loops.parallel cimport grain_of, parallel_for
from tensorlab._core.loops.vectors cimport (
    absolute, all_of, doubles, floats, fused, lanes, root, where_more, where_same
)
from tensorlab._core.tensor cimport TensorBase, memory_of, result_beside
from tensorlab.ops.linalg.matrix_batches cimport batch_shape, expanded, plain_for

from tensorlab.ops.pointwise.selection import masked_fill

cdef enum:
    GRAIN = 1 << 14             # differences that make a thread worth starting
    ROWS = 4                    # of a tile,
    WIDTH = 2                   # and vectors of columns: their eight sums keep both adders of a processor busy
    INFINITE = 3                # the norm: 1, 2 or this one


# ---------------------------------------------------------------- loops
cdef struct Distances:
    char* x1
    char* x2
    char* out
    ssize rows_1
    ssize rows_2
    ssize features
    int norm
    bint is_double
    bint out_of_memory


cdef inline lanes with_difference(lanes total, lanes difference, int norm) noexcept nogil:
    """The sum of squares or of sizes, or the largest size. A size of nan is taken, and then stays, as none is more."""
    cdef lanes size
    if norm == 2:
        return fused(difference, difference, total)
    size = absolute(difference)
    if norm == 1:
        return total + size
    return where_same(size, size, where_more(size, total, size, total), size)


cdef inline void tile(lanes* columns, real* x, ssize x_step, real* out, ssize out_step, ssize features, int norm, ssize rows,
                      ssize count) noexcept nogil:
    """Distances of `rows` rows from `count` columns; where there are fewer rows, the last one is computed again."""
    cdef lanes[ROWS * WIDTH] totals
    cdef lanes left, right, x_f
    cdef real* row[ROWS]
    cdef ssize f
    cdef int r, w
    for r in range(ROWS):
        row[r] = x + min(<ssize>r, rows - 1) * x_step
        for w in range(WIDTH):
            totals[r * WIDTH + w] = all_of(0, columns)
    for f in range(features):
        left, right = columns[f * WIDTH], columns[f * WIDTH + 1]
        for r in range(ROWS):
            x_f = all_of(row[r][f], columns)
            totals[r * WIDTH] = with_difference(totals[r * WIDTH], x_f - left, norm)
            totals[r * WIDTH + 1] = with_difference(totals[r * WIDTH + 1], x_f - right, norm)
    for r in range(ROWS):
        if r < rows:
            for w in range(WIDTH):
                if norm == 2:
                    totals[r * WIDTH + w] = root(totals[r * WIDTH + w])
            memcpy(out + r * out_step, totals + r * WIDTH, count * sizeof(real))


cdef void some_tiles(lanes* columns, real* x, Distances* job, real* out, ssize first, ssize last, ssize count) noexcept nogil:
    """All groups of rows from `first` to before `last`, by one block of columns."""
    cdef ssize k, i, rows, n = job.features
    for k in range(first, last):
        i = k * ROWS
        rows = min(<ssize>ROWS, job.rows_1 - i)
        if job.norm == 2:                               # the compiler makes a loop of its own of each
            tile(columns, x + i * n, n, out + i * job.rows_2, job.rows_2, n, 2, rows, count)
        elif job.norm == 1:
            tile(columns, x + i * n, n, out + i * job.rows_2, job.rows_2, n, 1, rows, count)
        else:
            tile(columns, x + i * n, n, out + i * job.rows_2, job.rows_2, n, INFINITE, rows, count)


cdef void measure_as(Distances* job, ssize begin, ssize end, lanes* columns, real* as_this) noexcept nogil:
    """Groups of rows, counted through all batches. The columns that a block has too many are zeros."""
    cdef ssize width = WIDTH * sizeof(lanes) // sizeof(real), n = job.features
    cdef ssize groups = (job.rows_1 + ROWS - 1) // ROWS, group = begin, batch, first, last, j, f, c, count
    cdef real* packed = <real*>columns
    cdef real* x2
    cdef real* out
    while group < end:
        batch, first = group // groups, group % groups
        last = min(groups, first + end - group)
        x2 = <real*>job.x2 + batch * job.rows_2 * n
        out = <real*>job.out + batch * job.rows_1 * job.rows_2
        j = 0
        while j < job.rows_2:
            count = min(width, job.rows_2 - j)
            for c in range(width):
                for f in range(n):
                    packed[f * width + c] = x2[(j + c) * n + f] if c < count else 0
            some_tiles(columns, <real*>job.x1 + batch * job.rows_1 * n, job, out + j, first, last, count)
            j += width
        group += last - first


cdef void measure(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Distances* job = <Distances*>context
    cdef void* columns = malloc(max(<ssize>1, job.features) * WIDTH * sizeof(floats))
    if columns == NULL:
        job.out_of_memory = True
    elif job.is_double:
        measure_as(job, begin, end, <doubles*>columns, <double*>NULL)
    else:
        measure_as(job, begin, end, <floats*>columns, <float*>NULL)
    free(columns)


# ---------------------------------------------------------------- cdist
cdef Op CDIST = Op("_cdist_forward(Tensor x1, Tensor x2, float p, bool by_products) -> Tensor", aten=None, node="CdistBackward0")

@CDIST.infer
def cdist_infer(TensorBase x1, TensorBase x2, double p, by_products):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = batch_shape("cdist", x1, 2, x2, 2, sizes)
    sizes[ndim], sizes[ndim + 1] = x1.sizes[x1.ndim_ - 2], x2.sizes[x2.ndim_ - 2]
    return result_beside(x1, x1.dtype_, ndim + 2, sizes)

@CDIST.kernel
def cdist_kernel(TensorBase out, TensorBase x1, TensorBase x2, double p, bint by_products):
    cdef TensorBase target = plain_for(out)
    cdef int ndim = out.ndim_ - 2
    cdef Distances job
    cdef ssize count
    if out.numel_ == 0:
        return
    x1, x2 = plain(expanded(x1, 2, ndim, out.sizes)), plain(expanded(x2, 2, ndim, out.sizes))
    job.x1, job.x2, job.out = memory_of(x1), memory_of(x2), memory_of(target)
    job.rows_1, job.rows_2, job.features = x1.sizes[ndim], x2.sizes[ndim], x1.sizes[ndim + 1]
    job.norm = 1 if p == 1 else 2 if p == 2 else INFINITE
    job.is_double, job.out_of_memory = is_double(x1.dtype_), False
    count = out.numel_ // (job.rows_1 * job.rows_2) * ((job.rows_1 + ROWS - 1) // ROWS)
    with nogil:
        parallel_for(measure, &job, count, grain_of(GRAIN, ROWS * job.rows_2 * max(<ssize>1, job.features)))
    if job.out_of_memory:
        raise MemoryError()
    put_back(out, target)

@CDIST.derivative("x1", "x2")
def cdist_derivative(grad, x1, x2, out, by_products, wanted):
    """Of Euclidean distances: a pair's share is grad * (x1 - x2) / distance, and 0 where that is 0.

    Summed up `by_products` of matrices, it loses digits of differences that are small next to the rows, but holds no differences.
    """
    is_zero = out == 0
    shares = masked_fill(grad / masked_fill(out, is_zero, 1), is_zero, 0)
    grad_1 = grad_2 = None
    if by_products:
        if wanted[0]:
            grad_1 = x1 * shares.sum(-1, True) - shares @ x2
        if wanted[1]:
            grad_2 = x2 * shares.sum(-2).unsqueeze(-1) - shares.mT @ x1
    else:
        parts = shares.unsqueeze(-1) * (x1.unsqueeze(-2) - x2.unsqueeze(-3))
        grad_1, grad_2 = parts.sum(-2), -parts.sum(-3)
    return (None if grad_1 is None else grad_1.sum_to_size(x1.shape),
            None if grad_2 is None else grad_2.sum_to_size(x2.shape))


def has_fast_loop(TensorBase x1 not None, TensorBase x2 not None, p):
    """Is there a loop for this norm, and if need be its derivative?"""
    may_be_followed = should_record(x1) or should_record(x2) or keys_of(x1) or keys_of(x2)
    return p == 2 or (p in (1, float("inf")) and not may_be_followed)


def distances_between(TensorBase x1 not None, TensorBase x2 not None, double p, bint by_products):
    """The distances of each row of x1 from each of x2, which have been checked."""
    return run_4(CDIST, x1, x2, p, by_products)

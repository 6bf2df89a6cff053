"""Sums, means and maxima over bags of rows of a table: embedding_bag, which never holds the rows side by side.

    embedding_bag       out[b, :] = sum of factor[k] * weight[indices[k], :] over the places k of bag b

Bag b is the places from offsets[b] to before offsets[b + 1]. The gradients of table and factors have the same form: the one
adds multiples of out's gradient to rows, the other multiplies it with rows. So the three ops below are one another's
derivatives, of every order. A maximum is a gather: only the rows that it comes from are sought here.
"""
import warnings

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from tensorlab._core.dispatch.dispatch cimport run_2, run_4, run_5, run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype, check_same_place
from tensorlab._core.dtypes cimport FLOATING, INT64, is_double, is_in, kernel_dtype, real
from tensorlab._core.graph.graph cimport ndim_of, should_record
from tensorlab._core.layout cimport shape_text, ssize
from tensorlab._core.loops.iterator cimport plain, plain_result, put_back
from tensorlab._core.loops.parallel cimport grain_of, parallel_for
from tensorlab._core.tensor cimport TensorBase, empty_beside, is_meta, memory_of, result_beside
from tensorlab.ops.filling cimport fill_zero, refuse_negative
from tensorlab.ops.inner_loops cimport sum_of_products
from tensorlab.ops.indexing.index_along_dim cimport index_vector, select_forward
from tensorlab.ops.indexing.index_iterator cimport fetch_early
from tensorlab.ops.indexing.embedding cimport EMBEDDING_USES, row_number, shorten_rows
from tensorlab.ops.sparse.methods cimport with_sparse_gradient

from tensorlab.errors import DTypeError, ShapeError, SliceOutOfRange
from tensorlab.ops.indexing.gather import gather
from tensorlab.ops.ranges import arange
from tensorlab.ops.searching import searchsorted

cdef enum:
    AHEAD = 12                  # places between the prefetch of a row and its sum
    GRAIN = 16384               # numbers that make a thread worth starting

cdef struct Bags:
    const int64_t* index        # the row at each place
    const int64_t* start        # bag b is the places from start[b] to before start[b + 1]
    ssize bags
    ssize rows
    ssize width
    ssize padding               # the row that is left out, or -1
    ssize bad                   # a place whose index is no row, or -1
    bint mean
    bint is_double
    bint by_place               # the table holds the rows as the places name them, not by number
    void* table
    void* factor                # of each place, or NULL
    void* grad                  # of the result: a row for each bag
    void* out
    int64_t* found              # the row of each number of out, for the largest
    void* loop                  # a bags_loop, of the type of out

ctypedef void (*bags_loop)(void* out, Bags* job, ssize begin, ssize end) noexcept nogil


# ---------------------------------------------------------------- arguments
cdef TensorBase starts_of(TensorBase offsets, ssize places):
    """The offsets and behind them the number of places, checked in a copy that no other thread writes to."""
    cdef TensorBase starts, given = index_vector(offsets, "embedding_bag")
    cdef ssize b, n = given.numel_, size = n + 1
    cdef int64_t* start
    starts = empty_beside(given, INT64, 1, &size)
    start = <int64_t*>memory_of(starts)
    memcpy(start, memory_of(given), n * sizeof(int64_t))
    start[n] = places
    if n > 0 and start[0] != 0:
        raise ShapeError(f"embedding_bag: offsets begin with {start[0]}; expected 0, where the first index is")
    for b in range(n):
        if start[b] > start[b + 1]:
            raise ShapeError(f"embedding_bag: offset {b} is {start[b]}, which is more than what follows, {start[b + 1]}; "
                             f"expected numbers that do not fall, up to {places}, the number of indices")
    return starts


cdef int check_bags(TensorBase rows, TensorBase indices, TensorBase offsets, TensorBase factors) except -1:
    """`rows` is the table, or the gradient of the result."""
    if rows.ndim_ != 2:
        raise ShapeError(f"embedding_bag: the weight must be a matrix, not of shape {shape_text(rows.ndim_, rows.sizes)}")
    check_dtype("embedding_bag", rows, FLOATING)
    check_same_place(rows, indices, "embedding_bag")
    check_same_place(rows, offsets, "embedding_bag")
    if indices.ndim_ != 1 or offsets.ndim_ != 1:
        raise ShapeError(f"embedding_bag: indices and offsets have shapes {shape_text(indices.ndim_, indices.sizes)} and "
                         f"{shape_text(offsets.ndim_, offsets.sizes)}; expected two vectors")
    if factors is None:
        return 0
    check_same_place(rows, factors, "embedding_bag")
    if factors.ndim_ != 1 or factors.numel_ != indices.numel_:
        raise ShapeError(f"embedding_bag: per_sample_weights have shape {shape_text(factors.ndim_, factors.sizes)}; expected "
                         f"one for each of {indices.numel_} indices")
    if factors.dtype_ != rows.dtype_:
        raise DTypeError(f"embedding_bag: per_sample_weights have type {factors.dtype} and the weight {rows.dtype}; convert one "
                         f"of them with .to()")
    return 0


cdef int check_gradient(TensorBase grad, TensorBase offsets) except -1:
    if grad.sizes[0] != offsets.numel_:
        raise ShapeError(f"embedding_bag: the gradient has shape {shape_text(grad.ndim_, grad.sizes)}; expected a row for each "
                         f"of {offsets.numel_} bags")
    return 0


cdef TensorBase rows_to_read(TensorBase weight, TensorBase index, Bags* job):
    """The table; of one of a half type only the rows that are read, so that not all of it is converted."""
    job.by_place = kernel_dtype(weight.dtype_) != weight.dtype_
    return plain(select_forward(weight, 0, index, "embedding_bag") if job.by_place else weight)


cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Bags* job = <Bags*>context
    (<bags_loop>job.loop)(job.out, job, begin, end)


cdef int run_bags(Bags* job, void* loop, ssize count, TensorBase index) except -1:
    """All bags, or rows, split over threads."""
    cdef ssize each = job.width * (index.numel_ // count + 1) if count else 1
    job.loop, job.bad = loop, -1
    with nogil:
        parallel_for(run_share, job, count, grain_of(GRAIN, each))
    if job.bad >= 0:
        raise SliceOutOfRange(f"embedding_bag: the index at place {job.bad} is {job.index[job.bad]}, which is no row of a table "
                              f"of {job.rows} rows")
    return 0


# ---------------------------------------------------------------- loops
cdef inline ssize row_at(Bags* job, ssize k) noexcept nogil:
    """The row of place k; -1 for the padding and for what is no row, which is noted."""
    cdef int64_t at = job.index[k]
    if <uint64_t>at >= <uint64_t>job.rows:
        job.bad = k
        return -1
    return -1 if at == job.padding else at

cdef inline void add_row(real* to, real* x, real factor, ssize n) noexcept nogil:
    if factor == 1:
        for i in range(n):
            to[i] += x[i]
    else:
        for i in range(n):
            to[i] += factor * x[i]

cdef void sum_rows(real* out, Bags* job, ssize begin, ssize end) noexcept nogil:
    """The result of some bags."""
    cdef real* table = <real*>job.table
    cdef real* factor = <real*>job.factor
    cdef real* to
    cdef ssize b, k, i, at, count, places = job.start[job.bags]
    for b in range(begin, end):
        to = out + b * job.width
        memset(to, 0, job.width * sizeof(real))
        count = 0
        for k in range(job.start[b], job.start[b + 1]):
            at = row_at(job, k)
            if k + AHEAD < places and not job.by_place:
                fetch_early(table + job.index[k + AHEAD] * job.width, job.width * sizeof(real))
            if at >= 0:
                count += 1
                add_row(to, table + (k if job.by_place else at) * job.width, factor[k] if factor != NULL else 1, job.width)
        if job.mean and count > 1:
            for i in range(job.width):
                to[i] /= count

cdef void add_to_rows(real* out, Bags* job, ssize begin, ssize end) noexcept nogil:
    """The gradient of the table's rows from `begin` to before `end`, by what reads them in any bag."""
    cdef real* grad = <real*>job.grad
    cdef real* factor = <real*>job.factor
    cdef real share = 1
    cdef ssize b, k, at, count
    for b in range(job.bags):
        if job.mean:
            count = 0
            for k in range(job.start[b], job.start[b + 1]):
                count += row_at(job, k) >= 0
            share = <real>1 / count if count > 1 else 1
        for k in range(job.start[b], job.start[b + 1]):
            at = row_at(job, k)
            if begin <= at < end:
                add_row(out + at * job.width, grad + b * job.width, factor[k] if factor != NULL else share, job.width)

cdef void multiply_rows(real* out, Bags* job, ssize begin, ssize end) noexcept nogil:
    """The gradient of the factors in some bags."""
    cdef real* table = <real*>job.table
    cdef real* grad = <real*>job.grad
    cdef ssize b, k, at
    for b in range(begin, end):
        for k in range(job.start[b], job.start[b + 1]):
            at = row_at(job, k)
            if at < 0:
                out[k] = 0
            else:
                out[k] = sum_of_products(grad + b * job.width, table + (k if job.by_place else at) * job.width, job.width)

cdef void seek_largest(real* best, Bags* job, ssize begin, ssize end) noexcept nogil:
    """The row of each column's largest number in some bags, the first of equal ones; -1 in bags without rows."""
    cdef real* table = <real*>job.table
    cdef real* x
    cdef int64_t* rows = job.found
    cdef ssize b, k, i, at, to
    cdef bint is_first
    for b in range(begin, end):
        to = b * job.width
        for i in range(to, to + job.width):
            rows[i] = -1
        is_first = True
        for k in range(job.start[b], job.start[b + 1]):
            at = row_at(job, k)
            if at < 0:
                continue
            x = table + (k if job.by_place else at) * job.width
            for i in range(job.width):
                if is_first or x[i] > best[to + i]:
                    best[to + i] = x[i]
                    rows[to + i] = at
            is_first = False


cdef TensorBase begin_job(Bags* job, TensorBase rows, TensorBase indices, TensorBase offsets, ssize count, ssize padding):
    """Fill in what all passes need. Returns the starts, which must live as long as the job."""
    cdef TensorBase starts = starts_of(offsets, indices.numel_)
    memset(job, 0, sizeof(Bags))
    job.index, job.start = <const int64_t*>memory_of(indices), <const int64_t*>memory_of(starts)
    job.bags, job.rows, job.width, job.padding = offsets.numel_, count, rows.sizes[1], padding
    job.is_double = is_double(kernel_dtype(rows.dtype_))
    return starts


# ---------------------------------------------------------------- embedding_bag
cdef Op EMBEDDING_BAG = Op("embedding_bag(Tensor weight, Tensor indices, Tensor offsets, Tensor? per_sample_weights=None, "
                           "bool mean=False, int padding_idx=-1, bool scale_grad_by_freq=False) -> Tensor",
                           aten=None, checks_values=True)

@EMBEDDING_BAG.derivative("weight")
def embedding_bag_derivative(grad, indices, offsets, per_sample_weights, mean, padding_idx, scale_grad_by_freq, weight_shape):
    arguments = grad, indices, offsets, per_sample_weights, weight_shape[0], mean, padding_idx
    grad_weight = run_tuple(EMBEDDING_BAG_BACKWARD, arguments)
    return grad_weight / run_2(EMBEDDING_USES, indices, weight_shape[0]) if scale_grad_by_freq else grad_weight

@EMBEDDING_BAG.derivative("per_sample_weights")
def embedding_bag_derivative_weights(grad, weight, indices, offsets, padding_idx):
    return run_5(EMBEDDING_BAG_WEIGHTS_BACKWARD, grad, weight, indices, offsets, padding_idx)

@EMBEDDING_BAG.infer
def embedding_bag_infer(TensorBase weight, TensorBase indices, TensorBase offsets, TensorBase per_sample_weights, mean,
                        padding_idx, scale_grad_by_freq):
    cdef ssize[2] sizes
    check_bags(weight, indices, offsets, per_sample_weights)
    sizes[0], sizes[1] = offsets.numel_, weight.sizes[1]
    return result_beside(weight, weight.dtype_, 2, sizes)

@EMBEDDING_BAG.kernel
def embedding_bag_kernel(TensorBase out, TensorBase weight, TensorBase indices, TensorBase offsets,
                         TensorBase per_sample_weights, bint mean, padding_idx, scale_grad_by_freq):
    cdef Bags job
    cdef TensorBase _starts, table, factors, index, sums = plain_result(out)
    index = index_vector(indices, "embedding_bag")
    _starts = begin_job(&job, weight, index, offsets, weight.sizes[0], padding_idx)
    table, factors = rows_to_read(weight, index, &job), plain(per_sample_weights)
    job.mean, job.table, job.out = mean, memory_of(table), memory_of(sums)
    job.factor = memory_of(factors) if factors is not None else NULL
    run_bags(&job, <void*>sum_rows[double] if job.is_double else <void*>sum_rows[float], job.bags, index)
    put_back(out, sums)


# ---------------------------------------------------------------- embedding_bag_backward
cdef Op EMBEDDING_BAG_BACKWARD = Op("embedding_bag_backward(Tensor grad_out, Tensor indices, Tensor offsets, "
                                    "Tensor? per_sample_weights, int rows, bool mean=False, int padding_idx=-1) -> Tensor")

@EMBEDDING_BAG_BACKWARD.derivative("grad_out")
def embedding_bag_backward_derivative(grad, indices, offsets, per_sample_weights, mean, padding_idx):
    return run_tuple(EMBEDDING_BAG, (grad, indices, offsets, per_sample_weights, mean, padding_idx, False))

@EMBEDDING_BAG_BACKWARD.derivative("per_sample_weights")
def embedding_bag_backward_derivative_weights(grad, grad_out, indices, offsets, padding_idx):
    return run_5(EMBEDDING_BAG_WEIGHTS_BACKWARD, grad_out, grad, indices, offsets, padding_idx)

@EMBEDDING_BAG_BACKWARD.infer
def embedding_bag_backward_infer(TensorBase grad_out, TensorBase indices, TensorBase offsets, TensorBase per_sample_weights,
                                 rows, mean, padding_idx):
    cdef ssize[2] sizes
    check_bags(grad_out, indices, offsets, per_sample_weights)
    check_gradient(grad_out, offsets)
    sizes[0], sizes[1] = rows, grad_out.sizes[1]
    refuse_negative(2, sizes)
    return result_beside(grad_out, grad_out.dtype_, 2, sizes)

@EMBEDDING_BAG_BACKWARD.kernel
def embedding_bag_backward_kernel(TensorBase out, TensorBase grad_out, TensorBase indices, TensorBase offsets,
                                  TensorBase per_sample_weights, rows, bint mean, padding_idx):
    cdef Bags job
    cdef TensorBase _starts, grad, factors, index, sums = plain_result(out)
    fill_zero(sums)
    index = index_vector(indices, "embedding_bag")
    _starts = begin_job(&job, grad_out, index, offsets, out.sizes[0], padding_idx)
    grad, factors = plain(grad_out), plain(per_sample_weights)
    job.mean, job.grad, job.out = mean, memory_of(grad), memory_of(sums)
    job.factor = memory_of(factors) if factors is not None else NULL
    run_bags(&job, <void*>add_to_rows[double] if job.is_double else <void*>add_to_rows[float], job.rows, index)
    put_back(out, sums)


# ---------------------------------------------------------------- embedding_bag_weights_backward
cdef Op EMBEDDING_BAG_WEIGHTS_BACKWARD = Op("embedding_bag_weights_backward(Tensor grad_out, Tensor weight, Tensor indices, "
                                            "Tensor offsets, int padding_idx=-1) -> Tensor")

@EMBEDDING_BAG_WEIGHTS_BACKWARD.derivative("grad_out")
def embedding_bag_weights_backward_derivative(grad, weight, indices, offsets, padding_idx):
    return run_tuple(EMBEDDING_BAG, (weight, indices, offsets, grad, False, padding_idx, False))

@EMBEDDING_BAG_WEIGHTS_BACKWARD.derivative("weight")
def embedding_bag_weights_backward_derivative_weight(grad, grad_out, indices, offsets, padding_idx, weight_shape):
    return run_tuple(EMBEDDING_BAG_BACKWARD, (grad_out, indices, offsets, grad, weight_shape[0], False, padding_idx))

@EMBEDDING_BAG_WEIGHTS_BACKWARD.infer
def embedding_bag_weights_backward_infer(TensorBase grad_out, TensorBase weight, TensorBase indices, TensorBase offsets,
                                         padding_idx):
    check_bags(weight, indices, offsets, None)
    check_bags(grad_out, indices, offsets, None)
    check_gradient(grad_out, offsets)
    if grad_out.sizes[1] != weight.sizes[1] or grad_out.dtype_ != weight.dtype_:
        raise ShapeError(f"embedding_bag: the gradient has shape {shape_text(2, grad_out.sizes)} and type {grad_out.dtype}; "
                         f"expected the width, {weight.sizes[1]}, and type of the weight, {weight.dtype}")
    return result_beside(weight, weight.dtype_, 1, indices.sizes)

@EMBEDDING_BAG_WEIGHTS_BACKWARD.kernel
def embedding_bag_weights_backward_kernel(TensorBase out, TensorBase grad_out, TensorBase weight, TensorBase indices,
                                          TensorBase offsets, padding_idx):
    cdef Bags job
    cdef TensorBase _starts, table, grad, index, sums = plain_result(out)
    index = index_vector(indices, "embedding_bag")
    _starts = begin_job(&job, weight, index, offsets, weight.sizes[0], padding_idx)
    table, grad = rows_to_read(weight, index, &job), plain(grad_out)
    job.table, job.grad, job.out = memory_of(table), memory_of(grad), memory_of(sums)
    run_bags(&job, <void*>multiply_rows[double] if job.is_double else <void*>multiply_rows[float], job.bags, index)
    put_back(out, sums)


# ---------------------------------------------------------------- embedding_bag_largest
cdef Op EMBEDDING_BAG_LARGEST = Op("embedding_bag_largest(Tensor weight, Tensor indices, Tensor offsets, int padding_idx=-1) "
                                   "-> Tensor", aten=None)

@EMBEDDING_BAG_LARGEST.infer
def embedding_bag_largest_infer(TensorBase weight, TensorBase indices, TensorBase offsets, padding_idx):
    cdef ssize[2] sizes
    check_bags(weight, indices, offsets, None)
    sizes[0], sizes[1] = offsets.numel_, weight.sizes[1]
    return result_beside(weight, INT64, 2, sizes)

@EMBEDDING_BAG_LARGEST.kernel
def embedding_bag_largest_kernel(TensorBase rows, TensorBase weight, TensorBase indices, TensorBase offsets, padding_idx):
    cdef Bags job
    cdef TensorBase _starts, table, best, index
    index = index_vector(indices, "embedding_bag")
    _starts = begin_job(&job, weight, index, offsets, weight.sizes[0], padding_idx)
    table = rows_to_read(weight, index, &job)
    best = empty_beside(rows, table.dtype_, 2, rows.sizes)
    job.table, job.out, job.found = memory_of(table), memory_of(best), <int64_t*>memory_of(rows)
    run_bags(&job, <void*>seek_largest[double] if job.is_double else <void*>seek_largest[float], job.bags, index)


# ---------------------------------------------------------------- the public function
cdef object read_bags(TensorBase input, object offsets, bint include_last_offset):
    """Indices as a vector, and where in it each bag begins."""
    cdef ssize bags
    if input.ndim_ == 2:
        if offsets is not None:
            raise ValueError(f"embedding_bag: the input has shape {shape_text(2, input.sizes)}, a bag in each row; expected "
                             f"no offsets, which say where bags begin in a vector")
        starts = arange(input.sizes[0], device=input.device) * input.sizes[1]
        return (<object>input).reshape(-1), starts
    if input.ndim_ != 1:
        raise ValueError(f"embedding_bag: the input has shape {shape_text(input.ndim_, input.sizes)}; expected one or two "
                         f"dimensions")
    if not isinstance(offsets, TensorBase) or ndim_of(offsets) != 1:
        raise ValueError("embedding_bag: the input is a vector; expected offsets, a vector of where each bag begins in it")
    if not include_last_offset:
        return input, offsets
    bags = (<TensorBase>offsets).numel_ - 1
    if bags < 0:
        raise ShapeError("embedding_bag: offsets are empty; with include_last_offset at least one is needed")
    if not is_meta(offsets) and offsets[bags].item() > input.numel_:
        raise ShapeError(f"embedding_bag: the last offset is {offsets[bags].item()}; expected at most {input.numel_}, the number "
                         f"of indices")
    return input, offsets[:bags]


cdef object bag_sparse(TensorBase weight, TensorBase indices, TensorBase offsets, object factors, bint is_mean, ssize padding,
                       bint scale_grad_by_freq):
    """The sum or mean of each bag, with a sparse gradient of the table."""
    out = run_tuple(EMBEDDING_BAG, (weight.detach(), indices, offsets, factors, is_mean, padding, False))

    def rows_of(grad):
        if scale_grad_by_freq:
            raise RuntimeError("embedding_bag: scale_grad_by_freq not supported with sparse gradients; give sparse=False")
        places = arange(indices.numel_, device=indices.device)
        bag = searchsorted(offsets.contiguous(), places.to(offsets.dtype), right=True) - 1
        rows = grad[bag]
        if is_mean:
            counts = (bag.new_ones(bag.shape) if padding < 0 else (<object>indices != padding).long())
            sizes = bag.new_zeros(offsets.numel_).index_add(0, bag, counts).clamp_min(1)
            rows = rows / sizes[bag].unsqueeze(1)
        return rows if factors is None else rows * factors.unsqueeze(1)

    return with_sparse_gradient(weight, out, indices, padding, rows_of)


def embedding_bag(TensorBase input not None, TensorBase weight not None, offsets=None, max_norm=None, double norm_type=2.0,
                  bint scale_grad_by_freq=False, mode="mean", bint sparse=False, per_sample_weights=None,
                  bint include_last_offset=False, padding_idx=None):
    """The sum, mean or maximum of each bag of rows of a table, in one pass.

    Parameters
    ----------
    input : Tensor of int64 or int32, shape (bags, places), or (places,) with offsets: the rows
    weight : Tensor, shape (rows, width), floating
    offsets : Tensor of int64 or int32, shape (bags,): where each bag begins in a vector of rows
    max_norm : float; rows that are used and have a larger norm are first scaled down to it, in place
    norm_type : float, the p of that norm
    scale_grad_by_freq : bool; divide each row's gradient by how often it was used; not for "max"
    mode : "sum", "mean" or "max"
    sparse : bool; the gradient of the table is a tensor of layout sparse_coo that holds the rows that were used; not for
        "max"
    per_sample_weights : Tensor, of the shape of input and the type of weight: factors of a "sum"
    include_last_offset : bool; offsets have one more number behind, the length of the input
    padding_idx : int; this row is left out of its bags, and gets no gradient

    Returns
    -------
    Tensor, shape (bags, width); a bag without rows gives zeros

    Raises
    ------
    ValueError
        If the arguments do not go together.
    ShapeError
        If offsets do not rise from 0 to the number of indices.
    SliceOutOfRange
        If a number is no row of the table.

    >>> import tensorlab
    >>> table = tensorlab.tensor([[1., 2.], [3., 4.], [5., 6.]])
    >>> rows, offsets = tensorlab.tensor([0, 1, 2, 2]), tensorlab.tensor([0, 3])
    >>> tensorlab.nn.functional.embedding_bag(rows, table, offsets)
    tensor([[3., 4.],
            [5., 6.]])
    """
    cdef ssize padding = -1
    if weight.dtype_ == INT64 and is_in(input.dtype_, FLOATING):
        warnings.warn("embedding_bag: the weight came first, as in old programs; give the input first", stacklevel=1)
        input, weight = weight, input
    if ndim_of(weight) != 2:
        raise ValueError(f"embedding_bag: the weight must be a matrix, not of shape {shape_text(weight.ndim_, weight.sizes)}")
    ndim_of(input)
    if per_sample_weights is not None:
        if per_sample_weights.shape != input.shape:
            raise ValueError(f"embedding_bag: per_sample_weights have shape {tuple(per_sample_weights.shape)}; expected that "
                             f"of the input, {shape_text(input.ndim_, input.sizes)}")
        if mode in ("mean", "max"):
            raise NotImplementedError(f"embedding_bag: per_sample_weights are for mode='sum', not {mode!r}")
        per_sample_weights = per_sample_weights.reshape(-1) if input.ndim_ == 2 else per_sample_weights
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode is {mode!r}; expected 'sum', 'mean' or 'max'")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError("embedding_bag: mode='max' goes with neither scale_grad_by_freq nor sparse; leave them out")
    if padding_idx is not None:
        padding = row_number(weight, padding_idx, ShapeError, "embedding_bag")
    input, offsets = read_bags(input, offsets, include_last_offset)
    if max_norm is not None:
        shorten_rows(weight, input, max_norm, norm_type, "embedding_bag")
    if sparse and should_record(weight):
        return bag_sparse(weight, input, offsets, per_sample_weights, mode == "mean", padding, scale_grad_by_freq)
    if mode != "max":
        return run_tuple(EMBEDDING_BAG, (weight, input, offsets, per_sample_weights, mode == "mean", padding,
                                         scale_grad_by_freq))
    rows = run_4(EMBEDDING_BAG_LARGEST, weight, input, offsets, padding)
    return gather(weight, 0, rows.clamp_min(0)).masked_fill(rows < 0, 0)

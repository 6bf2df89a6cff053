"""Attention in blocks: softmax(q @ k' * scale + mask) @ v, without ever keeping all scores.

A block of scores, ROWS queries by COLUMNS keys, is computed, used and forgotten; it stays in the cache. What a softmax needs of
a whole row it gets as it goes along the blocks of keys: the largest score so far, m, and the sum of exp(score - m). When
a block brings a larger score m', what was summed before is multiplied by exp(m - m'):

    out_i  =  (out_i * exp(m - m')  +  exp(scores - m') @ v_block)        divided by the sum at the end

Forward keeps one number of each row, its logsumexp m + log(sum), which is enough to compute a weight again: it is
exp(score - logsumexp). So memory grows with the length, not with its square, and backward, too, goes from block to block:

    weights = exp(q_i @ k_j' * scale + mask - logsumexp)          grad_v_j += weights' @ grad_i
    grad_scores = weights * (grad_i @ v_j' - sum(grad_i * out_i))  grad_q_i += grad_scores @ k_j * scale
                                                                   grad_k_j += grad_scores' @ q_i * scale

The products are BLAS's, threads share batches and heads. Source: Dao et al. 2022, "FlashAttention: Fast and
Memory-Efficient Exact Attention with IO-Awareness", algorithm 1; Milakov and Gimelshein 2018, "Online normalizer
calculation for softmax", algorithm 3.
"""
from libc.stdint cimport uint8_t

cimport tensorlab._core.loops.tl_math as tl_math
from tensorlab._core.dispatch.dispatch cimport run_tuple
from tensorlab._core.dispatch.levels cimport will_differentiate_again
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_same_place, same_numbers
from tensorlab._core.dtypes cimport BOOL, FLOAT32, FLOAT64, item_size, real
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize
from tensorlab._core.loops.iterator cimport contiguous_copy
from tensorlab._core.loops.loop_nest cimport (
    IndexCounter, count_along, skip_indices, start_counter, start_like
)
from tensorlab._core.loops.parallel cimport parallel_for, thread_count
from tensorlab._core.tensor cimport TensorBase, alias, empty_beside, give_memory, is_meta, memory_of, result_beside, result_like
from tensorlab.ops.filling cimport fill_zero
from tensorlab.ops.inner_loops cimport INFINITY, exp_nonpositive, exp_shifted, largest, pairwise_sum, sum_of_products
from tensorlab.ops.linalg.blas cimport multiply_one, set_matrix
from tensorlab.ops.linalg.blas_library cimport hold_blas, load_blas, release_blas
from tensorlab.ops.linalg.product_loops cimport Matrix

from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.attention_formula import attention_gradients

cdef enum:
    ROWS = 128                  # queries and keys of a block
    COLUMNS = 128
    GRAIN = 1 << 17             # multiplications that make a thread worth starting
    PIECES = 4                  # of each thread, for others to take
    Q = 0                       # operands of one index over the batch, in order
    K = 1
    V = 2
    OUT = 3
    MASK = 4
    GRAD_Q = 0
    GRAD_K = 1
    GRAD_V = 2
    GRAD = 3

cdef struct Mask:               # of one head; `data` is NULL without
    char* data
    bint is_bool
    ssize row_stride            # elements
    ssize column_stride

cdef struct Head:               # the matrices of one head, (queries or keys, features)
    Matrix q
    Matrix k
    Matrix v
    Matrix out
    Matrix grad
    Matrix grad_q
    Matrix grad_k
    Matrix grad_v
    Mask mask
    ssize first                 # among all queries, the first of q

cdef struct Attention:
    int dtype
    double scale
    bint is_causal
    ssize heads                 # of all batches
    ssize row_blocks            # of each head
    ssize pieces                # that threads share
    Head first                  # of the first batch
    IndexCounter at             # over the batch: q, k, v, out and mask,
    IndexCounter grads_at       # and the gradients
    char* logsumexp             # (heads, queries), contiguous
    char* scratch               # room of `room` bytes for each piece
    ssize room


# ---------------------------------------------------------------- matrices
cdef inline Matrix rows_of(Matrix whole, ssize begin, ssize end, int size) noexcept nogil:
    whole.data += begin * whole.row_stride * size
    whole.rows = end - begin
    return whole

cdef inline Matrix flipped(Matrix a) noexcept nogil:
    """The transpose."""
    a.rows, a.columns = a.columns, a.rows
    a.row_stride, a.column_stride = a.column_stride, a.row_stride
    return a

cdef inline Matrix block_at(real* data, ssize rows, ssize columns) noexcept nogil:
    """A block of scores."""
    cdef Matrix a
    a.data, a.rows, a.columns, a.row_stride, a.column_stride = <char*>data, rows, columns, COLUMNS, 1
    return a

cdef inline void add_product(int dtype, Matrix out, Matrix a, Matrix b, double alpha, bint keeps) noexcept nogil:
    """out = alpha * a @ b, added to what is there if `keeps`."""
    if out.rows > 0 and out.columns > 0:
        multiply_one(dtype, &out, &a, &b, alpha, 1 if keeps else 0)


# ---------------------------------------------------------------- a block of scores
cdef inline ssize keys_seen(Attention* a, ssize query, ssize keys) noexcept nogil:
    """How many keys, from the first, a query may look at."""
    return min(keys, query + 1) if a.is_causal else keys

cdef inline void add_mask_row(real* scores, char* mask, bint is_bool, ssize stride, ssize n) noexcept nogil:
    cdef ssize j
    if is_bool:
        for j in range(n):
            scores[j] = scores[j] if (<uint8_t*>mask)[j * stride] else <real>-INFINITY
    else:
        for j in range(n):
            scores[j] += (<real*>mask)[j * stride]

cdef void block_of_scores(Attention* a, Head* head, ssize begin, ssize end, real* scores) noexcept nogil:
    """The scores of the head's queries and of keys `begin` to `end`. What a causal mask hides is left to the caller."""
    cdef int size = item_size[a.dtype]
    cdef ssize i, n = end - begin
    cdef Matrix k = rows_of(head.k, begin, end, size)
    cdef Mask* mask = &head.mask
    cdef char* row
    add_product(a.dtype, block_at(scores, head.q.rows, n), head.q, flipped(k), a.scale, False)
    if mask.data == NULL:
        return
    size = 1 if mask.is_bool else size
    for i in range(head.q.rows):
        row = mask.data + ((head.first + i) * mask.row_stride + begin * mask.column_stride) * size
        if mask.column_stride == 1:             # a constant to the compiler
            add_mask_row(scores + i * COLUMNS, row, mask.is_bool, 1, n)
        else:
            add_mask_row(scores + i * COLUMNS, row, mask.is_bool, mask.column_stride, n)

cdef inline void scale_row(real* row, real factor, ssize n) noexcept nogil:
    cdef ssize j
    for j in range(n):
        row[j] *= factor


# ---------------------------------------------------------------- forward
cdef void attend_rows(Attention* a, Head* head, real* logsumexp, real* scores) noexcept nogil:
    """The results of the queries of one block, and their logsumexp."""
    cdef real* peaks = scores + ROWS * COLUMNS          # the largest score so far, and the sum of exp(score - peak)
    cdef real* sums = peaks + ROWS
    cdef real* row
    cdef real* out
    cdef real peak, shift
    cdef int size = item_size[a.dtype]
    cdef ssize i, n, seen, begin = 0, end, last = keys_seen(a, head.first + head.q.rows - 1, head.k.rows)
    for i in range(head.q.rows):
        peaks[i], sums[i] = <real>-INFINITY, 0
    while begin < last:
        end = min(begin + COLUMNS, last)
        n = end - begin
        block_of_scores(a, head, begin, end, scores)
        for i in range(head.q.rows):
            row = scores + i * COLUMNS
            out = <real*>head.out.data + i * head.out.row_stride
            seen = max(0, keys_seen(a, head.first + i, end) - begin)
            peak = largest(row, seen)
            peak = peak if peak > peaks[i] else peaks[i]
            shift = <real>0 if peak == <real>-INFINITY else peak
            exp_shifted(row, row, shift, seen)
            scale_row(row + seen, 0, n - seen)
            if begin > 0 and shift != peaks[i]:
                scale_row(out, exp_nonpositive(peaks[i] - shift), head.out.columns)
                sums[i] *= exp_nonpositive(peaks[i] - shift)
            sums[i] += pairwise_sum(row, seen)
            peaks[i] = peak
        add_product(a.dtype, head.out, block_at(scores, head.q.rows, n), rows_of(head.v, begin, end, size), 1, begin > 0)
        begin = end
    for i in range(head.q.rows):
        if sums[i] == 0:                        # it sees nothing: its weights are exp(-inf), also when they are computed again
            logsumexp[i] = <real>INFINITY
        else:
            logsumexp[i] = peaks[i] + tl_math.log(sums[i])
            scale_row(<real*>head.out.data + i * head.out.row_stride, 1 / sums[i], head.out.columns)

cdef Head head_at(Attention* a, ssize i) noexcept nogil:
    """The matrices of head i."""
    cdef Head head = a.first
    cdef IndexCounter at
    start_like(&at, &a.at)
    skip_indices(&at, 5, i)
    head.q.data, head.k.data, head.v.data, head.out.data = at.data[Q], at.data[K], at.data[V], at.data[OUT]
    head.mask.data = at.data[MASK]
    return head

cdef void attend_piece(void* context, ssize begin, ssize end) noexcept nogil:
    """The pieces `begin` to `end` of all blocks of queries."""
    cdef Attention* a = <Attention*>context
    cdef ssize piece, i, row, stop, blocks = a.heads * a.row_blocks, queries = a.first.q.rows
    cdef int size = item_size[a.dtype]
    cdef char* scratch
    cdef char* logsumexp
    cdef Head head
    for piece in range(begin, end):
        scratch = a.scratch + piece * a.room
        for i in range(piece * blocks // a.pieces, (piece + 1) * blocks // a.pieces):
            head = head_at(a, i // a.row_blocks)
            row = i % a.row_blocks * ROWS
            stop = min(row + ROWS, queries)
            head.first = row
            head.q, head.out = rows_of(head.q, row, stop, size), rows_of(head.out, row, stop, size)
            logsumexp = a.logsumexp + (i // a.row_blocks * queries + row) * size
            if a.dtype == FLOAT64:
                attend_rows(a, &head, <double*>logsumexp, <double*>scratch)
            else:
                attend_rows(a, &head, <float*>logsumexp, <float*>scratch)


# ---------------------------------------------------------------- backward
cdef void differentiate_rows(Attention* a, Head* head, real* logsumexp, real* weights) noexcept nogil:
    """Add what the queries of one block do to the gradients."""
    cdef real* grad_scores = weights + ROWS * COLUMNS
    cdef real* shares = grad_scores + ROWS * COLUMNS        # of each row, sum(grad * out)
    cdef real* w
    cdef real* g
    cdef int size = item_size[a.dtype]
    cdef Matrix k, v, grad_k, grad_v, weights_block, grads_block
    cdef bint is_first
    cdef ssize i, j, n, rows = head.q.rows, seen, begin = 0, end, last = keys_seen(a, head.first + rows - 1, head.k.rows)
    for i in range(rows):
        shares[i] = sum_of_products(<real*>head.grad.data + i * head.grad.row_stride,
                                    <real*>head.out.data + i * head.out.row_stride, head.out.columns)
    while begin < last:
        end = min(begin + COLUMNS, last)
        n = end - begin
        is_first = head.first == 0 or a.is_causal and begin >= head.first       # no block before has seen these keys
        k, v = rows_of(head.k, begin, end, size), rows_of(head.v, begin, end, size)
        grad_k, grad_v = rows_of(head.grad_k, begin, end, size), rows_of(head.grad_v, begin, end, size)
        weights_block, grads_block = block_at(weights, rows, n), block_at(grad_scores, rows, n)
        block_of_scores(a, head, begin, end, weights)
        add_product(a.dtype, grads_block, head.grad, flipped(v), 1, False)
        for i in range(rows):
            w, g = weights + i * COLUMNS, grad_scores + i * COLUMNS
            seen = max(0, keys_seen(a, head.first + i, end) - begin)
            for j in range(seen):
                w[j] = exp_nonpositive(w[j] - logsumexp[i])
            for j in range(seen):
                g[j] = w[j] * (g[j] - shares[i])
            for j in range(seen, n):
                w[j] = g[j] = 0
        add_product(a.dtype, grad_v, flipped(weights_block), head.grad, 1, not is_first)
        add_product(a.dtype, grad_k, flipped(grads_block), head.q, a.scale, not is_first)
        add_product(a.dtype, head.grad_q, grads_block, k, a.scale, begin > 0)
        begin = end

cdef void differentiate_piece(void* context, ssize begin, ssize end) noexcept nogil:
    """The pieces `begin` to `end` of all heads. The blocks of a head add to the same gradients, so one thread does them."""
    cdef Attention* a = <Attention*>context
    cdef ssize piece, i, block, row, stop, queries = a.first.q.rows
    cdef int size = item_size[a.dtype]
    cdef char* scratch
    cdef char* logsumexp
    cdef Head whole, head
    cdef IndexCounter at
    for piece in range(begin, end):
        scratch = a.scratch + piece * a.room
        for i in range(piece * a.heads // a.pieces, (piece + 1) * a.heads // a.pieces):
            whole = head_at(a, i)
            start_like(&at, &a.grads_at)
            skip_indices(&at, 4, i)
            whole.grad_q.data, whole.grad_k.data = at.data[GRAD_Q], at.data[GRAD_K]
            whole.grad_v.data, whole.grad.data = at.data[GRAD_V], at.data[GRAD]
            for block in range(a.row_blocks):
                head = whole
                row, stop = block * ROWS, min((block + 1) * ROWS, queries)
                head.first = row
                head.q, head.out = rows_of(whole.q, row, stop, size), rows_of(whole.out, row, stop, size)
                head.grad, head.grad_q = rows_of(whole.grad, row, stop, size), rows_of(whole.grad_q, row, stop, size)
                logsumexp = a.logsumexp + (i * queries + row) * size
                if a.dtype == FLOAT64:
                    differentiate_rows(a, &head, <double*>logsumexp, <double*>scratch)
                else:
                    differentiate_rows(a, &head, <float*>logsumexp, <float*>scratch)


# ---------------------------------------------------------------- arguments
cdef str shape_of(TensorBase x):
    return shape_text(x.ndim_, x.sizes)

cdef int check_attention(TensorBase q, TensorBase k, TensorBase v, TensorBase mask) except -1:
    """Matrices that fit, in equal batches, of one type."""
    cdef int d, n = q.ndim_
    cdef bint fits = n >= 2 and k.ndim_ == n and v.ndim_ == n
    for d in range(n - 2):
        fits = fits and k.sizes[d] == q.sizes[d] and v.sizes[d] == q.sizes[d]
    if not (fits and k.sizes[n - 1] == q.sizes[n - 1] and k.sizes[n - 2] == v.sizes[n - 2]):
        raise ShapeError(f"scaled_dot_product_attention: query has shape {shape_of(q)}, key {shape_of(k)} and "
                         f"value {shape_of(v)}; expected (*, queries, features), (*, keys, features), "
                         f"(*, keys, value_features) with equal batches *")
    if q.dtype_ != FLOAT32 and q.dtype_ != FLOAT64 or k.dtype_ != q.dtype_ or v.dtype_ != q.dtype_:
        raise DTypeError(f"scaled_dot_product_attention: query has type {q.dtype}, key {k.dtype} and value {v.dtype}; expected "
                         f"all float32 or all float64, convert them with .to()")
    check_same_place(q, k, "scaled_dot_product_attention")
    check_same_place(q, v, "scaled_dot_product_attention")
    return 0 if mask is None else check_scores_mask(q, k, mask)

cdef int check_scores_mask(TensorBase q, TensorBase k, TensorBase mask) except -1:
    """The mask has the shape of the scores."""
    cdef int d, n = q.ndim_
    cdef bint fits = mask.ndim_ == n
    check_same_place(q, mask, "scaled_dot_product_attention")
    for d in range(n):
        fits = fits and mask.sizes[d] == (k.sizes[n - 2] if d == n - 1 else q.sizes[d])
    if not fits:
        raise ShapeError(f"scaled_dot_product_attention: the mask has shape {shape_of(mask)}, the query {shape_of(q)} and the "
                         f"key {shape_of(k)}; expected (*, queries, keys), broadcast it with .expand()")
    if mask.dtype_ != BOOL and mask.dtype_ != q.dtype_:
        raise DTypeError(f"scaled_dot_product_attention: the mask has type {mask.dtype} and the query {q.dtype}; expected bool "
                         f"or the type of the query")
    return 0

cdef bint has_plain_rows(TensorBase x) noexcept:
    """Are the elements of a row next to each other, and do rows not overlap?"""
    cdef int n = x.ndim_
    return ((x.strides[n - 1] == 1 or x.sizes[n - 1] == 1)
            and (x.strides[n - 2] >= x.sizes[n - 1] or x.sizes[n - 2] == 1))

cdef TensorBase with_plain_rows(TensorBase x):
    return x if has_plain_rows(x) else contiguous_copy(x)

cdef TensorBase new_like(TensorBase x, ssize features):
    cdef TensorBase out = result_with_plain_rows(x, features)
    give_memory(out)
    return out

cdef TensorBase result_with_plain_rows(TensorBase x, ssize features):
    """A result with plain rows of so many features: laid out as x where x has them, else row-major."""
    cdef ssize[MAX_NDIM] sizes
    cdef TensorBase out
    cdef int d, n = x.ndim_
    if features == x.sizes[n - 1] and has_plain_rows(x):
        out = result_like(x, x.dtype_)
        if has_plain_rows(out):
            return out
    for d in range(n):
        sizes[d] = features if d == n - 1 else x.sizes[d]
    return result_beside(x, x.dtype_, n, sizes)

cdef int describe(Attention* a, TensorBase q, TensorBase k, TensorBase v, TensorBase mask, TensorBase out, TensorBase logsumexp,
                  bint is_causal, double scale) except -1:
    cdef int d, n = q.ndim_, size = item_size[q.dtype_]
    a.dtype, a.scale, a.is_causal = q.dtype_, scale, is_causal
    a.heads = 1
    for d in range(n - 2):
        a.heads *= q.sizes[d]
    a.row_blocks = (q.sizes[n - 2] + ROWS - 1) // ROWS
    set_matrix(&a.first.q, q, False)
    set_matrix(&a.first.k, k, False)
    set_matrix(&a.first.v, v, False)
    set_matrix(&a.first.out, out, False)
    start_counter(&a.at, n - 2, q.sizes)
    count_along(&a.at, Q, memory_of(q), q.strides, size)
    count_along(&a.at, K, memory_of(k), k.strides, size)
    count_along(&a.at, V, memory_of(v), v.strides, size)
    count_along(&a.at, OUT, memory_of(out), out.strides, size)
    a.logsumexp = memory_of(logsumexp)
    if mask is None:
        count_along(&a.at, MASK, NULL, q.strides, 0)
        return 0
    a.first.mask.is_bool = mask.dtype_ == BOOL
    a.first.mask.row_stride, a.first.mask.column_stride = mask.strides[n - 2], mask.strides[n - 1]
    count_along(&a.at, MASK, memory_of(mask), mask.strides, item_size[mask.dtype_])
    return 0

cdef int share_out(Attention* a, void (*body)(void*, ssize, ssize) noexcept nogil, ssize units, ssize room,
                   TensorBase like) except -1:
    """Run the body over `units` in pieces, each with room for so many numbers of its own."""
    cdef ssize work = a.heads * a.first.q.rows * a.first.k.rows * (a.first.q.columns + a.first.v.columns)
    cdef TensorBase scratch
    cdef ssize[1] sizes
    a.pieces = min(units, <ssize>thread_count(work, GRAIN) * PIECES)
    a.room = room * item_size[a.dtype]
    sizes[0] = a.pieces * room
    scratch = empty_beside(like, a.dtype, 1, sizes)
    a.scratch = memory_of(scratch)
    load_blas()
    hold_blas()
    with nogil:
        if thread_count(work, GRAIN) > 1:
            parallel_for(body, a, a.pieces, 1)
        else:
            body(a, 0, a.pieces)
    release_blas()
    return 0


# ---------------------------------------------------------------- attention
# `kept` is the result once more, for the formula of the gradients: a node must not hold its own result, which holds the node.
cdef Op ATTENTION = Op("attention(Tensor q, Tensor k, Tensor v, Tensor? mask, bool is_causal, float scale) -> (Tensor out, "
                       "Tensor kept, Tensor logsumexp)",
                       aten=None, node="ScaledDotProductFlashAttentionForCpuBackward0",
                       public={"q": "query", "k": "key", "v": "value", "mask": "attn_mask", "kept": "output"},
                       differentiable=1)

cdef tuple attention_result(TensorBase q, TensorBase k, TensorBase v, TensorBase mask):
    """New tensors for the results."""
    check_attention(q, k, v, mask)
    cdef TensorBase out = new_like(q, v.sizes[v.ndim_ - 1])
    return out, alias(out), empty_beside(q, q.dtype_, q.ndim_ - 1, q.sizes)

@ATTENTION.kernel
def attention_kernel(TensorBase q, TensorBase k, TensorBase v, TensorBase mask, bint is_causal, double scale):
    """The results are made here, as the second is an alias of the first."""
    cdef TensorBase out, kept, logsumexp
    cdef Attention a
    out, kept, logsumexp = attention_result(q, k, v, mask)
    if is_meta(q):
        return out, kept, logsumexp
    if out.numel_ == 0 or k.sizes[k.ndim_ - 2] == 0:
        fill_zero(out)
        fill_zero(logsumexp)
        return out, kept, logsumexp
    q, k, v = with_plain_rows(q), with_plain_rows(k), with_plain_rows(v)
    describe(&a, q, k, v, mask, out, logsumexp, is_causal, scale)
    share_out(&a, attend_piece, a.heads * a.row_blocks, ROWS * COLUMNS + 2 * ROWS, q)
    return out, kept, logsumexp


@ATTENTION.derivative("q", "k", "v")
def attention_derivative(grad, q, k, v, mask, is_causal, scale, kept, logsumexp, wanted):
    if will_differentiate_again():
        grads = attention_gradients(grad, q, k, v, mask, is_causal, scale)
    else:
        grads = run_tuple(ATTENTION_BACKWARD, (grad, q, k, v, mask, is_causal, scale, kept, logsumexp))
    return [one if is_wanted else None for one, is_wanted in zip(grads, wanted)]


# ---------------------------------------------------------------- attention_backward
cdef Op ATTENTION_BACKWARD = Op("attention_backward(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor? mask, bool is_causal, "
                                "float scale, Tensor out, Tensor logsumexp) -> (Tensor grad_q, Tensor grad_k, Tensor grad_v)")

@ATTENTION_BACKWARD.infer
def attention_backward_infer(TensorBase grad, TensorBase q, TensorBase k, TensorBase v, TensorBase mask,
                             is_causal, scale, TensorBase out, TensorBase logsumexp):
    check_attention(q, k, v, mask)
    check_like_result(grad, q, v, "gradient")
    check_like_result(out, q, v, "result")
    check_logsumexp(logsumexp, q)
    return (result_with_plain_rows(q, q.sizes[q.ndim_ - 1]), result_with_plain_rows(k, k.sizes[k.ndim_ - 1]),
            result_with_plain_rows(v, v.sizes[v.ndim_ - 1]))

cdef int check_logsumexp(TensorBase x, TensorBase q) except -1:
    check_same_place(q, x, "attention_backward")
    if x.ndim_ != q.ndim_ - 1 or not same_numbers(x.ndim_, x.sizes, q.sizes) or x.dtype_ != q.dtype_:
        raise ShapeError(f"attention_backward: logsumexp has shape {shape_of(x)} and type {x.dtype}; expected one number for "
                         f"each query of {shape_of(q)}")
    return 0

cdef int check_like_result(TensorBase x, TensorBase q, TensorBase v, str name) except -1:
    cdef int d, n = q.ndim_
    cdef bint fits = x.ndim_ == n and x.dtype_ == q.dtype_
    check_same_place(q, x, "attention_backward")
    for d in range(n):
        fits = fits and x.sizes[d] == (v.sizes[d] if d == n - 1 else q.sizes[d])
    if not fits:
        raise ShapeError(f"attention_backward: the {name} has shape {shape_of(x)} and type {x.dtype}; expected one for each "
                         f"query of {shape_of(q)} with the features of {shape_of(v)}")
    return 0

@ATTENTION_BACKWARD.kernel
def attention_backward_kernel(TensorBase grad_q, TensorBase grad_k, TensorBase grad_v, TensorBase grad,
                              TensorBase q, TensorBase k, TensorBase v, TensorBase mask, bint is_causal,
                              double scale, TensorBase out, TensorBase logsumexp):
    cdef Attention a
    cdef int n = q.ndim_, size = item_size[q.dtype_]
    cdef bint is_empty = out.numel_ == 0 or k.sizes[n - 2] == 0
    if is_empty or (is_causal and k.sizes[n - 2] > q.sizes[n - 2]):
        fill_zero(grad_q)                       # where no block will write
        fill_zero(grad_k)
        fill_zero(grad_v)
    if is_empty:
        return
    grad, out = with_plain_rows(grad), with_plain_rows(out)
    logsumexp = logsumexp if logsumexp.is_contiguous_ else contiguous_copy(logsumexp)
    q, k, v = with_plain_rows(q), with_plain_rows(k), with_plain_rows(v)
    describe(&a, q, k, v, mask, out, logsumexp, is_causal, scale)
    set_matrix(&a.first.grad, grad, False)
    set_matrix(&a.first.grad_q, grad_q, False)
    set_matrix(&a.first.grad_k, grad_k, False)
    set_matrix(&a.first.grad_v, grad_v, False)
    start_counter(&a.grads_at, n - 2, q.sizes)
    count_along(&a.grads_at, GRAD_Q, memory_of(grad_q), grad_q.strides, size)
    count_along(&a.grads_at, GRAD_K, memory_of(grad_k), grad_k.strides, size)
    count_along(&a.grads_at, GRAD_V, memory_of(grad_v), grad_v.strides, size)
    count_along(&a.grads_at, GRAD, memory_of(grad), grad.strides, size)
    share_out(&a, differentiate_piece, a.heads, 2 * ROWS * COLUMNS + ROWS, q)


def attention(TensorBase q not None, TensorBase k not None, TensorBase v not None, TensorBase mask, bint is_causal,
              double scale):
    """softmax(q @ k' * scale + mask) @ v in blocks, of tensors of equal batches and a mask of the shape of the scores."""
    return run_tuple(ATTENTION, (q, k, v, mask, is_causal, scale))[0]

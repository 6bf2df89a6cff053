"""The k largest elements, the k-th one, the one in the middle.

`topk` keeps the best k seen so far in order and reads a slice once. It tests a block of elements at a time against
the worst of the kept ones; in a long slice almost no block has a better one, so it is read at the speed of memory.

In a short slice the processor often guesses wrong whether an element is a better one, which takes longer than all the
comparisons. So for a small k a first pass finds a number that the k best all precede, and little else does.
"""
from libc.math cimport NAN
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

from tensorlab._core.dispatch.dispatch cimport run_1, run_3, run_4, run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport NO_OVERLAP
from tensorlab._core.dtypes cimport (
    FLOAT32, FLOAT64, FLOATING, INT16, INT32, INT64, INT8, INTEGRAL, NUM_DTYPES, UINT8, is_in,
    kernel_dtype, number
)
from tensorlab._core.graph.graph cimport dim_of
from tensorlab._core.layout cimport MAX_NDIM, int_argument, ssize
from tensorlab._core.loops.iterator cimport contiguous_copy, fill_with
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_tensor, result_beside
from tensorlab.ops.dim_iterator cimport DimIterator, add_operand, dim_apply, dim_loop, start_iterator
from tensorlab.ops.reduction_iterator cimport reduced_result
from tensorlab.ops.reductions cimport share_among
from tensorlab.ops.sorting cimport check_length, order_loop, order_loops, rank_loop, rank_loops, scratch_bytes

from tensorlab import return_types
from tensorlab.errors import DimensionError, DTypeError, ShapeError
from tensorlab.ops.reductions import chosen_derivative, one_chosen_derivative

cdef enum:
    BLOCK = 64                  # elements that are tested at a time
    COLUMNS = 32                # elements whose distance is a multiple of this make a column, 32 neighbours make a row;
    ROWS = 256                  # rows up to which a pass over columns pays,
    FEW_COLUMNS = 16            # and best elements up to which it does
    MANY = 128                  # elements at most that are left for a second look
    FEW = 256                   # best elements that are kept in order by insertion; for more, the slice is sorted
    GRAIN = 4096                # elements that make a thread worth starting


# ---------------------------------------------------------------- topk
cdef struct TopkParameters:
    order_loop order
    ssize n                     # of the input's slice; the results have k
    bint is_largest

cdef inline bint precedes(number x, number y, bint is_largest) noexcept nogil:
    """Does x come before y? nan is larger than every number."""
    if is_largest:
        return x > y or (x != x and y == y)
    return x < y or (y != y and x == x)

cdef inline ssize insert(number* best, int64_t* indices, ssize count, number x, int64_t at,
                         bint is_largest) noexcept nogil:
    """Put x behind everything that it does not precede; the last of `count` falls out."""
    cdef ssize i = count - 1
    while i > 0 and precedes(x, best[i - 1], is_largest):
        best[i] = best[i - 1]
        indices[i] = indices[i - 1]
        i -= 1
    best[i] = x
    indices[i] = at
    return i

cdef inline void top_few(number* best, int64_t* indices, number* x, ssize n, ssize k, bint is_largest) noexcept nogil:
    cdef ssize i
    cdef int j, hits
    cdef number worst
    for i in range(k):
        insert(best, indices, i + 1, x[i], i, is_largest)
    i = k
    while i < n:
        if i + BLOCK <= n:
            worst = best[k - 1]
            hits = 0
            if is_largest:
                for j in range(BLOCK):
                    hits += not x[i + j] <= worst       # true for nan as well
            else:
                for j in range(BLOCK):
                    hits += not x[i + j] >= worst
            if hits == 0:
                i += BLOCK
                continue
        for j in range(<int>min(n - i, <ssize>BLOCK)):
            if precedes(x[i + j], best[k - 1], is_largest):
                insert(best, indices, k, x[i + j], i + j, is_largest)
        i += BLOCK

cdef inline bint find_bar(number* x, ssize n, ssize k, bint is_largest, number* bar) noexcept nogil:
    """Find a number that at least k elements of x precede: one of the columns' best. False if there is none."""
    cdef number[COLUMNS] tops
    cdef int[COLUMNS] ranks     # how many of the columns' best precede this one
    cdef ssize i = COLUMNS
    cdef int j, other, rank = COLUMNS
    for j in range(COLUMNS):
        tops[j] = x[j]
        ranks[j] = 0
    while i + COLUMNS <= n:
        if is_largest:
            for j in range(COLUMNS):
                tops[j] = x[i + j] if x[i + j] > tops[j] else tops[j]
        else:
            for j in range(COLUMNS):
                tops[j] = x[i + j] if x[i + j] < tops[j] else tops[j]
        i += COLUMNS
    for other in range(COLUMNS):
        if is_largest:
            for j in range(COLUMNS):
                ranks[j] += tops[other] > tops[j]
        else:
            for j in range(COLUMNS):
                ranks[j] += tops[other] < tops[j]
    for j in range(COLUMNS):
        if k <= ranks[j] < rank:
            rank = ranks[j]
            bar[0] = tops[j]
    return rank < COLUMNS

cdef inline int find_rows(number* x, ssize n, number bar, bint is_largest, ssize* rows) noexcept nogil:
    """Find the rows that have an element which is not behind `bar`; return how many they are. After them comes the place
    where the last row begins, which is shorter."""
    cdef ssize i = 0
    cdef int j, hits, count = 0
    while i + COLUMNS <= n:
        hits = 0
        if is_largest:
            for j in range(COLUMNS):
                hits += not x[i + j] <= bar             # true for nan as well
        else:
            for j in range(COLUMNS):
                hits += not x[i + j] >= bar
        rows[count] = i                                 # without a branch
        count += hits > 0
        i += COLUMNS
    rows[count] = i
    return count

cdef inline bint top_by_columns(number* best, int64_t* indices, number* x, ssize n, ssize k,
                                bint is_largest) noexcept nogil:
    """The best k of those beyond a bar. False if there is no bar, or many are beyond it."""
    cdef ssize[ROWS + 1] rows
    cdef ssize[MANY] found
    cdef number[MANY] values
    cdef number bar
    cdef ssize i
    cdef int row, last, count = 0
    if not find_bar(x, n, k, is_largest, &bar):
        return False
    last = find_rows(x, n, bar, is_largest, rows)
    for row in range(last + 1):
        if count > MANY - COLUMNS:
            return False
        for i in range(rows[row], min(rows[row] + COLUMNS, n)):
            found[count] = i
            values[count] = x[i]
            if is_largest:
                count += not values[count] <= bar
            else:
                count += not values[count] >= bar
    if count < k:                                       # another thread has written to x meanwhile
        return False
    top_few(best, indices, values, count, k, is_largest)
    for i in range(k):
        indices[i] = found[indices[i]]
    return True

cdef void top_loop(number** data, ssize k, TopkParameters* parameters) noexcept nogil:
    cdef number* best = data[0]
    cdef number* x = data[2]
    cdef int64_t* indices = <int64_t*>data[1]
    cdef uint32_t* order = <uint32_t*>data[3]
    cdef ssize i, n = parameters.n
    if k == 0:
        return
    # of the short types many numbers are equal, and few of them better
    if sizeof(number) >= 4 and k <= FEW_COLUMNS and 16 * COLUMNS <= n <= ROWS * COLUMNS:
        if top_by_columns(best, indices, x, n, k, parameters.is_largest):
            return
    if k <= FEW:
        top_few(best, indices, x, n, k, parameters.is_largest)
        return
    parameters.order(order, x, n, parameters.is_largest, <char*>data[3] + ((n * 4 + 63) & ~<ssize>63))
    for i in range(k):
        best[i] = x[order[i]]
        indices[i] = order[i]

cdef dim_loop[NUM_DTYPES] top_loops, kth_loops       # by the type that is computed in

cdef Op TOPK = Op("topk(Tensor x, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)")

TOPK.derivative("x")(chosen_derivative)

@TOPK.infer
def topk_infer(TensorBase x, k, dim, largest, sorted):
    cdef ssize count = int_argument(k, "topk", "k"), n
    cdef int d = dim_of(dim, x, "topk"), i
    cdef ssize[MAX_NDIM] sizes
    if not is_in(x.dtype_, INTEGRAL | FLOATING):
        raise DTypeError(f"topk: not defined for {x.dtype}; convert with .to() first")
    n = x.sizes[d] if x.ndim_ > 0 else 1
    if count < 0 or count > n:
        raise ShapeError(f"topk: k is {count}, but dimension {d} has {n} elements; k must be from 0 to that")
    for i in range(x.ndim_):
        sizes[i] = count if i == d else x.sizes[i]
    return result_beside(x, x.dtype_, x.ndim_, sizes), result_beside(x, INT64, x.ndim_, sizes)

@TOPK.kernel
def topk_kernel(TensorBase values, TensorBase indices, TensorBase x, ssize k, dim, bint largest, sorted):
    cdef int d = dim_of(dim, x, "topk"), kernel = kernel_dtype(x.dtype_)
    cdef TopkParameters parameters
    cdef DimIterator iter
    parameters.n = x.sizes[d] if x.ndim_ > 0 else 1
    parameters.order = order_loops[kernel]
    parameters.is_largest = largest
    start_iterator(&iter, values, d)
    add_operand(&iter, values, d, kernel, True)
    add_operand(&iter, indices, d, INT64, True)
    add_operand(&iter, x, d, kernel, False)
    if k > FEW:
        iter.scratch = parameters.n * 4 + 64 + scratch_bytes(parameters.n)
    dim_apply(&iter, top_loops[kernel], &parameters, GRAIN)

def topk(TensorBase input not None, k, dim=-1, bint largest=True, bint sorted=True, *, out=None):
    """The k largest (or smallest) elements along a dimension, in order.

    Parameters
    ----------
    input : Tensor
    k : int
    dim : int
    largest : bool; False for the smallest
    sorted : bool; the result is in order in any case
    out : pair of tensors, optional; the results are written there

    Returns
    -------
    (values, indices), row-major, with size k along `dim`. nan counts as larger than every number.

    Raises
    ------
    ShapeError
        If the dimension has fewer than k elements.

    >>> import tensorlab
    >>> tensorlab.tensor([3., 1., 2.]).topk(2).indices
    tensor([0, 2])
    """
    return return_types.topk(run_tuple(TOPK, (input, int_argument(k, "topk", "k"), dim_of(dim, input, "topk"), largest, sorted),
                                       out, NO_OVERLAP))


# ---------------------------------------------------------------- kthvalue, median: loops
cdef struct KthParameters:
    rank_loop index_of_rank
    ssize k                     # counted from 0; -1: the middle one, -2: the middle one of those that are not nan

cdef void kth_loop(number** data, ssize n, KthParameters* parameters) noexcept nogil:
    cdef number* x = data[0]
    cdef ssize i, k = parameters.k, nans = 0
    if k < 0:
        for i in range(n):
            nans += x[i] != x[i]
        if nans == 0 or (k == -2 and nans < n):
            k = (n - nans - 1) // 2                     # of an even number, the lower of the two in the middle
        else:
            k = n - nans                                # the first nan
    i = parameters.index_of_rank(x, n, k, data[3])
    data[1][0] = x[i]
    (<int64_t*>data[2])[0] = i

cdef void set_loops(int dtype, number as_this) noexcept:
    top_loops[dtype] = <dim_loop>top_loop[number]
    kth_loops[dtype] = <dim_loop>kth_loop[number]

set_loops[uint8_t](UINT8, 0)
set_loops[int8_t](INT8, 0)
set_loops[int16_t](INT16, 0)
set_loops[int32_t](INT32, 0)
set_loops[int64_t](INT64, 0)
set_loops[float](FLOAT32, 0)
set_loops[double](FLOAT64, 0)

cdef tuple kth_results(str where, TensorBase x, int dim, bint keepdim):
    """Of (values, indices) of one element along a dimension."""
    cdef unsigned int mask = <unsigned int>1 << dim
    cdef ssize n = x.sizes[dim] if x.ndim_ > 0 else 1
    check_dtype(where, x, INTEGRAL | FLOATING)
    if n == 0:
        raise DimensionError(f"{where}: dimension {dim} of shape {tuple(x.shape)} is empty; choose one that has "
                             "elements")
    return reduced_result(x.dtype_, x, mask, keepdim), reduced_result(INT64, x, mask, keepdim)

cdef int find_kth(TensorBase values, TensorBase indices, TensorBase x, int dim, ssize k, bint keepdim) except -1:
    """Find the k-th smallest elements along a dimension, and where they are; see KthParameters for k."""
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef ssize n = x.sizes[dim] if x.ndim_ > 0 else 1
    cdef KthParameters parameters
    cdef DimIterator iter
    parameters.index_of_rank = rank_loops[kernel]
    parameters.k = k
    check_length(n, dim)
    start_iterator(&iter, x, dim)
    add_operand(&iter, x, dim, kernel, False)
    add_operand(&iter, values, dim if keepdim else -1, kernel, True)
    add_operand(&iter, indices, dim if keepdim else -1, INT64, True)
    iter.scratch = scratch_bytes(n)
    return dim_apply(&iter, kth_loops[kernel], &parameters, GRAIN)

# ---------------------------------------------------------------- kthvalue
cdef Op KTHVALUE = Op("kthvalue(Tensor x, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")

KTHVALUE.derivative("x")(one_chosen_derivative)

@KTHVALUE.infer
def kthvalue_infer(TensorBase x, k, dim, bint keepdim):
    cdef ssize count = int_argument(k, "kthvalue", "k")
    cdef int d = dim_of(dim, x, "kthvalue")
    cdef ssize n = x.sizes[d] if x.ndim_ > 0 else 1
    if n > 0 and not 1 <= count <= n:                   # what an empty dimension means is told by kth_results
        raise ShapeError(f"kthvalue: k is {count}, but dimension {d} has {n} elements; k must be from 1 to that")
    return kth_results("kthvalue", x, d, keepdim)

@KTHVALUE.kernel
def kthvalue_kernel(TensorBase values, TensorBase indices, TensorBase x, ssize k, dim, bint keepdim):
    find_kth(values, indices, x, dim_of(dim, x, "kthvalue"), k - 1, keepdim)

def kthvalue(TensorBase input not None, k, dim=-1, bint keepdim=False, *, out=None):
    """The k-th smallest element along a dimension, counted from 1, with its index.

    Returns
    -------
    (values, indices)

    Raises
    ------
    ShapeError
        If the dimension has fewer than k elements.

    >>> import tensorlab
    >>> tensorlab.tensor([3., 1., 2.]).kthvalue(2).values
    tensor(2.)
    """
    return return_types.kthvalue(run_4(KTHVALUE, input, int_argument(k, "kthvalue", "k"), dim_of(dim, input, "kthvalue"), keepdim,
                                       out, NO_OVERLAP))


# ---------------------------------------------------------------- median, nanmedian
# As in PyTorch, the derivatives of the two are the same, so that a nanmedian that is nan shares its gradient among the nans.
cdef Op MEDIAN = Op("median(Tensor x) -> Tensor")
cdef Op NANMEDIAN = Op("nanmedian(Tensor x) -> Tensor")

@NANMEDIAN.derivative("x")
@MEDIAN.derivative("x")
def median_derivative(grad, x, out):
    return share_among((x == out) | ((x != x) & (out != out)), grad)

cdef int median_of_all(TensorBase out, TensorBase x, ssize k) except -1:
    cdef ssize one = 1
    cdef double nan = NAN
    if x.numel_ == 0:
        return fill_with(out, &nan, FLOAT64)
    x = x if x.is_contiguous_ else contiguous_copy(x)
    return find_kth(out, empty_tensor(INT64, 0, NULL), alias_as(x, 1, &x.numel_, &one, x.data_), 0, k, False)

cdef TensorBase median_result(str where, TensorBase x):
    if x.numel_ == 0 and not is_in(x.dtype_, FLOATING):
        raise DimensionError(f"{where}: a tensor of whole numbers without elements has no median")
    check_dtype(where, x, INTEGRAL | FLOATING)
    return result_beside(x, x.dtype_, 0, NULL)

@MEDIAN.infer
def median_infer(TensorBase x):
    return median_result("median", x)

@MEDIAN.kernel
def median_kernel(TensorBase out, TensorBase x):
    median_of_all(out, x, -1)

@NANMEDIAN.infer
def nanmedian_infer(TensorBase x):
    return median_result("nanmedian", x)

@NANMEDIAN.kernel
def nanmedian_kernel(TensorBase out, TensorBase x):
    median_of_all(out, x, -2)

cdef Op MEDIAN_DIM = Op("median_dim(Tensor x, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                        aten="median.dim", node="MedianBackward1")
cdef Op NANMEDIAN_DIM = Op("nanmedian_dim(Tensor x, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                           aten="nanmedian.dim", node="NanmedianBackward1")

MEDIAN_DIM.derivative("x")(one_chosen_derivative)
NANMEDIAN_DIM.derivative("x")(one_chosen_derivative)

@MEDIAN_DIM.infer
def median_dim_infer(TensorBase x, dim, bint keepdim):
    return kth_results("median", x, dim_of(dim, x, "median"), keepdim)

@MEDIAN_DIM.kernel
def median_dim_kernel(TensorBase values, TensorBase indices, TensorBase x, dim, bint keepdim):
    find_kth(values, indices, x, dim_of(dim, x, "median"), -1, keepdim)

@NANMEDIAN_DIM.infer
def nanmedian_dim_infer(TensorBase x, dim, bint keepdim):
    return kth_results("nanmedian", x, dim_of(dim, x, "nanmedian"), keepdim)

@NANMEDIAN_DIM.kernel
def nanmedian_dim_kernel(TensorBase values, TensorBase indices, TensorBase x, dim, bint keepdim):
    find_kth(values, indices, x, dim_of(dim, x, "nanmedian"), -2, keepdim)

cdef object median_along(str where, Op op, TensorBase x, object dim, bint keepdim, object out):
    return run_3(op, x, dim_of(dim, x, where), keepdim, out, NO_OVERLAP)

def median(TensorBase input not None, dim=None, bint keepdim=False, *, out=None):
    """The element in the middle of all, or along a dimension with its index; of an even number, the lower of the two.

    Parameters
    ----------
    input : Tensor, not bool
    dim : int or None; None means all elements
    keepdim : bool, keep the reduced dimension with size 1
    out : pair of tensors, optional; the results are written there

    Returns
    -------
    Tensor, or with `dim` the pair (values, indices); nan where there is a nan

    >>> import tensorlab
    >>> tensorlab.tensor([3., 1., 2., 9.]).median()
    tensor(2.)
    """
    if dim is None:
        return run_1(MEDIAN, input, out)
    return return_types.median(median_along("median", MEDIAN_DIM, input, dim, keepdim, out))

def nanmedian(TensorBase input not None, dim=None, bint keepdim=False, *, out=None):
    """`median` of the elements that are not nan.

    >>> import tensorlab
    >>> tensorlab.tensor([3., float("nan"), 2., 9.]).nanmedian()
    tensor(3.)
    """
    if dim is None:
        return run_1(NANMEDIAN, input, out)
    return return_types.nanmedian(median_along("nanmedian", NANMEDIAN_DIM, input, dim, keepdim, out))

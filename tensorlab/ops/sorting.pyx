"""Sorting along a dimension, by radix.

A number is turned into an unsigned key of the same order, and keys are dealt into buckets, digit by digit, from the
lowest digit to the highest. Each deal keeps the order of equal digits, so after the last one the keys are sorted, and
equal elements stay in the order they had: the sort is stable. Digits in which all keys agree are skipped. Short slices
are dealt by their highest digits alone, or not at all, and then sorted by insertion. nan counts as larger than every
number, -0 and 0 as equal.

Where only a few ranks are wanted, such as the median, digits are read from the highest to the lowest, and after each one only the
keys of one bucket are kept. Where only the values are wanted, keys are sorted without indices and turned back into numbers; but
NumPy, whose sort puts nan last as well and can't tell 0 from -0, is faster at short slices (sorted_values.pyx).

Source: Knuth, The Art of Computer Programming 3, section 5.2.5 (radix sorting).
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tensorlab._core.dispatch.dispatch cimport run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport NO_DERIVATIVE, NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.dtypes cimport (
    BOOL, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, ORDERED, UINT64, UINT8, item_size, kernel_dtype,
    number
)
from tensorlab._core.graph.graph cimport dim_of
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase, result_like
from tensorlab.ops.dim_iterator cimport DimIterator, add_operand, dim_apply, dim_loop, start_iterator

from tensorlab import return_types
from tensorlab.errors import ShapeError
from tensorlab.ops.reductions import chosen_derivative

ctypedef fused key_type:
    uint32_t
    uint64_t

ctypedef fused wide_type:
    int64_t
    uint64_t
    double

cdef enum:
    INSERTION = 32              # elements up to which insertion is faster
    SHORT = 512                 # elements that are mostly in order once their highest digits are
    COUNTS = 2048               # buckets of the longest digit, of 11 bits
    GRAIN = 4096                # elements that make a thread worth starting


# ---------------------------------------------------------------- keys
cdef inline key_type key_of(sortable x, key_type as_this) noexcept nogil:
    """An unsigned number of the same order. Of a float: the bits, all flipped if negative, else the sign bit set."""
    cdef uint32_t bits
    cdef uint64_t wide
    if sortable is float:
        if x != x:
            return <key_type>0xffffffff
        x = x + 0                                       # -0 becomes 0
        memcpy(&bits, &x, 4)
        return <key_type>(~bits if bits >> 31 else bits | <uint32_t>0x80000000)
    elif sortable is double:
        if x != x:
            return <key_type>0xffffffffffffffff
        x = x + 0
        memcpy(&wide, &x, 8)
        return <key_type>(~wide if wide >> 63 else wide | <uint64_t>0x8000000000000000)
    elif sortable is int64_t:
        return <key_type>(<uint64_t>x ^ <uint64_t>0x8000000000000000)
    elif sortable is uint8_t or sortable is uint64_t:
        return <key_type>x
    else:
        return <key_type>(<uint32_t><int32_t>x ^ <uint32_t>0x80000000)


cdef inline sortable value_of(key_type key, sortable as_this) noexcept nogil:
    """The number that has this key; of a nan, some nan."""
    cdef uint32_t bits = <uint32_t>key
    cdef uint64_t wide = key
    if sortable is float:
        bits = bits ^ <uint32_t>0x80000000 if bits >> 31 else ~bits
        memcpy(&as_this, &bits, 4)
        return as_this
    elif sortable is double:
        wide = wide ^ <uint64_t>0x8000000000000000 if wide >> 63 else ~wide
        memcpy(&as_this, &wide, 8)
        return as_this
    elif sortable is int64_t:
        return <int64_t>(wide ^ <uint64_t>0x8000000000000000)
    elif sortable is uint8_t or sortable is uint64_t:
        return <sortable>key
    else:
        return <sortable><int32_t>(bits ^ <uint32_t>0x80000000)


cdef inline bint make_keys(key_type* keys, sortable* x, ssize n, key_type flip, key_type* differing) noexcept nogil:
    """Write the keys of a slice, and to `differing` a 1 for each bit in which two keys differ. Are they in order?"""
    cdef ssize i
    cdef bint is_sorted = True
    cdef key_type bits = 0
    for i in range(n):
        keys[i] = key_of(x[i], flip) ^ flip
    for i in range(1, n):
        bits |= keys[i] ^ keys[0]
        is_sorted &= keys[i - 1] <= keys[i]
    differing[0] = bits
    return is_sorted


# ---------------------------------------------------------------- one slice
cdef inline void insertion_sort(key_type* keys, uint32_t* order, ssize n) noexcept nogil:
    """Sort keys, and `order` with them, unless it is NULL."""
    cdef ssize i, j
    cdef key_type key
    cdef uint32_t index = 0
    for i in range(1, n):
        key = keys[i]
        if order != NULL:
            index = order[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            if order != NULL:
                order[j] = order[j - 1]
            j -= 1
        keys[j] = key
        if order != NULL:
            order[j] = index

cdef inline uint32_t deal(key_type key, key_type* keys, uint32_t* next_place) noexcept nogil:
    """Put a key where its bucket goes on; return where that was."""
    cdef uint32_t place = next_place[0]
    next_place[0] = place + 1
    keys[place] = key
    return place

cdef inline int next_digit(key_type differing, int shift, int bits) noexcept nogil:
    """The first bit of the next digit, from bit `shift` on, in which keys differ; the width of a key if there is none."""
    while shift < 8 * <int>sizeof(key_type) and not differing >> shift & ((1 << bits) - 1):
        shift += bits
    return min(shift, 8 * <int>sizeof(key_type))

cdef inline void make_places(uint32_t* counts, ssize n) noexcept nogil:
    """From the counts of buckets to the places where they begin."""
    cdef uint32_t place = 0, count
    cdef ssize i
    for i in range(n):
        count = counts[i]
        counts[i] = place
        place += count

cdef inline key_type* radix_sort(key_type* keys, uint32_t* order, key_type* other_keys, uint32_t* other_order, ssize n,
                                 key_type differing, int first, uint32_t* counts) noexcept nogil:
    """Sort keys, and `order` with them, unless it is NULL; return where the sorted keys are. `differing` has a 1 in each bit
    in which two keys differ; the lowest digit begins at bit `first`. While a digit is dealt, the next one is counted."""
    cdef int bits = digit_bits(n), width = 8 * <int>sizeof(key_type), after
    cdef int shift = next_digit(differing, first, bits)
    cdef uint32_t mask = (1 << bits) - 1, place
    cdef uint32_t* next_counts = counts + COUNTS
    cdef ssize i
    cdef key_type key
    cdef uint32_t* result = order
    memset(counts, 0, (mask + 1) * sizeof(uint32_t))
    for i in range(n):
        counts[keys[i] >> shift & mask] += 1
    while shift < width:
        after = next_digit(differing, shift + bits, bits)
        make_places(counts, <ssize>mask + 1)
        memset(next_counts, 0, (mask + 1) * sizeof(uint32_t))
        for i in range(n):
            key = keys[i]
            if after < width:
                next_counts[key >> after & mask] += 1
            place = deal(key, other_keys, &counts[key >> shift & mask])
            if order != NULL:
                other_order[place] = order[i]
        keys, other_keys = other_keys, keys
        order, other_order = other_order, order
        counts, next_counts = next_counts, counts
        shift = after
    if order != result:
        memcpy(result, order, n * sizeof(uint32_t))
    return keys

cdef inline int digit_bits(ssize n) noexcept nogil:
    if n <= 128:
        return 7
    return 8 if n < 2048 else 11

cdef inline key_type* sort_keys(key_type* keys, uint32_t* order, key_type* other_keys, uint32_t* other_order, ssize n,
                                key_type differing, int first, uint32_t* counts) noexcept nogil:
    """What radix_sort does. In a short slice, two digits, or three of a wide key, put nearly all keys into order: those from
    the highest bit on in which keys differ. The rest is done by insertion, unless many keys agree in them."""
    cdef int top = 8 * <int>sizeof(key_type), low = first, digits = 2 if top - first <= 32 else 3
    cdef key_type* dealt
    cdef ssize i, close
    if n <= INSERTION:
        insertion_sort(keys, order, n)
        return keys
    if n <= SHORT:
        while top > 0 and not differing >> (top - 1) & 1:
            top -= 1
        low = max(first, top - digits * digit_bits(n))
    while True:
        dealt = radix_sort(keys, order, other_keys, other_order, n, differing, low, counts)
        if low == first:
            return dealt
        close = 0
        for i in range(1, n):
            close += dealt[i] >> low == dealt[i - 1] >> low
        if close <= n // 4:
            insertion_sort(dealt, order, n)
            return dealt
        if dealt != keys:
            keys, other_keys = other_keys, keys
        low = first

cdef inline key_type key_of_rank(key_type* keys, ssize n, ssize* rank, key_type differing, uint32_t* counts) noexcept nogil:
    """The key with `rank` smaller or earlier ones, and to `rank` how many of these are equal to it. Keys are overwritten."""
    cdef int bits = digit_bits(n), shift = 8 * <int>sizeof(key_type), width
    cdef uint32_t digit, mask
    cdef ssize i, kept, k = rank[0], first
    cdef key_type key
    while shift > 0 and not differing >> (shift - 1) & 1:   # what all keys begin with tells nothing
        shift -= 1
    while n > INSERTION and shift > 0:
        width = min(bits, shift)
        shift -= width
        mask = (1 << width) - 1
        if differing >> shift & mask:
            memset(counts, 0, (mask + 1) * sizeof(uint32_t))
            for i in range(n):
                counts[keys[i] >> shift & mask] += 1
            digit = 0
            while k >= counts[digit]:
                k -= counts[digit]
                digit += 1
            kept = 0
            for i in range(n):                          # without a branch, which would be mispredicted
                key = keys[i]
                keys[kept] = key
                kept += (key >> shift & mask) == digit
            n = kept
    if n <= INSERTION:
        insertion_sort(keys, <uint32_t*>NULL, n)
    first = k
    while first > 0 and keys[first - 1] == keys[k]:
        first -= 1
    rank[0] = k - first
    return keys[k]

cdef inline ssize find_equal(sortable* x, ssize n, sortable value, ssize rank) noexcept nogil:
    """Where the value stands for the time after `rank` others; nan equals nan."""
    cdef ssize i
    for i in range(n - 1):
        if x[i] == value or (x[i] != x[i] and value != value):
            if rank == 0:
                return i
            rank -= 1
    return n - 1

cdef inline ssize index_of_rank(sortable* x, ssize n, ssize k, void* scratch, key_type differing) noexcept nogil:
    cdef uint32_t* counts = <uint32_t*>scratch
    cdef key_type* keys = <key_type*>(counts + 2 * COUNTS)
    cdef sortable value
    if make_keys(keys, x, n, <key_type>0, &differing):
        return k
    value = value_of(key_of_rank(keys, n, &k, differing, counts), x[0])
    return find_equal(x, n, value, k)

cdef inline ssize count_below(key_type* keys, ssize n, key_type key, key_type* next_key) noexcept nogil:
    """How many keys are at most `key`; `next_key` receives the smallest of the others."""
    cdef ssize i
    cdef key_type count = 0, least = 0, other                   # of one type, so that vectors can do it
    for i in range(n):
        count += keys[i] <= key
    for i in range(n):                                          # the largest complement of one that is larger
        other = ~keys[i] if keys[i] > key else 0
        least = max(least, other)
    next_key[0] = ~least
    return count

cdef inline void values_of_ranks(sortable** data, ssize n, ssize count, key_type key) noexcept nogil:
    """The values of some ranks in a slice. One rank more than the one before it costs a look at all keys."""
    cdef sortable* x = data[0]
    cdef sortable* out = data[1]
    cdef int64_t* ranks = <int64_t*>data[2]
    cdef uint32_t* counts = <uint32_t*>data[3]
    cdef key_type* keys = <key_type*>(counts + 2 * COUNTS)
    cdef key_type differing, next_key
    cdef ssize j, rank, place = 0, before = -2
    for j in range(count):
        rank = min(max(<ssize>ranks[j], 0), n - 1)
        if rank == before + 1:
            make_keys(keys, x, n, <key_type>0, &differing)
            if count_below(keys, n, key, &next_key) > rank:
                place += 1
            else:
                key, place = next_key, 0
        elif rank != before:
            place = rank
            if make_keys(keys, x, n, <key_type>0, &differing):
                key = keys[rank]
                while place > 0 and keys[place - 1] == key:
                    place -= 1
                place = rank - place
            else:
                key = key_of_rank(keys, n, &place, differing, counts)
        before = rank
        out[j] = value_of(key, x[0])
        if out[j] == 0:                                 # which has two signs
            out[j] = x[find_equal(x, n, out[j], place)]

cdef inline bint has_key(key_type* x, ssize n, key_type key) noexcept nogil:
    cdef ssize i
    cdef key_type hits = 0
    for i in range(n):
        hits |= x[i] == key
    return hits

cdef inline bint has_negative_zero(sortable* x, ssize n, key_type as_this) noexcept nogil:
    if sortable is float or sortable is double:
        return has_key(<key_type*>x, n, (<key_type>1) << (8 * sizeof(key_type) - 1))
    else:
        return False

cdef inline void values_in_order(sortable* out, sortable* x, ssize n, void* scratch, ValueParameters* parameters,
                                 key_type differing) noexcept nogil:
    cdef uint32_t* counts = <uint32_t*>scratch
    cdef key_type* keys = <key_type*>(counts + 2 * COUNTS)
    cdef bint negative_zero = has_negative_zero(x, n, differing)
    cdef ssize i, at = 0
    if n <= parameters.short and parameters.sort_short != NULL and not negative_zero:
        memcpy(out, x, n * sizeof(sortable))
        parameters.sort_short(out, n, NULL)
        return
    if make_keys(keys, x, n, <key_type>0, &differing):
        memcpy(out, x, n * sizeof(sortable))
        return
    keys = sort_keys(keys, <uint32_t*>NULL, keys + n, <uint32_t*>NULL, n, differing, 0, counts)
    for i in range(n):
        out[i] = value_of(keys[i], x[0])
    if negative_zero:                                   # a stable sort keeps 0 and -0 in the order that they had
        while at < n and out[at] < 0:
            at += 1
        for i in range(n):
            if x[i] == 0 and at < n:
                out[at] = x[i]
                at += 1

cdef inline void order_of(uint32_t* order, sortable* x, ssize n, bint descending, void* scratch,
                          key_type flip) noexcept nogil:
    """A key of 32 bits is sorted together with its index, as the upper half of one number."""
    cdef uint32_t* counts = <uint32_t*>scratch
    cdef uint32_t* other_order = counts + 2 * COUNTS
    cdef key_type* keys = <key_type*>(<char*>(counts + 2 * COUNTS) + ((n * sizeof(uint32_t) + 7) & ~<ssize>7))
    cdef uint64_t* pairs = <uint64_t*>keys
    cdef key_type differing
    cdef ssize i
    if not descending:
        flip = 0                                        # flipped keys have the opposite order
    if key_type is uint32_t:
        keys += 2 * n                                   # where the other pairs will be
    for i in range(n):
        order[i] = <uint32_t>i
    if make_keys(keys, x, n, flip, &differing):
        return
    if key_type is uint32_t:
        for i in range(n):
            pairs[i] = <uint64_t>keys[i] << 32 | <uint64_t>i
        pairs = sort_keys(pairs, <uint32_t*>NULL, pairs + n, <uint32_t*>NULL, n, <uint64_t>differing << 32, 32, counts)
        for i in range(n):
            order[i] = <uint32_t>pairs[i]
    else:
        sort_keys(keys, order, keys + n, other_order, n, differing, 0, counts)

cdef void order_narrow(uint32_t* order, number* x, ssize n, bint descending, void* scratch) noexcept nogil:
    order_of(order, x, n, descending, scratch, <uint32_t>0xffffffff)

cdef void order_wide(uint32_t* order, wide_type* x, ssize n, bint descending, void* scratch) noexcept nogil:
    order_of(order, x, n, descending, scratch, <uint64_t>0xffffffffffffffff)

cdef void values_narrow(number** data, ssize n, void* parameter) noexcept nogil:
    values_in_order(data[0], data[1], n, data[2], <ValueParameters*>parameter, <uint32_t>0)

cdef void values_wide(wide_type** data, ssize n, void* parameter) noexcept nogil:
    values_in_order(data[0], data[1], n, data[2], <ValueParameters*>parameter, <uint64_t>0)

cdef ssize rank_narrow(number* x, ssize n, ssize k, void* scratch) noexcept nogil:
    return index_of_rank(x, n, k, scratch, <uint32_t>0)

cdef ssize rank_wide(wide_type* x, ssize n, ssize k, void* scratch) noexcept nogil:
    return index_of_rank(x, n, k, scratch, <uint64_t>0)

cdef void ranked_narrow(number** data, ssize n, ssize* count) noexcept nogil:
    values_of_ranks(data, n, count[0], <uint32_t>0)

cdef void ranked_wide(wide_type** data, ssize n, ssize* count) noexcept nogil:
    values_of_ranks(data, n, count[0], <uint64_t>0)

cdef void set_narrow(int dtype, number as_this) noexcept:
    order_loops[dtype] = <order_loop>order_narrow[number]
    value_loops[dtype] = <dim_loop>values_narrow[number]
    rank_loops[dtype] = <rank_loop>rank_narrow[number]
    ranked_loops[dtype] = <dim_loop>ranked_narrow[number]

cdef void set_wide(int dtype, wide_type as_this) noexcept:
    order_loops[dtype] = <order_loop>order_wide[wide_type]
    value_loops[dtype] = <dim_loop>values_wide[wide_type]
    rank_loops[dtype] = <rank_loop>rank_wide[wide_type]
    ranked_loops[dtype] = <dim_loop>ranked_wide[wide_type]

set_narrow[uint8_t](BOOL, 0)
set_narrow[uint8_t](UINT8, 0)
set_narrow[int8_t](INT8, 0)
set_narrow[int16_t](INT16, 0)
set_narrow[int32_t](INT32, 0)
set_narrow[float](FLOAT32, 0)
set_wide[int64_t](INT64, 0)
set_wide[double](FLOAT64, 0)
set_wide[uint64_t](UINT64, 0)

cdef int check_length(ssize n, int dim) except -1:
    if n >= <ssize>1 << 32:
        raise ShapeError(f"sort: dimension {dim} has {n} elements; at most 2**32 - 1 can be sorted")
    return 0

cdef ssize scratch_bytes(ssize n) noexcept nogil:
    """Counts, the other half of the order, and two halves of keys."""
    return (2 * COUNTS + n) * sizeof(uint32_t) + (2 * n + 1) * sizeof(uint64_t)


# ---------------------------------------------------------------- sort
cdef struct SortParameters:
    order_loop order
    bint descending
    int size                    # bytes of an element

cdef void sort_loop(void** data, ssize n, SortParameters* parameters) noexcept nogil:
    cdef int64_t* indices = <int64_t*>data[1]
    cdef uint32_t* order = <uint32_t*>data[3]
    cdef ssize i
    parameters.order(order, data[2], n, parameters.descending, <char*>data[3] + ((n * 4 + 63) & ~<ssize>63))
    for i in range(n):
        indices[i] = order[i]
    if parameters.size == 4:
        for i in range(n):
            (<uint32_t*>data[0])[i] = (<uint32_t*>data[2])[order[i]]
    else:
        for i in range(n):
            memcpy(<char*>data[0] + i * parameters.size, <char*>data[2] + <ssize>order[i] * parameters.size, parameters.size)

cdef Op SORT = Op("sort(Tensor x, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)")
cdef Op STABLE_SORT = Op("stable_sort(Tensor x, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
                         aten=None,
                         node="SortBackward1")           # the same sort; PyTorch names its node so if it is asked for

SORT.derivative("x")(chosen_derivative)
STABLE_SORT.derivative("x")(chosen_derivative)

cdef int sort_to(TensorBase values, TensorBase indices, TensorBase x, int dim, bint descending) except -1:
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef ssize n = x.sizes[dim] if x.ndim_ > 0 else 1
    cdef SortParameters parameters
    cdef DimIterator iter
    check_length(n, dim)
    parameters.order = order_loops[kernel]
    parameters.descending = descending
    parameters.size = item_size[kernel]
    start_iterator(&iter, x, dim)
    add_operand(&iter, values, dim, kernel, True)
    add_operand(&iter, indices, dim, INT64, True)
    add_operand(&iter, x, dim, kernel, False)
    iter.scratch = n * 4 + 64 + scratch_bytes(n)
    return dim_apply(&iter, sort_loop_of, &parameters, GRAIN)

cdef void sort_loop_of(void** data, ssize n, void* parameters) noexcept nogil:
    sort_loop(data, n, <SortParameters*>parameters)

@STABLE_SORT.infer
@SORT.infer
def sort_infer(TensorBase x, dim, descending):
    dim_of(dim, x, "sort")
    check_dtype("sort", x, ORDERED | 1 << UINT64)
    return result_like(x, x.dtype_), result_like(x, INT64)

@STABLE_SORT.kernel
@SORT.kernel
def sort_kernel(TensorBase values, TensorBase indices, TensorBase x, dim, bint descending):
    sort_to(values, indices, x, dim_of(dim, x, "sort"), descending)

def sort(TensorBase input not None, dim=-1, bint descending=False, *, bint stable=False, out=None):
    """Sort along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    descending : bool
    stable : bool; the sort is stable in any case
    out : pair of tensors, optional; the results are written there

    Returns
    -------
    (values, indices), of the input's shape. nan counts as larger than every number.

    Raises
    ------
    DimensionError
        If the dimension is out of range.

    >>> import tensorlab
    >>> values, indices = tensorlab.tensor([3., 1., 2.]).sort()
    >>> values, indices
    (tensor([1., 2., 3.]), tensor([1, 2, 0]))
    """
    return return_types.sort(run_3(STABLE_SORT if stable else SORT, input, dim_of(dim, input, "sort"), descending, out,
                                   NO_PARTIAL_OVERLAP))


# ---------------------------------------------------------------- argsort
def argsort(TensorBase input not None, dim=-1, bint descending=False, *, bint stable=False, out=None):
    """The indices that sort along a dimension; see `sort`.

    >>> import tensorlab
    >>> tensorlab.tensor([3., 1., 2.]).argsort(descending=True)
    tensor([0, 2, 1])
    """
    result = run_3(SORT, input, dim_of(dim, input, "argsort"), descending)[1]
    return result if out is None else store_out("argsort", result, out, (input,), NO_PARTIAL_OVERLAP | NO_DERIVATIVE)

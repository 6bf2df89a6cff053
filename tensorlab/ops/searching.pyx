"""Places in sorted numbers: searchsorted, bucketize, isin.

A binary search halves what is left at each step, so a place among n numbers takes log2(n) comparisons.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t, uint8_t

from tensorlab._core.dispatch.dispatch cimport run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport (
    as_number, check_dtype, check_same_place, comparable, same_numbers
)
from tensorlab._core.dispatch.out_argument cimport NO_DERIVATIVE, store_out
from tensorlab._core.dtypes cimport (
    BOOL, FLOAT32, FLOAT64, INEXACT, INT16, INT32, INT64, INT8, NUM_DTYPES, ORDERED, UINT64, UINT8,
    dtype_object, is_in, kernel_dtype
)
from tensorlab._core.layout cimport shape_text, ssize
from tensorlab._core.loops.iterator cimport plain_as, put_back
from tensorlab._core.tensor cimport TensorBase, empty_beside, memory_of, result_beside
from tensorlab.ops.sorted_values cimport sorted_values
from tensorlab.ops.sorting cimport sortable

from tensorlab._core.dtypes import promote_types
from tensorlab.errors import DTypeError, IndexOutOfRange, ShapeError

ctypedef bint (*search_loop)(void* rows, void* values, int64_t* sorter, int64_t* out, ssize n, ssize inner, ssize length,
                             bint one_row, bint right) noexcept nogil


# ---------------------------------------------------------------- the search
cdef inline ssize find_place(sortable* row, int64_t* sorter, ssize length, sortable value, bint right) noexcept nogil:
    """Numbers of the row that come before the value: those smaller, or, with `right`, not larger. nan comes last.

    -1 if the sorter names a place outside the row.
    """
    cdef ssize low = 0, high = length, middle, place
    cdef sortable at
    while low < high:
        place = middle = low + (high - low) // 2
        if sorter != NULL:
            place = sorter[middle]
            if place < 0 or place >= length:
                return -1
        at = row[place]
        if (not at > value) if right else (not at >= value):
            low = middle + 1
        else:
            high = middle
    return low


cdef bint search(sortable* rows, sortable* values, int64_t* sorter, int64_t* out, ssize n, ssize inner, ssize length,
                 bint one_row, bint right) noexcept nogil:
    """False if the sorter names a place outside a row."""
    cdef ssize i, start
    for i in range(n):
        start = 0 if one_row else i // inner * length
        out[i] = find_place(rows + start, NULL if sorter == NULL else sorter + start, length, values[i], right)
        if out[i] < 0:
            return False
    return True


cdef search_loop[NUM_DTYPES] loops

cdef void set_loop(int dtype, sortable as_this) noexcept:
    loops[dtype] = <search_loop>search[sortable]

set_loop[uint8_t](UINT8, 0)
set_loop[int8_t](INT8, 0)
set_loop[int16_t](INT16, 0)
set_loop[int32_t](INT32, 0)
set_loop[int64_t](INT64, 0)
set_loop[uint64_t](UINT64, 0)
set_loop[float](FLOAT32, 0)
set_loop[double](FLOAT64, 0)


# ---------------------------------------------------------------- searchsorted
cdef Op SEARCHSORTED = Op("searchsorted(Tensor sorted_sequence, Tensor values, *, "
                          "bool out_int32=False, bool right=False, str? side=None, "
                          "Tensor? sorter=None) -> Tensor",
                          public={"values": "self"}, aten="searchsorted.Tensor",
                          checks_values=True)

cdef bint have_same_rows(TensorBase x, TensorBase y) noexcept:
    """Are the sizes equal but for the last dimension?"""
    cdef int d
    for d in range(x.ndim_ - 1):
        if x.ndim_ != y.ndim_ or x.sizes[d] != y.sizes[d]:
            return False
    return x.ndim_ == y.ndim_


cdef bint is_right(bint right, object side) except -1:
    """Do values belong behind equal numbers?"""
    if side is None:
        return right
    if side not in ("left", "right"):
        raise RuntimeError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    if side == "left" and right:
        raise RuntimeError("searchsorted: right=True and side='left' contradict each other; give one of them")
    return side == "right"


@SEARCHSORTED.infer
def searchsorted_infer(TensorBase rows, TensorBase values, out_int32, bint right, side, TensorBase sorter):
    is_right(right, side)
    if rows.ndim_ == 0:
        raise ShapeError("searchsorted: the sorted numbers must have at least one dimension")
    check_dtype("searchsorted", rows, ORDERED | 1 << UINT64)
    if rows.dtype_ != values.dtype_:
        raise DTypeError(f"searchsorted: the sorted numbers have type {rows.dtype} and the values {values.dtype}; they must be "
                         f"equal")
    if rows.ndim_ != 1 and not have_same_rows(rows, values):
        raise ShapeError(f"searchsorted: the sorted numbers have shape {shape_text(rows.ndim_, rows.sizes)} and the values "
                         f"{shape_text(values.ndim_, values.sizes)}; but for the last dimension they must be equal")
    if sorter is not None:
        if sorter.dtype_ != INT64:
            raise DTypeError("searchsorted: the sorter must be a Tensor of type int64, such as argsort gives")
        if sorter.ndim_ != rows.ndim_ or not same_numbers(rows.ndim_, rows.sizes, sorter.sizes):
            raise ShapeError(f"searchsorted: the sorter has shape {shape_text(sorter.ndim_, sorter.sizes)}, but the numbers have "
                             f"{shape_text(rows.ndim_, rows.sizes)}")
        check_same_place(rows, sorter, "searchsorted")
    check_same_place(rows, values, "searchsorted")
    return result_beside(values, INT32 if out_int32 else INT64, values.ndim_, values.sizes)

@SEARCHSORTED.kernel
def searchsorted_kernel(TensorBase out, TensorBase rows, TensorBase values, out_int32, bint right, side, TensorBase sorter):
    cdef bint is_good, behind = is_right(right, side)
    cdef TensorBase found = out, wanted, sequence, order
    cdef int dtype = UINT8 if rows.dtype_ == BOOL else kernel_dtype(rows.dtype_)
    cdef search_loop loop = loops[dtype]
    cdef ssize length = rows.sizes[rows.ndim_ - 1], inner = values.sizes[values.ndim_ - 1] if values.ndim_ > 0 else 1, i
    cdef int64_t* sorted_by = NULL
    sequence, wanted = plain_as(rows, dtype), plain_as(values, dtype)
    if sorter is not None:
        order = plain_as(sorter, INT64)
        sorted_by = <int64_t*>memory_of(order)
        for i in range(order.numel_):
            if sorted_by[i] < 0 or sorted_by[i] >= length:
                raise bad_sorter(length)
    if out.dtype_ != INT64:
        found = empty_beside(values, INT64, values.ndim_, values.sizes)
    with nogil:
        is_good = loop(memory_of(sequence), memory_of(wanted), sorted_by, <int64_t*>memory_of(found), wanted.numel_, inner,
                       length, rows.ndim_ == 1, behind)
    if not is_good:                                     # another thread writes to the sorter
        raise bad_sorter(length)
    put_back(out, found)


cdef object bad_sorter(ssize length):
    return IndexOutOfRange(f"searchsorted: the sorter has an index that is out of range for rows of {length} numbers; valid are "
                           f"0 to {length - 1}")


cdef tuple beside_number(TensorBase x, object value):
    """x and a number that it is compared with, as tensors of one type. An int outside of x's type counts as an infinity."""
    value = comparable(x, value)
    if isinstance(value, float) and not is_in(x.dtype_, INEXACT):
        x = x.to(dtype_object(FLOAT64))
    elif x.dtype_ == BOOL and not isinstance(value, bool):
        x = x.to(dtype_object(INT64))
    return x, x.new_full((), value)


cdef object common_type(TensorBase sequence, object values, str where):
    """The sorted numbers and what is searched for, both as tensors of one type; a number becomes a 0-d tensor."""
    if not isinstance(values, TensorBase):
        if as_number(values) is None:
            raise TypeError(f"{where}: a Tensor or a number is searched for, not {type(values).__name__}")
        if sequence.ndim_ != 1:
            raise ShapeError(f"{where}: a number is searched for in one row, but the sorted numbers have shape "
                             f"{shape_text(sequence.ndim_, sequence.sizes)}")
        return beside_number(sequence, values)
    dtype = promote_types(sequence.dtype, values.dtype)
    return sequence.detach().to(dtype), values.detach().to(dtype)


def searchsorted(TensorBase sorted_sequence not None, input, *, bint out_int32=False, bint right=False, side=None, out=None,
                 sorter=None):
    """Where values belong among sorted numbers, so that the order is kept.

    Parameters
    ----------
    sorted_sequence : Tensor, each row (last dimension) in ascending order
    input : Tensor, of any shape if there is one row, else of the same shape but for the last dimension; or
        a number
    out_int32 : bool, return int32 instead of int64
    right : bool, behind equal numbers rather than before them; side="right" says the same
    sorter : Tensor of int64 of the shape of `sorted_sequence`, the indices that sort it, if it is not sorted itself

    Returns
    -------
    Tensor of the shape of `input`

    >>> import tensorlab
    >>> tensorlab.searchsorted(tensorlab.tensor([1, 3, 3, 5]), tensorlab.tensor([3, 4, 9]))
    tensor([1, 3, 4])
    """
    cdef TensorBase values
    right = is_right(right, side)
    if sorted_sequence.ndim_ == 0:
        raise ShapeError("searchsorted: the sorted numbers must have at least one dimension")
    sorted_sequence, values = common_type(sorted_sequence, input, "searchsorted")
    if sorter is not None and not isinstance(sorter, TensorBase):
        raise DTypeError("searchsorted: the sorter must be a Tensor of type int64, such as argsort gives")
    result = run_tuple(SEARCHSORTED, (sorted_sequence, values, out_int32, right, None, sorter))
    return result if out is None else store_out("searchsorted", result, out, (sorted_sequence, input), NO_DERIVATIVE)


def bucketize(input, TensorBase boundaries not None, *, bint out_int32=False, bint right=False, out=None):
    """The bucket of each value, between boundaries in ascending order: `searchsorted` with its arguments turned round.

    >>> import tensorlab
    >>> tensorlab.bucketize(tensorlab.tensor([1, 5, 9]), tensorlab.tensor([2, 5]))
    tensor([0, 1, 2])
    """
    cdef TensorBase values
    if boundaries.ndim_ != 1:
        raise ShapeError(f"bucketize: the boundaries must be one row, not of shape "
                         f"{shape_text(boundaries.ndim_, boundaries.sizes)}")
    boundaries, values = common_type(boundaries, input, "bucketize")
    result = run_tuple(SEARCHSORTED, (boundaries, values, out_int32, right, None, None))
    return result if out is None else store_out("bucketize", result, out, (input, boundaries), NO_DERIVATIVE)


# ---------------------------------------------------------------- isin
def isin(elements, test_elements, *, bint assume_unique=False, bint invert=False, out=None):
    """For each element, whether it is among others.

    Parameters
    ----------
    elements, test_elements : Tensor, or one of them a number
    assume_unique : bool, without effect: the others are sorted in any case
    invert : bool, ask whether it is not

    Returns
    -------
    Tensor of bool of the shape of `elements`

    >>> import tensorlab
    >>> tensorlab.isin(tensorlab.tensor([1, 2, 3]), tensorlab.tensor([2, 9]))
    tensor([False,  True, False])
    """
    cdef TensorBase one, others
    if not isinstance(elements, TensorBase) and not isinstance(test_elements, TensorBase):
        raise TypeError("isin: the elements or the test elements must be a Tensor")
    if not isinstance(elements, TensorBase):
        test_elements, elements = beside_number(test_elements, elements)
    elif not isinstance(test_elements, TensorBase):
        elements, test_elements = beside_number(elements, test_elements)
    one, others = elements, test_elements
    dtype = promote_types(one.dtype, others.dtype)
    elements, test_elements = elements.detach().to(dtype), test_elements.detach().reshape(-1).to(dtype)
    if test_elements.numel() == 0:
        result = elements.new_zeros(elements.shape).bool()
    else:
        row = sorted_values(test_elements, 0)
        at = run_tuple(SEARCHSORTED, (row, elements, False, False, None, None)).clamp(max=row.numel() - 1)
        result = row[at] == elements                    # nan equals nothing, itself neither
    result = ~result if invert else result
    return store_out("isin", result, out, (elements, test_elements), NO_DERIVATIVE)

"""Operands: Python numbers among tensors, the common type, the common shape, memory that overlaps.

What an op must know of its operands before its loop can run, and nothing about any particular op.
"""
from cpython.complex cimport Py_complex, PyComplex_AsCComplex, PyComplex_Check
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_AsUnsignedLongLongMask, PyLong_Check
from cpython.number cimport PyIndex_Check
from cpython.object cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tensorlab._core.dtypes cimport (
    ANY_INTEGRAL, BOOL, COMPLEX, COMPLEX128, FLOAT32, FLOAT64, FLOAT8, FLOATING,
    HALF, INEXACT, INT16, INT32, INT64, INT8, NO_DTYPE, UINT16, UINT32, UINT64, UINT8, UNSIGNED,
    category, common_dtype, complex_dtype, default_float, dtype_object, is_in,
    item_size, refuse_loop
)
from tensorlab._core.layout cimport (
    MAX_NDIM, broadcast_into, channels_last_strides, dense_strides, has_internal_overlap,
    is_channels_last, is_contiguous, is_dense, shape_text, ssize
)
from tensorlab._core.loops.conversion cimport convert
from tensorlab._core.loops.iterator cimport MAX_OPERANDS
from tensorlab._core.state.devices cimport ON_CPU, device_name
from tensorlab._core.storage cimport storage_on
from tensorlab._core.tensor cimport (
    TensorBase, empty_beside, empty_tensor, is_meta, offset_of, place_of, set_layout
)

from tensorlab._core.dtypes import way_out
from tensorlab.errors import DeviceError, DTypeError, MemoryLayoutError, ShapeError, UnsupportedDType


# ---------------------------------------------------------------- numbers
cdef bint is_operand(object x):
    """Is x a tensor or a number?"""
    return isinstance(x, TensorBase) or PyFloat_Check(x) or PyLong_Check(x) or as_number(x) is not None


cdef object as_number(object x):
    """A Python bool, int, float or complex; NumPy's scalars become one; None for anything else."""
    if PyFloat_Check(x) or PyLong_Check(x) or PyComplex_Check(x):
        return x
    if hasattr(x, "dtype") and hasattr(x, "item") and getattr(x, "ndim", 1) == 0 and not isinstance(x, TensorBase):
        x = x.item()
        return x if PyFloat_Check(x) or PyLong_Check(x) or PyComplex_Check(x) else None
    return None


cdef int number_dtype(object x) noexcept:
    """The type that a Python number brings into promotion."""
    if PyFloat_Check(x):
        return default_float()
    if PyComplex_Check(x):
        return complex_dtype(default_float())
    return BOOL if x is True or x is False else INT64


cdef int write_number(object x, int dtype, void* to) except -1:
    """Store a Python number as one element. check_fits comes before it."""
    cdef int64_t n
    cdef float one
    if dtype == FLOAT64:
        (<double*>to)[0] = x
    elif dtype == FLOAT32:
        (<float*>to)[0] = <float><double>x
    elif dtype == BOOL:
        (<uint8_t*>to)[0] = bool(x)
    elif is_in(dtype, COMPLEX):
        return write_complex(x, dtype, to)
    elif is_in(dtype, HALF | FLOAT8):
        one = <float><double>x
        convert(to, dtype, 1, &one, FLOAT32, 1, 1)
    else:
        n = <int64_t>PyLong_AsUnsignedLongLongMask(int(x)) if dtype == UINT64 else int(x)
        if dtype == INT64:
            (<int64_t*>to)[0] = n
        elif dtype == UINT8:
            (<uint8_t*>to)[0] = <uint8_t>n
        elif dtype == INT8:
            (<int8_t*>to)[0] = <int8_t>n
        elif dtype == INT16:
            (<int16_t*>to)[0] = <int16_t>n
        elif dtype == INT32:
            (<int32_t*>to)[0] = <int32_t>n
        elif dtype == UINT16:
            (<uint16_t*>to)[0] = <uint16_t>n
        elif dtype == UINT32:
            (<uint32_t*>to)[0] = <uint32_t>n
        elif dtype == UINT64:
            (<uint64_t*>to)[0] = <uint64_t>n
        else:
            refuse_loop(dtype)
    return 0


cdef int write_complex(object x, int dtype, void* to) except -1:
    """Store a number as a complex one: part by part, as re + im * i would make nan of an infinite part and 0 of -0."""
    cdef Py_complex number = PyComplex_AsCComplex(x)
    cdef double[2] parts
    parts[0], parts[1] = number.real, number.imag
    convert(to, dtype, 1, parts, COMPLEX128, 1, 1)
    return 0


cdef bint is_in_range(object x, int dtype) except -1:
    """Is a Python int one of the numbers of an integer type?"""
    cdef int overflow
    cdef int64_t n = PyLong_AsLongLongAndOverflow(x, &overflow)
    if dtype == UINT64:
        return n >= 0 if not overflow else 0 <= x < 1 << 64
    if overflow or dtype == INT64:
        return not overflow
    return least_integer(dtype) <= n <= most_integer(dtype)


cdef object comparable(TensorBase x, object y):
    """What x is compared with: an int that no integer of x's type equals is as good as an infinity on its side."""
    cdef int dtype = x.dtype_
    if is_in(dtype, INEXACT) or PyFloat_Check(y) or isinstance(y, TensorBase) or not PyIndex_Check(y):
        return y
    if not PyLong_Check(y):
        y = int(y)                                      # an integer of NumPy's
    if is_in_range(y, INT64 if dtype == BOOL else dtype):
        return y
    return INFINITY if y > 0 else -INFINITY


cdef int check_fits(object x, int dtype, str where) except -1:
    """Raise if a Python number is outside an integer type's range; a fraction is cut off. Other types take any number.

    Unsigned types take negative ints, too, and wrap them, so that -1 has all bits set: uint8 those from -255 on.
    """
    cdef double value
    if is_in(dtype, COMPLEX):
        return 0
    if PyComplex_Check(x) and dtype != BOOL:
        raise DTypeError(f"{where}: the number {x} is complex, which {dtype_object(dtype)} can't hold; use its .real, or a "
                         f"complex dtype")
    if not is_in(dtype, ANY_INTEGRAL):
        return 0
    if PyLong_Check(x):
        if is_in_range(x, dtype) or (is_in(dtype, UNSIGNED) and x < 0 and is_in_range(-x, dtype)):
            return 0
        if not -(1 << 63) <= x < 1 << 64:               # as PyTorch, which cannot read it
            raise OverflowError(f"{where}: the number {x} does not fit in 64 bits")
    else:
        value = x
        if least_integer(dtype) <= value < 2.0 ** (8 * item_size[dtype] - (0 if is_in(dtype, UNSIGNED) else 1)):
            return 0
    raise DTypeError(f"{where}: the number {x} does not fit in {dtype_object(dtype)}; choose a wider dtype")


cdef object factor_of_type(object factor, int dtype, str where, str name):
    """A factor, `alpha` or `beta`, which must not change the type of the result that it takes part in."""
    if isinstance(factor, bool) and dtype != BOOL:
        raise DTypeError(f"{where}: {name} is {factor}, but the result is {dtype_object(dtype)}; a bool {name} is for bool "
                         f"results only")
    if isinstance(factor, float) and not is_in(dtype, INEXACT):
        raise DTypeError(f"{where}: {name} is {factor}, but the result is {dtype_object(dtype)}; {name} must then be an integer")
    check_fits(factor, dtype, where)
    return bool(factor) if dtype == BOOL else factor


cdef inline int64_t most_integer(int dtype) noexcept:
    """The largest number of an integer type, but for uint64, whose int64 does not hold."""
    return <int64_t>((<uint64_t>1 << (8 * item_size[dtype] - (0 if is_in(dtype, UNSIGNED) else 1))) - 1)


cdef inline int64_t least_integer(int dtype) noexcept:
    return 0 if is_in(dtype, UNSIGNED) else -most_integer(dtype) - 1


# ---------------------------------------------------------------- types
cdef int check_dtype(str where, TensorBase x, int types) except -1:
    """Raise unless x is of one of these types."""
    if not is_in(x.dtype_, types):
        conversion = ".float()" if types == FLOATING else ".to()"
        raise UnsupportedDType(f"{where}: not implemented for {dtype_object(x.dtype_)}; "
                               f"{way_out(dtype_object(x.dtype_), conversion)} first")
    return 0


cdef inline int promote(int a, int b) except -1:
    return b if a == NO_DTYPE else a if b == NO_DTYPE else common_dtype(a, b)


cdef inline int combine(int higher, int lower) except -1:
    """`lower` counts only if its category (bool < integer < floating < complex) is higher."""
    if higher == NO_DTYPE:
        return lower
    if lower == NO_DTYPE or category[lower] <= category[higher]:
        return higher
    return raised_category(higher, lower)


cdef int raised_category(int higher, int lower) except -1:
    """A floating type keeps its digits when it becomes complex: float16 and a complex128 number are complex32."""
    return complex_dtype(higher) if is_in(lower, COMPLEX) and is_in(higher, FLOATING) else common_dtype(higher, lower)


cdef int promoted_dtype(PyObject** operands, int n, str where) except -1:
    """The common type. Tensors with dimensions outrank 0-d ones, and these Python numbers."""
    cdef int dims = NO_DTYPE, zero = NO_DTYPE, numbers = NO_DTYPE, k
    cdef TensorBase x
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            x = <TensorBase>operands[k]
            if x.ndim_ > 0:
                dims = promote(dims, x.dtype_)
            else:
                zero = promote(zero, x.dtype_)
        else:
            numbers = promote(numbers, number_dtype(<object>operands[k]))
    return combine(dims, combine(zero, numbers))


def result_type(tensor, other):
    """The type that an arithmetic operation on two tensors or numbers gives.

    >>> import tensorlab
    >>> tensorlab.result_type(tensorlab.ones(2, dtype=tensorlab.int8), 1.5)
    tensorlab.float32
    """
    cdef PyObject* operands[2]
    for operand in (tensor, other):
        if not is_operand(operand):
            raise TypeError(f"result_type: needs tensors or numbers, not {type(operand).__name__} {operand!r}; for two dtypes "
                            f"there is promote_types")
    operands[0] = <PyObject*>tensor
    operands[1] = <PyObject*>other
    return dtype_object(promoted_dtype(operands, 2, "result_type"))


cdef bint can_cast(int source, int target) noexcept:
    """May a result of one type be written into a tensor of another? Not down a category."""
    return category[source] <= category[target]


# ---------------------------------------------------------------- shapes
cdef int broadcast_operands(str where, PyObject** operands, int n, ssize* sizes) except -1:
    """The broadcast shape of all tensors; returns its number of dimensions."""
    cdef int ndim = 0, k
    cdef TensorBase x
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            x = <TensorBase>operands[k]
            if broadcast_into(x.ndim_, x.sizes, &ndim, sizes) < 0:
                shapes = " and ".join([str(tuple((<TensorBase>operands[k]).shape)) for k in range(n)
                                       if isinstance(<object>operands[k], TensorBase)])
                raise ShapeError(f"{where}: shapes {shapes} cannot be broadcast together: counted from the right, "
                                 f"sizes must be equal or 1")
    return ndim


cdef int common_device(str where, PyObject** operands, int n) except -1:
    """The device of the operands, where the result will be. Raise if they are mixed.

    A 0-d tensor on the cpu may take part anywhere, as a number does.
    """
    cdef TensorBase x, first = None
    cdef int k
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            x = <TensorBase>operands[k]
            if x.storage_.device == ON_CPU and x.ndim_ == 0:
                continue
            if first is None:
                first = x
            elif x.storage_.device != first.storage_.device:
                check_same_place(first, x, where)
    return ON_CPU if first is None else first.storage_.device


cdef int check_same_place(TensorBase x, TensorBase y, str where) except -1:
    """Raise unless both are on one device. What stands for other tensors is where they are."""
    if place_of(x) != place_of(y):
        there, other = (x, y) if is_meta(x) else (y, x)
        here, place = device_name(place_of(other)), device_name(place_of(there))
        raise DeviceError(f"{where}: a tensor of shape {tuple(there.shape)} is on {place!r} and one of shape "
                          f"{tuple(other.shape)} on {here!r}; they must be on one device. Move the second with to({place!r}), "
                          f"or make the first on {here!r}")
    return 0


cdef TensorBase result_for(PyObject** operands, int n, int dtype, int promoted, int ndim, const ssize* sizes, bint wraps_numbers):
    """A new tensor of the broadcast shape whose dimensions lie in the order of the operands' (see dense_strides).

    PyTorch casts the operands to the promoted type first, which closes gaps in their memory; the copies count then.
    """
    cdef ssize aligned[MAX_OPERANDS][MAX_NDIM]
    cdef const ssize* rows[MAX_OPERANDS]
    cdef ssize[MAX_NDIM] strides, of_copy
    cdef const ssize* own
    cdef int k, i, shift, used = 0
    cdef bint same = True, contiguous = True, last = ndim == 4
    cdef TensorBase x, place = None
    for k in range(n):
        if not isinstance(<object>operands[k], TensorBase):
            same = same and (ndim == 0 or not wraps_numbers)
            continue
        x = <TensorBase>operands[k]
        own = x.strides
        if x.is_contiguous_ or not is_copied(x, promoted, k == 0 and n == 3):
            contiguous = contiguous and x.is_contiguous_
        else:
            dense_strides(x.ndim_, x.sizes, 1, &own, of_copy)
            own = of_copy
            contiguous = contiguous and is_contiguous(x.ndim_, x.sizes, own)
        shift = ndim - x.ndim_
        last = last and shift == 0 and is_channels_last(x.sizes, own)
        same = same and shift == 0
        for i in range(ndim):
            if i < shift:
                aligned[used][i] = 0
            else:
                if x.sizes[i - shift] != sizes[i]:
                    same = False
                aligned[used][i] = 0 if x.sizes[i - shift] == 1 and sizes[i] != 1 else own[i - shift]
        rows[used] = aligned[used]
        used += 1
        if place is None or x.storage_.device != ON_CPU:
            place = x
    if place is None:                   # numbers only
        return empty_tensor(dtype, ndim, sizes)
    if same and contiguous:
        return empty_beside(place, dtype, ndim, sizes)
    if same and last:
        channels_last_strides(sizes, strides)
        return empty_beside(place, dtype, ndim, sizes, strides)
    if same and all_dense_alike(used, rows, ndim, sizes):
        return empty_beside(place, dtype, ndim, sizes, rows[0])
    dense_strides(ndim, sizes, used, rows, strides)
    return empty_beside(place, dtype, ndim, sizes, strides)


cdef bint is_copied(TensorBase x, int promoted, bint is_first_of_three) noexcept:
    """Does a cast to the promoted type give x other strides? The mask of where is not cast."""
    if x.dtype_ == promoted or (is_first_of_three and x.dtype_ == BOOL):
        return False
    return not is_dense(x.ndim_, x.sizes, x.strides)


cdef bint all_dense_alike(int n, const ssize** strides, int ndim, const ssize* sizes) noexcept:
    cdef int k, i
    for k in range(n):
        if not is_dense(ndim, sizes, strides[k]):
            return False
        for i in range(ndim):
            if strides[k][i] != strides[0][i]:
                return False
    return True


# ---------------------------------------------------------------- overlap
cdef int refuse_internal_overlap(TensorBase out, str where) except -1:
    if has_internal_overlap(out.ndim_, out.sizes, out.strides):
        raise MemoryLayoutError(f"{where}: several elements of the tensor to be written share one place in memory "
                                f"(shape {shape_text(out.ndim_, out.sizes)}, strides {shape_text(out.ndim_, out.strides)}); "
                                f"clone it first")
    return 0


cdef enum Overlap:
    APART = 0                   # or not known: one of the two has gaps
    PARTLY = 1
    THE_SAME = 2


cdef Overlap overlap_of(TensorBase out, TensorBase x) noexcept:
    cdef ssize out_bytes, x_bytes
    if out.numel_ == 0 or x.numel_ == 0 or out.storage_ is not x.storage_:
        return APART
    if out is x:
        return THE_SAME
    if not is_dense(out.ndim_, out.sizes, out.strides) or not is_dense(x.ndim_, x.sizes, x.strides):
        return APART
    out_bytes = out.numel_ * item_size[out.dtype_]
    x_bytes = x.numel_ * item_size[x.dtype_]
    if out.data_ == x.data_ and out_bytes == x_bytes:
        return THE_SAME if out.ndim_ == x.ndim_ and same_numbers(out.ndim_, out.strides, x.strides) else PARTLY
    return APART if out.data_ >= x.data_ + x_bytes or x.data_ >= out.data_ + out_bytes else PARTLY


cdef int refuse_overlap(TensorBase out, TensorBase x, str where) except -1:
    """Raise if x lies partly over out, so that the result would depend on the order of the loop."""
    if overlap_of(out, x) == PARTLY:
        raise MemoryLayoutError(f"{where}: the tensor to be written and an input share part of their memory; clone one first")
    return 0


cdef int refuse_shared_memory(TensorBase out, TensorBase x, str where) except -1:
    """Raise if x lies over out, partly or exactly: for ops that read an element after they have written others."""
    if overlap_of(out, x) != APART:
        raise MemoryLayoutError(f"{where}: the tensor to be written and an input share memory; clone one first")
    return 0


# ---------------------------------------------------------------- resizing
cdef int resize_tensor(TensorBase x, int ndim, const ssize* sizes) except -1:
    """Give x another shape, row-major, and its storage as many bytes as that needs."""
    cdef ssize offset = offset_of(x), needed
    cdef ssize[MAX_NDIM] kept
    cdef int i
    for i in range(ndim):
        kept[i] = sizes[i]
    needed = (offset + product(ndim, kept)) * item_size[x.dtype_]
    if needed > x.storage_.nbytes_:
        grow_storage(x, needed)
    x.data_ = x.storage_.address + offset * item_size[x.dtype_]
    set_layout(x, ndim, kept, NULL)
    return 0


cdef int grow_storage(TensorBase x, ssize nbytes) except -1:
    """Give x's storage more bytes. It moves, so no other tensor may look at it."""
    x.storage_.own()
    if x.storage_.exports > 0 or (<PyObject*>x.storage_).ob_refcnt == 1:    # lent: it refuses
        x.storage_.resize(nbytes)
    elif x.storage_.nbytes_ == 0:
        x.storage_ = storage_on(x.storage_.device, nbytes)
    else:
        raise MemoryLayoutError(f"resize: the tensor would need {nbytes} bytes, but other tensors look at its storage of "
                                f"{x.storage_.nbytes_} bytes, which therefore cannot move; clone the tensor first")
    return 0


cdef ssize product(int ndim, const ssize* sizes) noexcept:
    cdef ssize n = 1
    cdef int i
    for i in range(ndim):
        n *= sizes[i]
    return n

"""Values in and out: Python numbers, nested lists and buffers, without copying where that can be. NumPy is in arrays.pyx.

A value that leaves a tensor is read by an op, so that layers see it: `item`, `truth`, `tolist` and `sizes`, the *value reads*.
What comes after depends on that value, and a recorder can't know how. While no layer is active the memory is read at once.
"""
from cpython.complex cimport PyComplex_Check, PyComplex_FromDoubles
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_Check, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_Check, PyLong_CheckExact
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from tensorlab._core.dispatch.dispatch cimport run_1, run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport as_number, check_fits, number_dtype, write_number
from tensorlab._core.dtypes cimport (
    ANY_INTEGRAL, BOOL, BOOLEAN, COMPLEX, COMPLEX128, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8,
    NO_DTYPE, UINT16, UINT32, UINT64, UINT8, common_dtype, default_float, dtype_code, dtype_object,
    is_in, item_size
)
from tensorlab._core.graph.graph cimport needs_grad
from tensorlab._core.interop.arrays cimport is_ndarray, note_lending, tensor_over
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.conversion cimport convert
from tensorlab._core.loops.iterator cimport copy_as, moved
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.state.modes cimport active_layers, thread_state
from tensorlab._core.storage cimport foreign_storage
from tensorlab._core.tensor cimport (
    TensorBase, empty_tensor, is_meta, memory_of, new_tensor, set_layout
)

import warnings

from tensorlab._core.device import device_code, device_of_code
from tensorlab._core.state.warning import warn_once
from tensorlab._pitfalls import pointed
from tensorlab.errors import DTypeError, ShapeError


# ---------------------------------------------------------------- single elements
cdef object read_element(const void* address, int dtype):
    """One element as a Python bool, int, float or complex."""
    cdef double[2] parts
    if dtype == FLOAT32:
        return <double>(<float*>address)[0]
    if dtype == FLOAT64:
        return (<double*>address)[0]
    if dtype == INT64:
        return (<int64_t*>address)[0]
    if dtype == BOOL:
        return (<uint8_t*>address)[0] != 0
    if dtype == UINT8:
        return (<uint8_t*>address)[0]
    if dtype == INT8:
        return (<int8_t*>address)[0]
    if dtype == INT16:
        return (<int16_t*>address)[0]
    if dtype == INT32:
        return (<int32_t*>address)[0]
    if is_in(dtype, COMPLEX):
        convert(parts, COMPLEX128, 1, address, dtype, 1, 1)
        return PyComplex_FromDoubles(parts[0], parts[1])
    if dtype == UINT64:
        return (<uint64_t*>address)[0]
    return read_converted(address, dtype)


cdef object read_converted(const void* address, int dtype):
    """One element of a type that is read by way of another."""
    cdef float x
    cdef int64_t n
    if dtype == UINT16 or dtype == UINT32:
        convert(&n, INT64, 1, address, dtype, 1, 1)
        return n
    convert(&x, FLOAT32, 1, address, dtype, 1, 1)
    return <double>x


cdef Op ITEM = Op("item(Tensor x) -> Scalar", reads_values=True)
cdef Op TRUTH = Op("truth(Tensor x) -> bool", aten=None, reads_values=True)
cdef Op TOLIST = Op("tolist(Tensor x) -> Any", aten=None, reads_values=True)
cdef Op SIZES = Op("sizes(Tensor x) -> int[]",
                   aten=None, reads_values=True)         # the shape, where it depends on values

cdef object read_item(TensorBase x):
    if x.numel_ != 1:
        raise ShapeError(f"item: a tensor of shape {tuple(x.shape)} has {x.numel_} elements; only one can become a Python "
                         f"number. Use tolist(), or reduce it first")
    return read_element(memory_of(x), x.dtype_)

cdef object read_truth(TensorBase x):
    if x.numel_ != 1:
        raise ShapeError(f"bool: a tensor of shape {tuple(x.shape)} has {x.numel_} elements, and its truth is ambiguous; say "
                         f"x.all() or x.any()")
    return bool(read_element(memory_of(x), x.dtype_))

cdef object read_tolist(TensorBase x):
    return list_of(x, 0, memory_of(x))

@ITEM.kernel
def item_kernel(TensorBase x):
    return read_item(x)

@TRUTH.kernel
def truth_kernel(TensorBase x):
    return read_truth(x)

@TOLIST.kernel
def tolist_kernel(TensorBase x):
    return read_tolist(x)

@SIZES.compose
def sizes_of(TensorBase x):
    return tuple(x.shape)


cdef object value_of(TensorBase x):
    """The only element, where there is known to be just one."""
    return run_1(ITEM, x) if active_layers or x.storage_.device != ON_CPU else read_element(memory_of(x), x.dtype_)


def item(TensorBase x not None):
    """The value of a tensor of one element, as a Python number.

    Raises
    ------
    RuntimeError
        If the tensor has more or fewer elements.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([2.5]).item()
    2.5
    """
    return run_1(ITEM, x) if active_layers or x.storage_.device != ON_CPU else read_item(x)


def as_bool(TensorBase x not None):
    """`bool(x)` and `if x`, for a tensor of one element: whether it differs from 0.

    Raises
    ------
    ShapeError
        If the tensor has more or fewer elements: "all" and "any" are different questions.
    """
    return run_1(TRUTH, x) if active_layers or x.storage_.device != ON_CPU else read_truth(x)


def as_int(TensorBase x not None):
    """`int(x)`, for a tensor of one element; else ValueError."""
    return int(real_element(x, "int"))


cdef int warn_of_lost_history(TensorBase x, str where) except -1:
    """Warn, once, that a number knows nothing of how it was computed: what follows has no gradient."""
    if thread_state().grad_enabled and needs_grad(x):
        warn_once(f"{where}: the tensor requires grad, and the number will not; write x.detach() or x.item() if that is meant")
    return 0


def as_float(TensorBase x not None):
    """`float(x)`, for a tensor of one element; else ValueError."""
    warn_of_lost_history(x, "float")
    return float(real_element(x, "float"))


def as_complex(TensorBase x not None):
    """`complex(x)`, for a tensor of one element; else ValueError."""
    warn_of_lost_history(x, "complex")
    return complex(only_element(x, "complex"))


def as_index(TensorBase x not None):
    """What `items[x]` and `range(x)` use: the value of a tensor of one integer; else TypeError."""
    if x.numel_ != 1 or not is_in(x.dtype_, BOOLEAN | ANY_INTEGRAL):
        raise TypeError(f"index: a tensor of shape {tuple(x.shape)} and {dtype_object(x.dtype_)} is no index; it must hold "
                        f"one integer")
    return int(value_of(x))


cdef object only_element(TensorBase x, str where):
    if x.numel_ != 1:
        raise ValueError(f"{where}: a tensor of shape {tuple(x.shape)} has {x.numel_} elements; only one can become a Python "
                         f"number")
    return value_of(x)


cdef object real_element(TensorBase x, str where):
    """The only element, where a real number is wanted: a complex one must be real."""
    value = only_element(x, where)
    if not PyComplex_Check(value):
        return value
    if value.imag != 0:
        raise DTypeError(f"{where}: {value} has an imaginary part, which would be lost; take .real or .abs()")
    return value.real


def tolist(TensorBase x not None):
    """The values as nested lists of Python numbers; a number for a 0-d tensor.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return run_1(TOLIST, x) if active_layers or x.storage_.device != ON_CPU else read_tolist(x)


cdef object list_of(TensorBase x, int dim, const char* address):
    cdef ssize i
    cdef list out
    if dim == x.ndim_:
        return read_element(address, x.dtype_)
    out = []
    for i in range(x.sizes[dim]):
        if i & 0xffff == 0xffff:
            PyErr_CheckSignals()
        out.append(list_of(x, dim + 1, address + i * x.strides[dim] * item_size[x.dtype_]))
    return out


# ---------------------------------------------------------------- addresses
def data_ptr(TensorBase self not None):
    """Address of the first element, in bytes, for reading and writing: a lazy clone becomes a real one. 0 on "meta".

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6)
    >>> x[2:].data_ptr() - x.data_ptr()
    16
    """
    if is_meta(self):
        return 0
    note_lending(self, "data_ptr")
    self.storage_.own()
    return <size_t>self.data_


def untyped_storage(TensorBase self not None):
    """The bytes that this tensor is a view of.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, 3)
    >>> x.untyped_storage().size(), x[0].untyped_storage().size()
    (24, 24)
    """
    note_lending(self, "untyped_storage")
    return self.storage_


# ---------------------------------------------------------------- from nested sequences
cdef inline object opened(object data):
    """A tensor or an array inside a sequence, as the list or number it stands for; anything else as it is."""
    if isinstance(data, (list, tuple)) or PyFloat_Check(data) or PyLong_Check(data):
        return data
    if isinstance(data, TensorBase):
        return tolist(<TensorBase>data)
    return data.tolist() if hasattr(data, "tolist") else data


cdef int own_dtype(object one) except -2:
    """The type of a tensor, an array or a NumPy number inside a sequence; NO_DTYPE of anything else."""
    if isinstance(one, TensorBase):
        return (<TensorBase>one).dtype_
    if not (hasattr(one, "__array__") and hasattr(one, "dtype")):
        return NO_DTYPE
    try:
        return tensor_over(one).dtype_
    except TypeError:                                   # a type that only NumPy has: its values decide
        return NO_DTYPE


cdef inline bint is_one_element(object one) noexcept:
    return isinstance(one, TensorBase) and (<TensorBase>one).numel_ == 1


cdef int measure(object data, ssize* sizes) except -1:
    """The shape of nested sequences, read off the first element of each; returns the number of dimensions. A tensor of one
    element counts as a number."""
    cdef int ndim = 0
    cdef ssize length
    while isinstance(data, (list, tuple)):
        if ndim == MAX_NDIM:
            raise ShapeError(f"tensor: nested more than {MAX_NDIM} deep")
        length = len(data)
        sizes[ndim] = length
        ndim += 1
        if length == 0:
            break
        data = data[0]
        if is_one_element(data):
            break
        data = opened(data)
    if ndim > 0 and isinstance(data, str):
        raise ValueError(f"tensor: cannot make elements of str {data!r}; give numbers, sequences of numbers, tensors or arrays")
    return ndim


cdef int scan(object data, int depth, int ndim, const ssize* sizes, int* dtype, bint infers) except -1:
    """Check that all sequences have the shape that the first ones have, and find the type that the numbers need together: a
    tensor or an array brings its own, whatever its values are.

    What is not a number is an error of another kind if the type is to be inferred from it, as in PyTorch.
    """
    cdef object number, one
    cdef int found, of_values = NO_DTYPE
    if not (PyFloat_CheckExact(data) or PyLong_CheckExact(data) or isinstance(data, (list, tuple))):
        found = own_dtype(data)
        if found != NO_DTYPE:
            dtype[0] = found if dtype[0] == NO_DTYPE else common_dtype(dtype[0], found)
            dtype = &of_values
        if depth == ndim and is_one_element(data):
            return 0
        data = opened(data)
    if depth == ndim:
        number = data if PyFloat_Check(data) else as_number(data)
        if number is None:
            if isinstance(data, (list, tuple)):
                raise pointed(TypeError(f"tensor: a number is expected at depth {depth}, as in the first row, not a sequence"))
            raise (DTypeError if infers and not isinstance(data, str) else TypeError)(
                f"tensor: cannot make elements of {type(data).__name__}; give numbers, sequences of numbers, tensors or arrays")
        found = number_dtype(number)
        dtype[0] = found if dtype[0] == NO_DTYPE else common_dtype(dtype[0], found)
        return 0
    if not isinstance(data, (list, tuple)):
        raise pointed(TypeError(f"tensor: a sequence of length {sizes[depth]} is expected at depth {depth}, as in the first row, "
                                f"not {type(data).__name__}"))
    if len(data) != sizes[depth]:
        raise pointed(ValueError(f"tensor: a sequence of length {sizes[depth]} is expected at depth {depth}, as in the first "
                                 f"row; one has length {len(data)}"))
    for one in data:
        scan(one, depth + 1, ndim, sizes, dtype, infers)
    return 0


cdef char* store(object data, int dtype, char* to, char* end) except NULL:
    """Write nested sequences element by element; returns the address after the last. A sequence may run Python code when it is
    read, and be longer than when it was scanned: nothing is written from `end` on."""
    cdef object one
    cdef int overflow
    if isinstance(data, (list, tuple)):
        for one in data:
            to = store(opened(one), dtype, to, end)
        return to
    if to >= end:
        raise ValueError("tensor: a sequence has become longer while it was read")
    if PyLong_Check(data) and is_in(dtype, ANY_INTEGRAL) and dtype != UINT64:
        PyLong_AsLongLongAndOverflow(data, &overflow)
        if overflow:
            raise ValueError(f"tensor: the number {data} does not fit in 64 bits; give dtype=tensorlab.float64 for one that "
                             f"is near it")
    if dtype == UINT64 and PyLong_Check(data) and data < 0:
        raise OverflowError(f"tensor: the number {data} is negative, which uint64 can't hold; give dtype=tensorlab.int64")
    check_fits(data, dtype, "tensor")
    write_number(data, dtype, to)
    return to + item_size[dtype]


cdef TensorBase tensor_from(object data, int dtype):
    """A new tensor with the values of numbers, nested sequences, a tensor or an array; NO_DTYPE: as the data suggest."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim, inferred = NO_DTYPE
    cdef char* end
    cdef TensorBase out, source
    if isinstance(data, TensorBase) or (hasattr(data, "__array__") and not isinstance(data, (list, tuple))):
        source = <TensorBase>data if isinstance(data, TensorBase) else tensor_over(data)
        return copy_as(source, source.dtype_ if dtype == NO_DTYPE else dtype)
    if not isinstance(data, (list, tuple)) and as_number(data) is None and hasattr(data, "__len__") and hasattr(
            data, "__getitem__") and not isinstance(data, (str, bytes, dict)):
        data = list(data)
    ndim = measure(data, sizes)
    scan(data, 0, ndim, sizes, &inferred, dtype == NO_DTYPE)
    if dtype == NO_DTYPE:
        dtype = default_float() if inferred == NO_DTYPE else inferred
    out = empty_tensor(dtype, ndim, sizes)
    if out.numel_ > 0:
        end = out.data_ + out.numel_ * item_size[dtype]
        if store(data, dtype, out.data_, end) != end:
            raise ValueError("tensor: a sequence has become shorter while it was read")
    return out


# ---------------------------------------------------------------- tensor, as_tensor, frombuffer
cdef Op TENSOR = Op("tensor(Any data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
                    aten=None)

@TENSOR.compose
def tensor_of(data, dtype, device):
    return moved(tensor_from(data, dtype_code(dtype, NO_DTYPE)), device_code(device, "tensor"))

def tensor(data, *, dtype=None, device=None, bint requires_grad=False, pin_memory=False):
    """A new tensor with a copy of the values of `data`.

    Parameters
    ----------
    data : number, nested sequence of numbers, Tensor or array; of a Tensor `clone().detach()` makes the same. In a sequence, a
        tensor of one element stands for a number
    dtype : dtype; unless given, what the elements promote to: tensors and NumPy's numbers have their type, Python's are bool,
        int64 or of the default floating type
    requires_grad : bool

    >>> import tensorlab
    >>> tensorlab.tensor([[1, 2], [3, 4]]).shape
    tensorlab.Size([2, 2])
    """
    cdef TensorBase out
    if isinstance(data, TensorBase):
        warnings.warn("tensor: the data are a Tensor already; copy it with clone().detach(), and requires_grad_() if that is "
                      "wanted", UserWarning)
        if device is None and (<TensorBase>data).storage_.device != ON_CPU:
            device = data.device
    out = run_3(TENSOR, data, dtype, device)
    if requires_grad:
        (<object>out).requires_grad_(True)
    return out


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, sharing its memory where possible (a Tensor, a NumPy array of the right type).

    Where no device is named, a Tensor stays on its own, unless the default device is "meta".

    Parameters
    ----------
    data : Tensor, array, number, or nested list of numbers
    dtype : dtype, that of `data` if not given
    device : "cpu", "meta" or None

    Examples
    --------
    >>> import numpy
    >>> import tensorlab
    >>> array = numpy.zeros(2)
    >>> x = tensorlab.as_tensor(array)
    >>> array[0] = 1
    >>> x
    tensor([1., 0.], dtype=tensorlab.float64)
    """
    cdef int code = dtype_code(dtype, NO_DTYPE)
    cdef int target = device_code(device, "as_tensor")
    cdef TensorBase x
    if isinstance(data, TensorBase):
        return data.to(device=device if target == ON_CPU else device_of_code(target),
                       dtype=None if code == NO_DTYPE else dtype_object(code))
    if not is_ndarray(data):
        return run_3(TENSOR, data, dtype, device)
    x = tensor_over(data)
    return moved(x if code == NO_DTYPE or x.dtype_ == code else x.to(dtype_object(code)), target)


def frombuffer(buffer, *, dtype, count=-1, offset=0, bint requires_grad=False):
    """A 1-d tensor over the memory of any object with the buffer protocol, which it keeps alive.

    Parameters
    ----------
    dtype : dtype of the elements
    count : int, elements to take; -1 for all
    offset : int, bytes to skip

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.frombuffer(bytearray([1, 0, 2, 0]), dtype=tensorlab.int16)
    tensor([1, 2], dtype=tensorlab.int16)
    """
    cdef int code = dtype_code(dtype, NO_DTYPE)
    cdef const unsigned char[::1] view = memoryview(buffer).cast("B")
    cdef ssize n = len(view), size = item_size[code], taken
    cdef TensorBase out
    if n == 0 or count == 0:
        raise ValueError(f"frombuffer: {n} bytes and count {count}; at least one element is needed")
    if not 0 <= offset < n:
        raise ValueError(f"frombuffer: offset {offset} is outside the buffer of {n} bytes")
    if count < 0 and (n - offset) % size != 0:
        raise ValueError(f"frombuffer: {n - offset} bytes are no whole number of elements of {size} bytes")
    taken = (n - offset) // size if count < 0 else count
    if taken * size > n - offset:
        raise ValueError(f"frombuffer: {taken} elements of {size} bytes are asked for, {n - offset} bytes are there")
    out = new_tensor()
    out.dtype_ = code
    set_layout(out, 1, &taken, NULL)
    out.storage_ = foreign_storage(<void*>&view[0] + <ssize>offset, taken * size, memoryview(buffer),
                                   memoryview(buffer).readonly)
    out.data_ = out.storage_.address
    if requires_grad:
        (<object>out).requires_grad_(True)
    return out

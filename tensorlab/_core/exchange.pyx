"""Values in and out: Python numbers, nested lists, NumPy arrays and buffers, without copying where that can be.

Memory that NumPy lent us lives as long as our storage; memory that we lend counts as an export of the storage, which then
cannot be resized away.
"""
cimport cython
cimport numpy as cnp
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_Check
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tensorlab._core.conversion cimport convert
from tensorlab._core.operands cimport as_number, check_fits, number_dtype, write_number
from tensorlab._core.dtypes cimport (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    NO_DTYPE,
    NUM_DTYPES,
    UINT8,
    default_float,
    dtype_code,
    dtype_object,
    is_floating,
    item_size,
    promotion,
)
from tensorlab._core.graph cimport is_followed
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops cimport copy_into
from tensorlab._core.storage cimport Storage, foreign_storage
from tensorlab._core.tensor cimport (
    TensorBase,
    empty_beside,
    empty_tensor,
    is_meta,
    memory_of,
    meta_tensor,
    new_tensor,
    set_layout,
)

import operator

from tensorlab._core.device import is_meta_device
from tensorlab.errors import ShapeError

cdef extern from "numpy/arrayobject.h":
    object PyArray_New(PyTypeObject* subtype, int ndim, cnp.npy_intp* sizes, int type_number,
                       cnp.npy_intp* strides, void* data, int itemsize, int flags, PyObject* prototype)

cnp.import_array()

cdef int[NUM_DTYPES] NUMPY_TYPES = [cnp.NPY_BOOL, cnp.NPY_UINT8, cnp.NPY_INT8, cnp.NPY_INT16, cnp.NPY_INT32, cnp.NPY_INT64,
                                    cnp.NPY_FLOAT16, -1, cnp.NPY_FLOAT32, cnp.NPY_FLOAT64]


# ---------------------------------------------------------------- single elements
cdef object read_element(const void* address, int dtype):
    """One element as a Python bool, int or float."""
    cdef float x
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
    convert(&x, FLOAT32, 1, address, dtype, 1, 1)
    return <double>x


def item(TensorBase x not None):
    """The value of a tensor of one element, as a Python number.

    Raises
    ------
    RuntimeError
        If the tensor has more or fewer elements.
    """
    if x.numel_ != 1:
        raise ShapeError(f"item: a tensor of shape {tuple(x.shape)} has {x.numel_} elements; only one can become a Python "
                         f"number. Use tolist(), or reduce it first")
    return read_element(memory_of(x), x.dtype_)


def as_bool(TensorBase x not None):
    """`bool(x)` and `if x`, for a tensor of one element: whether it differs from 0.

    Raises
    ------
    ShapeError
        If the tensor has more or fewer elements: "all" and "any" are different questions.
    """
    if x.numel_ != 1:
        raise ShapeError(f"bool: a tensor of shape {tuple(x.shape)} has {x.numel_} elements, and its truth is ambiguous; say "
                         f"x.all() or x.any()")
    return bool(read_element(memory_of(x), x.dtype_))


def as_int(TensorBase x not None):
    """`int(x)`, for a tensor of one element; else ValueError."""
    return int(only_element(x, "int"))


def as_float(TensorBase x not None):
    """`float(x)`, for a tensor of one element; else ValueError."""
    return float(only_element(x, "float"))


def as_complex(TensorBase x not None):
    """`complex(x)`, for a tensor of one element; else ValueError."""
    return complex(only_element(x, "complex"))


def as_index(TensorBase x not None):
    """What `items[x]` and `range(x)` use: the value of a tensor of one integer; else TypeError."""
    if x.numel_ != 1 or is_floating(x.dtype_):
        raise TypeError(f"index: a tensor of shape {tuple(x.shape)} and {dtype_object(x.dtype_)} is no index; it must hold "
                        f"one integer")
    return int(read_element(memory_of(x), x.dtype_))


cdef object only_element(TensorBase x, str where):
    if x.numel_ != 1:
        raise ValueError(f"{where}: a tensor of shape {tuple(x.shape)} has {x.numel_} elements; only one can become a Python "
                         f"number")
    return read_element(memory_of(x), x.dtype_)


def tolist(TensorBase x not None):
    """The values as nested lists of Python numbers; a number for a 0-d tensor."""
    return list_of(x, 0, memory_of(x))


cdef object list_of(TensorBase x, int dim, const char* address):
    cdef ssize i
    cdef list out
    if dim == x.ndim_:
        return read_element(address, x.dtype_)
    out = []
    for i in range(x.sizes[dim]):
        out.append(list_of(x, dim + 1, address + i * x.strides[dim] * item_size[x.dtype_]))
    return out


# ---------------------------------------------------------------- from nested sequences
cdef inline object opened(object data):
    """A tensor or an array inside a sequence, as the list or number it stands for; anything else as it is."""
    if isinstance(data, (list, tuple)) or PyFloat_Check(data) or PyLong_Check(data):
        return data
    if isinstance(data, TensorBase):
        return tolist(<TensorBase>data)
    return data.tolist() if hasattr(data, "tolist") else data


cdef int measure(object data, ssize* sizes) except -1:
    """The shape of nested sequences, read off the first element of each; returns the number of dimensions."""
    cdef int ndim = 0
    while isinstance(data, (list, tuple)):
        if ndim == MAX_NDIM:
            raise ShapeError(f"tensor: nested more than {MAX_NDIM} deep")
        sizes[ndim] = len(data)
        ndim += 1
        if sizes[ndim - 1] == 0:
            break
        data = opened(data[0])
    return ndim


cdef int scan(object data, int depth, int ndim, const ssize* sizes, int* dtype) except -1:
    """Check that all sequences have the shape that the first ones have, and find the type that the numbers need together."""
    cdef object number, one
    cdef int found
    if depth == ndim:
        number = data if PyFloat_Check(data) else as_number(data)
        if number is None:
            if isinstance(data, (list, tuple)):
                raise ValueError(f"tensor: a number is expected at depth {depth}, as in the first row, not a sequence")
            raise TypeError(f"tensor: cannot make elements of {type(data).__name__}; give numbers, sequences of numbers, "
                            f"tensors or arrays")
        found = number_dtype(number)
        dtype[0] = found if dtype[0] == NO_DTYPE else promotion[dtype[0]][found]
        return 0
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"tensor: a sequence of length {sizes[depth]} is expected at depth {depth}, as in the first row, not "
                        f"{type(data).__name__}")
    if len(data) != sizes[depth]:
        raise ValueError(f"tensor: a sequence of length {sizes[depth]} is expected at depth {depth}, as in the first row; "
                         f"one has length {len(data)}")
    for one in data:
        scan(opened(one), depth + 1, ndim, sizes, dtype)
    return 0


cdef char* store(object data, int dtype, char* to, char* end) except NULL:
    """Write nested sequences element by element; returns the address after the last. A sequence may run Python code when it is
    read, and be longer than when it was scanned: nothing is written from `end` on."""
    cdef object one
    cdef float x
    if isinstance(data, (list, tuple)):
        for one in data:
            to = store(opened(one), dtype, to, end)
        return to
    if to >= end:
        raise ValueError("tensor: a sequence has become longer while it was read")
    if dtype == FLOAT16 or dtype == BFLOAT16:
        x = data
        convert(to, dtype, 1, &x, FLOAT32, 1, 1)
    else:
        check_fits(data, dtype)
        write_number(data, dtype, to)
    return to + item_size[dtype]


cdef TensorBase tensor_from(object data, int dtype):
    """A new tensor with the values of numbers, nested sequences, a tensor or an array; NO_DTYPE: as the data suggest."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim, inferred = NO_DTYPE
    cdef char* end
    cdef TensorBase out, source
    if isinstance(data, TensorBase) or (hasattr(data, "__array__") and not isinstance(data, (list, tuple))):
        source = <TensorBase>data if isinstance(data, TensorBase) else share_array(cnp.PyArray_FROM_O(data), False)
        out = empty_beside(source, source.dtype_ if dtype == NO_DTYPE else dtype, source.ndim_, source.sizes)
        copy_into(out, source)
        return out
    if not isinstance(data, (list, tuple)) and as_number(data) is None and hasattr(data, "__len__") and hasattr(
            data, "__getitem__") and not isinstance(data, (str, bytes, dict)):
        data = list(data)
    ndim = measure(data, sizes)
    scan(data, 0, ndim, sizes, &inferred)
    if dtype == NO_DTYPE:
        dtype = default_float() if inferred == NO_DTYPE else inferred
    out = empty_tensor(dtype, ndim, sizes)
    if out.numel_ > 0:
        end = out.data_ + out.numel_ * item_size[dtype]
        if store(data, dtype, out.data_, end) != end:
            raise ValueError("tensor: a sequence has become shorter while it was read")
    return out


cdef TensorBase number_tensor(object number, int dtype):
    """A 0-d tensor."""
    cdef TensorBase out = empty_tensor(dtype, 0, NULL)
    store(number, dtype, out.data_, out.data_ + item_size[dtype])
    return out


# ---------------------------------------------------------------- NumPy
@cython.final
@cython.auto_pickle(False)
cdef class Export:
    """Held by an array that looks at a storage: as long as it lives, the storage stays as it is."""
    cdef Storage storage

    def __dealloc__(self):
        if self.storage is not None:
            self.storage.exports -= 1


def numpy(TensorBase x not None, *, bint force=False):
    """The tensor as a NumPy array over the same memory.

    Raises
    ------
    RuntimeError
        If the tensor requires grad and grad mode is on (unless `force`, which detaches): autograd cannot see what NumPy writes.
    TypeError
        For bfloat16, which NumPy does not have.
    """
    cdef cnp.npy_intp[MAX_NDIM] sizes, strides
    cdef Export export
    cdef int i
    cdef object array
    cdef object base
    if is_followed(x) and not force:
        raise RuntimeError("numpy: a tensor that requires grad cannot be handed to NumPy, because autograd would not see "
                           "what is written there; use tensor.detach().numpy()")
    if NUMPY_TYPES[x.dtype_] < 0:
        raise TypeError(f"numpy: NumPy has no {x.dtype}; convert first, as in tensor.float().numpy()")
    if is_meta(x):
        raise TypeError("numpy: a tensor on 'meta' has a shape and no data, so there is nothing for NumPy to look at; make it "
                        "on 'cpu', or fill its empty_like(device='cpu')")
    x.storage_.own()                                # NumPy may write
    for i in range(x.ndim_):
        sizes[i] = x.sizes[i]
        strides[i] = x.strides[i] * item_size[x.dtype_]
    if x.data_ == NULL:
        return cnp.PyArray_EMPTY(x.ndim_, sizes, NUMPY_TYPES[x.dtype_], 0)
    array = PyArray_New(<PyTypeObject*>cnp.ndarray, x.ndim_, sizes, NUMPY_TYPES[x.dtype_], strides, x.data_, 0,
                        0 if x.storage_.guard else cnp.NPY_ARRAY_WRITEABLE, NULL)
    export = Export.__new__(Export)
    export.storage = x.storage_
    x.storage_.exports += 1
    base = export
    Py_INCREF(base)                                 # SetBaseObject takes the reference over
    cnp.PyArray_SetBaseObject(array, base)
    cnp.PyArray_UpdateFlags(array, cnp.NPY_ARRAY_C_CONTIGUOUS | cnp.NPY_ARRAY_F_CONTIGUOUS | cnp.NPY_ARRAY_ALIGNED)
    return array


def is_array(x):
    """Is x a NumPy array or one of NumPy's numbers?"""
    return cnp.PyArray_Check(x) or cnp.PyArray_IsAnyScalar(x) and hasattr(x, "dtype")


def __array__(TensorBase x not None, dtype=None, copy=None):
    """NumPy's protocol: `np.asarray(tensor)` shares memory, as `numpy()` does; another dtype, or `copy`, makes a copy."""
    array = numpy(x)
    if dtype is not None and array.dtype != dtype:
        if copy is not None and not copy:
            raise ValueError(f"__array__: the tensor is of {array.dtype} and cannot become {dtype} without a copy; leave "
                             f"copy=False away")
        return array.astype(dtype)
    return array.copy() if copy else array


def __array_wrap__(TensorBase x not None, array, context=None, return_scalar=False):
    """NumPy's protocol: what `np.sin(tensor)` and the like computed, as a tensor over the same memory."""
    return share_array(cnp.PyArray_FROM_O(array), False)


cdef dict OPERATORS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "power": operator.pow, "matmul": operator.matmul,
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le,
    "greater": operator.gt, "greater_equal": operator.ge, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor, "left_shift": operator.lshift, "right_shift": operator.rshift}


cdef object as_operand(object x):
    """An array as the tensor over its memory, one of NumPy's numbers as Python's."""
    if cnp.PyArray_Check(x):
        return share_array(x, False)
    return x.item() if is_array(x) else x


def __array_ufunc__(TensorBase self not None, function, method, *inputs, out=None, **settings):
    """NumPy's protocol for its elementwise functions and operators, if an operand is a tensor.

    `array * tensor` and its like are tensorlab's own operators on the memory of the array: gradients flow through them. All
    others, such as `np.sin(tensor)`, NumPy computes; the result is a tensor, unless `out` is given.
    """
    if method == "__call__" and function.__name__ in OPERATORS and out is None and not settings and len(inputs) == 2:
        return OPERATORS[function.__name__](as_operand(inputs[0]), as_operand(inputs[1]))
    if out is not None:
        for one in out:
            if isinstance(one, TensorBase):
                raise TypeError(f"{function.__name__}: NumPy cannot write into a tensor, because autograd would not see it; "
                                f"give out=tensor.numpy()")
        settings["out"] = out
    result = getattr(function, method)(*[numpy(x) if isinstance(x, TensorBase) else x for x in inputs], **settings)
    if out is not None:
        return result
    return tuple([as_result(one) for one in result]) if isinstance(result, tuple) else as_result(result)


cdef object as_result(object x):
    return share_array(cnp.PyArray_FROM_O(x), False) if is_array(x) else x


cdef object array_namespace = None          # the module tensorlab.array_api, which hands itself down


def set_array_namespace(module):
    """Let `__array_namespace__` answer with this module."""
    global array_namespace
    array_namespace = module


def __array_namespace__(TensorBase self not None, *, api_version=None):
    """The functions of the array API standard for tensors: the module `tensorlab.array_api`."""
    if api_version not in (None, *array_namespace.API_VERSIONS):
        raise ValueError(f"__array_namespace__: api_version is {api_version!r}; there are {array_namespace.API_VERSIONS}")
    return array_namespace


cdef TensorBase share_array(object given, bint strict):
    """A tensor over a NumPy array's memory; a copy (or with `strict` an error) if its strides do not allow that."""
    cdef cnp.ndarray array
    cdef ssize[MAX_NDIM] sizes, strides
    cdef TensorBase out
    cdef int i, dtype = NO_DTYPE, ndim
    cdef ssize bytes_reached = 0
    cdef bint fits = True
    array = given
    ndim = cnp.PyArray_NDIM(array)
    for i in range(NUM_DTYPES):
        if NUMPY_TYPES[i] == cnp.PyArray_TYPE(array) or (
                i == INT64 and cnp.PyArray_TYPE(array) == cnp.NPY_LONGLONG and cnp.PyArray_ITEMSIZE(array) == 8):
            dtype = i
    if dtype == NO_DTYPE:
        raise TypeError(f"from_numpy: tensorlab has no type for a NumPy array of {array.dtype}; supported are bool, uint8, "
                        f"int8, int16, int32, int64, float16, float32, float64")
    if ndim > MAX_NDIM:
        raise ShapeError(f"from_numpy: {ndim} dimensions, at most {MAX_NDIM} are supported")
    if not cnp.PyArray_ISNOTSWAPPED(array):
        raise ValueError("from_numpy: the array's byte order is not the machine's; convert it with astype first")
    for i in range(ndim):
        sizes[i] = cnp.PyArray_DIM(array, i)
        strides[i] = cnp.PyArray_STRIDE(array, i) // item_size[dtype]
        if cnp.PyArray_STRIDE(array, i) < 0 or cnp.PyArray_STRIDE(array, i) % item_size[dtype] != 0:
            fits = False
        bytes_reached += (sizes[i] - 1) * cnp.PyArray_STRIDE(array, i)
    if not fits:
        if strict:
            raise ValueError("from_numpy: the array has a negative stride, or one that is not a multiple of its element "
                             "size; make a copy of it first, as in array.copy()")
        array = array.copy()
        for i in range(ndim):
            strides[i] = cnp.PyArray_STRIDE(array, i) // item_size[dtype]
        bytes_reached = cnp.PyArray_NBYTES(array) - item_size[dtype]
    out = new_tensor()
    out.dtype_ = dtype
    set_layout(out, ndim, sizes, strides)
    out.storage_ = foreign_storage(cnp.PyArray_DATA(array) if out.numel_ > 0 else NULL,
                                   bytes_reached + item_size[dtype] if out.numel_ > 0 else 0, array,
                                   not cnp.PyArray_ISWRITEABLE(array))
    out.data_ = out.storage_.address
    return out


def from_numpy(ndarray):
    """A tensor over the memory of a NumPy array, which it keeps alive. Writing to one is seen in the other.

    A read-only array makes a tensor that refuses to be written.

    Raises
    ------
    TypeError
        If it is no array, or of a type that tensorlab does not have.
    ValueError
        If it has negative strides.
    """
    if not cnp.PyArray_Check(ndarray):
        raise TypeError(f"from_numpy: a numpy.ndarray is needed, not {type(ndarray).__name__}; use tensor() for lists")
    return share_array(ndarray, True)


def tensor(data, *, dtype=None, device=None, bint requires_grad=False, pin_memory=False):
    """A new tensor with a copy of the values of `data`.

    Parameters
    ----------
    data : number, nested sequence of numbers, Tensor or array
    dtype : dtype; inferred from `data` unless given: bool, int64 or the default floating type
    requires_grad : bool

    >>> import tensorlab
    >>> tensorlab.tensor([[1, 2], [3, 4]]).shape
    tensorlab.Size([2, 2])
    """
    cdef TensorBase out
    if device is None and isinstance(data, TensorBase) and is_meta(<TensorBase>data):
        device = "meta"
    out = placed(tensor_from(data, dtype_code(dtype, NO_DTYPE)), is_meta_device(device, "tensor"))
    if requires_grad:
        (<object>out).requires_grad_(True)
    return out


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, sharing its memory where possible (a Tensor, a NumPy array of the right type)."""
    cdef int code = dtype_code(dtype, NO_DTYPE)
    cdef TensorBase x
    if isinstance(data, TensorBase):
        return data.to(device=device, dtype=None if code == NO_DTYPE else dtype_object(code))
    if cnp.PyArray_Check(data):
        x = share_array(data, False)
        x = x if code == NO_DTYPE or x.dtype_ == code else x.to(dtype_object(code))
    else:
        x = tensor_from(data, code)
    return placed(x, is_meta_device(device, "as_tensor"))


cdef TensorBase placed(TensorBase x, bint on_meta):
    """x on the device that was asked for: on "meta" only its layout is left, and from there is no way back."""
    if on_meta == is_meta(x):
        return x
    if not on_meta:
        memory_of(x)
    return meta_tensor(x.dtype_, x.ndim_, x.sizes, x.strides)


def frombuffer(buffer, *, dtype, count=-1, offset=0, bint requires_grad=False):
    """A 1-d tensor over the memory of any object with the buffer protocol, which it keeps alive.

    Parameters
    ----------
    dtype : dtype of the elements
    count : int, elements to take; -1 for all
    offset : int, bytes to skip
    """
    cdef int code = dtype_code(dtype, NO_DTYPE)
    cdef const unsigned char[::1] view = memoryview(buffer).cast("B")
    cdef ssize n = len(view), size = item_size[code], taken
    cdef TensorBase out
    if n == 0 or count == 0 or count < -1:
        raise ValueError(f"frombuffer: {n} bytes and count {count}; at least one element is needed")
    if not 0 <= offset < n:
        raise ValueError(f"frombuffer: offset {offset} is outside the buffer of {n} bytes")
    if count == -1 and (n - offset) % size != 0:
        raise ValueError(f"frombuffer: {n - offset} bytes are no whole number of elements of {size} bytes")
    taken = (n - offset) // size if count == -1 else count
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

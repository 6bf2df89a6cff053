"""NumPy: arrays over a tensor's memory, tensors over an array's, and NumPy's protocols.

Memory that NumPy lent us lives as long as our storage; memory that we lend counts as an export of the storage, which then
cannot be resized away.
"""
cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.string cimport memset

from tensorlab._core.state.devices cimport ON_CPU, SHELL, device_name
from tensorlab._core.dispatch.dispatch cimport run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport (
    BFLOAT16, COMPLEX32, FLOAT8, NO_DTYPE, NUM_DTYPES, dtype_object, is_in, item_size
)
from tensorlab._core.graph.graph cimport should_record
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.storage cimport Storage, foreign_storage
from tensorlab._core.tensor cimport CONJ, LAZY, TensorBase, is_meta, new_tensor, set_layout

import operator

from numpy import dtype as get_dtype

from tensorlab._core.dispatch.levels import box_of
from tensorlab._core.tensor import set_lending
from tensorlab._pitfalls import pointed
from tensorlab.errors import ShapeError

cdef extern from "numpy/arrayobject.h":
    object PyArray_New(PyTypeObject* subtype, int ndim, cnp.npy_intp* sizes, int type_number,
                       cnp.npy_intp* strides, void* data, int itemsize, int flags, PyObject* prototype)
    ctypedef struct PyArray_ArrFuncs:
        sort_function* sort                             # by NPY_SORTKIND
    PyArray_ArrFuncs* PyDataType_GetArrFuncs(cnp.dtype descr)

cnp.import_array()

cdef enum:
    NUMPY_NUMBERS = 24          # of types that C has

# NumPy's number for each type; -1 if it has none. What NumPy has, it calls by the same name.
cdef int[NUM_DTYPES] NUMPY_TYPES
cdef int code
for code in range(NUM_DTYPES):
    NUMPY_TYPES[code] = (-1 if is_in(code, FLOAT8 | 1 << BFLOAT16 | 1 << COMPLEX32)
                         else get_dtype(dtype_object(code).name).num)

# And back. C has more integers than there are sizes: to NumPy, long and long long are two types of 64 bits.
cdef signed char[NUMPY_NUMBERS] DTYPES
cdef str letter
memset(DTYPES, NO_DTYPE, NUMPY_NUMBERS)
for letter in "?bhilqBHILQefdFD":
    for code in range(NUM_DTYPES):
        if NUMPY_TYPES[code] >= 0 and get_dtype(letter) == get_dtype(dtype_object(code).name):
            DTYPES[get_dtype(letter).num] = code


# ---------------------------------------------------------------- lending memory
cdef Op LEND = Op("lend(Tensor x, str to) -> Any", aten=None)

@LEND.compose
def lend_nothing(x, to):
    """Nothing: the call only lets layers know."""

cdef int note_lending(TensorBase x, str to) except -1:
    """Tell layers that something outside gets at the memory of x, to read and write it unseen."""
    if active_layers:
        run_2(LEND, x, to)
    return 0

set_lending(lambda x, to: note_lending(x, to))


# ---------------------------------------------------------------- a tensor as an array
@cython.final
@cython.auto_pickle(False)
cdef class Export:
    """Held by an array that looks at a storage: while it lives, the storage stays as it is."""
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
        For bfloat16, complex32 and the floating types of 8 bits, which NumPy does not have.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.numpy()[0] = 9  # the same memory
    >>> x
    tensor([[9., 9.],
            [3., 4.]])
    """
    cdef cnp.npy_intp[MAX_NDIM] sizes, strides
    cdef Export export
    cdef int i
    cdef object array
    cdef object base
    if should_record(x) and not force:
        raise pointed(RuntimeError("numpy: a tensor that requires grad cannot be handed to NumPy, because autograd would not see "
                                   "what is written there; use tensor.detach().numpy()"))
    if NUMPY_TYPES[x.dtype_] < 0:
        raise TypeError(f"numpy: NumPy has no {x.dtype}; convert first, as in tensor.float().numpy()")
    if is_meta(x):
        raise TypeError("numpy: a tensor on 'meta' has a shape and no data, so there is nothing for NumPy to look at; make it "
                        "on 'cpu', or fill its empty_like(device='cpu')")
    if x.storage_.device >= SHELL:
        found = box_of(x)
        if found is not None and found.level.allows_capture:        # a dual tensor: NumPy sees the primal
            return numpy(found.value, force=True)
        note_lending(x, "numpy")                    # which a layer or a transform may refuse in its own words
        raise TypeError(f"numpy: a {type(x).__name__} has no memory of its own; use what it holds")
    if x.storage_.device != ON_CPU:
        raise TypeError(f"numpy: the tensor is on {device_name(x.storage_.device)!r}, where NumPy can't reach; use "
                        f"to('cpu') first")
    if x.keys & LAZY:
        if force:
            return numpy(x.detach().clone())
        bit, remedy = ("conjugate", "resolve_conj") if x.keys & CONJ else ("negative", "resolve_neg")
        raise RuntimeError(f"numpy: the memory of this tensor holds its {bit}, and NumPy would see that; use "
                           f"tensor.{remedy}().numpy()")
    note_lending(x, "numpy")
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


cdef bint is_ndarray(object x) noexcept:
    """Is x a NumPy array?"""
    return cnp.PyArray_Check(x)


def is_array(x):
    """Is x a NumPy array or one of NumPy's numbers?"""
    return cnp.PyArray_Check(x) or cnp.PyArray_IsAnyScalar(x) and hasattr(x, "dtype")


cdef sort_function numpy_sort(int dtype):
    """The function behind NumPy's sort of numbers, which works on plain memory; NULL if NumPy has none."""
    return PyDataType_GetArrFuncs(cnp.PyArray_DescrFromType(NUMPY_TYPES[dtype])).sort[<int>cnp.NPY_QUICKSORT]


# ---------------------------------------------------------------- an array as a tensor
cdef TensorBase share_array(object given, bint strict):
    """A tensor over a NumPy array's memory; a copy (or with `strict` an error) if its strides do not allow that."""
    cdef cnp.ndarray array
    cdef ssize[MAX_NDIM] sizes, strides
    cdef TensorBase out
    cdef int i, dtype = NO_DTYPE, ndim
    cdef ssize bytes_reached = 0, stride
    cdef bint fits = True
    array = given
    ndim = cnp.PyArray_NDIM(array)
    if cnp.PyArray_TYPE(array) < NUMPY_NUMBERS:
        dtype = DTYPES[cnp.PyArray_TYPE(array)]
    if dtype == NO_DTYPE:
        raise TypeError(f"from_numpy: tensorlab has no type for a NumPy array of {array.dtype}; supported are bool, "
                        f"integers of 8 to 64 bits, float16, float32, float64, complex64 and complex128")
    if ndim > MAX_NDIM:
        raise ShapeError(f"from_numpy: {ndim} dimensions, at most {MAX_NDIM} are supported")
    if not cnp.PyArray_ISNOTSWAPPED(array):
        raise ValueError("from_numpy: the array's byte order is not the machine's; convert it with astype first")
    for i in range(ndim):
        sizes[i] = cnp.PyArray_DIM(array, i)
        stride = cnp.PyArray_STRIDE(array, i)
        strides[i] = stride // item_size[dtype]
        if stride < 0 or strides[i] * item_size[dtype] != stride:
            fits = False
        bytes_reached += (sizes[i] - 1) * stride
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


cdef TensorBase tensor_over(object data):
    """A tensor over the memory of what NumPy makes an array of, or over a copy."""
    return share_array(cnp.PyArray_FROM_O(data), False)


def from_numpy(ndarray):
    """A tensor over the memory of a NumPy array, which it keeps alive. Writing to one is seen in the other.

    A read-only array makes a tensor that refuses to be written.

    Raises
    ------
    TypeError
        If it is no array, or of a type that tensorlab does not have.
    ValueError
        If it has negative strides.

    Examples
    --------
    >>> import numpy
    >>> import tensorlab
    >>> tensorlab.from_numpy(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if not cnp.PyArray_Check(ndarray):
        raise TypeError(f"from_numpy: a numpy.ndarray is needed, not {type(ndarray).__name__}; use tensor() for lists")
    return share_array(ndarray, True)


# ---------------------------------------------------------------- NumPy's protocols
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
    """NumPy's protocol: what a function such as `np.sin(tensor)` computed, as a tensor over the same memory."""
    return tensor_over(array)


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
    return tensor_over(x) if is_array(x) else x


cdef object array_namespace = None          # a function that imports tensorlab.array_api, which stands above


def set_array_namespace(function):
    """Let `__array_namespace__` answer with the module that this function returns."""
    global array_namespace
    array_namespace = function


def __array_namespace__(TensorBase self not None, *, api_version=None):
    """The functions of the array API standard for tensors: the module `tensorlab.array_api`."""
    module = array_namespace()
    if api_version not in (None, *module.API_VERSIONS):
        raise ValueError(f"__array_namespace__: api_version is {api_version!r}; there are {module.API_VERSIONS}")
    return module

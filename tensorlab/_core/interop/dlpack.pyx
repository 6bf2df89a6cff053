"""DLPack: tensors lent to other array libraries, and theirs borrowed, without copying.

Who lends fills a struct (address, shape, strides, type) and puts it into a capsule; who borrows takes the struct out and
renames the capsule, so that it is not taken twice. The struct carries a deleter, which the borrower calls when it is done:

    lender      tensor --> Loan, counted as an export of the storage --> struct in a capsule "dltensor_versioned"
    borrower    storage whose owner is a Borrowed, which calls the deleter when the storage goes

A capsule that is never taken calls the deleter itself. Since version 1.0 the struct says whether the memory is read-only;
a borrower that knows only the older struct cannot be told, so read-only memory is refused there.
"""
cimport cython
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.pycapsule cimport (
    PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid,
    PyCapsule_New, PyCapsule_SetName
)
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from tensorlab._core.dtypes cimport (
    BFLOAT16, BOOL, COMPLEX, FLOAT8, FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ, FLOAT8_E5M2, FLOAT8_E5M2FNUZ,
    FLOAT8_E8M0FNU, FLOATING, MAX_ITEMSIZE, NUM_DTYPES, UNSIGNED, default_float, dtype_object, is_in,
    item_size
)
from tensorlab._core.graph.graph cimport needs_grad
from tensorlab._core.interop.arrays cimport note_lending
from tensorlab._core.layout cimport MAX_NDIM, extent, plain_ints, shape_text, ssize
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.storage cimport Storage, foreign_storage
from tensorlab._core.tensor cimport LAZY, TensorBase, is_meta, memory_of, new_tensor, set_layout

import array

from tensorlab._core.device import device_code, device_of_code
from tensorlab._core.interop.arrays import is_array
from tensorlab._core.interop.exchange import as_tensor, frombuffer
from tensorlab._core.interop.exchange import tensor as make_tensor
from tensorlab.errors import DTypeError, MemoryLayoutError, ShapeError

cdef extern from "dlpack.h":
    ctypedef struct DLPackVersion:
        uint32_t major, minor
    ctypedef struct DLDevice:
        int32_t device_type, device_id
    ctypedef struct DLDataType:
        uint8_t code, bits
        uint16_t lanes
    ctypedef struct DLTensor:
        void* data
        DLDevice device
        int32_t ndim
        DLDataType dtype
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset
    ctypedef struct DLManagedTensor:
        DLTensor dl_tensor
        void* manager_ctx
        void (*deleter)(DLManagedTensor*) noexcept nogil
    ctypedef struct DLManagedTensorVersioned:
        DLPackVersion version
        void* manager_ctx
        void (*deleter)(DLManagedTensorVersioned*) noexcept nogil
        uint64_t flags
        DLTensor dl_tensor
    int DL_CPU, DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT, DL_COMPLEX, DL_BOOL, DL_READ_ONLY, DL_IS_COPIED

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX
    int Py_IsInitialized() nogil

cdef const char* OLD = "dltensor"
cdef const char* OLD_USED = "used_dltensor"
cdef const char* NEW = "dltensor_versioned"
cdef const char* NEW_USED = "used_dltensor_versioned"


# ---------------------------------------------------------------- lending
@cython.final
@cython.auto_pickle(False)
cdef class Loan:
    """A tensor that is lent, and the numbers that the struct points to; lives until the borrower calls the deleter."""
    cdef Storage storage
    cdef int64_t[2 * MAX_NDIM] numbers

    def __dealloc__(self):
        if self.storage is not None:
            self.storage.exports -= 1


cdef int[NUM_DTYPES] FLOAT8_KINDS
FLOAT8_KINDS[FLOAT8_E4M3FN] = 10
FLOAT8_KINDS[FLOAT8_E4M3FNUZ] = 11
FLOAT8_KINDS[FLOAT8_E5M2] = 12
FLOAT8_KINDS[FLOAT8_E5M2FNUZ] = 13
FLOAT8_KINDS[FLOAT8_E8M0FNU] = 14

cdef int kind_of(int dtype) noexcept:
    """DLPack's name of a type, together with the number of bits."""
    if is_in(dtype, FLOAT8):
        return FLOAT8_KINDS[dtype]
    return (DL_BOOL if dtype == BOOL else DL_BFLOAT if dtype == BFLOAT16 else DL_UINT if is_in(dtype, UNSIGNED)
            else DL_FLOAT if is_in(dtype, FLOATING) else DL_COMPLEX if is_in(dtype, COMPLEX) else DL_INT)


cdef object lend(TensorBase x, DLTensor* out):
    """Fill the struct; returns the Loan that its manager must own."""
    cdef Loan loan = Loan.__new__(Loan)
    cdef int i
    for i in range(x.ndim_):
        loan.numbers[i] = x.sizes[i]
        loan.numbers[MAX_NDIM + i] = x.strides[i]
    loan.storage = x.storage_
    x.storage_.exports += 1
    out.data = memory_of(x)
    out.device.device_type = DL_CPU
    out.device.device_id = 0
    out.ndim = x.ndim_
    out.dtype.code = kind_of(x.dtype_)
    out.dtype.bits = 8 * item_size[x.dtype_]
    out.dtype.lanes = 1
    out.shape = loan.numbers
    out.strides = loan.numbers + MAX_NDIM
    out.byte_offset = 0
    return loan


cdef void give_back(void* loan) noexcept with gil:
    Py_DECREF(<object>loan)


cdef void delete_old(DLManagedTensor* managed) noexcept nogil:
    if managed != NULL and Py_IsInitialized():          # a borrower may outlive the interpreter
        give_back(managed.manager_ctx)
        free(managed)


cdef void delete_new(DLManagedTensorVersioned* managed) noexcept nogil:
    if managed != NULL and Py_IsInitialized():
        give_back(managed.manager_ctx)
        free(managed)


cdef void drop_capsule(PyObject* capsule) noexcept:
    """The end of a capsule; it still has its first name only if the tensor was not taken out."""
    cdef DLManagedTensor* old
    cdef DLManagedTensorVersioned* new
    if PyCapsule_IsValid(<object>capsule, OLD):
        old = <DLManagedTensor*>PyCapsule_GetPointer(<object>capsule, OLD)
        if old.deleter != NULL:
            old.deleter(old)
    elif PyCapsule_IsValid(<object>capsule, NEW):
        new = <DLManagedTensorVersioned*>PyCapsule_GetPointer(<object>capsule, NEW)
        if new.deleter != NULL:
            new.deleter(new)


cdef object old_capsule(TensorBase x):
    cdef DLManagedTensor* managed = <DLManagedTensor*>calloc(1, sizeof(DLManagedTensor))
    if managed == NULL:
        raise MemoryError()
    loan = lend(x, &managed.dl_tensor)
    Py_INCREF(loan)
    managed.manager_ctx = <void*>loan
    managed.deleter = delete_old
    return PyCapsule_New(managed, OLD, <void (*)(object) noexcept>drop_capsule)


cdef object new_capsule(TensorBase x, bint is_copied):
    cdef DLManagedTensorVersioned* managed = <DLManagedTensorVersioned*>calloc(1, sizeof(DLManagedTensorVersioned))
    if managed == NULL:
        raise MemoryError()
    loan = lend(x, &managed.dl_tensor)
    Py_INCREF(loan)
    managed.version.major = 1
    managed.version.minor = 1
    managed.manager_ctx = <void*>loan
    managed.deleter = delete_new
    managed.flags = (DL_READ_ONLY if x.storage_.guard else 0) | (DL_IS_COPIED if is_copied else 0)
    return PyCapsule_New(managed, NEW, <void (*)(object) noexcept>drop_capsule)


cdef tuple read_pair(object given, str what):
    """Two ints, as DLPack writes versions and devices; they may come from another library, so nothing is taken for granted."""
    cdef tuple pair = plain_ints(tuple(given))
    if len(pair) != 2 or not PyLong_CheckExact(pair[0]) or not PyLong_CheckExact(pair[1]):
        raise TypeError(f"{what} must be a pair of ints, not {given!r}")
    return pair


def dlpack(TensorBase self not None, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule over the tensor's memory, for `from_dlpack` of another library.

    Parameters
    ----------
    stream : None; there are no streams on a CPU
    max_version : (major, minor) that the borrower understands; None for those before 1.0
    dl_device : (1, 0), the CPU, if given
    copy : True for a copy; otherwise the memory is shared

    Raises
    ------
    BufferError
        If the tensor requires grad, is on another device than asked for, or is read-only and the borrower cannot be told.
    """
    cdef TensorBase x = self
    if is_meta(x):
        raise BufferError("__dlpack__: a tensor on 'meta' has no data to be lent")
    if stream is not None and stream not in (-1, 1):
        raise BufferError(f"__dlpack__: stream is {stream!r}; a tensor in the CPU's memory has none, give None")
    if dl_device is not None and read_pair(dl_device, "__dlpack__: dl_device") != (DL_CPU, 0):
        raise BufferError(f"__dlpack__: the device asked for is {tuple(dl_device)}; the tensor is on the CPU, ({DL_CPU}, 0)")
    if max_version is not None:
        max_version = read_pair(max_version, "__dlpack__: max_version")
    if needs_grad(x):
        raise BufferError("__dlpack__: a tensor that requires grad cannot be lent, because autograd would not see what is "
                          "written there; lend tensor.detach()")
    if copy:
        x = (<object>x).clone()
    if x.keys & LAZY:
        raise BufferError("__dlpack__: the memory of this tensor holds its conjugate or its negative, which a borrower would "
                          "see; lend tensor.resolve_conj().resolve_neg()")
    note_lending(x, "__dlpack__")
    x.storage_.own()
    if max_version is not None and max_version[0] >= 1:
        return new_capsule(x, bool(copy))
    if x.storage_.guard:
        raise BufferError("__dlpack__: the memory is read-only, and a borrower that does not give max_version=(1, 0) cannot be "
                          "told; lend tensor.clone()")
    return old_capsule(x)


def dlpack_device(TensorBase self not None):
    """(1, 0): the CPU, as DLPack numbers devices. It has no number for "meta"."""
    if is_meta(self):
        raise ValueError("__dlpack_device__: DLPack knows no device 'meta'")
    return DL_CPU, 0


# ---------------------------------------------------------------- borrowing
@cython.final
cdef class Borrowed:
    """Owns a struct that another library lent; calls its deleter in the end."""
    cdef DLManagedTensor* old
    cdef DLManagedTensorVersioned* new

    def __dealloc__(self):
        if self.old != NULL and self.old.deleter != NULL:
            self.old.deleter(self.old)
        if self.new != NULL and self.new.deleter != NULL:
            self.new.deleter(self.new)


cdef int dtype_of(DLTensor* lent) except -1:
    cdef DLDataType kind = lent.dtype
    cdef int dtype
    if kind.lanes == 1:
        for dtype in range(NUM_DTYPES):
            if kind_of(dtype) == kind.code and 8 * item_size[dtype] == kind.bits:
                return dtype
    raise DTypeError(f"from_dlpack: elements of DLPack type code {kind.code} with {kind.bits} bits and {kind.lanes} lane(s); "
                     f"tensorlab has no such type")


cdef TensorBase borrow(object capsule):
    """A tensor over what a capsule holds. If this raises, the capsule is as it was."""
    cdef DLTensor* lent
    cdef Borrowed owner
    cdef TensorBase out
    cdef ssize[MAX_NDIM] sizes, strides
    cdef ssize stride = 1
    cdef int i, dtype
    cdef bint is_read_only = False
    cdef DLManagedTensor* old = NULL
    cdef DLManagedTensorVersioned* new = NULL
    if PyCapsule_IsValid(capsule, NEW):
        new = <DLManagedTensorVersioned*>PyCapsule_GetPointer(capsule, NEW)
        if new.version.major != 1:
            raise BufferError(f"from_dlpack: the capsule has DLPack version {new.version.major}.{new.version.minor}; "
                              f"versions before 2 are understood")
        lent = &new.dl_tensor
        is_read_only = new.flags & DL_READ_ONLY
    elif PyCapsule_IsValid(capsule, OLD):
        old = <DLManagedTensor*>PyCapsule_GetPointer(capsule, OLD)
        lent = &old.dl_tensor
    else:
        name = PyCapsule_GetName(capsule)
        raise BufferError(f"from_dlpack: the capsule is named {name.decode()!r}; expected 'dltensor_versioned' or 'dltensor'. "
                          f"A capsule can be consumed only once")
    if lent.device.device_type != DL_CPU:
        raise BufferError(f"from_dlpack: the memory is on device {lent.device.device_type}; only the CPU's can be used")
    dtype = dtype_of(lent)
    if not 0 <= lent.ndim <= MAX_NDIM:
        raise ShapeError(f"from_dlpack: {lent.ndim} dimensions, at most {MAX_NDIM} are supported")
    for i in range(lent.ndim - 1, -1, -1):
        sizes[i] = lent.shape[i]
        strides[i] = stride if lent.strides == NULL else lent.strides[i]
        if lent.strides == NULL:
            stride *= sizes[i]
        if sizes[i] < 0 or (strides[i] < 0 and sizes[i] > 1):
            raise MemoryLayoutError("from_dlpack: a size or stride is negative; make a copy of the array first")
        if strides[i] < 0:                              # of a dimension of size 1: it is never used
            strides[i] = 0
    out = new_tensor()
    out.dtype_ = dtype
    set_layout(out, lent.ndim, sizes, strides)
    if extent(lent.ndim, sizes, strides) > PY_SSIZE_T_MAX // MAX_ITEMSIZE:
        raise MemoryLayoutError(f"from_dlpack: shape {shape_text(lent.ndim, sizes)} with strides "
                                f"{shape_text(lent.ndim, strides)} reaches further than any memory")
    owner = Borrowed.__new__(Borrowed)
    if out.numel_ > 0:
        out.storage_ = foreign_storage(<char*>lent.data + lent.byte_offset,
                                       extent(lent.ndim, sizes, strides) * item_size[dtype], owner, is_read_only)
    else:
        out.storage_ = foreign_storage(NULL, 0, owner, is_read_only)
    out.data_ = out.storage_.address
    PyCapsule_SetName(capsule, NEW_USED if new != NULL else OLD_USED)
    owner.old = old
    owner.new = new
    return out


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of an array of another library, which lives at least as long.

    Parameters
    ----------
    ext_tensor : an object with `__dlpack__` (NumPy, PyTorch, JAX, ... arrays), or a DLPack capsule
    device : "cpu", if given
    copy : True for a copy, False for an error where one would be needed, None for sharing where it can be

    Raises
    ------
    BufferError
        If the memory is not the CPU's, or the capsule was consumed before.
    DTypeError
        If tensorlab has no type for the elements.

    >>> import numpy, tensorlab
    >>> array = numpy.zeros(2)
    >>> tensorlab.from_dlpack(array).add_(1)
    tensor([1., 1.], dtype=tensorlab.float64)
    >>> array
    array([1., 1.])
    """
    cdef TensorBase out
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise BufferError(f"from_dlpack: device is {device!r}; only 'cpu' is there")
    if PyCapsule_CheckExact(ext_tensor):
        out = borrow(ext_tensor)
        return (<object>out).clone() if copy else out
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(f"from_dlpack: a {type(ext_tensor).__name__} has no __dlpack__; give an array that has, or a capsule")
    if hasattr(ext_tensor, "__dlpack_device__"):
        device_pair = read_pair(ext_tensor.__dlpack_device__(), "from_dlpack: what __dlpack_device__() returns")
        if device_pair[0] != DL_CPU:
            raise BufferError(f"from_dlpack: the array is on device {device_pair}; only memory of the CPU, ({DL_CPU}, 0), can be "
                              f"used")
    try:
        capsule = ext_tensor.__dlpack__(max_version=(1, 1), copy=copy)
    except TypeError:                                   # a library that knows only the protocol before version 1.0
        capsule = ext_tensor.__dlpack__()
        return (<object>borrow(capsule)).clone() if copy else borrow(capsule)
    return borrow(capsule)


def to_dlpack(TensorBase tensor not None):
    """A capsule of the form before version 1.0; prefer to hand the tensor itself to the other library's `from_dlpack`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.from_dlpack(tensorlab.to_dlpack(x)).shape
    tensorlab.Size([2, 3])
    """
    return dlpack(tensor)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """`obj` as a tensor that shares its memory where that can be.

    Parameters
    ----------
    obj : Tensor, NumPy array, array with `__dlpack__`, DLPack capsule, object with the buffer protocol, number or nested sequence
    dtype : dtype; another one than obj's makes a copy
    copy : True for a copy always, False for an error where one is needed, None for one only where it is needed
    requires_grad : bool; unless given, that of obj, whose history the result has then

    Raises
    ------
    ValueError
        If `copy` is False and a copy is needed.

    Examples
    --------
    >>> import numpy
    >>> import tensorlab
    >>> array = numpy.zeros(2)
    >>> x = tensorlab.asarray(array)
    >>> array[0] = 7.0
    >>> x
    tensor([7., 0.], dtype=tensorlab.float64)
    """
    cdef TensorBase out
    cdef bint shares = True
    cdef int target = device_code(device, "asarray")
    cdef int before = (<TensorBase>obj).storage_.device if isinstance(obj, TensorBase) else ON_CPU
    if isinstance(obj, TensorBase) or is_array(obj):
        out = as_tensor(obj, device=device)
    elif hasattr(obj, "__dlpack__") or PyCapsule_CheckExact(obj):
        out = from_dlpack(obj)
    elif isinstance(obj, (bytes, bytearray, memoryview, array.array)):
        out = frombuffer(obj, dtype=dtype_object(default_float()) if dtype is None else dtype)
    else:
        out, shares = make_tensor(obj, dtype=dtype, device=device), False
    if target != ON_CPU and out.storage_.device != target:
        out = (<object>out).to(device_of_code(target))
    shares = shares and out.storage_.device == before
    if copy is not None and not copy and not (shares and (dtype is None or dtype == dtype_object(out.dtype_))):
        raise ValueError(f"asarray: copy is False, but a {type(obj).__name__} cannot become a tensor of "
                         f"{dtype or dtype_object(out.dtype_)} on '{out.device}' without a copy")
    if dtype is not None and dtype != dtype_object(out.dtype_):
        out, shares = (<object>out).to(dtype), False
    if copy and shares:
        out = (<object>out).clone()
    if requires_grad:
        return (<object>out).requires_grad_()
    return (<object>out).detach() if requires_grad is not None and needs_grad(out) else out

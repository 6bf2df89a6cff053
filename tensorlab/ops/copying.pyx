"""Copies of tensors: clone, contiguous, copy_, and `to` in all its forms.

Copying is where dtypes meet: a copy casts, and the engine casts its gradient back.
"""
from libc.string cimport memcpy

from tensorlab._core.dispatch.dispatch cimport run_2, run_4
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport (
    as_number, refuse_internal_overlap, refuse_overlap
)
from tensorlab._core.dispatch.recording cimport OpNode, end_record_inplace
from tensorlab._core.dtypes cimport (
    BFLOAT16, BOOL, COMPLEX128, COMPLEX32, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, FLOAT8_E4M3FN,
    FLOAT8_E4M3FNUZ, FLOAT8_E5M2, FLOAT8_E5M2FNUZ, FLOAT8_E8M0FNU, INT16, INT32, INT64, INT8,
    NO_DTYPE, UINT16, UINT32, UINT64, UINT8, default_float, dtype as dtype_class, dtype_code, dtype_object,
    is_differentiable, item_size
)
from tensorlab._core.graph.inplace cimport check_inplace
from tensorlab._core.layout cimport MAX_NDIM, extent, shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.state.devices cimport ON_CPU, ON_META
from tensorlab._core.storage cimport pending_storage
from tensorlab._core.tensor cimport (
    TensorBase, empty_like as empty_tensor_like, is_meta, memory_of, place_of, result_beside,
    result_like, tensor_class
)
from tensorlab.ops.filling cimport start_overlapping
from tensorlab.ops.memory_formats cimport format_strides, likely_format

from tensorlab._core.device import CPU, META, contiguous_format, device_code, device_of_code, preserve_format
from tensorlab._core.interop.exchange import tensor as make_tensor
from tensorlab._core.state.devices import copying_later
from tensorlab.errors import DeviceError, NoDataError, ShapeError

cdef enum:
    SMALL_COPY = 16384                      # bytes that memcpy moves faster than an iterator is set up


# ---------------------------------------------------------------- clone
cdef Op CLONE = Op("clone(Tensor x, *, MemoryFormat? memory_format=None) -> Tensor",
                   is_copy=True)

@CLONE.derivative("x")
def clone_derivative(grad):
    return grad

cdef TensorBase copy_result(TensorBase x, int dtype, object memory_format, str where):
    """A result that x's values fit in."""
    cdef ssize[MAX_NDIM] strides
    if memory_format is None or memory_format is preserve_format:
        return result_like(x, dtype)
    if format_strides(memory_format, x, x.ndim_, x.sizes, strides, where):
        return result_beside(x, dtype, x.ndim_, x.sizes, strides)
    return result_beside(x, dtype, x.ndim_, x.sizes)


cdef int copy_to(TensorBase out, TensorBase x) except -1:
    cdef ssize nbytes = x.numel_ * item_size[x.dtype_]
    if (out.dtype_ == x.dtype_ and x.is_contiguous_ and out.is_contiguous_ and 0 < nbytes <= SMALL_COPY
            and x.storage_.device == ON_CPU and out.storage_.device == ON_CPU):
        memcpy(memory_of(out), x.data_, nbytes)
        return 0
    return copy_into(out, x)


@CLONE.infer
def clone_infer(TensorBase x, memory_format):
    return copy_result(x, x.dtype_, memory_format, "clone")

@CLONE.kernel
def clone_kernel(TensorBase out, TensorBase x, memory_format):
    copy_to(out, x)

cdef TensorBase run_row_major_clone(TensorBase x):
    return run_2(CLONE, x, contiguous_format)


cdef TensorBase run_contiguous(TensorBase x):
    return x if x.is_contiguous_ else run_row_major_clone(x)


def clone(TensorBase input not None, *, memory_format=None):
    """A copy of `input` in memory of its own, through which gradients flow back.

    Parameters
    ----------
    memory_format : order of the dimensions in the copy's memory; that of `input` unless given

    >>> import tensorlab
    >>> x = tensorlab.tensor([1, 2])
    >>> y = x.clone().fill_(5)
    >>> x
    tensor([1, 2])
    """
    return run_2(CLONE, input, memory_format)


def contiguous(TensorBase input not None, memory_format=contiguous_format):
    """`input` itself if its elements lie in row-major order (or in `memory_format`), else such a copy.

    Parameters
    ----------
    memory_format : contiguous_format, channels_last or channels_last_3d

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.t().is_contiguous(), x.t().contiguous().stride()
    (False, (2, 1))
    """
    if memory_format is contiguous_format:
        return run_contiguous(input)
    if is_contiguous(input, memory_format):
        return input
    return run_2(CLONE, input, memory_format)


def is_contiguous(TensorBase input not None, memory_format=contiguous_format):
    """True if the elements lie in row-major order (or in `memory_format`) without gaps.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, 3)
    >>> x.is_contiguous(), x.t().is_contiguous()
    (True, False)
    """
    cdef ssize[MAX_NDIM] strides
    cdef int i
    if memory_format == "contiguous":
        return input.is_contiguous_
    if memory_format == "preserve" or input.ndim_ != (4 if memory_format == "channels_last" else 5):
        return False
    format_strides(memory_format, input, input.ndim_, input.sizes, strides, "is_contiguous")
    for i in range(input.ndim_):
        if input.sizes[i] != 1 and input.strides[i] != strides[i]:
            return False
    return True


# ---------------------------------------------------------------- to
cdef Op TO_COPY = Op("to_copy(Tensor x, *, ScalarType? dtype=None, Device? device=None, "
                     "MemoryFormat? memory_format=None) -> Tensor", aten=None, is_copy=True)

@TO_COPY.derivative("x")
def to_copy_derivative(grad):
    return grad                             # the engine casts it to the type of x

# the same to types that have no gradient: it ends the history
cdef Op TO_INTEGERS = Op("to_integers(Tensor x, *, ScalarType? dtype=None, Device? device=None, "
                         "MemoryFormat? memory_format=None) -> Tensor", aten=None, is_copy=True)

@TO_COPY.infer
@TO_INTEGERS.infer
def to_copy_infer(TensorBase x, dtype, device, memory_format):
    cdef TensorBase out
    cdef int target = x.storage_.device if device is None else device_code(device, "to")
    if is_meta(x) and target != ON_META:
        name = device_of_code(target).type
        raise NoDataError(f"to: a tensor on 'meta' has no data that could be copied to {name!r}; make one with "
                          f"empty_like(device={name!r}), or call to_empty(device={name!r}) on a module, and fill it")
    out = copy_result(x, dtype_code(dtype, x.dtype_), memory_format, "to")
    out.storage_ = pending_storage(target)
    return out

@TO_COPY.kernel
@TO_INTEGERS.kernel
def to_copy_kernel(TensorBase out, TensorBase x, dtype, device, memory_format):
    copy_to(out, x)


cdef TensorBase cast_to(TensorBase x, int dtype, object device, object memory_format):
    return run_4(TO_COPY if is_differentiable(dtype) else TO_INTEGERS, x, dtype_object(dtype), device, memory_format)


cdef TensorBase run_cast(TensorBase x, int dtype):
    """x in another dtype; x itself if it has that one."""
    if x.dtype_ == dtype:
        return x
    return cast_to(x, dtype, None, None)


cdef object run_to(TensorBase x, int code, bint copy, object memory_format, int device):
    if device != place_of(x):
        return cast_to(x, code, device_of_code(device), memory_format)
    if code == x.dtype_ and not copy:
        if memory_format is None or memory_format == "preserve" or memory_format == likely_format(x):
            return x
    return cast_to(x, code, None, memory_format)


def to(TensorBase self not None, *args, dtype=None, device=None, bint non_blocking=False, bint copy=False,
       memory_format=None):
    """The tensor in another dtype or on another device; the tensor itself if nothing changes.

    The forms are `to(dtype)`, `to(device, dtype)` and `to(other)`, the last meaning dtype and device of another tensor;
    each may be followed by `non_blocking` and `copy`.

    Parameters
    ----------
    dtype : dtype
    device : "cpu", or "meta", where only the layout is left: there is no way back
    non_blocking : bool; whether a device with queues of its own may make the copy later
    copy : bool; make a copy even if nothing changes
    memory_format : order of the dimensions in the copy's memory; that of the tensor unless given

    >>> import tensorlab
    >>> tensorlab.tensor([1, 2]).to(tensorlab.float64)
    tensor([1., 2.], dtype=tensorlab.float64)
    """
    cdef Py_ssize_t n = len(args), flags
    cdef int code, place
    cdef object first
    if n == 1 and isinstance(args[0], dtype_class) and dtype is None and device is None:
        return run_to(self, dtype_code(args[0], NO_DTYPE), copy, memory_format, place_of(self))
    flags = 1
    if n > 0:
        first = args[0]
        if isinstance(first, TensorBase):
            if dtype is not None or device is not None:
                raise TypeError("to: another tensor says the dtype and the device; do not give them again")
            dtype, device = first.dtype, get_device(first)
        elif isinstance(first, dtype_class) or first is float or first is int or first is bool:
            if dtype is not None:
                raise TypeError("to: dtype is given twice")
            dtype = first
        else:
            if device is not None:
                raise TypeError("to: device is given twice")
            device = first
            if n > 1 and not isinstance(args[1], bool):
                if dtype is not None:
                    raise TypeError("to: dtype is given twice")
                dtype = args[1]
                flags = 2
        if n > flags + 2 or not all([isinstance(one, bool) for one in args[flags:]]):
            raise TypeError(f"to: {', '.join([type(one).__name__ for one in args])} is none of its forms; they are "
                            f"to(dtype), to(device, dtype) and to(other), followed by non_blocking and copy")
        if n > flags:
            non_blocking = args[flags]
        if n > flags + 1:
            copy = args[flags + 1]
    code = dtype_code(dtype, self.dtype_)
    place = place_of(self) if device is None else device_code(device, "to")
    if non_blocking:
        with copying_later():
            return run_to(self, code, copy, memory_format, place)
    return run_to(self, code, copy, memory_format, place)


def type_as(TensorBase self not None, TensorBase other not None):
    """The tensor in the dtype of `other`, and on its device.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.tensor([1, 2]).type_as(x).dtype
    tensorlab.float32
    """
    return run_to(self, other.dtype_, False, None, place_of(other))


def to_float(TensorBase self not None, memory_format=None):
    """The tensor as float32.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1, 2]).float()
    tensor([1., 2.])
    """
    return run_to(self, FLOAT32, False, memory_format, place_of(self))


def to_double(TensorBase self not None, memory_format=None):
    """The tensor as float64.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.0]).double()
    tensor([1.], dtype=tensorlab.float64)
    """
    return run_to(self, FLOAT64, False, memory_format, place_of(self))


def to_cfloat(TensorBase self not None, memory_format=None):
    """The tensor as complex64.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.0, 2.0]).cfloat()
    tensor([1.+0.j, 2.+0.j])
    """
    return run_to(self, COMPLEX64, False, memory_format, place_of(self))


def to_chalf(TensorBase self not None, memory_format=None):
    """The tensor as complex32.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.0]).chalf().dtype
    tensorlab.complex32
    """
    return run_to(self, COMPLEX32, False, memory_format, place_of(self))


def to_cdouble(TensorBase self not None, memory_format=None):
    """The tensor as complex128.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.0]).cdouble().dtype
    tensorlab.complex128
    """
    return run_to(self, COMPLEX128, False, memory_format, place_of(self))


def to_half(TensorBase self not None, memory_format=None):
    """The tensor as float16.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.0, 1e6]).half()
    tensor([1., inf], dtype=tensorlab.float16)
    """
    return run_to(self, FLOAT16, False, memory_format, place_of(self))


def to_bfloat16(TensorBase self not None, memory_format=None):
    """The tensor as bfloat16.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.0, 1.001, 1e6]).bfloat16()
    tensor([1.0000e+00, 1.0000e+00, 9.9942e+05], dtype=tensorlab.bfloat16)
    """
    return run_to(self, BFLOAT16, False, memory_format, place_of(self))


def to_long(TensorBase self not None, memory_format=None):
    """The tensor as int64; fractions are cut off.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.9, -1.9]).long()
    tensor([ 1, -1])
    """
    return run_to(self, INT64, False, memory_format, place_of(self))


def to_int(TensorBase self not None, memory_format=None):
    """The tensor as int32; fractions are cut off.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.9, -1.9]).int()
    tensor([ 1, -1], dtype=tensorlab.int32)
    """
    return run_to(self, INT32, False, memory_format, place_of(self))


def to_short(TensorBase self not None, memory_format=None):
    """The tensor as int16; fractions are cut off.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.9, -1.9]).short()
    tensor([ 1, -1], dtype=tensorlab.int16)
    """
    return run_to(self, INT16, False, memory_format, place_of(self))


def to_char(TensorBase self not None, memory_format=None):
    """The tensor as int8; fractions are cut off.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.9, -1.9]).char()
    tensor([ 1, -1], dtype=tensorlab.int8)
    """
    return run_to(self, INT8, False, memory_format, place_of(self))


def to_byte(TensorBase self not None, memory_format=None):
    """The tensor as uint8; fractions are cut off.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.9, 255.0]).byte()
    tensor([  1, 255], dtype=tensorlab.uint8)
    """
    return run_to(self, UINT8, False, memory_format, place_of(self))


def to_bool(TensorBase self not None, memory_format=None):
    """The tensor as bool: True where it is not 0.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([0.0, 0.5, -1.0]).bool()
    tensor([False,  True,  True])
    """
    return run_to(self, BOOL, False, memory_format, place_of(self))


cdef dict TYPE_NAMES = {
    "BoolTensor": BOOL, "ByteTensor": UINT8, "CharTensor": INT8, "ShortTensor": INT16, "IntTensor": INT32,
    "LongTensor": INT64, "HalfTensor": FLOAT16, "BFloat16Tensor": BFLOAT16, "FloatTensor": FLOAT32,
    "DoubleTensor": FLOAT64, "ComplexHalfTensor": COMPLEX32, "ComplexFloatTensor": COMPLEX64,
    "ComplexDoubleTensor": COMPLEX128, "UInt16Tensor": UINT16, "UInt32Tensor": UINT32, "UInt64Tensor": UINT64,
    "Float8_e4m3fnTensor": FLOAT8_E4M3FN, "Float8_e5m2Tensor": FLOAT8_E5M2, "Float8_e4m3fnuzTensor": FLOAT8_E4M3FNUZ,
    "Float8_e5m2fnuzTensor": FLOAT8_E5M2FNUZ, "Float8_e8m0fnuTensor": FLOAT8_E8M0FNU,
}


def get_type(TensorBase self not None, dtype=None, non_blocking=False):
    """The tensor in another dtype; without one, the old name of its type ("tensorlab.FloatTensor").

    Parameters
    ----------
    dtype : dtype, or an old name of one: a class such as tensorlab.LongTensor, or "tensorlab.LongTensor"
    non_blocking : bool, without effect

    Raises
    ------
    ValueError
        If it is no type of a tensor.
    DeviceError
        If it is a type of tensors on an accelerator.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.5, 2.5])
    >>> x.type()
    'tensorlab.FloatTensor'
    >>> x.type(tensorlab.int64), x.type("tensorlab.LongTensor").dtype
    (tensor([1, 2]), tensorlab.int64)
    """
    cdef str name
    if dtype is None:
        for name, code in TYPE_NAMES.items():
            if code == self.dtype_:
                return ("tensorlab.meta." if is_meta(self) else "tensorlab.") + name
    if dtype is float or dtype is int or dtype is bool:
        raise ValueError(f"type: {dtype.__name__!r} is no type of tensor; use a dtype such as tensorlab.float32")
    if isinstance(dtype, type):
        if dtype is tensor_class:
            return run_cast(self, default_float())
        if hasattr(dtype, "dtype"):
            dtype = dtype.dtype                 # FloatTensor and its like
    if isinstance(dtype, str):
        name = dtype.rpartition(".")[2]
        if ".cuda." in dtype or ".xpu." in dtype:
            raise DeviceError(f"type: {dtype!r} is on an accelerator, and tensorlab has none; use 'tensorlab.{name}'")
        if name not in TYPE_NAMES:
            raise ValueError(f"type: {dtype!r} is no type of tensor; use a dtype such as tensorlab.float32")
        return run_cast(self, TYPE_NAMES[name])
    return run_cast(self, dtype_code(dtype, NO_DTYPE))


def to_device(TensorBase self not None, device, *, stream=None):
    """The tensor on a device, as the array standard asks for it; `x.to(device)` is the same.

    Parameters
    ----------
    device : device, or its name
    stream : None; the devices that there are have no streams

    Raises
    ------
    ValueError
        If a stream is given.

    >>> import tensorlab
    >>> tensorlab.ones(2).to_device("cpu")
    tensor([1., 1.])
    """
    if stream is not None:
        raise ValueError(f"to_device: stream is {stream!r}, but there are no streams here; leave it out")
    return (<object>self).to(device=device)


def cpu(TensorBase self not None, memory_format=None):
    """The tensor in the processor's memory: itself if it is there. A tensor on "meta" has no data to be put there.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.cpu() is x
    True
    """
    return run_to(self, self.dtype_, False, memory_format, ON_CPU)


def get_device(TensorBase self not None):
    """The place where the elements are: device("cpu"), or device("meta") if there are none.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2).device, tensorlab.zeros(2, device="meta").device
    (device(type='cpu'), device(type='meta'))
    """
    cdef int code = place_of(self)
    return CPU if code == ON_CPU else META if code == ON_META else device_of_code(code)


# ---------------------------------------------------------------- copy_
cdef Op COPY = Op("copy(Tensor x, Tensor src) -> Tensor",
                  fixed="bool non_blocking=False", node="CopyBackwards",
                  converts=True)

@COPY.derivative("x")
def copy_derivative_x(grad):
    return grad.new_zeros(grad.shape)

@COPY.derivative("src")
def copy_derivative_src(grad):
    return grad                             # the engine sums it to the shape of the source and casts it


cdef bint is_same_place(TensorBase x, TensorBase y) noexcept:
    """Do two tensors read the same elements in the same order? A copy from one to the other then has nothing to do."""
    cdef int i
    if x is y:
        return True
    if x.data_ != y.data_ or x.dtype_ != y.dtype_ or x.storage_ is not y.storage_ or x.ndim_ != y.ndim_:
        return False
    for i in range(x.ndim_):
        if x.sizes[i] != y.sizes[i] or x.strides[i] != y.strides[i]:
            return False
    return True


cdef int copy_safely(TensorBase out, TensorBase x) except -1:
    """copy_into for tensors that may lie over one another: then x is copied first."""
    cdef char* out_end
    cdef char* x_end
    cdef TensorBase fresh
    if out.storage_ is x.storage_ and out.numel_ > 0 and x.numel_ > 0:
        if is_same_place(out, x):
            return 0
        out_end = out.data_ + extent(out.ndim_, out.sizes, out.strides) * item_size[out.dtype_]
        x_end = x.data_ + extent(x.ndim_, x.sizes, x.strides) * item_size[x.dtype_]
        if out.data_ < x_end and x.data_ < out_end:
            fresh = empty_tensor_like(x, x.dtype_)
            copy_into(fresh, x)
            return copy_into(out, fresh)
    return copy_into(out, x)


cdef Op COPY_ = inplace_op(COPY)

cdef int check_source(TensorBase x, TensorBase source) except -1:
    cdef int i, shift = x.ndim_ - source.ndim_
    for i in range(source.ndim_):
        if shift < 0 or (source.sizes[i] != 1 and source.sizes[i] != x.sizes[i + shift]):
            raise ShapeError(f"copy_: other has shape {shape_text(source.ndim_, source.sizes)}, which cannot be "
                             f"broadcast to "
                             f"{shape_text(x.ndim_, x.sizes)}: counted from the right, sizes must be equal or 1")
    return 0

@COPY.infer
def copy_infer(TensorBase x, TensorBase source):
    check_source(x, source)
    return result_like(x, x.dtype_)

@COPY.kernel
def copy_kernel(TensorBase out, TensorBase x, TensorBase source):
    copy_into(out, source)

@COPY_.compose
def copy_inplace(TensorBase self, TensorBase source):
    cdef OpNode node = None
    check_source(self, source)
    if is_differentiable(self.dtype_):
        node = start_overlapping(COPY, self, (self, source))
    else:
        check_inplace(self, False, "copy_")         # autograd does not follow integers
    if not is_same_place(self, source):             # else nothing is written, so elements may share a place
        refuse_internal_overlap(self, "copy_")
        refuse_overlap(self, source, "copy_")
        copy_safely(self, source)
    return end_record_inplace(node, self)

COPY_.records_itself = True

def copy_(TensorBase self not None, other, bint non_blocking=False):
    """Write the values of `other`, broadcast and cast, over those of the tensor.

    Parameters
    ----------
    other : Tensor or number; a tensor's shape must broadcast to that of `self`
    non_blocking : bool; whether a device with queues of its own may make the copy later

    Raises
    ------
    ShapeError
        If the shape of `other` cannot be broadcast to that of `self`.
    MemoryLayoutError
        If the two share part of their memory, or `self` shows some element twice.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, 2)
    >>> x.copy_(tensorlab.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    >>> x.dtype
    tensorlab.float32
    """
    if not isinstance(other, TensorBase):
        if as_number(other) is None:
            raise TypeError(f"copy_: other must be a Tensor, not {type(other).__name__}")
        other = make_tensor(other, device=CPU)
    if non_blocking:
        with copying_later():
            return run_2(COPY_, self, other)
    return run_2(COPY_, self, other)

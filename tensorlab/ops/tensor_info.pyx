"""Questions about a tensor: of what type it is, where it is, what it is not.

Much of this exists for programs written for many devices and kinds of tensors. Here a tensor is real, strided and in the
processor's memory, so most answers are constants; they are given without ado, and what cannot be had is refused.
"""
from tensorlab._core.dispatch.operands cimport can_cast as may_cast
from tensorlab._core.dtypes cimport COMPLEX, FLOATING, NO_DTYPE, dtype_code, is_in, item_size
from tensorlab._core.state.devices cimport FIRST_OF_OTHERS, ON_CPU
from tensorlab._core.storage cimport Storage
from tensorlab._core.tensor cimport TensorBase, is_meta, offset_of

import numpy

from tensorlab._core.device import check_device
from tensorlab._core.device import strided as strided_layout
from tensorlab._core.interop.arrays import from_numpy
from tensorlab._core.state.devices import accelerator_name
from tensorlab.errors import DeviceError


# ---------------------------------------------------------------- of what kind
def is_tensor(obj, /):
    """Is it a tensor?

    >>> import tensorlab
    >>> tensorlab.is_tensor(tensorlab.ones(2)), tensorlab.is_tensor([1.0, 1.0])
    (True, False)
    """
    return isinstance(obj, TensorBase)


def is_storage(obj, /):
    """Is it a storage, such as `x.untyped_storage()`?

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.is_storage(x.untyped_storage())
    True
    """
    return isinstance(obj, Storage)


def is_floating_point(TensorBase input not None):
    """True for float16, bfloat16, float32 and float64.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.is_floating_point(x)
    False
    """
    return is_in(input.dtype_, FLOATING)


def is_complex(TensorBase input not None):
    """True for the types complex64 and complex128.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.is_complex(tensorlab.tensor([1 + 2j]))
    True
    """
    return is_in(input.dtype_, COMPLEX)


def is_signed(TensorBase input not None):
    """True if the elements can be negative.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.is_signed(x)
    True
    """
    return input.dtype.is_signed


def is_inference(TensorBase input not None):
    """True for a tensor made under inference_mode.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.is_inference(x)
    False
    """
    return input.is_inference()


def is_nonzero(TensorBase input not None):
    """Is the only element of `input` other than 0?

    Raises
    ------
    RuntimeError
        If there is not just one element.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.is_nonzero(tensorlab.tensor([0.5]))
    True
    """
    if input.numel_ != 1:
        raise RuntimeError(f"is_nonzero: the tensor has {input.numel_} elements, and the answer would depend on which; one is "
                           f"needed, or any() or all()")
    return bool(input.item())


def is_same_size(TensorBase input not None, TensorBase other not None):
    """Have two tensors the same shape?

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.is_same_size(x, x.t())
    False
    """
    return input.shape == other.shape


def is_set_to(TensorBase self not None, TensorBase tensor not None):
    """Are two tensors the same part of the same storage, with the same shape and strides?

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, 3)
    >>> x.is_set_to(x.view(2, 3)), x.is_set_to(x.clone())
    (True, False)
    """
    return (self.storage_ is tensor.storage_ and offset_of(self) == offset_of(tensor) and self.shape == tensor.shape
            and self.stride() == tensor.stride())


def numel(TensorBase input not None):
    """Number of elements.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.numel(x)
    6
    """
    return input.numel_


def can_cast(from_, to):
    """May values of one type be written into a tensor of another by an operator? Not down a category.

    The width does not matter: int64 goes into int8, where it wraps, and float64 into float16, where it is rounded.

    >>> import tensorlab
    >>> tensorlab.can_cast(tensorlab.int64, tensorlab.float16), tensorlab.can_cast(tensorlab.float16, tensorlab.int64)
    (True, False)
    """
    if from_ is None or to is None:
        raise TypeError("can_cast: two dtypes are needed, and one is None")
    return may_cast(dtype_code(from_, NO_DTYPE), dtype_code(to, NO_DTYPE))


def dim_order(TensorBase self not None):
    """The dimensions from the one with the largest stride to the one with the smallest.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2, 3).dim_order(), tensorlab.zeros(2, 3).t().dim_order()
    ((0, 1), (1, 0))
    """
    return tuple(sorted(range(self.ndim_), key=lambda d: (-self.stride(d), d)))


# ---------------------------------------------------------------- where
def is_cpu(TensorBase self not None):
    """True if the elements are in the processor's memory: unless the tensor is on "meta".

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2).is_cpu, tensorlab.zeros(2, device="meta").is_cpu
    (True, False)
    """
    return not is_meta(self)


def no(TensorBase self not None):
    """False: no tensor is on an accelerator, sparse, quantized or nested.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2)
    >>> x.is_cuda, x.is_quantized
    (False, False)
    """
    return False


def get_layout(TensorBase self not None):
    """How elements are found: by strides.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2).layout
    tensorlab.strided
    """
    return strided_layout


def get_name(TensorBase self not None):
    """None: tensors have no names."""
    return None


def get_device_index(TensorBase input not None):
    """The number of the accelerator that the tensor is on; -1 on the cpu.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.get_device(x)
    -1
    """
    return 0 if input.storage_.device >= FIRST_OF_OTHERS else -1


def cuda(TensorBase self not None, device=None, non_blocking=False, memory_format=None):
    """The tensor on a CUDA device: an error, since there is none.

    Raises
    ------
    DeviceError
        Always. It is a RuntimeError and an AssertionError, the class that PyTorch without CUDA raises.

    Examples
    --------
    >>> import tensorlab
    >>> device = "cuda" if tensorlab.cuda.is_available() else "cpu"
    >>> tensorlab.zeros(2).to(device).device
    device(type='cpu')
    """
    check_device("cuda", "cuda")


def xpu(TensorBase self not None, device=None, non_blocking=False, memory_format=None):
    """The tensor on an XPU device: an error, since there is none."""
    check_device("xpu", "xpu")


class PinnedMemory(numpy.ndarray):
    """Bytes of the processor's memory that an accelerator may read and write in its own time: who owns them says so."""


def pin_memory(TensorBase self not None, device=None):
    """A copy in memory that an accelerator reads in its own time, so that `to(..., non_blocking=True)` need not wait.

    Raises
    ------
    DeviceError
        If there is no accelerator, or the tensor isn't on the cpu.
    """
    if accelerator_name() is None:
        raise DeviceError("pin_memory: memory is pinned for an accelerator, and tensorlab has none; leave it out")
    if self.storage_.device != ON_CPU:
        raise DeviceError(f"pin_memory: memory of the cpu is pinned, and the tensor is on {self.device}")
    if is_pinned(self):
        return self
    memory = from_numpy(numpy.empty(self.numel_ * item_size[self.dtype_], dtype=numpy.uint8).view(PinnedMemory))
    pinned = self.detach().new_empty(0).set_(memory.untyped_storage(), 0, self.shape)
    return pinned.copy_(self.detach())


def is_pinned(TensorBase self not None, device=None):
    """Whether the tensor's memory is pinned for an accelerator.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2).is_pinned()
    False
    """
    return type(self.storage_.owner) is PinnedMemory


def device_memory(TensorBase x not None):
    """(memory, offset): what stands for the tensor's bytes on a registered device, and at which of them it begins.

    For the kernels of that device.

    Raises
    ------
    DeviceError
        If the tensor isn't on such a device.
    """
    if x.storage_.device < FIRST_OF_OTHERS or x.storage_.owner is None:
        raise DeviceError(f"device_memory: a tensor on a registered device is needed, not one on {x.device}")
    return x.storage_.owner, offset_of(x) * item_size[x.dtype_]


def record_stream(TensorBase self not None, stream):
    """Tell the device that work in another stream uses the tensor: its memory is not given to others before that is done.

    Raises
    ------
    DeviceError
        If the tensor isn't on an accelerator.
    TypeError
        If `stream` is none.
    """
    memory, _ = device_memory(self)
    if not hasattr(stream, "_backend"):
        raise TypeError(f"record_stream: a Stream is needed, not {type(stream).__name__}")
    if hasattr(stream._backend, "record_stream"):
        stream._backend.record_stream(memory, stream._native)

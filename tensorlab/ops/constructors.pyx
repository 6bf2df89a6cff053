"""Tensors as old programs make them: `Tensor(2, 3)`, `FloatTensor([1, 2])`, `x.new(...)`."""
from cpython.long cimport PyLong_Check

from tensorlab._core.dispatch.dispatch cimport run_4
from tensorlab._core.dispatch.operands cimport as_number
from tensorlab._core.dtypes cimport NO_DTYPE, default_float, dtype_code, dtype_object, item_size
from tensorlab._core.layout cimport MAX_NDIM, contiguous_strides, extent, plain_ints, ssize
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.storage cimport shell_storage
from tensorlab._core.tensor cimport TensorBase, VersionCounter, set_layout, tensor_class
from tensorlab.ops.creation cimport EMPTY, read_layout
from tensorlab.ops.factories cimport (
    apply_flags, check_layout, device_beside, device_or_default, dtype_beside, factory_sizes,
    given_size
)
from tensorlab.ops.memory_formats cimport format_strides

from tensorlab._core.device import check_device, device_code
from tensorlab._core.dispatch.subclass import make_subclass
from tensorlab._core.interop.exchange import tensor as make_tensor
from tensorlab._core.tensor import Size
from tensorlab.errors import ShapeError


cdef TensorBase new_of_dtype(tuple args, object data, object device, int dtype, bint any_dtype,
                             str where):
    """What `Tensor(...)` makes: an empty tensor of some sizes, a copy of a sequence, or a view
    of another tensor."""
    check_device(device, where)
    if data is not None:
        args += (data,)
    if len(args) != 1 or PyLong_Check(args[0]) or isinstance(args[0], Size):
        return run_4(EMPTY, given_size(args or (0,), None, where), dtype_object(dtype),
                     device_or_default(device), None)
    data = args[0]
    if isinstance(data, TensorBase):
        if (<TensorBase>data).dtype_ != dtype and not any_dtype:
            raise TypeError(f"{where}: makes tensors of {dtype_object(dtype)}, and the tensor "
                            f"given is of {data.dtype}; convert it with "
                            f".to({dtype_object(dtype)})")
        return data[...]
    if as_number(data) is not None or isinstance(data, str):
        raise TypeError(f"{where}: data must be a sequence of numbers or sizes, not "
                        f"{type(data).__name__} {data!r}; tensorlab.tensor({data!r}) makes a "
                        f"0-d tensor of a number")
    return make_tensor(data, dtype=dtype_object(dtype), device=device)


def new_of_class(cls, *args, data=None, device=None):
    """`Tensor(2, 3)`, an empty tensor of that shape, or `Tensor([2, 3])`, these numbers; prefer
    `empty` and `tensor`."""
    cdef TensorBase made = new_of_dtype(args, data, device, default_float(), True, cls.__name__)
    return made if cls is tensor_class else make_subclass(cls, made)


def make_wrapper(cls, size, strides=None, storage_offset=None, memory_format=None, dtype=None,
                 layout=None, device=None, bint pin_memory=False, bint requires_grad=False):
    """A tensor of class `cls` with a layout, a dtype and a device, and without memory.

    It stands for what it holds in attributes of its own. The layer of the class computes all ops
    that are called with it; see `handle_class`. A kernel that is given it refuses it.

    Parameters
    ----------
    cls : a class that inherits Tensor; its `__new__` and `__init__` are not called
    size, strides : sequences of int; row-major, or as `memory_format` says, unless strides are given
    storage_offset : int; where the first element would be
    dtype : dtype; the default floating type unless given
    device : where the tensor says that it is; the default device unless given
    requires_grad : bool; autograd is to follow it

    Raises
    ------
    TypeError
        If `cls` does not inherit Tensor.
    RuntimeError
        If a size, a stride or the offset is negative, or a gradient is wanted and the dtype is not
        floating.

    >>> import tensorlab
    >>> class Holder(tensorlab.Tensor):
    ...     pass
    >>> x = tensorlab.Tensor._make_wrapper_subclass(Holder, (2, 3), dtype=tensorlab.float64)
    >>> x.shape, x.dtype, x.device
    (tensorlab.Size([2, 3]), tensorlab.float64, device(type='cpu'))
    """
    cdef str where = "_make_wrapper_subclass"
    cdef ssize[MAX_NDIM] sizes, order
    cdef TensorBase made
    cdef int ndim, code = dtype_code(dtype, default_float())
    cdef ssize offset = 0 if storage_offset is None else storage_offset
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(f"{where}: the class is {cls!r}; expected one that inherits "
                        f"tensorlab.Tensor")
    check_layout(layout, where)
    if offset < 0:
        raise ShapeError(f"{where}: storage_offset is {offset}; it must be at least 0")
    if strides is not None:
        ndim = read_layout(plain_ints(size), plain_ints(strides), sizes, order, where)
    else:
        ndim = factory_sizes(plain_ints(size), sizes, where)
        if memory_format is None or not format_strides(memory_format, None, ndim, sizes, order,
                                                       where):
            contiguous_strides(ndim, sizes, order)
    made = <TensorBase>TensorBase.__new__(cls)
    made.dtype_ = code
    set_layout(made, ndim, sizes, order)
    made.storage_ = shell_storage(device_code(device, where),
                                  (offset + extent(ndim, sizes, order)) * item_size[code])
    made.data_ = <char*>(offset * item_size[code])
    if not thread_state().inference:
        made.counter = VersionCounter.__new__(VersionCounter)
    return apply_flags(made, requires_grad, where)


class TypedTensor(type):
    """The kind of class that FloatTensor is: calling it makes a Tensor of its dtype, which
    counts as its instance."""

    def __call__(cls, *args, data=None, device=None):
        return new_of_dtype(args, data, device, dtype_code(cls.dtype, NO_DTYPE), False,
                            cls.__name__)

    def __instancecheck__(cls, x):
        return isinstance(x, TensorBase) and x.dtype is cls.dtype


def new(TensorBase self not None, *args, data=None, device=None):
    """What `Tensor(...)` makes, of the dtype of `self`; prefer `new_empty` and `new_tensor`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.5, 2.5], dtype=tensorlab.float64)
    >>> x.new([1, 2])
    tensor([1., 2.], dtype=tensorlab.float64)
    >>> x.new(2, 3).shape
    tensorlab.Size([2, 3])
    """
    return new_of_dtype(args, data, device_beside(self, device), self.dtype_, False, "new")


def new_tensor(TensorBase self not None, data, *, dtype=None, device=None,
               bint requires_grad=False, pin_memory=False):
    """A tensor with a copy of the values of `data`, of the dtype of `self`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.ones(2, dtype=tensorlab.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=tensorlab.float64)
    """
    return make_tensor(data, dtype=dtype_beside(self, dtype),
                       device=device_beside(self, device), requires_grad=requires_grad)

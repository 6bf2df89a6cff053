"""Tensors as old programs make them: `Tensor(2, 3)`, `FloatTensor([1, 2])`, `x.new(...)`."""
from cpython.long cimport PyLong_Check

from tensorlab._core.dispatch.dispatch cimport run_4
from tensorlab._core.dispatch.operands cimport as_number
from tensorlab._core.dtypes cimport NO_DTYPE, default_float, dtype_code, dtype_object
from tensorlab._core.tensor cimport TensorBase, tensor_class
from tensorlab.ops.creation cimport EMPTY
from tensorlab.ops.factories cimport device_beside, device_or_default, dtype_beside, given_size

from tensorlab._core.device import check_device
from tensorlab._core.dispatch.subclass import make_subclass
from tensorlab._core.interop.exchange import tensor as make_tensor
from tensorlab._core.tensor import Size


cdef TensorBase new_of_dtype(tuple args, object data, object device, int dtype, bint any_dtype,
                             str where):
    """What `Tensor(...)` makes: an empty tensor of some sizes, a copy of a sequence, or a view
    of another tensor."""
    check_device(device, where)
    if data is not None:
        args += (data,)
    if len(args) != 1 or PyLong_Check(args[0]) or isinstance(args[0], Size):
        return run_4(EMPTY, given_size(args or (0,), None, where), None, dtype_object(dtype),
                     device_or_default(device))
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


class TypedTensor(type):
    """The kind of class that FloatTensor is: calling it makes a Tensor of its dtype, which
    counts as its instance."""

    def __call__(cls, *args, data=None, device=None):
        return new_of_dtype(args, data, device, dtype_code(cls.dtype, NO_DTYPE), False,
                            cls.__name__)

    def __instancecheck__(cls, x):
        return isinstance(x, TensorBase) and x.dtype is cls.dtype


def new(TensorBase self not None, *args, data=None, device=None):
    """What `Tensor(...)` makes, of the dtype of `self`; prefer `new_empty` and `new_tensor`."""
    return new_of_dtype(args, data, device_beside(self, device), self.dtype_, False, "new")


def new_tensor(TensorBase self not None, data, *, dtype=None, device=None,
               bint requires_grad=False, pin_memory=False):
    """A tensor with a copy of the values of `data`, of the dtype of `self`."""
    return make_tensor(data, dtype=dtype_beside(self, dtype),
                       device=device_beside(self, device), requires_grad=requires_grad)

"""What several families of pointwise ops ask of their operands."""
from tensorlab._core.dtypes cimport BOOL, is_floating
from tensorlab._core.loops cimport fill_with
from tensorlab._core.tensor cimport TensorBase, empty_like


cdef inline bint is_bool(object x) noexcept:
    """Is x a bool tensor or a Python bool?"""
    if isinstance(x, TensorBase):
        return (<TensorBase>x).dtype_ == BOOL
    return x is True or x is False


cdef inline bint is_floating_operand(object x) noexcept:
    """Is x a floating tensor or a Python float?"""
    if isinstance(x, TensorBase):
        return is_floating((<TensorBase>x).dtype_)
    return isinstance(x, float)


cdef inline object zeros_as(TensorBase x):
    """A new tensor of zeros of x's shape and type: the gradient of a function that is flat."""
    cdef TensorBase out = empty_like(x, x.dtype_)
    cdef float zero = 0
    fill_with(out, &zero, 8)
    return out


cdef inline int check_tensor(str where, str name, object x) except -1:
    """Raise unless x is a tensor."""
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {type(x).__name__}")
    return 0

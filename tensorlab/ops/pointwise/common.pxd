"""What several families of pointwise ops ask of their operands."""
from tensorlab._core.dtypes cimport BOOL, INEXACT, is_in
from tensorlab._core.tensor cimport TensorBase

cdef int check_tensor(str where, str name, object x) except -1
cdef object old_order(str where, str name, object factor, object given)


cdef inline bint is_bool(object x) noexcept:
    """Is x a bool tensor or a Python bool?"""
    if isinstance(x, TensorBase):
        return (<TensorBase>x).dtype_ == BOOL
    return x is True or x is False


cdef inline bint is_floating_operand(object x) noexcept:
    """Is x a floating or complex tensor, or such a number?"""
    if isinstance(x, TensorBase):
        return is_in((<TensorBase>x).dtype_, INEXACT)
    return isinstance(x, (float, complex))

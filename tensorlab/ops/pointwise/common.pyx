"""What several families of pointwise ops ask of their operands, and the gradient of flat functions."""
from tensorlab._core.dtypes cimport FLOAT32, is_floating
from tensorlab._core.iterator cimport fill_with
from tensorlab._core.tensor cimport TensorBase, empty_like

import warnings

from tensorlab.errors import UnsupportedDType


cdef object zeros_as(TensorBase x):
    """A new tensor of zeros of x's shape and type: the gradient of a function that is flat."""
    cdef TensorBase out = empty_like(x, x.dtype_)
    cdef float zero = 0
    fill_with(out, &zero, FLOAT32)
    return out


cdef int check_tensor(str where, str name, object x) except -1:
    """Raise unless x is a tensor."""
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {type(x).__name__}")
    return 0


cdef int check_floating(str where, TensorBase x) except -1:
    """Raise unless x is a floating tensor."""
    if not is_floating(x.dtype_):
        raise UnsupportedDType(f"{where}: not implemented for {x.dtype}; convert with .to(float) first")
    return 0


cdef object old_order(str where, str name, object factor, object given):
    """The factor of a call in the order of old programs, which have it before the operands. It warns, as in PyTorch."""
    if isinstance(factor, TensorBase) and (<TensorBase>factor).ndim_ > 0:
        raise TypeError(f"{where}: one tensor too many; {name} is a number and must be given by name, as in {name}=2")
    if given != 1:
        raise TypeError(f"{where}: {name} is given twice, as {factor} and as {given}")
    warnings.warn(f"{where}: {name} stands before the operands, as in old programs; give it by name: {name}={factor}",
                  UserWarning, stacklevel=1)
    return factor

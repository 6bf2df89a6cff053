"""Tensors of another Python class: the same memory under a class that inherits Tensor."""
from tensorlab._core.dispatch.dispatch cimport run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport dtype_object, is_differentiable
from tensorlab._core.state.modes cimport active_layers, thread_state
from tensorlab._core.storage cimport BORROWED
from tensorlab._core.tensor cimport LAZY, TensorBase, note_borrower, set_layout, set_lazy_bits

from tensorlab.errors import DTypeError, GradientError


# not recorded by autograd: the result is a leaf
cdef Op MAKE_SUBCLASS = Op("make_subclass(Tensor(a) data, Class cls, bool require_grad=False) -> Tensor(a)",
                           aten=None, records_itself=True, forgets_history=True)

def make_subclass(cls, TensorBase data not None, bint require_grad=False):
    """A leaf of class `cls` over the memory of `data`; writes through either are noticed by autograd.

    Parameters
    ----------
    cls : a class that inherits Tensor; its `__new__` and `__init__` are not called
    require_grad : whether autograd follows what is computed from it

    Raises
    ------
    TypeError
        If `cls` does not inherit Tensor.
    RuntimeError
        If a gradient is wanted and the dtype is not floating, or outside inference_mode of an inference tensor.
    """
    if active_layers:
        return run_3(MAKE_SUBCLASS, data, cls, require_grad)
    return subclass_of(data, cls, require_grad)


cdef TensorBase subclass_of(TensorBase data, object cls, object require_grad):
    """The kernel, for others too."""
    cdef TensorBase made
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(f"_make_subclass: the class is {cls!r}; expected one that inherits tensorlab.Tensor")
    if require_grad and not is_differentiable(data.dtype_):
        raise DTypeError(f"{cls.__name__}: only floating-point tensors can require gradients, not {dtype_object(data.dtype_)}; "
                         f"give requires_grad=False")
    if require_grad and data.counter is None and not thread_state().inference:
        raise GradientError(f"{cls.__name__}: an inference tensor cannot require gradients outside inference_mode; clone it")
    made = <TensorBase>TensorBase.__new__(cls)
    made.counter = data.counter
    made.dtype_ = data.dtype_
    set_layout(made, data.ndim_, data.sizes, data.strides)
    made.storage_ = data.storage_
    made.data_ = data.data_
    made.wants_grad = require_grad
    set_lazy_bits(made, data.keys & LAZY)
    if made.storage_.guard == BORROWED:
        note_borrower(made)
    return made

@MAKE_SUBCLASS.infer
def make_subclass_infer(TensorBase data, cls, require_grad):
    return subclass_of(data, cls, require_grad)

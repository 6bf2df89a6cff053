"""Variable: what tensors that autograd follows were called before they were all called Tensor."""

import warnings

from tensorlab import _missing
from tensorlab._core.engine.engine import queue_callback
from tensorlab._tensor import Tensor


class VariableType(type):
    """The kind of class that Variable is: every tensor is an instance, and calling it makes a Tensor."""

    def __call__(cls, data, requires_grad=False, volatile=None):
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable: data is a {type(data).__name__}; expected a Tensor")
        if volatile:
            warnings.warn(
                "Variable: volatile has had no effect since PyTorch 0.4; compute under no_grad()",
                stacklevel=2,
            )
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor)


class ExecutionEngine:
    """What PyTorch's programs reach as `Variable._execution_engine`."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=VariableType):
    """`Variable(x)` is a tensor over the memory of `x`; `isinstance(x, Variable)` asks for any tensor.

    Old programs wrap tensors in it.  There is nothing left to wrap: use the tensor itself, and
    `x.requires_grad_()` for `Variable(x, requires_grad=True)`.

    Examples
    --------
    >>> import tensorlab
    >>> x = Variable(tensorlab.ones(2), requires_grad=True)
    >>> x.requires_grad
    True
    """

    _execution_engine = ExecutionEngine()


__getattr__ = _missing.refusing(__name__)

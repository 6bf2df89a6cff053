"""Tensors that a module treats as its own: Parameter (learned) and Buffer (kept, not learned)."""

from .._tensor import Tensor
from ..ops.creation import empty

__all__ = ["Buffer", "Parameter"]


def _rebuild(cls, data, requires_grad, attributes):
    """Make a Parameter or Buffer again from what its `__reduce_ex__` gave."""
    rebuilt = Tensor._make_subclass(cls, data, requires_grad)
    rebuilt.__dict__.update(attributes)
    return rebuilt


class _Owned(Tensor):
    """What Parameter and Buffer share: copies and pickles keep the class but not the gradient."""

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        data = self.detach().clone()
        copied = _rebuild(type(self), data, self.requires_grad, self.__dict__)
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, protocol):
        data = self.detach()
        return _rebuild, (type(self), data, self.requires_grad, dict(self.__dict__))


class Parameter(_Owned):
    """A tensor that a module learns: assigned to an attribute of a module, it is registered there.

    It shares the memory of `data` but not its history, so it is always a leaf.

    Parameters
    ----------
    data : Tensor, an empty one if not given
    requires_grad : bool

    Raises
    ------
    TypeError
        If `data` is not a tensor.
    RuntimeError
        If `requires_grad` and the dtype is not floating.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> nn.Parameter(tensorlab.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data=None, requires_grad=True):
        return Tensor._make_subclass(cls, _data_of(cls, data), requires_grad)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


class Buffer(_Owned):
    """A tensor that belongs to a module's state but is not learned, such as a running mean.

    Parameters
    ----------
    data : Tensor, an empty one if not given
    persistent : bool, whether `state_dict` contains it
    """

    def __new__(cls, data=None, *, persistent=True):
        data = _data_of(cls, data)
        buffer = Tensor._make_subclass(cls, data, data.requires_grad)
        buffer.persistent = persistent
        return buffer


def _data_of(cls, data):
    """Return the tensor to share memory with; refuse what is not a tensor."""
    if data is None:
        return empty(0)
    if not isinstance(data, Tensor):
        raise TypeError(
            f"{cls.__name__}: data is of type {type(data).__name__}; expected a Tensor, "
            "which tensorlab.tensor(data) makes"
        )
    return data


def clear_gradients(parameters, set_to_none=True):
    """Set each gradient to None, or to 0 in the memory that it has."""
    if set_to_none:
        for parameter in parameters:
            parameter.grad = None
        return
    for parameter in parameters:
        grad = parameter.grad
        if grad is not None:
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()

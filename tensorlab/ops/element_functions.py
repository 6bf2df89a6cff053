"""Functions of your own, called on each element as a Python number: apply_, map_, map2_.

They are as slow as Python is; a program that has an operation on whole tensors for it is far better off.
"""

from tensorlab._core.interop.exchange import tensor
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import GradientError


def apply_(self, callable):
    """Replace each element by what a function returns for it.

    Parameters
    ----------
    callable : function of a number that returns a number

    Raises
    ------
    TypeError
        If it returns something else.
    GradientError
        If the tensor requires grad.

    Notes
    -----
    The tensor changes when the function has been called on all elements: not at all, if one of the calls fails.

    >>> import tensorlab
    >>> tensorlab.tensor([1.0, 4.0]).apply_(lambda x: x * x + 1)
    tensor([ 2., 17.])
    """
    return _replace("apply_", self, callable)


def map_(self, other, callable):
    """Replace each element by what a function returns for it and that of another tensor.

    Parameters
    ----------
    other : Tensor of the same type, broadcast to the shape of `self`
    callable : function of two numbers that returns a number

    Raises
    ------
    TypeError
        If the types differ, or the function returns something else.
    ShapeError
        If `other` cannot be broadcast.
    GradientError
        If a tensor requires grad.

    >>> import tensorlab
    >>> tensorlab.tensor([1.0, 4.0]).map_(tensorlab.tensor([3.0, 2.0]), max)
    tensor([3., 4.])
    """
    return _replace("map_", self, callable, other=other)


def map2_(self, x, y, callable):
    """Replace each element by what a function returns for it and those of two tensors; see `map_`.

    >>> import tensorlab
    >>> one = tensorlab.ones(2)
    >>> tensorlab.zeros(2).map2_(one, one, lambda a, b, c: a + b + c)
    tensor([2., 2.])
    """
    return _replace("map2_", self, callable, x=x, y=y)


def _replace(where, self, function, **others):
    if not callable(function):
        raise TypeError(
            f"{where}: a {type(function).__name__} is given; expected a function of numbers"
        )
    for name, other in others.items():
        _check_other(where, name, other, self)
    if any(one.requires_grad for one in (self, *others.values())):
        raise GradientError(
            f"{where}: a tensor requires grad, and the function has no derivative; call it on x.detach()"
        )
    operands = [self, *(other.expand(self.shape) for other in others.values())]
    if self.device.type == "meta":
        return self
    columns = [one.reshape(-1).tolist() for one in operands]
    values = [_as_number(where, function(*row), self.dtype) for row in zip(*columns, strict=True)]
    return self.copy_(tensor(values, dtype=self.dtype).view(self.shape))


def _check_other(where, name, other, self):
    if not isinstance(other, TensorBase):
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {type(other).__name__}")
    if other.dtype is not self.dtype or other.device != self.device:
        raise TypeError(
            f"{where}: argument {name!r} is of type {other.dtype} on {other.device}; expected "
            f"{self.dtype} on {self.device}, as the tensor has"
        )


def _as_number(where, value, dtype):
    if not hasattr(value, "__float__"):
        raise TypeError(
            f"{where}: the function returned a {type(value).__name__}; expected a number"
        )
    if dtype.is_floating_point:
        return float(value)
    return bool(value) if dtype.name == "bool" else int(value)

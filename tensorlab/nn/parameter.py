"""Tensors that a module treats as its own: Parameter (learned) and Buffer (kept, not learned)."""

from tensorlab import _missing

from .._core.dispatch.overrides import (
    DisableTorchFunctionSubclass,
    disabled_tensor_function,
    register_subclass,
)
from .._tensor import Tensor
from ..errors import NotATensor
from ..ops.creation import empty

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


def _rebuild(cls, data, requires_grad, attributes):
    """Make a Parameter or Buffer again from what its `__reduce_ex__` gave."""
    rebuilt = Tensor._make_subclass(cls, data, requires_grad)
    rebuilt.__dict__.update(attributes)
    return rebuilt


class _Owned(Tensor):
    """What Parameter and Buffer share: copies and pickles keep the class but not the gradient."""

    __tensor_function__ = disabled_tensor_function  # results of ops are plain tensors

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            data = self.detach().clone()
            memo[id(self)] = _rebuild(type(self), data, self.requires_grad, self.__dict__)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        data = self.data  # with a version counter of its own, as PyTorch's shallow copy has
        return _rebuild, (type(self), data, self.requires_grad, dict(self.__dict__))


class _ParameterKind(type):
    """Lets a tensor of another class that `Parameter(data)` made count as a Parameter, too."""

    def __instancecheck__(cls, x):
        if super().__instancecheck__(x):
            return True
        return cls is Parameter and isinstance(x, Tensor) and getattr(x, "_is_param", False)


class Parameter(_Owned, metaclass=_ParameterKind):
    """A tensor that a module learns: assigned to an attribute of a module, it is registered there.

    It shares the memory of `data` but not its history, so it is always a leaf.  Of a tensor of another
    class it makes one of that class, which counts as a Parameter.

    Parameters
    ----------
    data : Tensor, an empty one if not given
    requires_grad : bool

    Raises
    ------
    NotATensor
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
        data = _data_of(cls, data)
        if type(data) in (Tensor, Parameter, Buffer):
            return Tensor._make_subclass(cls, data, requires_grad)
        made = data.detach().requires_grad_(requires_grad)
        if type(made) is not type(data):
            raise RuntimeError(
                f"Parameter: detach() of a {type(data).__name__} gives a {type(made).__name__}; "
                "to be a parameter, a class must keep its tensors in its class there"
            )
        made._is_param = True
        return made

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()


class Buffer(_Owned):
    """A tensor that belongs to a module's state but is not learned, such as a running mean.

    Parameters
    ----------
    data : Tensor, an empty one if not given
    persistent : bool, whether `state_dict` contains it

    Examples
    --------
    >>> import tensorlab
    >>> class Scaled(tensorlab.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = tensorlab.nn.Buffer(tensorlab.tensor(2.0))
    >>> list(Scaled().state_dict())
    ['scale']
    >>> list(Scaled().parameters())
    []
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
        raise NotATensor(
            f"{cls.__name__}: data is of type {type(data).__name__}; expected a Tensor, "
            "which tensorlab.tensor(data) makes"
        )
    return data


# ------------------------------------------------------------ without a shape yet
class _Uninitialized:
    """A parameter or buffer of a lazy module: dtype and device, but no shape and no values yet."""

    allowed = frozenset(  # attributes, hashing and conversions
        "__get__ __set__ __hash__ size copy_ is_floating_point is_complex to half float double".split()  # noqa: SIM905
    )

    def materialize(self, shape, device=None, dtype=None):
        """Get memory for a shape, without values, and become an ordinary Parameter or Buffer.

        Parameters
        ----------
        shape : tuple of int
        device, dtype : those of this tensor unless given
        """
        data = self.data
        self.data = empty(
            tuple(shape), device=device or data.device, dtype=data.dtype if dtype is None else dtype
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            f"{type(self).__name__}: can't access the shape of an uninitialized parameter or buffer; call forward "
            "once to initialize it. In load_state_dict, an initialized module cannot load an uninitialized one"
        )

    def share_memory_(self):
        raise RuntimeError(
            f"{type(self).__name__}: can't share memory on an uninitialized parameter or buffer; call forward once "
            "to initialize it"
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        data = self.data
        return type(self)(self.requires_grad, data.device, data.dtype)

    def __reduce_ex__(self, protocol):
        data = self.data
        return type(self), (self.requires_grad, str(data.device), data.dtype)

    @classmethod
    def _refuse(cls, func, types, args=(), kwargs=None):
        """What becomes `__tensor_function__` once there is such a tensor."""
        name = getattr(func, "__name__", str(func))
        if name not in cls.allowed:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {name}: a lazy module's parameters have values after "
                "its first forward; call the model with a batch before"
            )
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


def _made(cls, data, requires_grad):
    """Make such a tensor. The first one enables interception: programs without lazy modules don't pay for it."""
    if "__tensor_function__" not in _Uninitialized.__dict__:
        _Uninitialized.__tensor_function__ = _Uninitialized.__dict__["_refuse"]
        for one in (UninitializedParameter, UninitializedBuffer):
            register_subclass(one)
    return Tensor._make_subclass(cls, data, requires_grad)


class UninitializedParameter(_Uninitialized, Parameter):
    """A Parameter whose shape is not known yet.

    Parameters
    ----------
    requires_grad : bool
    device, dtype : of the Parameter that it becomes

    Examples
    --------
    >>> import tensorlab
    >>> weight = tensorlab.nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, tuple(weight.shape)
    ('Parameter', (2, 3))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return _made(cls, empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(_Uninitialized, Buffer):
    """A Buffer whose shape is not known yet; arguments as for UninitializedParameter.

    Examples
    --------
    >>> import tensorlab
    >>> mean = tensorlab.nn.UninitializedBuffer()
    >>> mean.materialize((3,))
    >>> tuple(mean.shape)
    (3,)
    """

    cls_to_become = Buffer

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        buffer = _made(cls, empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        return buffer


def is_lazy(tensor):
    """Say whether this is a parameter or buffer that has no shape yet."""
    return isinstance(tensor, _Uninitialized)


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


__getattr__ = _missing.refusing(__name__)

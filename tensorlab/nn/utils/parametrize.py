"""Parametrizations: a parameter that is computed from others each time it is read.

`register_parametrization(layer, "weight", f)` moves the weight to
`layer.parametrizations.weight.original`, and makes `layer.weight` a property that returns f(original).
The optimizer trains the original, and forward reads the computed one:

    layer.parametrizations    ModuleDict
      .weight                 ParametrizationList: the functions in order, and what they start from
        .original             Parameter
        [0]                   f

A property lives in a class, so the layer gets a class of its own, `ParametrizedLinear`, below its own.
"""

import contextlib
import copy
from collections.abc import Sequence

from ..._tensor import Tensor
from ...autograd import no_grad
from ..container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


# ------------------------------------------------------------ cache
class Cache:
    """Values that were computed, while at least one `cached()` is active."""

    depth = 0
    values: dict = {}  # noqa: RUF012 - one for the process, as the contexts are


@contextlib.contextmanager
def cached():
    """Compute each parametrized tensor once while this context is active.

    A recurrent layer reads its weight in each step; this context spares it all computations but the first.

    Examples
    --------
    >>> from tensorlab import nn
    >>> net = nn.Linear(2, 2)
    >>> _ = register_parametrization(net, "weight", nn.Tanh())
    >>> net.weight is net.weight
    False
    >>> with cached():
    ...     print(net.weight is net.weight)
    True
    """
    Cache.depth += 1
    try:
        yield
    finally:
        Cache.depth -= 1
        if not Cache.depth:
            Cache.values.clear()


# ------------------------------------------------------------ the list of functions
class ParametrizationList(ModuleList):
    """The functions that a tensor goes through, and the parameters that it starts from.

    Parameters
    ----------
    modules : sequence of Modules, at least one; the first gets the original tensors
    original : Parameter or Tensor, what is parametrized
    unsafe : bool, whether shape and dtype may change

    Notes
    -----
    `right_inverse` of the functions, where there is one, says what to start from so that the value stays as
    it was. If it returns one tensor, that is `original`; if it returns several, they are `original0`, ...

    Raises
    ------
    ValueError
        If there is no function, or one of them changes shape or dtype without `unsafe`.

    Examples
    --------
    >>> from tensorlab import nn
    >>> net = nn.Linear(2, 2)
    >>> _ = register_parametrization(net, "weight", nn.Tanh())
    >>> len(net.parametrizations.weight), net.parametrizations.weight.original.shape
    (1, tensorlab.Size([2, 2]))
    """

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList: there is no module; expected one or more")
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            start = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        start = module.right_inverse(start)
        if not isinstance(start, (Tensor, Sequence)):
            raise ValueError(
                f"register_parametrization: right_inverse returned a {type(start).__name__}; expected a Tensor "
                "or a sequence of tensors"
            )
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        before = original.shape, original.dtype
        if self.is_tensor:
            check_dtype(start, original, "original")
            with no_grad():
                original.set_(start)  # the same Parameter object, which an optimizer may hold
            register(self, "original", original)
        else:
            for i, tensor in enumerate(start):
                check_is_tensor(tensor, i)
                if isinstance(original, Parameter):
                    tensor = Parameter(tensor, original.requires_grad)
                register(self, f"original{i}", tensor.requires_grad_(original.requires_grad))
        if not unsafe:
            check_kept(self(), *before)

    def right_inverse(self, value):
        """Set the originals so that the parametrized tensor becomes `value`.

        Raises
        ------
        RuntimeError
            If one of the functions has no right_inverse.
        ValueError
            If what one returns does not fit the originals.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse, so the tensor "
                        "cannot be assigned to; give the class a method right_inverse(value)"
                    )
                value = module.right_inverse(value)
            if self.is_tensor and not isinstance(value, Tensor):
                raise ValueError(
                    f"right_inverse: should return a tensor, but returned a {type(value).__name__}"
                )
            values = [value] if self.is_tensor else value
            if not isinstance(values, Sequence) or len(values) != self.ntensors:
                raise ValueError(
                    f"right_inverse: must return a sequence of tensors of length {self.ntensors}, but returned "
                    f"{f'{len(values)} of them' if isinstance(values, Sequence) else f'a {type(values).__name__}'}"
                )
            originals = self.originals()
            for i, (original, tensor) in enumerate(zip(originals, values, strict=True)):
                check_is_tensor(tensor, i)
                check_dtype(tensor, original, "original" if self.is_tensor else f"original{i}")
            for original, tensor in zip(originals, values, strict=True):
                original.set_(tensor)

    def originals(self):
        """Return what the first function gets."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self):
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        return value


def check_is_tensor(tensor, i):
    if not isinstance(tensor, Tensor):
        raise ValueError(
            f"right_inverse: must return a Tensor or a sequence of tensors, but element {i} is a "
            f"{type(tensor).__name__}"
        )


def check_dtype(tensor, original, name):
    if tensor.dtype != original.dtype:
        raise ValueError(
            f"right_inverse: the tensor returned has dtype {tensor.dtype}, while `{name}` has dtype "
            f"{original.dtype}; when `right_inverse` outputs one tensor, it may not change the dtype"
        )


def check_kept(value, shape, dtype, what="Registering a parametrization"):
    """Raise unless a parametrized value is a tensor of this shape and dtype."""
    if not isinstance(value, Tensor):
        raise ValueError(
            f"A parametrization must return a tensor, but it returned a {type(value).__name__}"
        )
    if value.dtype != dtype:
        raise ValueError(
            f"{what} may not change the dtype of the tensor, unless the `unsafe` flag is enabled: it was {dtype} "
            f"and is {value.dtype}"
        )
    if value.shape != shape:
        raise ValueError(
            f"{what} may not change the shape of the tensor, unless the `unsafe` flag is enabled: it was "
            f"{tuple(shape)} and is {tuple(value.shape)}"
        )


def register(module, name, tensor):
    """Register as a parameter or as a buffer, whichever the tensor is."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


# ------------------------------------------------------------ the class with properties
class Parametrized:
    """What the class of a parametrized module adds, in front of the module's own class."""

    def __setattr__(self, name, value):
        if name not in self.__dict__.get("parametrizations", ()):
            super().__setattr__(name, value)
        elif isinstance(value, Parameter):
            raise KeyError(
                f"{type(self).__name__}: attribute {name!r} is parametrized, so no Parameter can take its place; "
                "assign a plain tensor to set its value"
            )
        else:
            self.parametrizations[name].right_inverse(value)

    def __delattr__(self, name):
        if name in self.parametrizations:
            raise AttributeError(
                f"{type(self).__name__}: {name!r} is parametrized; call remove_parametrizations first"
            )
        super().__delattr__(name)

    def __deepcopy__(self, memo):
        made = self.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __getstate__(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(), since their class is "
            "made at run time"
        )


def value_of(name):
    """Return a property that computes the parametrized tensor of this name."""

    def get(self):
        functions = self.__dict__["parametrizations"][name]
        if not Cache.depth:
            return functions()
        key = id(self), name
        if key not in Cache.values:
            Cache.values[key] = (
                self,
                functions(),
            )  # with the module, whose id is then no other one's
        return Cache.values[key][1]

    return property(get)


def give_own_class(module):
    """Put the module into a class of its own, below its class."""
    cls = type(module)
    bases = (Parametrized, cls)
    namespace = {"__deepcopy__": cls.__deepcopy__} if hasattr(cls, "__deepcopy__") else {}
    module.__class__ = type(
        f"Parametrized{cls.__name__}", bases, {**namespace, "__module__": cls.__module__}
    )
    module.parametrizations = ModuleDict()


# ------------------------------------------------------------ functions for users
def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Let a parameter or buffer be computed by a function each time it is read.

    Parameters
    ----------
    module : Module that has the tensor
    tensor_name : str
    parametrization : Module from the original tensor to what `module.<tensor_name>` should be.
        Its method `right_inverse`, if there is one, goes the other way: it is called once now,
        and whenever the attribute is assigned to. It may return several tensors; the forward
        then takes as many.
    unsafe : bool, whether the parametrization may change shape and dtype, and is not tried now

    Returns
    -------
    Module, the same; its class is a new one below the old

    Raises
    ------
    ValueError
        If the module has no such tensor, or shape or dtype change without `unsafe`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> tensorlab.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        functions = module.parametrizations[tensor_name]
        if not unsafe:
            check_one_more(getattr(module, tensor_name), parametrization)
        functions.append(parametrization)
        functions.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        functions = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            give_own_class(module)
        setattr(type(module), tensor_name, value_of(tensor_name))
        module.parametrizations[tensor_name] = functions
    else:
        raise ValueError(
            f"register_parametrization: module {module} does not have a parameter, a buffer or a parametrized "
            f"element with name {tensor_name!r}"
        )
    return module


def check_one_more(value, parametrization):
    """Raise unless a second function keeps what the first returns."""
    check_kept(parametrization(value), value.shape, value.dtype)
    if hasattr(parametrization, "right_inverse"):
        with contextlib.suppress(NotImplementedError):
            check_kept(
                parametrization.right_inverse(value),
                value.shape,
                value.dtype,
                "The tensor returned by parametrization.right_inverse",
            )


def is_parametrized(module, tensor_name=None):
    """Say whether a module has a parametrized tensor, or one of this name.

    Examples
    --------
    >>> import tensorlab
    >>> is_parametrized(tensorlab.nn.Linear(2, 2))
    False
    """
    parametrizations = module.__dict__.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make a parametrized tensor an ordinary parameter or buffer again.

    Parameters
    ----------
    module : Module
    tensor_name : str
    leave_parametrized : bool; True leaves the computed value, False the original one

    Returns
    -------
    Module, the same

    Raises
    ------
    ValueError
        If the tensor is not parametrized, or `leave_parametrized` is False and there are several originals.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> net = nn.Linear(2, 2)
    >>> _ = register_parametrization(net, "weight", nn.Tanh())
    >>> _ = remove_parametrizations(net, "weight")
    >>> is_parametrized(net), net.weight.abs().max() < 1
    (False, tensor(True))
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"remove_parametrizations: module {module} does not have a parametrization on {tensor_name!r}"
        )
    functions = module.parametrizations[tensor_name]
    if functions.is_tensor:
        original = functions.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "remove_parametrizations: cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors"
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type_before_parametrizations(module)
    register(module, tensor_name, original)
    return module


def type_before_parametrizations(module):
    """Return the class that a module had before its first parametrization.

    Examples
    --------
    >>> from tensorlab import nn
    >>> net = nn.Linear(2, 2)
    >>> _ = register_parametrization(net, "weight", nn.Tanh())
    >>> type(net).__name__, type_before_parametrizations(net).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[1] if isinstance(module, Parametrized) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Give a module the parametrizations of another one, with their original values.

    Parameters
    ----------
    from_module, to_module : Modules; the second must have the tensors of the first
    tensor_name : str; only this tensor, if given

    Returns
    -------
    Module, `to_module`

    Examples
    --------
    >>> from tensorlab import nn
    >>> old, new = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> _ = register_parametrization(old, "weight", nn.Tanh())
    >>> _ = transfer_parametrizations_and_params(old, new)
    >>> bool((new.weight == old.weight).all())
    True
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for function in from_module.parametrizations[name]:
            register_parametrization(to_module, name, function)
        source, target = from_module.parametrizations[name], to_module.parametrizations[name]
        with no_grad():
            for theirs, ours in zip(source.originals(), target.originals(), strict=True):
                ours.set_(theirs.detach().clone())
    return to_module

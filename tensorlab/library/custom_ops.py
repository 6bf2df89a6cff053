"""custom_op: a Python function becomes an op, and takes part in everything that ops take part in."""

import contextlib

from tensorlab.library import registering
from tensorlab.library.definitions import Definition, definition_of, split_name
from tensorlab.library.schemas import infer_schema


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make an op of a function: a black box for autograd, compile, fx and `__torch_dispatch__`.
    A decorator.

    Parameters
    ----------
    name : str, with a namespace: "mylib::clip"
    mutates_args : iterable of str, the parameters that the function writes to; () for most
    device_types : None, str or sequence of str; the devices that the function is for, None for
        all
    schema : str, such as "(Tensor x, float low) -> Tensor"; read off the annotations unless
        given

    Returns
    -------
    CustomOpDef, which is called as the function is

    Examples
    --------
    >>> import numpy
    >>> import tensorlab
    >>> from tensorlab import Tensor
    >>> @custom_op("page::sine", mutates_args=())
    ... def sine(x: Tensor) -> Tensor:
    ...     return tensorlab.from_numpy(numpy.sin(x.numpy()))
    >>> sine.register_autograd(
    ...     lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    ... )
    >>> x = tensorlab.zeros(2, requires_grad=True)
    >>> sine(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    def decorate(function):
        split_name(name, "custom_op")
        spelled = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        if schema is not None:
            _check_mutated(spelled, mutates_args, name)
        definition = Definition(name, spelled, (function.__module__, function.__qualname__))
        made = CustomOpDef(definition, function)
        registering.register_kernel(definition.overload, device_types, function)
        return made

    return decorate if fn is None else decorate(fn)


def _check_mutated(schema, mutates_args, name):
    from tensorlab._core.dispatch.schema import parse

    marked = {one.name for one in parse(f"f{schema}").parameters if one.type.is_written}
    if mutates_args != "unknown" and marked != set(mutates_args):
        raise ValueError(
            f"custom_op: the schema of {name} says that it writes to {sorted(marked)}, and "
            f"mutates_args says "
            f"{sorted(mutates_args)}; let both say the same"
        )


class CustomOpDef:
    """An op that `custom_op` made. Calling it calls the op; the methods give it what it can do
    besides.

    Examples
    --------
    >>> import tensorlab
    >>> @custom_op("doc_def::twice", mutates_args=())
    ... def twice(x: tensorlab.Tensor) -> tensorlab.Tensor:
    ...     return 2 * x
    ...
    >>> _ = twice.register_fake(lambda x: tensorlab.empty_like(x))
    >>> twice(tensorlab.ones(3, device="meta")).shape
    tensorlab.Size([3])
    """

    def __init__(self, definition, function):
        self._definition = definition
        self._namespace, self._name = split_name(definition.name, "custom_op")
        self._qualname = definition.name
        self._opoverload = definition.overload
        self.__name__, self.__doc__ = self._name, function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None, /):
        """Give the op its function for one or several devices. Usable as a decorator."""
        return registering.register_kernel(self._qualname, device_types, fn)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """A block in which the op's own function for a device is used, or is not: then the op
        runs by the function that it was made of.
        """
        disabled = self._definition.disabled
        before = device_type in disabled
        disabled.discard(device_type) if enabled else disabled.add(device_type)
        try:
            yield
        finally:
            disabled.add(device_type) if before else disabled.discard(device_type)

    def register_fake(self, fn, /):
        """Give the op the function that says what it returns; see `library.register_fake`."""
        return registering.register_fake(self._qualname, fn, allow_override=True)

    def register_autograd(self, backward, /, *, setup_context=None):
        """Give the op its derivative; see `library.register_autograd`."""
        registering.register_autograd(self._qualname, backward, setup_context=setup_context)

    def register_vmap(self, func=None):
        """Give the op its batching rule; see `library.register_vmap`."""
        return registering.register_vmap(self._qualname, func)

    def register_autocast(self, device_type, cast_inputs):
        """Say in which dtype the op takes its arguments under autocast."""
        registering.register_autocast(self._qualname, device_type, cast_inputs)

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Say what a mode or a class does with this op; see `library.register_torch_dispatch`."""
        return registering.register_torch_dispatch(self._qualname, torch_dispatch_class, fn)


def get_kernel(op, dispatch_key):
    """The function that an op of a program has for a device, such as "CPU" or "cpu"."""
    definition = definition_of(op, "get_kernel")
    device = registering.DEVICE_OF_KEY.get(dispatch_key, dispatch_key.lower())
    return definition.kernel_for(device)

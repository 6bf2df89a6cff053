"""Making a module without drawing its initial values."""

import inspect

from ..module import Module

__all__ = ["skip_init"]


def skip_init(module_cls, *args, **kwargs):
    """Make a module whose parameters have memory and no values, so that no time goes into drawing them.

    Parameters
    ----------
    module_cls : class of a Module that takes `device=`
    *args, **kwargs : its arguments; `device` is where the parameters are put, "cpu" unless given

    Returns
    -------
    Module; load or set its parameters before using it

    Raises
    ------
    RuntimeError
        If it is not a class of Modules, or takes no `device`.

    Examples
    --------
    >>> from tensorlab import nn
    >>> net = skip_init(nn.Linear, 1000, 1000)
    >>> net.weight.shape
    tensorlab.Size([1000, 1000])
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"skip_init: expected a Module class, got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(
            f"skip_init: {module_cls.__name__} must support a 'device' arg, with which it is made on meta first"
        )
    final = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=final)

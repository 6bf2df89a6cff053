"""A tensor that writes down every function that is called with it: the smallest useful hook.

Runs in tensorlab and, with `import torch`, in PyTorch.
"""

from typing import ClassVar

import tensorlab as torch


class LoggingTensor(torch.Tensor):
    """Behaves as a plain tensor, and keeps a line for each call in `LoggingTensor.log`."""

    log: ClassVar = []  # one for all

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs)
        with torch.DisableTorchFunctionSubclass():  # looking at a tensor is a call, too
            cls.log.append(f"{func.__name__}({texts(args)}) -> {text(result)}")
        return result


def text(value):
    """Return a tensor's shape, such as 2x3; anything else as it is."""
    if isinstance(value, torch.Tensor):
        return "x".join(map(str, value.shape)) or "0-d"
    if isinstance(value, (list, tuple)):
        return f"[{texts(value)}]"
    return repr(value) if not callable(value) else value.__name__


def texts(values):
    """Return the texts of several values."""
    return ", ".join(map(text, values))


def logged(values):
    """Return a LoggingTensor of some values, and start a new log."""
    x = torch.tensor(values).as_subclass(LoggingTensor)
    LoggingTensor.log.clear()
    return x

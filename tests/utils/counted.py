"""What the tests of checkpointing share: functions that count their calls, and the module of either package."""

import importlib

from tests.autograd.programs import leaf


def tools(M):
    """The module utils.checkpoint of a package."""
    return importlib.import_module(f"{M.__name__}.utils.checkpoint")


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def curve(M):
    return Counted(lambda x: (x.sin() * x.exp()).tanh() * x)


def changing(M, *functions):
    """A function that does something else each time it is called."""
    order = iter(functions)
    return lambda x: next(order)(x)


def backward_of(M, *functions, **options):
    x = leaf(M, 0.5, 1.0)
    y = tools(M).checkpoint(changing(M, *functions), x, use_reentrant=False, **options)
    y.sum().backward()
    return x.grad

"""Modes of recording: no_grad, enable_grad, set_grad_enabled, inference_mode. Each is a context and a decorator."""

import functools
import inspect
import threading
import warnings

from tensorlab import _missing
from tensorlab._core.state.modes import (
    GradContext,
    is_grad_enabled,
    is_inference_mode_enabled,
    new_enable_grad,
    new_no_grad,
    switch_grad_mode,
    switch_inference_mode,
)

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


_ON_A_CLASS = (
    "a mode of autograd decorates a class: that gives a function in its place, and PyTorch will refuse it one day; "
    "decorate its methods, such as __init__"
)


class _Mode:
    """A context that also decorates functions and generators; each call enters a context of its own."""

    __slots__ = ()

    def __call__(self, function):
        if inspect.isclass(function):
            warnings.warn(_ON_A_CLASS, FutureWarning, stacklevel=2)
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return wrapper

    def _wrap_generator(self, function):
        """The mode is on while the generator runs, and off while its consumer does."""

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            generator = function(*args, **kwargs)
            resume = functools.partial(next, generator)
            while True:
                try:
                    with self.clone():
                        value = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                    resume = functools.partial(generator.send, sent)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    resume = functools.partial(generator.throw, error)

        return wrapper

    def clone(self):
        """A new context of the same kind."""
        return type(self)()


class no_grad(_Mode, GradContext):
    """Record nothing inside: results do not require grad.

    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> with tensorlab.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    __slots__ = ()
    __new__ = staticmethod(new_no_grad)


class enable_grad(_Mode, GradContext):
    """Record inside, even within no_grad.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(1, requires_grad=True)
    >>> with tensorlab.no_grad(), enable_grad():
    ...     print((x * 2).requires_grad)
    True
    """

    __slots__ = ()
    __new__ = staticmethod(new_enable_grad)


class set_grad_enabled(_Mode):
    """Switch recording on or off; at once, and back at the end if used as a context.

    Parameters
    ----------
    mode : bool

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(1, requires_grad=True)
    >>> with set_grad_enabled(False):
    ...     print((x * 2).requires_grad)
    False
    """

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled: mode must be a bool, not {type(mode).__name__}")
        self.mode = mode
        self.was = switch_grad_mode(mode)

    def __call__(self, function):
        switch_grad_mode(self.was)  # as a decorator it concerns the function only
        return super().__call__(function)

    def __enter__(self):
        switch_grad_mode(self.mode)

    def __exit__(self, *_):
        switch_grad_mode(self.was)

    def clone(self):
        """A new context of the same kind."""
        return set_grad_enabled(self.mode)


class inference_mode(_Mode):
    """Record nothing, count no versions: results can never enter a graph, and are a little cheaper.

    Parameters
    ----------
    mode : bool; False leaves an outer inference mode

    Examples
    --------
    >>> import tensorlab
    >>> with inference_mode():
    ...     y = tensorlab.ones(1) * 2
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode=True):
        if callable(mode):
            return object.__new__(cls)._with(True)(mode)
        return object.__new__(cls)

    def __init__(self, mode=True):
        self._with(mode)

    def _with(self, mode):
        self.mode = bool(mode)
        return self

    def __enter__(self):
        self.was = switch_inference_mode(self.mode), switch_grad_mode(not self.mode)

    def __exit__(self, *_):
        switch_inference_mode(self.was[0])
        switch_grad_mode(self.was[1])

    def clone(self):
        """A new context of the same kind."""
        return inference_mode(self.mode)


# ---------------------------------------------------------------- threads of the engine
_engine = threading.local()  # `allows_threads`, in a thread that has switched it


def is_multithreading_enabled():
    """True unless `set_multithreading_enabled` has switched it off in this thread.

    Examples
    --------
    >>> with set_multithreading_enabled(False):
    ...     print(is_multithreading_enabled())
    False
    >>> is_multithreading_enabled()
    True
    """
    return getattr(_engine, "allows_threads", True)


class set_multithreading_enabled(_Mode):
    """Say whether a backward pass may run in threads of its own; at once, and back at the end if used as a context.

    It serves programs written for other devices: on a CPU a pass runs in the thread that called it, here as in PyTorch.

    Parameters
    ----------
    mode : bool

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> with set_multithreading_enabled(False):
    ...     x.sum().backward()
    """

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_multithreading_enabled: mode must be a bool, not {type(mode).__name__}"
            )
        self.mode = mode
        self.was = is_multithreading_enabled()
        _engine.allows_threads = mode

    def __enter__(self):
        pass

    def __exit__(self, *_):
        _engine.allows_threads = self.was

    def clone(self):
        """A new context of the same kind."""
        return set_multithreading_enabled(self.mode)


__getattr__ = _missing.refusing(__name__)

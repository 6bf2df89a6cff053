"""record_function: a block, or a function, with a row of its own."""

import functools
import inspect

from tensorlab._core import profiling
from tensorlab.errors import ArgumentTypeError

__all__ = ["record_function"]


class record_function:
    """A block with a name, as a row of the profile that is being recorded; without one it does nothing.

    It is a context, or decorates a function.

    Parameters
    ----------
    name : str
    args : str, optional; taken for PyTorch's sake, and kept as an attribute

    Examples
    --------
    >>> import tensorlab
    >>> with tensorlab.profiler.profile() as prof:
    ...     with record_function("forward"):
    ...         y = tensorlab.ones(2) + 1
    >>> [event.name for event in prof.events()]
    ['forward', 'aten::ones', 'aten::add']
    """

    def __init__(self, name, args=None):
        if not isinstance(name, str):
            raise TypeError(f"record_function: name must be a str, not {type(name).__name__}")
        if args is not None and not isinstance(args, str):
            raise ArgumentTypeError(
                f"record_function: args must be a str or None, not {type(args).__name__}"
            )
        self.name, self.args = name, args

    def __enter__(self):
        self._record = profiling.begin_range(self.name)
        return self

    def __exit__(self, *exception):
        profiling.end_range(self._record)

    def __call__(self, function):
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError(
                f"record_function: {function.__name__} is a generator or a coroutine, which "
                "runs in pieces; use `with record_function(...)` inside it"
            )

        @functools.wraps(function)
        def recorded(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return recorded

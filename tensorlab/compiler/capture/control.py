"""What a program says about its own recording: which functions stay out of graphs, and whether one is being made."""

import functools

from .recording import current

__all__ = ["allow_in_graph", "assume_constant_result", "disable", "is_compiling"]


def is_compiling():
    """Whether the function that asks is being recorded by the compiler.

    Examples
    --------
    >>> is_compiling()
    False
    """
    return current() is not None


def disable(fn, reason=None):
    """Keep a function out of graphs: what calls it runs as Python. `reason` is told to those who ask why."""

    @functools.wraps(fn)
    def left_out(*args, **kwargs):
        recording = current()
        if recording is not None:
            why = f": {reason}" if reason else ""
            recording.refuse(
                f"calls {name_of(fn)}, which compiler.disable keeps out of graphs{why}"
            )
        return fn(*args, **kwargs)

    return left_out


def allow_in_graph(fn):
    """Take for granted that a function does nothing but call ops, and reads nothing that could change.

    Its ops are recorded; its Python is not looked at. A list or tuple of functions gives one of the same length.

    Examples
    --------
    >>> import tensorlab
    >>> twice = allow_in_graph(lambda x: 2 * x)
    >>> f = tensorlab.compile(lambda x: twice(x) + 1, backend="eager")
    >>> f(tensorlab.ones(2))
    tensor([3., 3.])
    """
    if isinstance(fn, (tuple, list)):
        return [allow_in_graph(one) for one in fn]

    @functools.wraps(fn)
    def allowed(*args, **kwargs):
        recording = current()
        if recording is None:
            return fn(*args, **kwargs)
        with recording.observer.looking_away():
            return fn(*args, **kwargs)

    return allowed


def assume_constant_result(fn):
    """Take for granted that a function returns the same each time: a replay does not call it.

    A tensor that it returns is the same tensor in each replay.

    Examples
    --------
    >>> import tensorlab
    >>> scale = assume_constant_result(lambda: 3)
    >>> f = tensorlab.compile(lambda x: scale() * x, backend="eager")
    >>> f(tensorlab.ones(2))
    tensor([3., 3.])
    """

    @functools.wraps(fn)
    def constant(*args, **kwargs):
        recording = current()
        if recording is None:
            return fn(*args, **kwargs)
        with recording.observer.looking_away(), recording.recorder.looking_away():
            result = fn(*args, **kwargs)
            recording.keep_constant(result)
        return result

    return constant


def name_of(fn):
    return getattr(fn, "__qualname__", None) or type(fn).__name__

"""CallRecorder: it writes down every call of an op that a function makes, and what was true right after it."""

import contextlib
import sys
from typing import Any, NamedTuple

from tensorlab._core.dispatch.facets import reads_values
from tensorlab._core.dispatch.layers import Layer
from tensorlab._core.state.modes import is_grad_enabled
from tensorlab._core.tensor import TensorBase
from tensorlab.random import default_generator

from .frames import place_of, user_frame

__all__ = ["CallRecorder", "RecordedCall", "generators_of", "layout_of", "tensors_in"]


class RecordedCall(NamedTuple):
    """A call of an op, and what was true right after it: tensors may be changed later."""

    op: Any
    arguments: tuple
    result: Any
    layouts: tuple  # of the tensors of the result: (size, stride, dtype, requires_grad)
    grad_enabled: bool
    place: tuple  # (file, line, function) of the user's innermost frame


class CallRecorder(Layer):
    """While it is entered, `calls` grows.

    Parameters
    ----------
    observer : Observer, which ignores what an op does inside
    refuse : function of a reason and of the frame where it is
    """

    def __init__(self, observer, refuse):
        super().__init__("recorder")
        self.observer, self.refuse = observer, refuse
        self.calls = []
        self.is_looking = True

    @contextlib.contextmanager
    def looking_away(self):
        """While it is entered, calls are not written down."""
        self.is_looking = False
        try:
            yield
        finally:
            self.is_looking = True

    def call(self, op, arguments):
        if not self.is_looking:
            return op(*arguments)
        grad_enabled = is_grad_enabled()
        self.observer.ignored += 1  # a first matrix product loads a library, which is no effect
        try:
            result = op(*arguments)
            self.note(op, arguments, result, grad_enabled, user_frame(sys._getframe(1)))
        except BaseException as error:
            self.refuse(f"lets {op.name} raise {type(error).__name__}", sys._getframe(1))
            raise
        finally:
            self.observer.ignored -= 1
        return result

    def note(self, op, arguments, result, grad_enabled, frame):
        layouts = ()
        if not reads_values.of(op):
            layouts = tuple(layout_of(x) for x in tensors_in(result))
            if any(x.is_meta for x in tensors_in(result)):
                self.refuse("computes with tensors on meta, which have no elements", frame)
        if op.name == "lend":
            self.refuse(f"hands the memory of a tensor out by {arguments[1]}", frame)
        call = RecordedCall(op, copied(arguments), result, layouts, grad_enabled, place_of(frame))
        self.calls.append(call)


def copied(value):
    """Arguments as they are now: lists may be changed later."""
    return type(value)(map(copied, value)) if type(value) in (tuple, list) else value


def tensors_in(value):
    """Yield the tensors in nested tuples, lists and dicts."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors_in(one)


def layout_of(x):
    return tuple(x.shape), x.stride(), x.dtype, x.requires_grad


def generators_of(calls):
    """The generators that ops draw from; an op that is given None takes the default one."""
    found = []
    for call in calls:
        if "generator" in call.op.params:
            generator = call.arguments[call.op.params.index("generator")]
            generator = default_generator if generator is None else generator
            if generator not in found:
                found.append(generator)
    return found

"""A class of wrappers as a program would make one: what it holds computes, and what comes out is wrapped."""

from tensorlab._core.dispatch.layers import Layer, handle_class

import tensorlab as torch


def mapped(value, function):
    """What a function makes of a value, or of each in a tuple or list."""
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(one, function) for one in value)
    return function(value)


class Wrapper(torch.Tensor):
    """A tensor that holds another one, and has no memory itself."""

    @classmethod
    def around(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            inner.stride(),
            inner.storage_offset(),
            dtype=inner.dtype,
            device=inner.device,
        )
        made.inner = inner
        return made


def wrapper_class(place):
    """A new class of wrappers; its layer lies at this place among the others."""

    class Wrapped(Wrapper):
        """One with a layer of its own."""

    class Unwrap(Layer):
        """Does what is asked with what is inside, and wraps the result."""

        def call(self, op, arguments):
            inner = mapped(arguments, lambda x: x.inner if isinstance(x, Wrapped) else x)
            result = op(*inner)
            if op.writes:
                if op.functional is not None and op.functional.is_view:
                    op(*arguments)  # the wrapper is laid out as what it holds
                return arguments[0]
            return mapped(result, lambda x: Wrapped.around(x) if type(x) in PLAIN else x)

    PLAIN = (torch.Tensor, Wrapped)
    handle_class(Wrapped, Unwrap(place))
    return Wrapped

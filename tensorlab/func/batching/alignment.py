"""Lining up the operands of a call with the batch: what many rules begin with."""

import functools

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab._core.tensor import TensorBase
from tensorlab.func.batching.rules import Same


def ndim_of(x, has_batch):
    """How many dimensions an example has."""
    return x.ndim - has_batch


def whole(x, has_batch, size):
    """A tensor with the batch first: one that is the same for all examples is expanded."""
    return x if has_batch else x.expand(size, *x.shape)


def lengthened(x, has_batch, ndim):
    """A batch with dimensions of size 1 behind it, so that an example has `ndim` of them."""
    missing = ndim - ndim_of(x, has_batch)
    if not has_batch or missing <= 0:
        return x
    return x.reshape(x.shape[0], *[1] * missing, *x.shape[1:])


def all_whole(arguments, batched, size):
    """The arguments with all tensors expanded to the batch."""
    return [
        whole(one, is_batched, size) if isinstance(one, TensorBase) else one
        for one, is_batched in zip(arguments, batched, strict=True)
    ]


def fold(x):
    """The batch and a dimension of the example as one: (size, n, ...) -> (size * n, ...)."""
    return x.flatten(0, 1)


def unfold(x, size):
    """The other way round: (size * n, ...) -> (size, n, ...)."""
    return x.reshape(size, x.shape[0] // size, *x.shape[1:])


def along_channels(x, has_batch, ndim):
    """Numbers of channels, in the second dimension of images of `ndim` dimensions."""
    sizes = (x.shape[0], 1, x.shape[1]) if has_batch else x.shape
    return x.reshape(*sizes, *[1] * (ndim - 2))


def of_each(results, function):
    """A function of one tensor, of each in a result."""
    if isinstance(results, TensorBase):
        return function(results)
    return type(results)([function(one) for one in results])


def needs_an_example(rule):
    """A rule that counts with examples.

    Where there are none, one of zeros stands in, and is cut away again.
    """

    @functools.wraps(rule)
    def wrapped(op, size, batched, *arguments):
        if size:
            return rule(op, size, batched, *arguments)
        padded = [
            REGISTRY["cat"]([one, one.new_zeros(1, *one.shape[1:])], 0) if has_batch else one
            for one, has_batch in zip(arguments, batched, strict=True)
        ]
        results = rule(op, 1, batched, *padded)
        return of_each(results, lambda x: x if isinstance(x, Same) else x.narrow(0, 0, 0))

    return wrapped

"""A small vmap: a box that hides the batch, a table of rules, and a function that calls another one with boxes."""

import tensorlab as torch

RULES = {}


class Batched:
    """A tensor that doesn't show its first dimension, the batch."""

    def __init__(self, value):
        self.value, self.shape = value, value.shape[1:]

    def __add__(self, other):
        return call("add", self, other)

    def __radd__(self, other):
        return call("add", other, self)

    def __matmul__(self, other):
        return call("matmul", self, other)

    def __rmatmul__(self, other):
        return call("matmul", other, self)

    def tanh(self):
        return call("tanh", self)

    def sum(self, dim):
        return call("sum", self, dim)


def call(name, *arguments):
    """Take the values out of their boxes, let a rule compute, and put its result into a box."""
    batched = [isinstance(one, Batched) for one in arguments]
    values = [one.value if isinstance(one, Batched) else one for one in arguments]
    return Batched(RULES[name](name, batched, *values))


def pointwise(name, batched, *values):
    """Shapes line up on the right, so a short example gets its dimensions behind the batch."""
    ndims = [x.ndim - has_batch for x, has_batch in zip(values, batched, strict=True)]
    lined_up = [
        x.reshape(len(x), *[1] * (max(ndims) - ndim), *x.shape[1:]) if has_batch else x
        for x, has_batch, ndim in zip(values, batched, ndims, strict=True)
    ]
    return getattr(torch, name)(*lined_up)


def sum_over(name, batched, x, dim):
    """Dimension 0 of an example is dimension 1 of the batch."""
    return x.sum(dim % (x.ndim - 1) + 1)


def matmul(name, batched, x, y):
    """A vector is a matrix for the time being, so that the batch comes before two dimensions."""
    is_row, is_column = x.ndim - batched[0] == 1, y.ndim - batched[1] == 1
    out = (x.unsqueeze(-2) if is_row else x) @ (y.unsqueeze(-1) if is_column else y)
    out = out.squeeze(-2) if is_row else out
    return out.squeeze(-1) if is_column else out


RULES.update(add=pointwise, tanh=pointwise, sum=sum_over, matmul=matmul)


def vmap(function, in_dims):
    """The function of a batch, which is in these dimensions of the arguments; None: in none."""

    def of_batch(*args):
        pairs = zip(args, in_dims, strict=True)
        boxes = [x if dim is None else Batched(x.movedim(dim, 0)) for x, dim in pairs]
        size = next(len(one.value) for one in boxes if isinstance(one, Batched))
        out = function(*boxes)
        return out.value if isinstance(out, Batched) else out.expand(size, *out.shape)

    return of_batch

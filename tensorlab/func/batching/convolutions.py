"""Batching rules of convolutions: the batch becomes a part of the images, of the channels, or
of the groups.

    images of a batch, one bank of filters      more images                     (size * n, ...)
    one batch of images, banks of filters       more channels of the result     (size * out, ...)
    both                                        groups that do not see each other

So it is with the two gradients of a convolution, each a convolution itself. In all three ops
one of the tensors is the sum of products of the two others, and each pair of them shares one
axis: x and out the images `n`, x and weight the channels `i`, weight and out the channels `o`,
while groups go through all. Source: functorch's rules fold the same axes.
"""

from tensorlab.func.batching.alignment import along_channels, needs_an_example
from tensorlab.func.batching.rules import batching

# Of each op: the axes of its two operands and of the result, of which the second is a group's:
# (n, group, i), (group, o, i) and (n, group, o).
X, WEIGHT, OUT = ("n", "g", "i"), ("g", "o", "i"), ("n", "g", "o")
AXES = {
    "conv": (X, WEIGHT, OUT),
    "conv_input": (OUT, WEIGHT, X),
    "conv_weight": (X, OUT, WEIGHT),
}


def convolution(op, size, batched, x, y, shape, groups, call):
    """An op with the batch in one or both of its operands. `call` gets the operands, the shape
    of the result and the groups.
    """
    of_x, of_y, of_out = AXES[op.name]
    if batched[0] and batched[1]:
        axis = "g"
    else:  # the axis that only the batched operand and the result have
        one, other = (of_x, of_y) if batched[0] else (of_y, of_x)
        axis = next(name for name in one if name not in other and name in of_out)
    out = call(
        _joined(x, of_x, groups, axis) if batched[0] else x,
        _joined(y, of_y, groups, axis) if batched[1] else y,
        _grown(shape, of_out, groups, axis, size),
        groups * size if axis == "g" else groups,
    )
    return _parted(out, of_out, groups, axis, size)


def _joined(x, axes, groups, axis):
    """An operand with the batch before one of its axes, in one dimension with it."""
    split = x.unflatten(
        _second(axes) + 1, (groups, -1)
    )  # (batch, the three axes in their order, ...)
    at = axes.index(axis)
    split = split.movedim(0, at).flatten(at, at + 1)
    return split.flatten(*_group(axes))


def _parted(out, axes, groups, axis, size):
    """The result with the batch taken out of that axis."""
    at, first = axes.index(axis), _second(axes)
    split = out.unflatten(first, (groups * size if axis == "g" else groups, -1))
    split = split.unflatten(at, (size, -1)).movedim(at, 0)
    return split.flatten(first + 1, first + 2)


def _grown(shape, axes, groups, axis, size):
    """The shape of the result with the batch in it."""
    shape = list(shape)
    shape[_dimension(axes, axis)] *= size
    return shape


def _second(axes):
    """The dimension in which a tensor has its groups."""
    return axes.index("g")


def _group(axes):
    """The dimensions of groups and of what is in a group, which are one."""
    return _second(axes), _second(axes) + 1


def _dimension(axes, axis):
    """The dimension of a tensor in which an axis is."""
    at = axes.index(axis)
    return at - 1 if at > _second(axes) else at


@batching("conv")
@needs_an_example
def conv(op, size, batched, x, weight, bias, shape, stride, padding, dilation, groups):
    is_added = bias is not None and (
        batched[1] or batched[2]
    )  # the channels aren't those of the folded result

    def call(x, weight, shape, groups):
        inside = None if is_added else bias
        return op(x, weight, inside, shape, stride, padding, dilation, groups)

    if batched[0] or batched[1]:
        out = convolution(op, size, batched, x, weight, shape, groups, call)
    else:
        out = call(x, weight, shape, groups)
    if is_added:
        out = out + along_channels(bias, batched[2], len(shape))
    return out


@batching("conv_input", "conv_weight")
@needs_an_example
def gradient(op, size, batched, x, y, shape, stride, padding, dilation, groups, channels_last):
    return convolution(
        op,
        size,
        batched,
        x,
        y,
        shape,
        groups,
        lambda x, y, shape, groups: op(x, y, shape, stride, padding, dilation, groups, False),
    )

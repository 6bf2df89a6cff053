"""Batching rules of ops on images: pooling, and patches as columns.

They take images with channels, or batches of those. A batch of the former is one of the latter;
of a batch of batches, the two are folded into one dimension, and out again:

    (size, channels, height, width)             as it is
    (size, n, channels, height, width)          (size * n, channels, height, width)
"""

from tensorlab.func.batching.alignment import all_whole, fold, needs_an_example, of_each, unfold
from tensorlab.func.batching.rules import batching

# How many dimensions an operand has that is one image: its channels, and so many axes.
AXES = {"im2col": 3, "col2im": 2}


@needs_an_example
def of_images(op, size, batched, *arguments):
    arguments = all_whole(arguments, batched, size)
    ndim = AXES.get(op.name) or 1 + _axes(op, arguments)
    if arguments[0].ndim == ndim + 1:
        return op(*arguments)
    folded = [fold(one) if hasattr(one, "ndim") else one for one in arguments]
    return of_each(op(*folded), lambda x: unfold(x, size))


def _axes(op, arguments):
    """The number of axes of an image: as the name says, or the sizes of the result."""
    if op.name[-2:] in ("2d", "3d"):
        return int(op.name[-2])
    if op.name == "max_pool2d_with_indices_backward":
        return 2
    named = zip(op.signature.parameters, arguments, strict=True)
    return next(len(value) for one, value in named if one.name == "sizes")


for _name in (
    *("max_pool2d", "max_pool3d", "avg_pool2d", "avg_pool3d", "avg_pool_backward"),
    *("adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_avg_pool_backward"),
    *("adaptive_max_pool2d", "adaptive_max_pool3d", "im2col", "col2im"),
    *("max_pool2d_with_indices_backward",),
):
    batching.give(_name, of_images)


@batching("fractional_max_pool2d", "fractional_max_pool3d")
@needs_an_example
def fractional(op, size, batched, x, kernel_size, output_size, samples):
    """An image has samples with a batch of one."""
    x, samples = all_whole((x, samples), (batched[0], batched[3]), size)
    if x.ndim == len(output_size) + 2:
        return op(x, kernel_size, output_size, samples.flatten(0, 1))
    results = op(fold(x), kernel_size, output_size, fold(samples))
    return of_each(results, lambda one: unfold(one, size))

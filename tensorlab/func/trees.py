"""What transforms do with trees of tensors: boxes around the leaves, and out of them again."""

from tensorlab._core.dispatch.levels import box, tangent_at, value_at
from tensorlab._core.tensor import TensorBase
from tensorlab._pytree import tree_map


def boxed(level, tree):
    """The same tree with its tensors in boxes of a level that records, with no history there."""
    return tree_map(lambda x: box(level, x) if isinstance(x, TensorBase) else x, tree)


def opened(level, tree):
    """The same tree with what is in the boxes of a level."""
    return (
        value_at(tree, level)
        if isinstance(tree, TensorBase)
        else tree_map(lambda x: value_at(x, level), tree)
    )


def tangent(level, x):
    """The tangent of a box of a level: zeros if the tensor doesn't depend on the inputs."""
    found = tangent_at(x, level)
    return value_at(x, level).new_zeros(x.shape) if found is None else found

"""What transforms do with trees of tensors: boxes around the leaves, and out of them again."""

from tensorlab._core.dispatch.levels import box, box_of, tangent_at, value_at
from tensorlab._core.tensor import TensorBase
from tensorlab._pytree import tree_map_only


def boxed(level, tree):
    """The same tree with its tensors in boxes of a level that records, with no history there."""
    return tree_map_only(TensorBase, lambda x: box(level, x), tree)


def opened(level, tree):
    """The same tree with what is in the boxes of a level."""
    return tree_map_only(TensorBase, lambda x: value_at(x, level), tree)


def tangents(level, tree):
    """The tangents of the boxes of a level: zeros where a tensor doesn't depend on the inputs."""
    return tree_map_only(TensorBase, lambda x: _tangent(level, x), tree)


def _tangent(level, x):
    found = tangent_at(x, level)
    return value_at(x, level).new_zeros(x.shape) if found is None else found


def depends(level, tree):
    """Whether a tensor of the tree has a tangent at this level."""
    found = []
    tree_map_only(TensorBase, lambda x: found.append(tangent_at(x, level) is not None), tree)
    return found


def level_number(x):
    """The number of the highest level whose box x is in; 0 for an ordinary tensor."""
    found = box_of(x)
    return 0 if found is None else found.level.number

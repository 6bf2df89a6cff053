"""What transforms do with trees of tensors: boxes around the leaves, and out of them again."""

from tensorlab._core.dispatch.levels import box, box_of, tangent_at, value_at
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


def debug_unwrap(tensor, *, recurse=True):
    """What is in the box that a transform shows: for looking at values, in a debugger say.

    What is computed with it is unknown to the transform. Under vmap it's the whole batch.

    Parameters
    ----------
    tensor : Tensor
    recurse : bool, whether boxes of outer transforms are opened as well

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.func import debug_unwrap, vmap
    >>> def f(x):
    ...     print(debug_unwrap(x))
    ...     return x
    >>> y = vmap(f)(tensorlab.ones(2))
    tensor([1., 1.])
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"debug_unwrap: a Tensor is needed, not {type(tensor).__name__}")
    found = box_of(tensor)
    while found is not None:
        tensor = found.value
        found = box_of(tensor) if recurse else None
    return tensor

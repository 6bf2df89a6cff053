"""vmap: a function of one example becomes a function of a batch.

    vmap(f)(xs)   is   stack([f(x) for x in xs])

The loop isn't run. Each tensor is put into a box that doesn't show the dimension of the batch, and
each op that the function calls computes for all examples (batching/rules.py).
"""

import functools
import itertools

from tensorlab._core.dispatch.levels import alive, box, box_of, value_at
from tensorlab._core.tensor import TensorBase
from tensorlab._pytree import tree_flatten, tree_unflatten
from tensorlab.func.levels import batching
from tensorlab.ops.joining import cat

__all__ = ["vmap"]

RANDOMNESS = ("error", "different", "same")


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """The function that calls `func` for each example of a batch, all at once.

    Parameters
    ----------
    func : function of tensors that returns tensors; trees of them on both sides
    in_dims : int, None, or a tree of them in the form of the arguments: which dimension of each
        tensor counts the examples. None: it has none, and is the same for all
    out_dims : int, None or a tree of them in the form of the results: where the dimension of
        the batch is put
    randomness : "error", "different" or "same"; what random numbers in `func` do: raise, are
        drawn for each example, or once for all
    chunk_size : int, how many examples to compute at a time; None: all. Less memory, more calls

    Returns
    -------
    function : with the arguments of `func`; those by keyword are the same for all examples

    Raises
    ------
    ValueError
        When it is called: if `in_dims` or `out_dims` don't fit, or sizes of batches differ.
    RuntimeError
        If `func` asks for values of a single example (`item()`, `if x > 0`), or writes what
        differs from example to example into a tensor that is the same for all.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.func import vmap
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> vmap(tensorlab.dot)(x, x)
    tensor([ 5., 25.])
    >>> vmap(tensorlab.dot, in_dims=(0, None))(x, x[0])
    tensor([ 5., 11.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            f"vmap: Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness!r}"
        )
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size!r})")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        leaves, dims, spec = _checked_inputs(func, in_dims, args)
        size = _batch_size(leaves, dims)
        call = functools.partial(_call, func, spec, dims, out_dims, randomness, kwargs)
        if chunk_size is None or chunk_size >= size:
            return call(leaves, size)
        parts = [
            call(
                _chunk(leaves, dims, begin, min(chunk_size, size - begin)),
                min(chunk_size, size - begin),
            )
            for begin in range(0, size, chunk_size)
        ]
        return _joined(parts, out_dims)

    return wrapped


# ---------------------------------------------------------------- inputs
def _checked_inputs(func, in_dims, args):
    """Leaves of the arguments, the dimension of the batch of each (None if it has none), and their form."""
    name = getattr(func, "__name__", repr(func))
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not (in_dims is None or isinstance(in_dims, (int, tuple, list))):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure "
            f"of inputs, got: {type(in_dims).__name__}"
        )
    leaves, spec = tree_flatten(args)
    if not leaves:
        raise ValueError(
            f"{where}: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over "
            f"a function with no inputs, or give all of them by keyword: those have no batch"
        )
    dims = _broadcast(in_dims if isinstance(in_dims, (int, type(None))) else tuple(in_dims), spec)
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of inputs. in_dims has structure "
            f"{tree_flatten(in_dims, _is_none)[1]}, but the inputs have {spec}"
        )
    checked = [_checked_dim(where, x, dim) for x, dim in zip(leaves, dims, strict=True)]
    return leaves, checked, spec


def _is_none(tree):
    return tree is None


def _broadcast(prefix, spec):
    """The leaves of a tree that may be a part of another one from the root; None if it isn't."""
    if not isinstance(prefix, (tuple, list, dict)):
        return [prefix] * spec.num_leaves
    _, given = tree_flatten(prefix, lambda tree: not isinstance(tree, (tuple, list, dict)))
    if (
        given.type is not spec.type
        or given.num_children != spec.num_children
        or given.context != spec.context
    ):
        return None
    items = list(prefix.values()) if isinstance(prefix, dict) else list(prefix)
    found = [_broadcast(one, spec.child(i)) for i, one in enumerate(items)]
    return None if any(one is None for one in found) else list(itertools.chain(*found))


def _checked_dim(where, x, dim):
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{where}: Got in_dim={dim!r} for an input but in_dim must be either an integer dimension or None"
        )
    if not isinstance(x, TensorBase):
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over "
            f"non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -x.ndim <= dim < x.ndim:
        raise ValueError(
            f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {x.ndim} "
            f"so expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}"
        )
    return dim % x.ndim


def _batch_size(leaves, dims):
    sizes = {x.shape[dim] for x, dim in zip(leaves, dims, strict=True) if dim is not None}
    if not sizes:
        raise ValueError(
            "vmap: at least one input must have a batch: all in_dims are None, or no input is a tensor"
        )
    if len(sizes) > 1:
        found = [x.shape[dim] for x, dim in zip(leaves, dims, strict=True) if dim is not None]
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{found} for the mapped dimension"
        )
    return sizes.pop()


def _chunk(leaves, dims, begin, count):
    return [
        x if dim is None else x.narrow(dim, begin, count)
        for x, dim in zip(leaves, dims, strict=True)
    ]


# ---------------------------------------------------------------- the call
def _call(func, spec, dims, out_dims, randomness, kwargs, leaves, size):
    """Call the function with boxes, and take the results out of them."""
    with batching("vmap", size, randomness) as level:
        boxes = [
            x if dim is None else box(level, _batch_first(x, dim))
            for x, dim in zip(leaves, dims, strict=True)
        ]
        out = func(*tree_unflatten(boxes, spec), **kwargs)
        return unboxed(func, level, size, out, out_dims)


def _batch_first(x, dim):
    """A view in which the batch is the first dimension."""
    return x if dim == 0 else x.movedim(dim, 0)


def unboxed(func, level, size, out, out_dims):
    """The results of a function, with the batch in the dimension that out_dims names."""
    name = getattr(func, "__name__", repr(func))
    leaves, spec = tree_flatten(out)
    dims = _broadcast(tuple(out_dims) if isinstance(out_dims, list) else out_dims, spec)
    if dims is None and len(leaves) == 1 and isinstance(out_dims, tuple) and len(out_dims) == 1:
        dims = list(out_dims)  # one result, and its dimension in a tuple
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"outputs. out_dims has structure {tree_flatten(out_dims)[1]}, but outputs have {spec}"
        )
    results = [_result(name, level, size, x, dim) for x, dim in zip(leaves, dims, strict=True)]
    return tree_unflatten(results, spec)


def _result(name, level, size, x, dim):
    if not isinstance(x, TensorBase):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= "
            f"to None for output?"
        )
    x = alive(x)
    found = box_of(x)
    is_batched = found is not None and found.level is level
    if dim is None:
        if is_batched:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: the result differs "
                f"from example to example"
            )
        return x
    if not isinstance(dim, int):
        raise ValueError(
            f"vmap({name}, ..., out_dims=...): out_dims must be ints or None, and one is {dim!r}"
        )
    ndim = x.ndim + 1
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"vmap({name}, ...): out_dim {dim} is out of range for a result with {ndim} dimensions, the batch included"
        )
    value = value_at(x, level) if is_batched else x.expand(size, *x.shape)
    return value if dim % ndim == 0 else value.movedim(0, dim % ndim)


def _joined(parts, out_dims):
    """The results of chunks as one."""
    flat = [tree_flatten(one)[0] for one in parts]
    spec = tree_flatten(parts[0])[1]
    dims = _broadcast(tuple(out_dims) if isinstance(out_dims, list) else out_dims, spec) or list(
        out_dims
    )
    return tree_unflatten(
        [
            of_one[0] if dim is None else cat(of_one, dim)
            for of_one, dim in zip(zip(*flat, strict=True), dims, strict=True)
        ],
        spec,
    )

"""Index maps: which element of a value an iteration of the loops needs, and how views change that.

A kernel has loops i0, i1, ... of known sizes. A *form* is a sum such as 12 * i0 + i2 + 5: a tuple
of one factor for each loop and then the constant. An *index map* of a value is a form for each of
its dimensions. A view turns the map of its result into the map of its input; a tensor in memory
turns its map into the form of an address. So views cost nothing.

Only `view` and `reshape` may find that no form exists. They then ask for a loop to be cut in two
(`CutLoop`), or they say that they cannot be part of the kernel (`NoMap`).
"""

import operator

from tensorlab._core.dispatch.facets import Facet
from tensorlab._core.dispatch.op import Op
from tensorlab.compiler.joint.interpreter import facet_of, gives_alias
from tensorlab.compiler.joint.memory import View, as_one_view, part
from tensorlab.compiler.lowering.parts import parts_of
from tensorlab.compiler.passes.decomposition import decomposition


class NoMap(Exception):
    """The view is no sum of loop indices, so its input must be in memory."""


class CutLoop(Exception):
    """A loop must become two: the inner one of the size that is given."""

    def __init__(self, loop, inner):
        super().__init__(loop, inner)
        self.loop, self.inner = loop, inner


def zero(loops):
    return (0,) * (len(loops) + 1)


def added(forms, loops):
    return tuple(map(sum, zip(*forms, strict=True))) if forms else zero(loops)


def scaled(form, factor, constant=0):
    return (*(factor * one for one in form[:-1]), factor * form[-1] + constant)


def row_major_strides(shape):
    """Return the strides of a contiguous tensor, in elements."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]


def address(index_map, strides, loops) -> tuple:
    """Return the form of an element's offset in memory."""
    forms = [scaled(form, stride) for form, stride in zip(index_map, strides, strict=True)]
    return added(forms, loops)


def loop_map(shape, loops) -> tuple:
    """Return the map of a value of which each iteration makes one element, in row-major order."""
    flat = (*row_major_strides(loops), 0)
    return split_flat(flat, shape, loops)


def split_flat(flat, shape, loops):
    """Turn the form of a row-major position into a map of the dimensions of `shape`."""
    strides = row_major_strides(shape)
    result = [list(zero(loops)) for _ in shape]
    rest = flat[-1]
    for d, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        result[d][-1], rest = divmod(rest, stride)
        for loop, factor in enumerate(flat[:-1]):
            if factor == 0 or loops[loop] == 1 or not stride <= factor < stride * size:
                continue
            if factor % stride:
                raise NoMap
            if (
                factor * (loops[loop] - 1) >= stride * size
            ):  # it runs over the end of this dimension
                inner, left = divmod(stride * size, factor)
                if left or loops[loop] % inner:
                    raise NoMap
                raise CutLoop(loop, inner)
            result[d][loop] = factor // stride
        if largest(result[d], loops) >= size:
            raise NoMap
    return tuple(map(tuple, result))


def largest(form, loops):
    return form[-1] + sum(factor * (n - 1) for factor, n in zip(form[:-1], loops, strict=True))


def broadcast(index_map, shape, loops):
    """Return the map of an operand of `shape` from that of the result: aligned at the right, size 1 repeated."""
    aligned = index_map[len(index_map) - len(shape) :]
    return tuple(
        zero(loops) if size == 1 else form for form, size in zip(aligned, shape, strict=True)
    )


# ------------------------------------------------------------------------------------------------ views
ROW_MAJOR = "row-major"  # what keeps the row-major order of elements; Values.reshaped needs no more
# Of a view that is not made of others: a function of the map of its result, the shape of its
# input, the loops and the other arguments, which gives the map of the input.
view_map = Facet("view_map")
view_map("view", "reshape")(ROW_MAJOR)


@view_map("permute")
def through_permute(index_map, shape, loops, dims):
    result = [None] * len(shape)
    for form, dim in zip(index_map, dims, strict=True):
        result[dim] = form
    return tuple(result)


@view_map("squeeze")
def through_squeeze(index_map, shape, loops, dim):
    dims = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
    dropped = {d % len(shape) for d in dims if shape[d] == 1} if shape else set()
    forms = iter(index_map)
    return tuple(zero(loops) if d in dropped else next(forms) for d in range(len(shape)))


@view_map("unsqueeze")
def through_unsqueeze(index_map, shape, loops, dim):
    dim %= len(index_map)
    return index_map[:dim] + index_map[dim + 1 :]


@view_map("expand")
def through_expand(index_map, shape, loops, size):
    return broadcast(index_map, shape, loops)


@view_map("select")
def through_select(index_map, shape, loops, dim, index):
    dim %= len(shape)
    constant = scaled(zero(loops), 1, index % shape[dim])
    return (*index_map[:dim], constant, *index_map[dim:])


@view_map("slice")
def through_slice(index_map, shape, loops, dim, start, end, step):
    dim %= len(shape)
    start, _, _ = slice(start, end, step).indices(shape[dim])
    moved = scaled(index_map[dim], step, start)
    return (*index_map[:dim], moved, *index_map[dim + 1 :])


@view_map("detach")
def through_nothing(index_map, shape, loops):
    return index_map


def made_of_views(op):
    """Whether a view without a map of its own is made of others."""
    made = decomposition.of(op)
    return made is not None and made.keeps_bits and gives_alias(op) and view_map.of(op) is None


is_made_of_views = Facet("is_made_of_views", made_of_views)


def op_name(node):
    """Name the op that a node calls, as C can have it, or return None."""
    return node.target.name.replace("::", "_") if isinstance(node.target, Op) else None


def is_reshape(node):
    return facet_of(node, view_map) is ROW_MAJOR


def view_source(node):
    """Return what a view is a view of; None if the node is no view that has a map."""
    if node.target is operator.getitem:
        call = node.args[0]
        return call.args[0] if facet_of(call, part) is not None else None
    if facet_of(node, view_map) is not None:
        return node.args[0]
    return parts_of(node) if facet_of(node, is_made_of_views) else None


def root_of(node):
    """Return the node whose memory a kernel reads for `node`: the tensor that it is a view of."""
    while (source := view_source(node)) is not None:
        node = source
    return node


def through(node, index_map, loops):
    """Return the map of a view's input from that of the view."""
    call, item = node.args if node.target is operator.getitem else (node, None)
    view = as_one_view(View(call.target, call.args[1:], item))
    change = view_map.of(view.op)
    if change is None:  # the views that it is made of follow
        return index_map
    return change(index_map, tuple(call.args[0].meta["val"].shape), loops, *view.args)


# ------------------------------------------------------------------------------------------------ loops
def cut(loops, loop, inner):
    return (*loops[:loop], loops[loop] // inner, inner, *loops[loop + 1 :])


def simplified(loops, forms, order_by):
    """Drop loops of one iteration, put the smallest stride innermost, merge what continues.

    The strides are those of the form `order_by`. Returns the sizes of the new loops, and the forms
    over them.
    """
    kept = [k for k, size in enumerate(loops) if size != 1]
    kept.sort(key=lambda k: (-order_by[k], k))
    sizes = [loops[k] for k in kept]
    columns = [[form[k] for form in forms] for k in kept]
    merged = merge_all(sizes, columns)
    sizes, columns = [size for size, _ in merged], [column for _, column in merged]
    constants = [form[-1] for form in forms]
    rows = zip(*columns, strict=True) if columns else [()] * len(forms)
    return tuple(sizes), [(*row, last) for row, last in zip(rows, constants, strict=True)]


def merge_all(sizes, columns):
    merged = []
    for size, column in zip(sizes, columns, strict=True):
        if merged and all(a == b * size for a, b in zip(merged[-1][1], column, strict=True)):
            merged[-1] = (merged[-1][0] * size, column)
        else:
            merged.append((size, column))
    return merged

"""What reductions fold, and the ops that are several passes over a row: softmax, var and their relatives.

An op of the second kind is taken apart by its decomposition (passes/formulas.py) for its kernel
alone, so that a schedule never has one of the parts without the others.
"""

from typing import NamedTuple

from tensorlab._core.dispatch.facets import Facet
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab.compiler.joint.interpreter import facet_of
from tensorlab.compiler.lowering.c_types import IN_KERNELS, is_floating, kernel_dtype
from tensorlab.compiler.lowering.index_maps import NoMap
from tensorlab.compiler.lowering.parts import parts_of
from tensorlab.compiler.passes.decomposition import decomposition


class Fold(NamedTuple):
    """How elements become one: of a row by a function of helpers.py, and one more by `step`."""

    function: str
    first: str  # the first total: zero, one, lowest or highest
    step: str
    final: str = "{total}"  # from the total and the count of elements to the result


SUM = Fold("row_sum", "zero", "{total} + {x}")
MEAN = SUM._replace(final="{total} / ({type}){count}")
PRODUCT = Fold("row_product", "one", "{total} * {x}")
LARGEST = Fold("row_largest", "lowest", "larger_{type}({total}, {x})")
SMALLEST = Fold("row_smallest", "highest", "smaller_{type}({total}, {x})")
ANY = Fold("row_any", "zero", "{total} | {x}")
ALL = Fold("row_all", "one", "{total} & {x}")
COUNT = Fold("row_count", "zero", "{total} + {x}")

# Of a reduction: its Fold. The dimensions are its argument `dim`, or those that differ from its argument `size`.
fold = Facet("fold")
fold("sum", "sum_to_size")(SUM)
fold("mean")(MEAN)
fold("prod")(PRODUCT)
fold("amax", "max")(LARGEST)
fold("amin", "min")(SMALLEST)
fold("any")(ANY)
fold("all")(ALL)
fold("count_nonzero")(COUNT)


class Reduction(NamedTuple):
    """A reduction: what it folds, over which dimensions, in which type, and how."""

    source: object
    dims: tuple
    dtype: str
    fold: Fold

    @property
    def of_totals(self):
        """How totals of parts are folded, and their type."""
        return ("row_sum", "int64") if self.fold is COUNT else (self.fold.function, self.dtype)


def meta_vector(size, dtype):
    """Make a tensor of one dimension on "meta"."""
    return REGISTRY["empty_strided"]([size], [1], dtype=dtype, device="meta")


def dims_of(node):
    """The dimensions that a node's op reduces."""
    shape, out = node.args[0].meta["val"].shape, node.meta["val"].shape
    parameters = node.target.params
    if "size" in parameters:
        padded = (1,) * (len(shape) - len(out)) + tuple(out)
        return tuple(d for d, size in enumerate(padded) if size != shape[d])
    dim = node.args[parameters.index("dim")] if "dim" in parameters else None
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(len(shape)))
    dims = (dim,) if isinstance(dim, int) else dim
    return tuple(sorted({d % len(shape) for d in dims})) if len(shape) else ()


def reduction_of(node):
    """Describe the reduction that a node is; None if it is none, or of a kind that no kernel does."""
    how = facet_of(node, fold)
    if how is None:
        return None
    dtype = node.meta["val"].dtype.name
    if not {dtype, node.args[0].meta["val"].dtype.name} <= IN_KERNELS:
        return None
    if how in (ANY, ALL, COUNT):
        dtype = "bool"
    elif how in (SUM, MEAN, PRODUCT) and not is_floating(dtype):
        if dtype == "bool":
            return None
        dtype = "int64"
    return Reduction(node.args[0], dims_of(node), kernel_dtype(dtype), how)


# ------------------------------------------------------------------------------------------------ several passes
def has_passes(op):
    """Whether an op is made of reductions along `dim`, each a pass over a row, and of what happens between."""
    made = decomposition.of(op)
    is_one = len(op.signature.results) == 1 and "dim" in op.params
    return made is not None and not made.keeps_bits and is_one and fold.of(op) is None


several_passes = Facet("several_passes", has_passes)


def expanded(node):
    """Return the parts of an op as the value that they end in; None if the op has no parts.

    Raises
    ------
    NoMap
        If this call stays as it is.
    """
    if not facet_of(node, several_passes):
        return None
    made = parts_of(node)
    if made is None or made.meta["val"].dtype is not node.meta["val"].dtype:
        raise NoMap
    return made


def reduced_dims(node):
    """Return the shape and the dimensions that a node reduces; None if it is no reduction."""
    reduction = reduction_of(node)
    if reduction is None and not facet_of(node, several_passes):
        return None
    dims = dims_of(node) if reduction is None else reduction.dims
    return tuple(node.args[0].meta["val"].shape), dims

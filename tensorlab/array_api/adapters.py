"""Functions of the array API standard whose arguments are not those of tensorlab's own.

The standard says `axis` where tensorlab says `dim`, takes most tensors by position only, and lets
a reduction go over several axes at once.
"""

import builtins
from collections import namedtuple

from tensorlab._core import dtypes
from tensorlab._core.device import CPU
from tensorlab._core.dispatch.operands import result_type as result_type_of_two
from tensorlab._core.dtypes import BY_NAME, DTYPES, get_default_dtype, promote_types
from tensorlab._tensor import Tensor
from tensorlab.ops import (
    creation,
    extrema,
    joining,
    products,
    ranges,
    rearranging,
    reductions,
    reshaping,
    scans,
    searching,
    sorting,
    splitting,
    statistics,
    triangles,
    uniques,
)
from tensorlab.ops import meshgrid as meshgrid_ops
from tensorlab.ops.complex_numbers import conj_physical, sgn
from tensorlab.ops.indexing import gather, index_along_dim
from tensorlab.ops.indexing import nonzero as nonzero_ops
from tensorlab.ops.linalg import einsum
from tensorlab.ops.pointwise import signs as signs_of
from tensorlab.ops.pointwise.bounds import clamp

INDEX = BY_NAME["int64"]
SIGNED = {BY_NAME[f"int{bits}"] for bits in (8, 16, 32, 64)}
UNSIGNED = {BY_NAME[f"uint{bits}"] for bits in (8, 16, 32, 64)}
COMPLEX = {dtype for dtype in DTYPES if dtype.is_complex}
FLOATING = {dtype for dtype in DTYPES if dtype.is_floating_point}


# ---------------------------------------------------------------- creation and types
def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from `start` up to `stop`, in steps; from 0 if only one is given."""
    first, last = (0, start) if stop is None else (start, stop)
    if (last - first) * step < 0:  # no elements, where tensorlab's own arange raises
        last = first
    return ranges.arange(first, last, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """Numbers evenly spaced from `start` to `stop`, which `endpoint` includes."""
    if endpoint:
        return ranges.linspace(start, stop, num, dtype=dtype, device=device)
    return ranges.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """A matrix with ones on diagonal `k` and zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    row = ranges.arange(n_rows).unsqueeze(1)
    return (ranges.arange(columns) - row == k).to(dtype or get_default_dtype())


def tril(x, /, *, k=0):
    """The lower triangle of each matrix, up to diagonal `k`."""
    return triangles.tril(x, k)


def triu(x, /, *, k=0):
    """The upper triangle of each matrix, from diagonal `k`."""
    return triangles.triu(x, k)


def full(shape, fill_value, *, dtype=None, device=None):
    """Return an array that has the same number everywhere."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return creation.full(shape, fill_value, dtype=dtype, device=device)


def meshgrid(*arrays, indexing="xy"):
    """Grids of coordinates, one for each of some axes."""
    return list(meshgrid_ops.meshgrid(*arrays, indexing=indexing)) if arrays else []


def astype(x, dtype, /, *, copy=True, device=None):
    """The values in another type; `x` itself may be returned only if `copy` is False."""
    return x.to(dtype, copy=copy)


def result_type(*arrays_and_dtypes):
    """The type that an operation on these tensors, types and numbers gives."""
    found = None
    for one in sorted(arrays_and_dtypes, key=lambda x: isinstance(x, int | float)):
        kind = one.dtype if isinstance(one, Tensor) else one
        if found is None:
            found = kind
        elif isinstance(kind, int | float):
            found = result_type_of_two(creation.empty(1, dtype=found), kind)
        else:
            found = promote_types(found, kind)
    if found is None:
        raise ValueError(
            "result_type: no tensors, types or numbers are given; at least one is needed"
        )
    return found


def type_of(x):
    """The type of a tensor; a type is its own."""
    return x.dtype if isinstance(x, Tensor) else x


def can_cast(from_, to, /):
    """Tell whether a type, or that of a tensor, promotes to another one."""
    return promote_types(type_of(from_), to) == to


FloatingLimits = namedtuple("FloatingLimits", "bits eps max min smallest_normal dtype")
IntegerLimits = namedtuple("IntegerLimits", "bits max min dtype")


def finfo(type, /):
    """The limits of a floating type, of the parts of a complex one, or of the type of a tensor."""
    dtype = type_of(type).to_real()
    found = dtypes.finfo(dtype)
    return FloatingLimits(found.bits, found.eps, found.max, found.min, found.smallest_normal, dtype)


def iinfo(type, /):
    """The limits of an integer type, or of that of a tensor."""
    dtype = type_of(type)
    found = dtypes.iinfo(dtype)
    return IntegerLimits(found.bits, found.max, found.min, dtype)


KINDS = {
    "bool": {BY_NAME["bool"]},
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED | UNSIGNED,
    "real floating": FLOATING,
    "complex floating": COMPLEX,
}
IN_STANDARD = {
    *KINDS["bool"],
    *KINDS["integral"],
    *(BY_NAME[name] for name in ("float32", "float64", "complex64", "complex128")),
}
KINDS["numeric"] = KINDS["integral"] | KINDS["real floating"] | KINDS["complex floating"]


def isdtype(dtype, kind):
    """Tell whether a type is `kind`: a type, a kind such as "integral", or one of a tuple of those."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    return dtype in KINDS[kind] if isinstance(kind, str) else dtype == kind


def __array_namespace_info__():
    """Describe what this namespace can do."""
    return Info()


class Info:
    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self):
        return CPU

    def default_dtypes(self, *, device=None):
        return {
            "real floating": get_default_dtype(),
            "complex floating": get_default_dtype().to_complex(),
            "integral": INDEX,
            "indexing": INDEX,
        }

    def dtypes(self, *, device=None, kind=None):
        return {
            str(dtype).rpartition(".")[2]: dtype
            for dtype in DTYPES
            if dtype in IN_STANDARD and (kind is None or isdtype(dtype, kind))
        }

    def devices(self):
        return [CPU]


# ---------------------------------------------------------------- elements
def clip(x, /, min=None, max=None):
    """Each element, or the bound that it passes."""
    return x.clone() if min is None and max is None else clamp(x, min, max)


def sign(x, /):
    """-1, 0 or 1; nan of nan; of a complex number the one of size 1 in its direction."""
    if x.is_complex():
        return sgn(x)
    signs = signs_of.sign(x)
    return signs.masked_fill(x != x, float("nan")) if x.is_floating_point() else signs


# ---------------------------------------------------------------- shapes
def permute_dims(x, /, axes):
    """The dimensions in another order."""
    return x.permute(axes)


def expand_dims(x, /, *, axis=0):
    """One more dimension, of size 1."""
    return x.unsqueeze(axis)


def squeeze(x, /, axis):
    """Without these dimensions, which must be of size 1."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze: axis {one} has size {x.shape[one]}; it must be 1")
    return x.squeeze(axes)


def reshape(x, /, shape, *, copy=None):
    """The elements in another shape; `copy` False is an error where they must move, True moves them always."""
    result = reshaping.reshape(x, shape)
    shares = result.data_ptr() == x.data_ptr()
    if copy is False and not shares:
        raise ValueError(
            f"reshape: copy is False, but elements of strides {x.stride()} must move to become "
            f"{tuple(result.shape)}"
        )
    return result.clone() if copy and shares else result


def concat(arrays, /, *, axis=0):
    """Arrays one after the other; flattened if `axis` is None."""
    if axis is None:
        return joining.cat([one.flatten() for one in arrays])
    return joining.cat(list(arrays), axis)


def stack(arrays, /, *, axis=0):
    """Arrays along a new axis."""
    return joining.stack(list(arrays), axis)


def unstack(x, /, *, axis=0):
    """Split along an axis, which goes away."""
    return splitting.unbind(x, axis)


def flip(x, /, *, axis=None):
    """The elements in reverse order along some axes, all if None."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return rearranging.flip(x, tuple(axes))


def roll(x, /, shift, *, axis=None):
    """The elements moved along an axis; what leaves at one end enters at the other."""
    if isinstance(shift, int) and isinstance(axis, tuple):
        shift = (shift,) * len(axis)
    return rearranging.roll(x, shift, axis)


def tile(x, repetitions, /):
    """Copies of `x` side by side."""
    return rearranging.tile(x, tuple(repetitions))


def repeat(x, repeats, /, *, axis=None):
    """Each element `repeats` times."""
    if isinstance(repeats, Tensor) and isdtype(repeats.dtype, "integral"):
        repeats = repeats.to(INDEX)
    return rearranging.repeat_interleave(x, repeats, axis)


def broadcast_arrays(*arrays):
    """The arrays, each expanded to their common shape."""
    return list(meshgrid_ops.broadcast_tensors(*arrays))


# ---------------------------------------------------------------- products
def tensordot(x1, x2, /, *, axes=2):
    """The sum of products over some axes of both."""
    return einsum.tensordot(x1, x2, axes)


def vecdot(x1, x2, /, *, axis=-1):
    """The dot products of vectors that lie along an axis."""
    if not -builtins.min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(
            f"vecdot: axis {axis} is not between -{builtins.min(x1.ndim, x2.ndim)} and -1; it is "
            f"counted from the end, because the other axes are broadcast"
        )
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot: axis {axis} has size {x1.shape[axis]} in one and {x2.shape[axis]} in the "
            f"other; they must be equal"
        )
    products = x1.conj() * x2
    return products.sum(axis, dtype=products.dtype)


def conj(x, /):
    """The complex conjugate, in memory of its own: NumPy can look at it."""
    return conj_physical(x)


# ---------------------------------------------------------------- reductions
def reduce(function, x, axis, keepdims, **settings):
    """Call a reduction of ours, over all axes if `axis` is None.

    To ours, no axes are all axes. To the standard each element is reduced alone, which an axis of
    size 1 does.
    """
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    if not axes:
        return function(x.unsqueeze(-1), -1, **settings)
    return function(x, tuple(axes), keepdim=keepdims, **settings)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum along some axes, all if None; small integers become int64."""
    return reduce(reductions.sum, x, axis, keepdims, dtype=dtype)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean along some axes, all if None."""
    return reduce(reductions.mean, x, axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements along some axes, all if None, differ from 0."""
    return reduce(reductions.sum, x != 0, axis, keepdims, dtype=INDEX)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element along some axes, all if None."""
    return reduce(extrema.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element along some axes, all if None."""
    return reduce(extrema.amin, x, axis, keepdims)


def one_by_one(function, x, axis, keepdims, **settings):
    """Reduce by an op that takes one axis at a time; an axis of size 1 stands for no axes."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if not axes:
        return function(x.unsqueeze(-1), -1, **settings)
    for one in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = function(x, one, keepdim=keepdims, **settings)
    return x


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product along some axes, all if None; small integers become int64."""
    return one_by_one(products.prod, x, axis, keepdims, dtype=dtype)


def any(x, /, *, axis=None, keepdims=False):
    """Tell whether some element along some axes, all if None, differs from 0."""
    return one_by_one(products.any, x != 0, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Tell whether every element along some axes, all if None, differs from 0."""
    return one_by_one(products.all, x != 0, axis, keepdims)


def var(x, /, *, axis=None, correction=0, keepdims=False):
    """The variance along some axes, all if None."""
    return reduce(statistics.var, x, axis, keepdims, correction=correction)


def std(x, /, *, axis=None, correction=0, keepdims=False):
    """The standard deviation along some axes, all if None."""
    return reduce(statistics.std, x, axis, keepdims, correction=correction)


def cumulative(where, function, start, x, axis, dtype, include_initial):
    """Call a scan of ours; `include_initial` puts its start before the rest."""
    if axis is None and x.ndim > 1:
        raise ValueError(f"{where}: axis is needed for a tensor of {x.ndim} dimensions")
    axis = 0 if axis is None else axis
    found = function(x, axis, dtype=dtype)
    if include_initial:
        shape = list(found.shape)
        shape[axis] = 1
        found = joining.cat([creation.full(shape, start, dtype=found.dtype), found], axis)
    return found


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums of all elements up to each; `include_initial` puts a 0 before them."""
    return cumulative("cumulative_sum", scans.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The products of all elements up to each; `include_initial` puts a 1 before them."""
    return cumulative("cumulative_prod", scans.cumprod, 1, x, axis, dtype, include_initial)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The differences of neighbours along an axis, taken `n` times."""
    return scans.diff(x, n=n, dim=axis, prepend=prepend, append=append)


# ---------------------------------------------------------------- searching and sorting
def argmax(x, /, *, axis=None, keepdims=False):
    """The index of the largest element; in the flattened array if `axis` is None."""
    return extrema.argmax(x, axis, keepdim=keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The index of the smallest element; in the flattened array if `axis` is None."""
    return extrema.argmin(x, axis, keepdim=keepdims)


def nonzero(x, /):
    """The indices of elements that differ from 0, one tensor for each dimension."""
    if x.ndim == 0:
        raise ValueError("nonzero: a 0-d tensor has no axes; test bool(x), or reshape it to (1,)")
    return nonzero_ops.nonzero(x, as_tuple=True)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis."""
    return sorting.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that put the elements in order along an axis."""
    return sorting.argsort(x, dim=axis, descending=descending, stable=stable)


def take(x, indices, /, *, axis=None):
    """The entries at these indices along an axis."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: axis is needed for a tensor of {x.ndim} dimensions")
    return index_along_dim.index_select(x, 0 if axis is None else axis, indices.to(INDEX))


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements at these indices along an axis, of which every row has its own."""
    return gather.take_along_dim(x, indices.to(INDEX), axis)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where the elements of `x2` would have to stand in the sorted row `x1`."""
    return searching.searchsorted(x1, x2, side=side, sorter=sorter)


def isin(x1, x2, /, *, invert=False):
    """Tell which elements of `x1` are among those of `x2`."""
    return searching.isin(x1, x2, invert=invert)


UniqueAllResult = namedtuple("UniqueAllResult", "values indices inverse_indices counts")
UniqueCountsResult = namedtuple("UniqueCountsResult", "values counts")
UniqueInverseResult = namedtuple("UniqueInverseResult", "values inverse_indices")


def unique_values(x, /):
    """The different values, in order."""
    return uniques.unique(x)


def unique_all(x, /):
    """The different values, in order; of each the first index and the count; and each element's value."""
    values, inverse, counts = uniques.unique(x, return_inverse=True, return_counts=True)
    places = ranges.arange(x.numel())
    first = creation.full(values.shape, x.numel(), dtype=INDEX)
    first = first.scatter_reduce(0, inverse.reshape(-1), places, "amin")
    return UniqueAllResult(values, first, inverse, counts)


def unique_counts(x, /):
    """The different values, in order, and how often each occurs."""
    return UniqueCountsResult(*uniques.unique(x, return_counts=True))


def unique_inverse(x, /):
    """The different values, in order, and for each element the index of its value."""
    return UniqueInverseResult(*uniques.unique(x, return_inverse=True))

"""The array API standard's names for what tensorlab can do: what `x.__array_namespace__()` returns.

Libraries written for the standard (einops, parts of SciPy and scikit-learn) find their functions
here.  Most are tensorlab's own under another name; the rest adapt argument names (`axis` for `dim`).

Source: Python array API standard 2023.12, https://data-apis.org/array-api/2023.12/API_specification.
Left out: complex numbers, devices other than the CPU, `fft`, and what tensorlab has no op for.
"""

import builtins
import math
import sys
from collections import namedtuple

from tensorlab._core import exchange
from tensorlab._core.device import CPU
from tensorlab._core.dlpack import asarray, from_dlpack
from tensorlab._core.dtypes import (
    DTYPES,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
)
from tensorlab._core.operands import result_type as _result_type_of_two
from tensorlab._tensor import Tensor
from tensorlab.ops import (
    creation,
    dimensions,
    extrema,
    facts,
    joining,
    products,
    ranges,
    reductions,
    reshaping,
    scans,
    splitting,
    statistics,
    triangles,
    uniques,
)
from tensorlab.ops import grids as _grids
from tensorlab.ops import rearranging as _rearranging
from tensorlab.ops import sorting as _sorting
from tensorlab.ops.indexing import masks
from tensorlab.ops.indexing import rows as _rows
from tensorlab.ops.linalg import einsum
from tensorlab.ops.linalg.matrices import matmul
from tensorlab.ops.pointwise.arithmetic import (
    abs,
    add,
    multiply,
    negative,
    positive,
    sign,
    subtract,
)
from tensorlab.ops.pointwise.bounds import clamp as _clamp
from tensorlab.ops.pointwise.bounds import maximum, minimum
from tensorlab.ops.pointwise.comparison import eq as equal
from tensorlab.ops.pointwise.comparison import (
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    not_equal,
)
from tensorlab.ops.pointwise.division import divide, floor_divide, remainder
from tensorlab.ops.pointwise.elementary import (
    exp,
    expm1,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    tanh,
)
from tensorlab.ops.pointwise.logic import (
    bitwise_and,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from tensorlab.ops.pointwise.logic import bitwise_not as bitwise_invert
from tensorlab.ops.pointwise.powers import pow, sqrt, square
from tensorlab.ops.pointwise.rounding import ceil, floor, round, trunc
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.pointwise.signs import copysign, nextafter, signbit
from tensorlab.ops.pointwise.trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    hypot,
    sin,
    sinh,
    tan,
)

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bfloat16",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "cumulative_sum",
    "diff",
    "divide",
    "e",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "from_dlpack",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "prod",
    "real",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]

API_VERSIONS = ("2021.12", "2022.12", "2023.12")
__array_api_version__ = API_VERSIONS[-1]

bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 = DTYPES
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi

# under one name with the standard's
empty, empty_like, full, full_like = (
    creation.empty,
    creation.empty_like,
    creation.full,
    creation.full_like,
)
ones, ones_like, zeros, zeros_like = (
    creation.ones,
    creation.ones_like,
    creation.zeros,
    creation.zeros_like,
)
broadcast_to, moveaxis, reshape = dimensions.broadcast_to, dimensions.movedim, reshaping.reshape
matrix_transpose = dimensions.matrix_transpose
can_cast = facts.can_cast


# ---------------------------------------------------------------- creation and types
def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from `start` up to `stop`, in steps; from 0 if only one is given."""
    first, last = (0, start) if stop is None else (start, stop)
    return ranges.arange(first, last, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """Numbers evenly spaced from `start` to `stop`, which `endpoint` includes."""
    if endpoint:
        return ranges.linspace(start, stop, num, dtype=dtype, device=device)
    return ranges.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """A matrix with ones on diagonal `k` and zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    rows = ranges.arange(n_rows).unsqueeze(1)
    return (ranges.arange(columns) - rows == k).to(dtype or get_default_dtype())


def tril(x, /, *, k=0):
    """The lower triangle of each matrix, up to diagonal `k`."""
    return triangles.tril(x, k)


def triu(x, /, *, k=0):
    """The upper triangle of each matrix, from diagonal `k`."""
    return triangles.triu(x, k)


def meshgrid(*arrays, indexing="xy"):
    """Grids of coordinates, one for each of some axes."""
    return list(_grids.meshgrid(*arrays, indexing=indexing))


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
            found = _result_type_of_two(creation.empty(1, dtype=found), kind)
        else:
            found = promote_types(found, kind)
    return found


_KINDS = {
    "bool": {bool},
    "signed integer": {int8, int16, int32, int64},
    "unsigned integer": {uint8},
    "integral": {uint8, int8, int16, int32, int64},
    "real floating": {float16, bfloat16, float32, float64},
    "complex floating": set(),
}
_KINDS["numeric"] = _KINDS["integral"] | _KINDS["real floating"]


def isdtype(dtype, kind):
    """Tell whether a type is `kind`: a type, a kind such as "integral", or one of a tuple of those."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    return dtype in _KINDS[kind] if isinstance(kind, str) else dtype == kind


def __array_namespace_info__():
    """Describe what this namespace can do."""
    return _Info()


class _Info:
    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self):
        return CPU

    def default_dtypes(self, *, device=None):
        return {
            "real floating": get_default_dtype(),
            "complex floating": None,
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device=None, kind=None):
        return {
            str(dtype).rpartition(".")[2]: dtype
            for dtype in DTYPES
            if kind is None or isdtype(dtype, kind)
        }

    def devices(self):
        return [CPU]


# ---------------------------------------------------------------- elements
def clip(x, /, min=None, max=None):
    """Each element, or the bound that it passes."""
    return x.clone() if min is None and max is None else _clamp(x, min, max)


def conj(x, /):
    """The numbers as they are: there are no complex types."""
    return x


real = conj


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
    return _rearranging.flip(x, tuple(axes))


def roll(x, /, shift, *, axis=None):
    """The elements moved along an axis; what leaves at one end enters at the other."""
    return _rearranging.roll(x, shift, axis)


def tile(x, repetitions, /):
    """Copies of `x` side by side."""
    return _rearranging.tile(x, tuple(repetitions))


def repeat(x, repeats, /, *, axis=None):
    """Each element `repeats` times."""
    return _rearranging.repeat_interleave(x, repeats, axis)


def broadcast_arrays(*arrays):
    """The arrays, each expanded to their common shape."""
    return list(_grids.broadcast_tensors(*arrays))


# ---------------------------------------------------------------- products
def tensordot(x1, x2, /, *, axes=2):
    """The sum of products over some axes of both."""
    return einsum.tensordot(x1, x2, axes)


def vecdot(x1, x2, /, *, axis=-1):
    """The dot products of vectors that lie along an axis."""
    return (x1 * x2).sum(axis)


# ---------------------------------------------------------------- reductions
def _reduce(function, x, axis, keepdims, **settings):
    """Call a reduction of ours, over all axes if `axis` is None."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return function(x, tuple(axes), keepdim=keepdims, **settings) if axes else function(x)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum along some axes, all if None; small integers become int64."""
    return _reduce(reductions.sum, x if dtype is None else x.to(dtype), axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean along some axes, all if None."""
    return _reduce(reductions.mean, x, axis, keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element along some axes, all if None."""
    return _reduce(extrema.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element along some axes, all if None."""
    return _reduce(extrema.amin, x, axis, keepdims)


def _one_by_one(function, x, axis, keepdims):
    """Reduce by an op that takes one axis at a time."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for one in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = function(x, one, keepdim=keepdims)
    return x


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product along some axes, all if None; small integers become int64."""
    x = x if dtype is None else x.to(dtype)
    return products.prod(x) if x.ndim == 0 else _one_by_one(products.prod, x, axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Tell whether some element along some axes, all if None, differs from 0."""
    return products.any(x) if x.ndim == 0 else _one_by_one(products.any, x != 0, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Tell whether every element along some axes, all if None, differs from 0."""
    return products.all(x) if x.ndim == 0 else _one_by_one(products.all, x != 0, axis, keepdims)


def var(x, /, *, axis=None, correction=0, keepdims=False):
    """The variance along some axes, all if None."""
    return _reduce(statistics.var, x, axis, keepdims, correction=correction)


def std(x, /, *, axis=None, correction=0, keepdims=False):
    """The standard deviation along some axes, all if None."""
    return _reduce(statistics.std, x, axis, keepdims, correction=correction)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums of all elements up to each; `include_initial` puts a 0 before them."""
    axis = 0 if axis is None else axis
    sums = scans.cumsum(x, axis, dtype=dtype)
    if include_initial:
        shape = list(sums.shape)
        shape[axis] = 1
        sums = joining.cat([creation.zeros(shape, dtype=sums.dtype), sums], axis)
    return sums


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
    return masks.nonzero(x, as_tuple=True)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis."""
    return _sorting.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that put the elements in order along an axis."""
    return _sorting.argsort(x, dim=axis, descending=descending, stable=stable)


def take(x, indices, /, *, axis=None):
    """The entries at these indices along an axis."""
    return _rows.index_select(x, 0 if axis is None else axis, indices)


UniqueCountsResult = namedtuple("UniqueCountsResult", "values counts")
UniqueInverseResult = namedtuple("UniqueInverseResult", "values inverse_indices")


def unique_values(x, /):
    """The different values, in order."""
    return uniques.unique(x)


def unique_counts(x, /):
    """The different values, in order, and how often each occurs."""
    return UniqueCountsResult(*uniques.unique(x, return_counts=True))


def unique_inverse(x, /):
    """The different values, in order, and for each element the index of its value."""
    return UniqueInverseResult(*uniques.unique(x, return_inverse=True))


exchange.set_array_namespace(sys.modules[__name__])

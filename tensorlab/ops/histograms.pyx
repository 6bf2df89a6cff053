"""How often: bincount counts whole numbers; histc and histogram count what falls between edges.

Counting is adding ones at indices, which `index_add_` does; the work here is to find the index of each element.
"""
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport NO_DERIVATIVE, store_out, store_outs
from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, FLOATING, INT64, INTEGRAL, dtype_object
from tensorlab._core.layout cimport shape_text
from tensorlab._core.tensor cimport TensorBase

from tensorlab import return_types
from tensorlab._core.engine.function import without_derivative
from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.ranges import linspace
from tensorlab.ops.searching import searchsorted


# ---------------------------------------------------------------- bincount
def bincount(TensorBase input not None, weights=None, Py_ssize_t minlength=0):
    """How often each of the numbers 0, 1, 2, ... occurs.

    Parameters
    ----------
    input : Tensor of integers from 0 up, shape (n,)
    weights : Tensor, shape (n,); what each element counts, instead of 1
    minlength : int, the least length of the result

    Returns
    -------
    Tensor of int64 (with weights: of their type if that is float32, else float64), shape (largest number + 1,)

    >>> import tensorlab
    >>> tensorlab.bincount(tensorlab.tensor([3, 0, 3]))
    tensor([1, 0, 0, 2])
    """
    cdef TensorBase counted
    if input.ndim_ != 1:
        raise ShapeError(f"bincount: the tensor must be one row, not of shape {shape_text(input.ndim_, input.sizes)}")
    check_dtype("bincount", input, INTEGRAL)
    if minlength < 0:
        raise ShapeError(f"bincount: minlength is {minlength}; expected at least 0")
    if weights is not None and (not isinstance(weights, TensorBase) or weights.shape != input.shape):
        raise ShapeError("bincount: the weights must be a Tensor of the shape of the numbers")
    if input.numel_ == 0:
        return input.new_zeros((minlength,), dtype=dtype_object(INT64))
    if input.min().item() < 0:
        raise ShapeError(f"bincount: {input.min().item()} is negative; numbers from 0 up are counted")
    if weights is None:
        counted = input.new_ones(input.shape, dtype=dtype_object(INT64))
    else:
        counted = weights.detach()
        counted = counted if counted.dtype_ == FLOAT32 else counted.to(dtype_object(FLOAT64))
    out = counted.new_zeros((max(minlength, input.max().item() + 1),))
    (out,) = without_derivative("bincount", (weights,), (out.index_add_(0, input.to(dtype_object(INT64)), counted),))
    return out


# ---------------------------------------------------------------- histc, histogram
cdef int check_ends(double low, double high, str where) except -1:
    if not (low - low == 0 and high - high == 0):
        raise RuntimeError(f"{where}: the range from {low} to {high} is not finite")
    if low > high:
        raise RuntimeError(f"{where}: the lower end {low} is above the upper end {high}")
    return 0

cdef tuple ends_of(object x, double low, double high, str where):
    """The outer edges: as given, or the extremes of the tensor; a little apart if they are equal."""
    if low == high and x.numel() > 0:
        low, high = x.min().item(), x.max().item()
    if low == high:
        low, high = low - (1 if x.numel() > 0 or low != 0 else 0), high + 1
    check_ends(low, high, where)
    return low, high

def histc(TensorBase input not None, Py_ssize_t bins=100, min=0, max=0, *, out=None):
    """How many elements fall into each of `bins` ranges of equal width between `min` and `max`.

    Parameters
    ----------
    input : Tensor, floating
    bins : int
    min, max : numbers; if they are equal, the extremes of the tensor. What lies outside is not counted

    Returns
    -------
    Tensor of the dtype of `input`, shape (bins,)

    >>> import tensorlab
    >>> tensorlab.histc(tensorlab.tensor([0.1, 0.2, 0.9]), bins=2, min=0, max=1)
    tensor([2., 1.])
    """
    check_dtype("histc", input, FLOATING)
    if bins <= 0:
        raise RuntimeError(f"histc: bins is {bins}; expected at least 1")
    x = input.detach().reshape(-1)
    low, high = ends_of(x, min, max, "histc")
    inside = (x >= low) & (x <= high)                   # nan is neither
    at = ((x - low) / (high - low) * bins).where(inside, 0).to(dtype_object(INT64)).clamp_(max=bins - 1)
    result = x.new_zeros((bins,)).index_add(0, at, inside.to(x.dtype))
    return store_out("histc", result, out, (input,), NO_DERIVATIVE)

cdef tuple range_of(TensorBase x, object given):
    """The outer edges of a histogram: as given, or the extremes; if they are equal, half a unit below and above."""
    if given is not None:
        low, high = given
    else:
        low, high = (x.min().item(), x.max().item()) if x.numel() > 0 else (0.0, 1.0)
    check_ends(low, high, "histogram")
    return (low - 0.5, high + 0.5) if low == high else (low, high)

def histogram(TensorBase input not None, bins=100, *, range=None, weight=None, bint density=False, out=None):
    """How much falls between each two edges, and the edges.

    Parameters
    ----------
    input : Tensor, floating
    bins : int, ranges of equal width; or Tensor, shape (n + 1,), the edges in ascending order
    range : (low, high), the outer edges for a number of bins; without it the extremes of the tensor
    weight : Tensor of the shape of `input`, what each element counts
    density : bool, divide by the widths and the total, so that the area is 1

    Returns
    -------
    (hist, bin_edges) : Tensor, shape (n,), and Tensor, shape (n + 1,)

    >>> import tensorlab
    >>> tensorlab.histogram(tensorlab.tensor([1., 2., 1.]), bins=2, range=(0., 2.))[0]
    tensor([0., 3.])
    """
    check_dtype("histogram", input, FLOATING)
    x = input.detach().reshape(-1)
    if isinstance(bins, TensorBase):
        if (<TensorBase>bins).dtype_ != input.dtype_:
            raise DTypeError(f"histogram: the edges have type {bins.dtype}, but the tensor has type {input.dtype}")
        if (<TensorBase>bins).ndim_ != 1:
            raise ShapeError(f"histogram: the edges must be one row, not of shape {tuple(bins.shape)}")
        edges = bins.detach()
    else:
        if bins <= 0:
            raise RuntimeError(f"histogram: bins is {bins}; expected at least 1")
        low, high = range_of(x, range)
        edges = linspace(low, high, bins + 1, dtype=input.dtype, device=input.device)
    counted = x.new_ones(x.shape)
    if weight is not None:
        if weight.shape != input.shape or weight.dtype != input.dtype:
            raise ShapeError("histogram: the weights must have the shape and the dtype of the tensor")
        counted = weight.detach().reshape(-1)
    n = edges.numel() - 1
    inside = (x >= edges[0]) & (x <= edges[n])
    at = (searchsorted(edges, x, right=True) - 1).clamp_(0, n - 1)                  # the last range has both its edges
    hist = x.new_zeros((n,)).index_add(0, at, counted.where(inside, 0))
    if density:
        hist = hist / (hist.sum() * (edges[1:] - edges[:n]))
    if out is not None:
        outs = store_outs("histogram", (hist, edges), out, (input, bins, weight), NO_DERIVATIVE)
        return return_types.histogram(outs)
    return return_types.histogram(without_derivative("histogram", (input, bins, weight), (hist, edges)))

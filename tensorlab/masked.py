"""Reductions under a mask: elements whose mask is False do not count.

What is left out is filled with the value that changes nothing (0 in a sum, -inf in a maximum).
Where a mask leaves nothing, the result is that value; mean, var and std, which have none, are nan
there. A mask has the shape of the tensor, or broadcasts to it.

Source: PyTorch's proposal of masked reductions, pytorch/rfcs 27. Its MaskedTensor, a tensor that
carries its mask along, is left out.
"""

from tensorlab import _missing
from tensorlab._core.dtypes import BY_NAME, iinfo
from tensorlab.errors import UnsupportedDType
from tensorlab.ops.extrema import amax as largest
from tensorlab.ops.extrema import amin as smallest
from tensorlab.ops.extrema import argmax as index_of_largest
from tensorlab.ops.extrema import argmin as index_of_smallest
from tensorlab.ops.norms import norm as length
from tensorlab.ops.order_statistics import nanmedian
from tensorlab.ops.pointwise.bounds import maximum
from tensorlab.ops.pointwise.elementary import logaddexp as logaddexp_of_all
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.softmax import log_softmax as log_softmax_of_all
from tensorlab.ops.softmax import softmax as softmax_of_all
from tensorlab.ops.statistics import logsumexp as logsumexp_of_all

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

FLOAT32, INT64, BOOL = BY_NAME["float32"], BY_NAME["int64"], BY_NAME["bool"]


# ------------------------------------------------------------------------------ masks
def fitting(x, mask, what):
    """The mask as booleans of x's shape."""
    if mask.ndim > x.ndim:
        raise IndexError(
            f"{what}: the mask has {mask.ndim} dimensions and the tensor {x.ndim}; the mask can't be larger"
        )
    return mask.expand(x.shape).to(BOOL)


def filled(x, mask, value, what):
    """x, with a value, or what that is for its type, in the place of what the mask leaves out."""
    if mask is None:
        return x
    value = value(x.dtype, what) if callable(value) else value
    return where(fitting(x, mask, what), x, x.new_tensor(value))


def lowest(dtype, what):
    check_numbers(dtype, what)
    return float("-inf") if dtype.is_floating_point else iinfo(dtype).min


def lowest_exponent(dtype, what):
    return float("-inf") if dtype.is_complex else lowest(dtype, what)


def highest(dtype, what):
    check_numbers(dtype, what)
    return float("inf") if dtype.is_floating_point else iinfo(dtype).max


def check_numbers(dtype, what):
    if dtype is BOOL:
        raise UnsupportedDType(
            f"{what}: a mask of a bool tensor; convert the tensor to numbers first"
        )


def all_dims(x, dim, what):
    """The dimensions that are reduced, as a sorted tuple: all of them for None and ()."""
    if dim is None or dim == ():
        return tuple(range(x.ndim))
    n = max(x.ndim, 1)
    given = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    found = set()
    for one in given:
        if not isinstance(one, int):
            raise TypeError(f"{what}: a dimension must be an int, not {type(one).__name__}")
        if one in found:
            raise RuntimeError(f"{what}: dimension {one} is given more than once")
        if not -n <= one < n:
            raise IndexError(
                f"{what}: dimension {one} is out of range for a tensor of {x.ndim} dimensions"
            )
        found.add(one % n)
    return tuple(sorted(found))


def one_dim(x, dim, what):
    return all_dims(x, dim, what)[0]


def wide(dtype):
    """The type of a sum: int64 of whole numbers."""
    return dtype if is_inexact(dtype) else INT64


def is_inexact(dtype):
    return dtype.is_floating_point or dtype.is_complex


# ------------------------------------------------------------------------------ reductions
def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the sum of the elements that a mask lets through.

    Parameters
    ----------
    input : Tensor
    dim : int or tuple of int; without it, over all dimensions
    keepdim : bool, keep the reduced dimensions with size 1
    dtype : dtype of the result; int64 for whole numbers unless given
    mask : Tensor of bools that broadcasts to the shape of `input`; without it, all elements count

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.sum(x, mask=mask)
    tensor(5.)
    """
    x = filled(input, mask, 0, "masked.sum")
    dtype = wide(input.dtype) if dtype is None else dtype
    return x.sum(all_dims(x, dim, "masked.sum"), bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the product of the elements that a mask lets through; the arguments are those of `sum`.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.prod(x, mask=mask)
    tensor(4.)
    """
    x = filled(input, mask, 1, "masked.prod").to(wide(input.dtype) if dtype is None else dtype)
    for one in reversed(all_dims(x, dim, "masked.prod")):
        x = x.prod(one, bool(keepdim))
    return x


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the largest of the elements that a mask lets through; the arguments are those of `sum`.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([True, True, False])
    >>> tensorlab.masked.amax(x, mask=mask)
    tensor(2.)
    """
    x = filled(input, mask, lowest, "masked.amax")
    return largest(x, all_dims(x, dim, "masked.amax"), bool(keepdim)).to(dtype or input.dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the smallest of the elements that a mask lets through; the arguments are those of `sum`.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([False, True, True])
    >>> tensorlab.masked.amin(x, mask=mask)
    tensor(2.)
    """
    x = filled(input, mask, highest, "masked.amin")
    return smallest(x, all_dims(x, dim, "masked.amin"), bool(keepdim)).to(dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the index of the largest element that a mask lets through.

    It is of the type of `input` unless `dtype` is given.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([True, True, False])
    >>> tensorlab.masked.argmax(x, mask=mask, dtype=tensorlab.int64)
    tensor(1)
    """
    x = filled(input, mask, lowest, "masked.argmax")
    return index_of_largest(x, dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the index of the smallest element that a mask lets through.

    It is of the type of `input` unless `dtype` is given.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([False, True, True])
    >>> tensorlab.masked.argmin(x, mask=mask, dtype=tensorlab.int64)
    tensor(1)
    """
    x = filled(input, mask, highest, "masked.argmin")
    return index_of_smallest(x, dim, bool(keepdim)).to(dtype or input.dtype)


def counted(x, dim, keepdim, mask, what):
    """How many elements each sum is of."""
    mask = x.new_ones(x.shape, dtype=BOOL) if mask is None else fitting(x, mask, what)
    return mask.sum(all_dims(x, dim, what), bool(keepdim))


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the mean of the elements that a mask lets through, nan where there is none.

    The arguments are those of `sum`.

    Raises
    ------
    ValueError
        If the result is not of a floating type.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.mean(x, mask=mask)
    tensor(2.5000)
    """
    dtype = input.dtype if dtype is None else dtype
    if not is_inexact(dtype):
        raise ValueError(f"masked.mean: the mean is of type {dtype}; give a floating dtype")
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / counted(input, dim, keepdim, mask, "masked.mean")


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """Return the median of the elements that a mask lets through, nan where there is none.

    It is the lower of two in the middle.

    Parameters
    ----------
    dim : int
    input, keepdim, dtype, mask : as of `sum`

    Raises
    ------
    ValueError
        If a mask leaves nothing of whole numbers, which have no nan.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([False, True, True])
    >>> tensorlab.masked.median(x, mask=mask)
    tensor(2.)
    """
    if input.is_complex():
        raise UnsupportedDType(f"masked.median: {input.dtype} has no order; take .abs() first")
    is_floating = input.dtype.is_floating_point
    x = filled(input if is_floating else input.to(FLOAT32), mask, float("nan"), "masked.median")
    values = nanmedian(x, one_dim(x, dim, "masked.median"), keepdim).values
    if is_floating:
        return values
    if values.isnan().any():
        raise ValueError(
            f"masked.median: the mask leaves nothing of some rows, and {input.dtype} has no nan; "
            "convert the tensor to a floating type first"
        )
    return values.to(dtype or input.dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return log(sum(exp(x))) of the elements that a mask lets through; the arguments are those of `sum`.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([0.0, 2.0, 0.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.logsumexp(x, mask=mask)
    tensor(0.6931)
    """
    x = filled(input, mask, lowest_exponent, "masked.logsumexp")
    dims = all_dims(x, dim, "masked.logsumexp")
    return logsumexp_of_all(x, dims, keepdim).to(dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the norm of the elements that a mask lets through, as a vector.

    Parameters
    ----------
    ord : float, the power; inf and -inf are the largest and the smallest absolute value
    input, dim, keepdim, dtype, mask : as of `sum`

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([3.0, 2.0, 4.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.norm(x, mask=mask)
    tensor(5.)
    """
    x = filled(input, mask, float("inf") if ord == float("-inf") else 0, "masked.norm")
    dims = all_dims(x, dim, "masked.norm")
    return length(x, 2.0 if ord is None else ord, dims, bool(keepdim), dtype=dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Return the variance of the elements that a mask lets through, nan where there is none.

    Parameters
    ----------
    unbiased : bool, divide by one less than their number; the default
    correction : float, what is taken from their number; instead of `unbiased`
    input, dim, keepdim, dtype, mask : as of `sum`

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 9.0, 3.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.var(x, mask=mask)
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("masked.var: give unbiased or correction, not both")
    if correction is None:
        correction = 0 if unbiased is False else 1
    if dtype is None:
        dtype = input.dtype if is_inexact(input.dtype) else FLOAT32
    inner = dtype if is_inexact(dtype) else FLOAT32
    count = counted(input, dim, True, mask, "masked.var")
    centre = sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    apart = input - centre
    total = sum(apart * apart.conj(), dim, keepdim=keepdim, dtype=inner, mask=mask)
    count = count.reshape(total.shape).to(inner.to_real())
    return (total / (count - correction).clamp(min=0)).to(dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Return the standard deviation of the elements that a mask lets through: the root of `var`.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 9.0, 3.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.std(x, unbiased=False, mask=mask)
    tensor(1.)
    """
    options = {"correction": correction, "keepdim": keepdim, "dtype": dtype, "mask": mask}
    return var(input, dim, unbiased, **options).sqrt()


# ------------------------------------------------------------------------------ of the same shape
def cumsum(input, dim, *, dtype=None, mask=None):
    """Return the running sum, to which what a mask leaves out adds nothing.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.cumsum(x, 0, mask=mask)
    tensor([1., 1., 5.])
    """
    x = filled(input, mask, 0, "masked.cumsum")
    return x.cumsum(one_dim(x, dim, "masked.cumsum"), dtype=dtype or input.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Return the running product, which what a mask leaves out doesn't change.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([1.0, 2.0, 4.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.cumprod(x, 0, mask=mask)
    tensor([1., 1., 4.])
    """
    x = filled(input, mask, 1, "masked.cumprod")
    return x.cumprod(one_dim(x, dim, "masked.cumprod"), dtype=dtype or input.dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    """Return the softmax of the elements that a mask lets through; the others get 0.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([0.0, 2.0, 0.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.softmax(x, 0, mask=mask)
    tensor([0.5000, 0.0000, 0.5000])
    """
    x = filled(input, mask, lowest, "masked.softmax")
    return softmax_of_all(x, one_dim(x, dim, "masked.softmax"), dtype=dtype or input.dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """Return the logarithm of the softmax of the elements that a mask lets through; the others get -inf.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([0.0, 2.0, 0.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.log_softmax(x, 0, mask=mask)
    tensor([-0.6931,    -inf, -0.6931])
    """
    x = filled(input, mask, lowest, "masked.log_softmax")
    dim = one_dim(x, dim, "masked.log_softmax")
    return log_softmax_of_all(x, dim, dtype=dtype or input.dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    """Return the softmax of minus the elements that a mask lets through; the others get 0.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([0.0, 2.0, 0.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.softmin(x, 0, mask=mask)
    tensor([0.5000, 0.0000, 0.5000])
    """
    x = filled(input, mask, highest, "masked.softmin")
    return softmax_of_all(-x, one_dim(x, dim, "masked.softmin"), dtype=dtype or input.dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """Return the elements that a mask lets through over their norm; the others become 0.

    Where `eps` is larger than the norm, they are divided by that.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([3.0, 2.0, 4.0]), tensorlab.tensor([True, False, True])
    >>> tensorlab.masked.normalize(x, 2.0, 0, mask=mask)
    tensor([0.6000, 0.0000, 0.8000])
    """
    x = filled(input, mask, 0, "masked.normalize")
    lengths = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return x / maximum(lengths, lengths.new_tensor(eps))


# ------------------------------------------------------------------------------ of two tensors
def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """Return log(exp(x) + exp(y)), where what a mask leaves out adds nothing.

    >>> import tensorlab
    >>> x, mask = tensorlab.tensor([0.0, 2.0]), tensorlab.tensor([True, False])
    >>> tensorlab.masked.logaddexp(x, tensorlab.zeros(2), input_mask=mask)
    tensor([0.6931, 0.0000])
    """
    x = filled(input, input_mask, lowest, "masked.logaddexp")
    y = filled(other, other_mask, lowest, "masked.logaddexp")
    return logaddexp_of_all(x, y).to(dtype or input.dtype)


__getattr__ = _missing.refusing(__name__)

"""Functions of vectors and matrices that are made of other operations: products, distances, lengths, covariances."""

import math
import operator
import warnings

from tensorlab._core.dispatch.autocast import in_float32
from tensorlab._core.dispatch.levels import is_differentiated, without_boxes
from tensorlab._core.dispatch.numpy_aliases import accepts_numpy_names
from tensorlab._core.dispatch.out_argument import NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import DimensionError, DTypeError, ShapeError, UnsupportedDType
from tensorlab.ops.joining import cat
from tensorlab.ops.linalg.distances import distances_between, has_fast_loop
from tensorlab.ops.linalg.matrices import matmul
from tensorlab.ops.meshgrid import broadcast_shapes
from tensorlab.ops.norms import norm
from tensorlab.ops.pointwise.selection import masked_fill
from tensorlab.ops.rearranging import flip, roll
from tensorlab.ops.scans import cumprod


def _check_tensors(where, **given):
    for name, one in given.items():
        if not isinstance(one, TensorBase):
            raise TypeError(
                f"{where}: argument {name!r} must be a Tensor, not {type(one).__name__}"
            )


def _check_same_type(where, x, y):
    if x.dtype is not y.dtype:
        raise DTypeError(f"{where}: the tensors are of {x.dtype} and {y.dtype}; expected one type")


# ------------------------------------------------------------------------------ cross
@accepts_numpy_names
def cross(input, other, dim=None, *, out=None):
    """The product of vectors in space, orthogonal to both, that lie along a dimension.

    Parameters
    ----------
    input, other : Tensor, of as many dimensions and of one type; sizes of 1 are broadcast
    dim : int, a dimension of size 3; the first one of that size unless given

    Returns
    -------
    Tensor, of the broadcast shape

    Raises
    ------
    ShapeError
        If the shapes do not fit, or the dimension has another size than 3.
    DTypeError
        If the types differ.

    >>> import tensorlab
    >>> tensorlab.cross(tensorlab.tensor([1, 0, 0]), tensorlab.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    _check_tensors("cross", input=input, other=other)
    _check_same_type("cross", input, other)
    if input.dtype.name == "bool":
        raise UnsupportedDType("cross: not implemented for bool")
    if input.dim() != other.dim():
        raise ShapeError(
            f"cross: the tensors have {input.dim()} and {other.dim()} dimensions; expected as many"
        )
    if dim is None:
        dim = _dimension_of_size_3(input)
    dim = operator.index(dim)
    if not -input.dim() <= dim < input.dim():
        raise DimensionError(
            f"cross: dimension {dim} is out of range for tensors of {input.dim()} dimensions"
        )
    if input.size(dim) != 3 or other.size(dim) != 3:
        raise ShapeError(
            f"cross: dimension {dim} has sizes {input.size(dim)} and {other.size(dim)}; expected 3"
        )
    result = roll(input, -1, dim) * roll(other, -2, dim) - roll(input, -2, dim) * roll(
        other, -1, dim
    )
    return store_out("cross", result, out, (input, other))


def _dimension_of_size_3(x):
    if 3 not in x.shape:
        raise ShapeError(f"cross: no dimension of shape {tuple(x.shape)} has size 3")
    return list(x.shape).index(3)


# ------------------------------------------------------------------------------ distances
@accepts_numpy_names
def dist(input, other, p=2):
    """The p-norm of the difference of two tensors, all elements read as one vector.

    Parameters
    ----------
    input, other : Tensor, whose shapes broadcast
    p : number, as for `norm`

    >>> import tensorlab
    >>> tensorlab.dist(tensorlab.tensor([1., 1.]), tensorlab.tensor([4., 5.]))
    tensor(5.)
    """
    _check_tensors("dist", input=input, other=other)
    if not hasattr(p, "__float__"):
        raise TypeError(f"dist: p is {p!r}; expected a number")
    try:
        difference = input - other
    except ShapeError as error:
        raise ShapeError(str(error).replace("sub", "dist", 1)) from None
    return norm(difference, p)


MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)
MANY = 25  # rows from which a gradient of distances may come from products of matrices
DIFFERENCES = 1 << 24  # elements that are held at once


def cdist(x1, x2, p=2.0, compute_mode=MODES[0]):
    """The p-norm of the difference of each row of one matrix from each row of another.

    Parameters
    ----------
    x1 : Tensor, shape (*, rows_1, features), floating
    x2 : Tensor, shape (*, rows_2, features), of the same type; the * broadcast
    p : float from 0 up
    compute_mode : whether the gradient of Euclidean distances comes from products of matrices,
        which takes less memory, but loses digits where rows are near to each other:
        "use_mm_for_euclid_dist_if_necessary", that is with more than 25 rows,
        "use_mm_for_euclid_dist" or "donot_use_mm_for_euclid_dist". The distances themselves are
        always exact

    Returns
    -------
    Tensor, shape (*, rows_1, rows_2). Its derivative is 0 where the distance is

    Raises
    ------
    ShapeError
        If the shapes do not fit, or `p` is negative.
    DTypeError
        If the types differ or are not floating.
    ValueError
        If there is no such mode.

    >>> import tensorlab
    >>> tensorlab.cdist(tensorlab.tensor([[0., 0.]]), tensorlab.tensor([[3., 4.], [0., 1.]]))
    tensor([[5., 1.]])
    """
    x1, x2 = in_float32((x1, x2))
    _check_distances(x1, x2, p, compute_mode)
    if x1.element_size() < 4:
        return cdist(x1.float(), x2.float(), p, compute_mode).to(x1.dtype)
    rows_1, rows_2, features = x1.size(-2), x2.size(-2), x1.size(-1)
    if features == 0:
        return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).sum(-1)
    if has_fast_loop(x1, x2, p):
        is_large = rows_1 > MANY or rows_2 > MANY
        by_products = compute_mode == MODES[1] or (compute_mode == MODES[0] and is_large)
        return distances_between(x1, x2, p, by_products)
    batch = math.prod(broadcast_shapes(x1.shape[:-2], x2.shape[:-2]))
    at_once = max(1, DIFFERENCES // max(1, batch * rows_2 * features))
    parts = [_lengths(part.unsqueeze(-2) - x2.unsqueeze(-3), p) for part in x1.split(at_once, -2)]
    return parts[0] if len(parts) == 1 else cat(parts, -2)


def _check_distances(x1, x2, p, compute_mode):
    _check_tensors("cdist", x1=x1, x2=x2)
    if compute_mode not in MODES:
        raise ValueError(
            f"cdist: compute_mode is {compute_mode!r}; expected one of {', '.join(MODES)}"
        )
    shapes = f"{tuple(x1.shape)} and {tuple(x2.shape)}"
    if x1.dim() < 2 or x2.dim() < 2 or x1.size(-1) != x2.size(-1):
        raise ShapeError(
            f"cdist: the tensors have shapes {shapes}; expected (..., rows, features), with as many features"
        )
    _check_same_type("cdist", x1, x2)
    if not x1.is_floating_point():
        raise DTypeError(f"cdist: the tensors are of {x1.dtype}; expected a floating type")
    if not p >= 0:
        raise ShapeError(f"cdist: p is {p}; expected 0 or a number above")


def _lengths(differences, p):
    """The p-norms of rows, with all derivatives 0 where a row is: there the norm has none, but for p = 0, 1 and inf."""
    if p in (0, 1, math.inf) or not is_differentiated(differences):
        return norm(differences, p, -1)
    is_zero = (differences == 0).all(-1)
    others = masked_fill(differences, is_zero.unsqueeze(-1), 1)
    return masked_fill(norm(others, p, -1), is_zero, 0)


# ------------------------------------------------------------------------------ renorm
@accepts_numpy_names
def renorm(input, p, dim, maxnorm, *, out=None):
    """Scale each slice along `dim` whose p-norm is above `maxnorm` down to that.

    Parameters
    ----------
    input : Tensor, floating, of two dimensions or more
    p : number above 0
    dim : int; slice i is `input.select(dim, i)`
    maxnorm : number from 0 up

    Raises
    ------
    ShapeError
        If the input has fewer dimensions, or a number is too small.

    >>> import tensorlab
    >>> tensorlab.renorm(tensorlab.tensor([[3., 4.], [0.3, 0.4]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    _check_tensors("renorm", input=input)
    if not (input.is_floating_point() or input.is_complex()):
        raise DTypeError(f"renorm: the input is of {input.dtype}; expected a floating type")
    result = _renormed(input, p, dim, maxnorm)
    return store_out("renorm", result, out, (input,), NO_PARTIAL_OVERLAP)


@accepts_numpy_names
def renorm_(input, p, dim, maxnorm):
    """`renorm`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[3.0, 4.0], [0.3, 0.4]])
    >>> x.renorm_(2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    return input.copy_(_renormed(input.clone(), p, dim, maxnorm))


def _renormed(x, p, dim, maxnorm):
    if x.dim() < 2:
        raise ShapeError(
            f"renorm: the input has shape {tuple(x.shape)}; expected two dimensions or more"
        )
    dim = operator.index(dim)
    if not -x.dim() <= dim < x.dim():
        raise DimensionError(
            f"renorm: dimension {dim} is out of range for a tensor of {x.dim()} dimensions"
        )
    if not p > 0:
        raise ShapeError(f"renorm: p is {p}; expected a number above 0")
    if not maxnorm >= 0:
        raise ShapeError(f"renorm: maxnorm is {maxnorm}; expected 0 or a number above")
    others = [d for d in range(x.dim()) if d != dim % x.dim()]
    wide = x.float() if x.element_size() < 4 and x.is_floating_point() else x
    lengths = norm(wide, p, others, keepdim=True)
    factors = (maxnorm / (lengths + 1e-7)).where(lengths > maxnorm, 1.0)
    return (x * factors.to(x.dtype)).contiguous()


# ------------------------------------------------------------------------------ fill_diagonal_
def fill_diagonal_(self, fill_value, wrap=False):
    """Write a number over the diagonal.

    Parameters
    ----------
    self : Tensor of two dimensions, or of more of one size
    fill_value : number
    wrap : bool; in a matrix of more rows than columns, go on with the next diagonal after a row
        left out

    Raises
    ------
    ShapeError
        If there are fewer dimensions than two, or more of different sizes.

    >>> import tensorlab
    >>> tensorlab.zeros(4, 2).fill_diagonal_(1, wrap=True)
    tensor([[1., 0.],
            [0., 1.],
            [0., 0.],
            [1., 0.]])
    """
    if self.dim() < 2 or (self.dim() > 2 and len(set(self.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal_: the tensor has shape {tuple(self.shape)}; expected a matrix, or dimensions of one size"
        )
    if wrap and self.dim() == 2 and self.size(0) > self.size(1):
        for first in range(0, self.size(0), self.size(1) + 1):
            self[first : first + self.size(1)].diagonal().fill_(fill_value)
        return self
    diagonal = self
    while diagonal.dim() > 1:
        diagonal = diagonal.diagonal(0, 0, -1)
    diagonal.fill_(fill_value)
    return self


# ------------------------------------------------------------------------------ vander
def vander(x, N=None, increasing=False):
    """The powers of each element as a row: x**(N - 1), ..., x, 1.

    Parameters
    ----------
    x : Tensor, shape (n,)
    N : int, how many powers; n unless given
    increasing : bool, begin with 1

    Returns
    -------
    Tensor, shape (n, N); int64 for integers

    >>> import tensorlab
    >>> tensorlab.vander(tensorlab.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    _check_tensors("vander", x=x)
    if x.dim() != 1:
        raise ShapeError(f"vander: x has shape {tuple(x.shape)}; expected one dimension")
    count = x.size(0) if N is None else operator.index(N)
    if count < 0:
        raise ShapeError(f"vander: N is {count}; expected 0 or a number above")
    factors = cat([x.new_ones((x.size(0), 1)), x.unsqueeze(1).expand(-1, max(count - 1, 0))], 1)
    powers = cumprod(factors, 1)[:, :count]
    return powers if increasing else flip(powers, (1,))


# ------------------------------------------------------------------------------ covariances
@accepts_numpy_names
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of variables, each a row of observations.

    Parameters
    ----------
    input : Tensor, shape (variables, observations), or (observations,) for one variable
    correction : int, subtracted from the number of observations: 1 for an estimate without bias
    fweights : Tensor of integers, shape (observations,), how often each was made
    aweights : Tensor, floating, shape (observations,), how much each counts

    Returns
    -------
    Tensor, shape (variables, variables); of one variable a number, its variance

    Raises
    ------
    ShapeError
        If the shapes do not fit, or a weight is negative or all are 0.
    DTypeError
        If a type is another one.

    >>> import tensorlab
    >>> tensorlab.cov(tensorlab.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    _check_tensors("cov", input=input)
    if input.dim() > 2:
        raise ShapeError(
            f"cov: the input has shape {tuple(input.shape)}; expected (variables, observations)"
        )
    if input.dtype.name == "bool":
        raise DTypeError("cov: the input is of bool; expected numbers")
    x = input if input.dim() == 2 else input.reshape(1, -1)
    weights = _weights(x.size(1), fweights, aweights)
    total = x.size(1) if weights is None else weights.sum()
    if weights is not None and total == 0:
        raise ShapeError("cov: the weights add up to 0; expected some above")
    x = x - (_weighted(x, weights).sum(1) / total).unsqueeze(1)
    freedom = total - correction
    if aweights is not None and correction != 0:
        freedom = total - correction * (weights * aweights).sum() / total
    if freedom <= 0:
        warnings.warn(
            f"cov: {x.size(1)} observations leave no degree of freedom with correction={correction}",
            stacklevel=2,
        )
        freedom = 0
    products = matmul(x, _weighted(x, weights).mH)
    return (products / freedom).squeeze()


def _weighted(x, weights):
    return x if weights is None else x * weights


def _weights(count, fweights, aweights):
    """How much each observation counts, or None."""
    for name, weights, kind in (
        ("fweights", fweights, "an integer type"),
        ("aweights", aweights, "a floating type"),
    ):
        if weights is None:
            continue
        _check_tensors("cov", **{name: weights})
        if weights.dim() > 1 or weights.numel() != count:
            raise ShapeError(
                f"cov: {name} has shape {tuple(weights.shape)}; expected one number for each of {count} observations"
            )
        if weights.is_floating_point() != (name == "aweights") or weights.dtype.name == "bool":
            raise DTypeError(f"cov: {name} is of {weights.dtype}; expected {kind}")
        if not without_boxes(weights >= 0).all():
            raise ShapeError(f"cov: {name} has a number that is not 0 or above")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return fweights * aweights


@accepts_numpy_names
def corrcoef(input):
    """The coefficients of correlation of variables, each a row of observations: `cov`, scaled to variances of 1.

    >>> import tensorlab
    >>> tensorlab.corrcoef(tensorlab.tensor([[0., 1., 2.], [4., 2., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    _check_tensors("corrcoef", input=input)
    if input.dim() > 2:
        raise ShapeError(
            f"corrcoef: the input has shape {tuple(input.shape)}; expected (variables, observations)"
        )
    covariances = cov(input)
    if covariances.dim() == 0:
        return covariances / covariances
    deviations = covariances.diagonal().real.sqrt()
    coefficients = covariances / deviations.unsqueeze(1) / deviations
    if coefficients.is_complex():
        return coefficients.real.clamp(-1, 1) + coefficients.imag.clamp(-1, 1) * 1j
    return coefficients.clamp(-1, 1)

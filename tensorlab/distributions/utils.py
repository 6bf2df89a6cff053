"""What several families need: broadcasting of parameters, probabilities and logits, properties computed once."""

import functools
import numbers
from functools import update_wrapper

from tensorlab._core.dtypes import BY_NAME, finfo, get_default_dtype
from tensorlab._core.interop.exchange import tensor
from tensorlab._tensor import Tensor
from tensorlab.autograd import enable_grad
from tensorlab.ops.creation import empty
from tensorlab.ops.meshgrid import broadcast_tensors
from tensorlab.ops.pointwise.elementary import log, log1p, sigmoid
from tensorlab.ops.softmax import softmax
from tensorlab.ops.triangles import tril_indices

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """Broadcast tensors and numbers to one shape.

    Numbers take the dtype of the first tensor, or the default dtype where there is none.

    >>> import tensorlab
    >>> [tuple(x.shape) for x in broadcast_all(0.0, tensorlab.ones(3))]
    [(3,), (3,)]
    """
    first = None
    for value in values:
        if isinstance(value, Tensor):
            first = value if first is None else first
        elif not isinstance(value, numbers.Number):
            raise ValueError(
                f"a parameter of a distribution is a number or a tensor, not {type(value).__name__}: {value!r}"
            )
    if first is None:
        dtype = get_default_dtype()
        return tuple([tensor(value, dtype=dtype) for value in values])
    if all(x is first or (isinstance(x, Tensor) and x.shape == first.shape) for x in values):
        return values
    tensors = [
        value
        if isinstance(value, Tensor)
        else tensor(value, dtype=first.dtype, device=first.device)
        for value in values
    ]
    if all(x.shape == first.shape for x in tensors):
        return tuple(tensors)
    return broadcast_tensors(*tensors)


@functools.cache
def tiny(dtype):
    """Return the smallest normal number of a dtype."""
    return finfo(dtype).tiny


def are_numbers(*values):
    """Whether all parameters are plain numbers, so that the batch shape is ()."""
    return all(isinstance(value, numbers.Number) for value in values)


def check_one_of(distribution, probs, logits):
    """Raise ValueError unless exactly one of `probs` and `logits` is given."""
    if (probs is None) == (logits is None):
        given = "neither" if probs is None else "both"
        raise ValueError(
            f"{type(distribution).__name__} takes either probs or logits, but {given} was given"
        )


def _standard_normal(shape, dtype, device):
    return empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value, dim):
    """Sum over the last `dim` dimensions, of which there may be none."""
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """Return probabilities: the sigmoid of logits if `is_binary`, else their softmax over the last dimension."""
    return sigmoid(logits) if is_binary else softmax(logits, -1)


def clamp_probs(probs):
    """Keep probabilities apart from 0 and 1 by the spacing of their dtype, so that logarithms stay finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Return logits: log(p / (1 - p)) if `is_binary`, else log(p), which softmax turns back into p."""
    clamped = clamp_probs(probs)
    if is_binary:
        return log(clamped) - log1p(-clamped)
    return log(clamped)


class lazy_property:  # named as in PyTorch
    """A property that is computed when it is first asked for, and then stands in the instance as an attribute."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, owner=None):
        if instance is None:
            return _LazyAndProperty(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _LazyAndProperty(lazy_property, property):
    """What a class shows of a lazy property: tools that write documentation know properties."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """Write the lower triangles of matrices (..., n, n) row by row as vectors.

    >>> import tensorlab
    >>> tril_matrix_to_vec(tensorlab.tensor([[1, 0], [2, 3]]))
    tensor([1, 2, 3])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) must be from -{n} to {n - 1} for matrices of {n} columns")
    rows, columns = tril_indices(n, n, offset=diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec, diag=0):
    """Make lower triangular matrices of vectors, the inverse of `tril_matrix_to_vec`.

    >>> import tensorlab
    >>> vec_to_tril_matrix(tensorlab.tensor([1, 2, 3]))
    tensor([[1, 0],
            [2, 3]])
    """
    length = vec.shape[-1]
    n = (
        -(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5
    ) / 2
    if round(n) - n > finfo(BY_NAME["float32"]).eps or abs(round(n) - n) > 1e-6:
        raise ValueError(
            f"{length} numbers don't fill the lower triangle of a square matrix with diag={diag}"
        )
    n = round(n)
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    rows, columns = tril_indices(n, n, offset=diag)
    mat[..., rows, columns] = vec
    return mat

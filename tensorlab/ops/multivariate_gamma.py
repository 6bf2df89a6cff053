"""The logarithm of the multivariate gamma function, a sum of logarithms of the gamma function."""

import math

from tensorlab._core.dtypes import BY_NAME, get_default_dtype
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType
from tensorlab.ops.pointwise.arithmetic import add
from tensorlab.ops.pointwise.special import lgamma
from tensorlab.ops.ranges import arange

FLOAT32 = BY_NAME["float32"]


def mvlgamma(input, p, *, out=None):
    """Return the logarithm of the gamma function of `p` dimensions, which densities of random matrices have.

    It is the sum of `lgamma(input - k / 2)` over k from 0 to p - 1, and `p * (p - 1) / 4 * log(pi)`.
    Source: Muirhead 1982, Aspects of Multivariate Statistical Theory, theorem 2.1.12.

    Parameters
    ----------
    input : Tensor, above (p - 1) / 2
    p : int, at least 1

    Raises
    ------
    ShapeError
        If `p` is below 1.

    >>> import tensorlab
    >>> tensorlab.mvlgamma(tensorlab.tensor([2.0, 3.0]), 2)
    tensor([0.4516, 1.5502])
    """
    return stored(log_gamma_of_dims("mvlgamma", input, p), out)


def multigammaln(a, p, *, out=None):
    """Return what `mvlgamma` returns, under its name in SciPy.

    >>> import tensorlab
    >>> tensorlab.special.multigammaln(tensorlab.tensor([2.0, 3.0]), 2)
    tensor([0.4516, 1.5502])
    """
    return stored(log_gamma_of_dims("multigammaln", a, p), out)


def mvlgamma_(self, p):
    """`mvlgamma`, written over the tensor itself.

    >>> import tensorlab
    >>> tensorlab.tensor([2.0, 3.0]).mvlgamma_(2)
    tensor([0.4516, 1.5502])
    """
    if not self.dtype.is_floating_point:
        raise DTypeError(
            f"mvlgamma_: the result is of a floating type, and the tensor of {self.dtype}"
        )
    return self.copy_(log_gamma_of_dims("mvlgamma_", self, p))


def stored(result, out):
    """The result, or `out` with its values, converted to the type of `out`."""
    return result if out is None else add(result, 0, out=out)


def log_gamma_of_dims(where, x, p):
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: argument 'input' must be a Tensor, not {type(x).__name__}")
    if isinstance(p, (bool, TensorBase)) or not hasattr(p, "__index__"):
        raise TypeError(f"{where}: argument 'p' must be an int, not {type(p).__name__}")
    if p < 1:
        raise ShapeError(f"{where}: p is {p}, but it has to be at least 1: it counts dimensions")
    if x.dtype.name == "bool":
        raise DTypeError(f"{where}: not for bool, whose values are not numbers; convert it first")
    if x.is_complex():
        raise UnsupportedDType(
            f"{where}: not implemented for {x.dtype}; take .real, .imag or .abs() first"
        )
    dtype = x.dtype if x.dtype.is_floating_point else get_default_dtype()
    wide = FLOAT32 if dtype.itemsize < 4 else dtype  # half types are rounded once, at the end
    halves = arange(p, dtype=wide, device=x.device) * -0.5
    total = lgamma(x.to(wide).unsqueeze(-1) + halves).sum(-1)
    return (total + p * (p - 1) / 4 * math.log(math.pi)).to(dtype)

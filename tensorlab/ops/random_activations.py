"""Activations that draw random numbers: rrelu, a leaky ReLU of random slopes, and gumbel_softmax, a random choice.

Both are made of other ops: what is drawn is a tensor without history, and the gradient flows around it.
"""

import math
import warnings

from tensorlab._core.device import contiguous_format
from tensorlab._core.dtypes import BY_NAME
from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops import random as random_ops
from tensorlab.ops.creation import empty, empty_like, ones, zeros_like
from tensorlab.ops.indexing.masked import masked_scatter
from tensorlab.ops.pointwise.rectifiers import leaky_relu, leaky_relu_, leaky_relu_by
from tensorlab.ops.softmax import softmax

FLOAT32, FLOAT64 = BY_NAME["float32"], BY_NAME["float64"]


# ------------------------------------------------------------------------------ rrelu
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """x above 0 and slope * x below, where in training each element has a random slope from `lower` to `upper`.

    Otherwise the slope is the mean of the two.

    Parameters
    ----------
    input : Tensor, floating
    lower, upper : float, bounds of the slopes
    training : bool
    generator : Generator or None, gives the slopes, one for each element that is not above 0

    Returns
    -------
    Tensor, contiguous, of the same shape and dtype

    Raises
    ------
    ShapeError
        If `lower` is above `upper`, or one of them is not finite.

    Notes
    -----
    Source: Xu et al. 2015, "Empirical Evaluation of Rectified Activations in Convolutional Network", section 3.4.

    >>> import tensorlab
    >>> tensorlab.rrelu(tensorlab.tensor([-2., 0., 3.]), 0.2, 0.4)
    tensor([-0.6000,  0.0000,  3.0000])
    """
    check_slopes("rrelu", input, lower, upper)
    input = input.contiguous()
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    slopes = random_slopes(input, lower, upper, generator)
    return leaky_relu_by(input.to(slopes.dtype), slopes).to(input.dtype)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """`rrelu`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.rrelu_(tensorlab.tensor([-1.0, 2.0]), 0.5, 0.5)
    tensor([-0.5000,  2.0000])
    """
    check_slopes("rrelu_", input, lower, upper)
    if not training:
        return leaky_relu_(input, (lower + upper) / 2)
    return input.mul_(random_slopes(input, lower, upper, generator))


def check_slopes(name, input, lower, upper):
    """Raise an error unless the input is floating and the bounds are finite and in order."""
    if not input.is_floating_point():
        raise UnsupportedDType(
            f"{name}: the input is of type {input.dtype}; expected a floating type"
        )
    if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
        raise ShapeError(
            f"{name}: lower is {lower} and upper is {upper}; expected finite numbers, the lower one first"
        )


def random_slopes(input, lower, upper, generator):
    """1 for each element above 0, a draw for each other; of float32 at least, as x * slope is rounded once."""
    dtype = FLOAT64 if input.dtype == FLOAT64 else FLOAT32
    slopes = ones(input.shape, dtype=dtype, device=input.device)
    if input.is_meta:
        return slopes
    is_below = input.detach() <= 0
    draws = empty(int(is_below.sum()), dtype=FLOAT64)
    random_ops.uniform_(draws, lower, upper, generator=generator)
    return masked_scatter(slopes, is_below, draws.to(dtype))


# ------------------------------------------------------------------------------ gumbel_softmax
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Draw from the classes along `dim`, in a way that has a gradient: softmax((logits + noise) / tau).

    The largest of logits + noise is class i with probability softmax(logits)[i], as the noise is from the Gumbel
    distribution. The softmax is a soft form of that choice, the harder the smaller `tau` is.

    Parameters
    ----------
    logits : Tensor, floating, logarithms of probabilities up to a constant
    tau : float, the temperature
    hard : bool; return the choice itself, ones among zeros, with the gradient of the soft form
    eps : float, without effect; deprecated
    dim : int

    Returns
    -------
    Tensor, of the same shape and dtype; sums along `dim` are 1

    Notes
    -----
    Sources: Jang, Gu and Poole 2017, "Categorical Reparameterization with Gumbel-Softmax", section 2; Maddison, Mnih
    and Teh 2017, "The Concrete Distribution", section 3.

    >>> import tensorlab
    >>> _ = tensorlab.manual_seed(0)
    >>> tensorlab.nn.functional.gumbel_softmax(tensorlab.zeros(2, 3), hard=True)
    tensor([[0., 0., 1.],
            [0., 1., 0.]])
    """
    if eps != 1e-10:
        warnings.warn(
            "gumbel_softmax: eps is deprecated and has no effect; leave it out", stacklevel=2
        )
    waits = random_ops.exponential_(empty_like(logits, memory_format=contiguous_format))
    soft = softmax((logits - waits.log()) / tau, dim)
    if not hard:
        return soft
    chosen = soft.detach().argmax(dim, keepdim=True)
    choice = zeros_like(logits, memory_format=contiguous_format).scatter_(dim, chosen, 1.0)
    return choice - soft.detach() + soft

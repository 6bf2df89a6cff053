"""Dropout and its relatives: each multiplies by noise that is 0 with probability p, and scales what is left.

Scaling by 1 / (1 - p) keeps the expected value of every element. Sources: Srivastava et al. 2014, "Dropout"; Tompson
et al. 2015 (whole channels); Klambauer et al. 2017, "Self-Normalizing Neural Networks" (alpha dropout, which keeps
mean and variance).
"""
from libc.math cimport sqrt

from tensorlab._core.dispatch.dispatch cimport run_3
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.random cimport BERNOULLI_

from tensorlab.errors import ShapeError
from tensorlab.ops import creation

cdef double ALPHA = 1.7580993408473766          # minus the limit of SELU at minus infinity, which alpha dropout puts in


cdef TensorBase new_noise(TensorBase x, double p, bint by_channel, str where):
    """1 with probability 1 - p and 0 otherwise, for each element or for each channel."""
    cdef object noise
    if not by_channel:
        noise = creation.empty_like(x)
    elif x.ndim_ < 2:
        raise ShapeError(f"{where}: a tensor with at least 2 dimensions, batch and channel, is "
                         f"needed, not {x.ndim_}")
    else:
        sizes = [x.sizes[i] if i < 2 else 1 for i in range(x.ndim_)]
        noise = creation.new_empty(x, sizes)
    return run_3(BERNOULLI_, noise, 1 - p, None)


cdef object run_dropout(TensorBase x, double p, bint train, bint by_channel, bint alpha, bint in_place, str where):
    cdef object noise, shift
    cdef double scale
    if not 0 <= p <= 1:
        raise ShapeError(f"{where}: p must lie from 0 to 1, not be {p}")
    if p == 0 or not train or x.numel_ == 0:
        return x
    if p == 1:
        noise = (<object>x).new_zeros(())
        return (<object>x).mul_(noise) if in_place else x * noise
    noise = new_noise(x, p, by_channel, where)
    if not alpha:
        noise.div_(1 - p)
        return (<object>x).mul_(noise) if in_place else x * noise
    scale = 1 / sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    shift = (noise - 1).mul_(ALPHA * scale).add_(ALPHA * scale * p)
    noise.mul_(scale)
    return (<object>x).mul_(noise).add_(shift) if in_place else (x * noise).add_(shift)


def dropout(TensorBase input not None, double p, bint train):
    """Set elements to 0 with probability `p` and scale the others by 1 / (1 - p); the input itself if not `train`.

    Parameters
    ----------
    p : float, from 0 to 1
    train : bool

    >>> import tensorlab
    >>> _ = tensorlab.manual_seed(0)
    >>> tensorlab.dropout(tensorlab.ones(4), 0.5, True)
    tensor([0., 0., 2., 0.])
    """
    return run_dropout(input, p, train, False, False, False, "dropout")


def dropout_(TensorBase input not None, double p, bint train):
    """`dropout`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.dropout_(tensorlab.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return run_dropout(input, p, train, False, False, True, "dropout_")


def feature_dropout(TensorBase input not None, double p, bint train):
    """`dropout` of whole channels: of `input[i, j]` for batch index i and channel j.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.feature_dropout(tensorlab.ones(1, 100, 2, 2), 0.5, True)
    >>> sorted({tuple(channel.flatten().tolist()) for channel in x[0]})
    [(0.0, 0.0, 0.0, 0.0), (2.0, 2.0, 2.0, 2.0)]
    """
    return run_dropout(input, p, train, True, False, False, "feature_dropout")


def feature_dropout_(TensorBase input not None, double p, bint train):
    """`feature_dropout`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(1, 2, 2)
    >>> tensorlab.feature_dropout_(x, 0.5, False) is x
    True
    """
    return run_dropout(input, p, train, True, False, True, "feature_dropout_")


def alpha_dropout(TensorBase input not None, double p, bint train):
    """Set elements to SELU's lower limit with probability `p`, then scale and shift so that mean and variance stay.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(3)
    >>> tensorlab.alpha_dropout(x, 0.5, False)
    tensor([1., 1., 1.])
    """
    return run_dropout(input, p, train, False, True, False, "alpha_dropout")


def alpha_dropout_(TensorBase input not None, double p, bint train):
    """`alpha_dropout`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(3)
    >>> tensorlab.alpha_dropout_(x, 0.5, False) is x
    True
    """
    return run_dropout(input, p, train, False, True, True, "alpha_dropout_")


def feature_alpha_dropout(TensorBase input not None, double p, bint train):
    """`alpha_dropout` of whole channels.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.feature_alpha_dropout(tensorlab.ones(1, 2, 2), 0.5, False)
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    return run_dropout(input, p, train, True, True, False, "feature_alpha_dropout")


def feature_alpha_dropout_(TensorBase input not None, double p, bint train):
    """`feature_alpha_dropout`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(1, 2, 2)
    >>> tensorlab.feature_alpha_dropout_(x, 0.5, False) is x
    True
    """
    return run_dropout(input, p, train, True, True, True, "feature_alpha_dropout_")

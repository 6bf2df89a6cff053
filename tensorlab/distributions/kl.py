"""The Kullback-Leibler divergence: the mean of log p(x) - log q(x) over draws x of p.

A function for a pair of classes is registered by `register_kl`; that of the most specific pair
is taken. Source of the formulas of single families: Gil, Alajaji and Linder, Renyi divergence
measures for commonly used univariate continuous distributions, 2013; else they follow from the
means of the terms of log p - log q.
"""

import warnings

from tensorlab.distributions.distribution import Distribution
from tensorlab.ops.creation import full_like

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict = {}
_KL_MEMOIZE: dict = {}


def register_kl(type_p, type_q):
    """Return a decorator that registers a function of p and q for `kl_divergence` of two classes.

    Parameters
    ----------
    type_p, type_q : subclasses of Distribution

    Raises
    ------
    TypeError
        If one is none.

    >>> from tensorlab.distributions import Normal, kl_divergence, register_kl
    >>> class Flat(Normal):
    ...     pass
    >>> @register_kl(Flat, Flat)
    ... def divergence(p, q):
    ...     return 0.0
    >>> kl_divergence(Flat(0.0, 1.0), Flat(2.0, 1.0))
    0.0
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type) or not issubclass(given, Distribution):
            raise TypeError(
                f"register_kl takes subclasses of Distribution, but {name} is {given!r}"
            )

    def decorator(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def distance(cls, ancestor):
    """How far up the order of resolution of a class an ancestor stands."""
    return cls.__mro__.index(ancestor)


def _dispatch_kl(type_p, type_q):
    """Return the function of the closest registered pair, or NotImplemented."""
    matches = [
        pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])
    ]
    if not matches:
        return NotImplemented
    left = min(matches, key=lambda pair: (distance(type_p, pair[0]), distance(type_q, pair[1])))
    right = min(matches, key=lambda pair: (distance(type_q, pair[1]), distance(type_p, pair[0])))
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"kl_divergence({type_p.__name__}, {type_q.__name__}) is ambiguous: register_kl({left[0].__name__}, "
            f"{right[1].__name__}) would decide it",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p, q):
    """Return the Kullback-Leibler divergence of q from p, of the batch shape.

    Parameters
    ----------
    p, q : Distribution

    Raises
    ------
    NotImplementedError
        If no formula is registered for their classes.

    >>> import tensorlab
    >>> from tensorlab.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(2.0, 1.0))
    tensor(2.)
    """
    pair = type(p), type(q)
    function = _KL_MEMOIZE.get(pair)
    if function is None:
        function = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError(
            f"no KL divergence is registered for {type(p).__name__} and {type(q).__name__}: register one with "
            "register_kl, or take the mean of p.log_prob(x) - q.log_prob(x) over samples"
        )
    return function(p, q)


def infinity(x):
    """Return infinity in the shape of a parameter: of a p that draws what q never does."""
    return full_like(x, float("inf"))

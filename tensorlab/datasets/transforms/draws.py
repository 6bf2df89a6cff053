"""The random numbers of transforms: each from the default generator, by the call that torchvision makes.

So a seed gives the crops, flips and colours that it gives there.
"""

from ...ops.creation import empty
from ...ops.random_factories import rand, randint

__all__ = ["happens", "uniform", "whole"]


def happens(p):
    """True with probability `p`."""
    return bool(rand(1) < p)


def uniform(low, high):
    """Return a float from `low` to `high`."""
    return empty(1).uniform_(float(low), float(high)).item()


def whole(end):
    """Return an int from 0 to `end`, itself excluded."""
    return randint(0, end, size=(1,)).item()

"""The geometric distribution."""

from tensorlab._core.dtypes import finfo
from tensorlab._core.tensor import Size
from tensorlab.autograd import no_grad
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution, all_true, invalid
from tensorlab.distributions.utils import (
    are_numbers,
    broadcast_all,
    check_one_of,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from tensorlab.nn.functional import binary_cross_entropy_with_logits
from tensorlab.ops.creation import zeros_like
from tensorlab.ops.pointwise.selection import where

__all__ = ["Geometric"]


class Geometric(Distribution):
    """The geometric distribution: how many trials fail before the first succeeds, with probability p (1 - p)**k.

    Source: Johnson, Kemp and Kotz, Univariate Discrete Distributions, section 5.2.

    Parameters
    ----------
    probs : number or tensor of the batch shape, above 0, at most 1: of a success
    logits : number or tensor of the batch shape, instead of `probs`

    >>> from tensorlab.distributions import Geometric
    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _expanded = {"probs": 0, "logits": 0}

    def __init__(self, probs=None, logits=None, validate_args=None):
        check_one_of(self, probs, logits)
        given = logits if probs is None else probs
        (value,) = broadcast_all(given)
        if probs is None:
            self.logits = value
        else:
            self.probs = value
        super().__init__(
            Size() if are_numbers(given) else value.size(), validate_args=validate_args
        )
        if self._validate_args and probs is not None and not all_true(value > 0):
            raise ValueError(
                f"Geometric: the parameter probs of shape {tuple(value.shape)} must be above 0, but "
                f"{invalid(value, value > 0)}"
            )

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    @lazy_property
    def logits(self):
        """The logits of the probabilities."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """The probabilities, from 0 to 1."""
        return logits_to_probs(self.logits, is_binary=True)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        failures = (-probs).log1p()
        failures = where((probs == 1) & (value == 0), 0.0, failures)
        return value * failures + self.probs.log()

    def entropy(self):
        entropy = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return entropy / self.probs

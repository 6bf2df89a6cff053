"""The continuous Bernoulli distribution."""

import math

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import all_true
from tensorlab.distributions.exp_family import ExponentialFamily
from tensorlab.distributions.utils import (
    are_numbers,
    broadcast_all,
    check_one_of,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from tensorlab.nn.functional import binary_cross_entropy_with_logits
from tensorlab.ops.creation import ones_like, zeros_like
from tensorlab.ops.pointwise.comparison import ge, le
from tensorlab.ops.pointwise.elementary import expm1, log, log1p
from tensorlab.ops.pointwise.powers import sqrt
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.random_factories import rand

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ExponentialFamily):
    """The distribution from 0 to 1 with a density proportional to p**x (1 - p)**(1 - x).

    Source: Loaiza-Ganem and Cunningham, The continuous Bernoulli, NeurIPS 2019. Near p = 1/2,
    where the formulas are 0 / 0, their Taylor series stand instead.

    Parameters
    ----------
    probs : number or tensor of the batch shape, from 0 to 1
    logits : number or tensor of the batch shape, instead of `probs`
    lims : pair of floats, between which the series are taken

    >>> from tensorlab.distributions import ContinuousBernoulli
    >>> ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _expanded = {"probs": 0, "logits": 0}

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._lims = lims
        check_one_of(self, probs, logits)
        given = logits if probs is None else probs
        (value,) = broadcast_all(given)
        if probs is None:
            self.logits = value
        else:
            self.probs = value
            is_valid = self.arg_constraints["probs"].check
            if validate_args is not None and not all_true(is_valid(value)):
                raise ValueError(
                    f"ContinuousBernoulli: probs must lie between 0 and 1, but is {value}"
                )
            self.probs = clamp_probs(value)
        super().__init__(
            Size() if are_numbers(given) else value.size(), validate_args=validate_args
        )

    @property
    def _param(self):
        return self.probs if "probs" in self.__dict__ else self.logits

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def logits(self):
        """The logits of the probabilities."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """The probabilities, from 0 to 1."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.size()

    def _is_far(self):
        """Where the formulas are stable: away from 1/2."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _far_probs(self, far):
        return where(far, self.probs, self._lims[0] * ones_like(self.probs))

    def _log_normalizer_of_probs(self):
        """Return the logarithm of the constant of the density, 2 atanh(1 - 2p) / (1 - 2p)."""
        far = self._is_far()
        p = self._far_probs(far)
        below = where(le(p, 0.5), p, zeros_like(p))
        above = where(ge(p, 0.5), p, ones_like(p))
        numerator = log(abs(log1p(-p) - log(p)))
        denominator = where(le(p, 0.5), log1p(-2.0 * below), log(2.0 * above - 1.0))
        x = pow(self.probs - 0.5, 2)
        return where(
            far, numerator - denominator, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        )

    @property
    def mean(self):
        far = self._is_far()
        p = self._far_probs(far)
        mean = p / (2.0 * p - 1.0) + 1.0 / (log1p(-p) - log(p))
        x = self.probs - 0.5
        return where(far, mean, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * pow(x, 2)) * x)

    @property
    def stddev(self):
        return sqrt(self.variance)

    @property
    def variance(self):
        far = self._is_far()
        p = self._far_probs(far)
        variance = p * (p - 1.0) / pow(1.0 - 2.0 * p, 2) + 1.0 / pow(log1p(-p) - log(p), 2)
        x = pow(self.probs - 0.5, 2)
        return where(far, variance, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        cross = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -cross + self._log_normalizer_of_probs()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        far = self._is_far()
        p = self._far_probs(far)
        cdf = (p**value * (1.0 - p) ** (1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        cdf = where(far, cdf, value)
        inside = where(ge(value, 1.0), ones_like(cdf), cdf)
        return where(le(value, 0.0), zeros_like(cdf), inside)

    def icdf(self, value):
        far = self._is_far()
        p = self._far_probs(far)
        icdf = log1p(-p + value * (2.0 * p - 1.0)) - log1p(-p)
        return where(far, icdf / (log(p) - log1p(-p)), value)

    def entropy(self):
        log_q, log_p = log1p(-self.probs), log(self.probs)
        return self.mean * (log_q - log_p) - self._log_normalizer_of_probs() - log_q

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """Return log((exp(x) - 1) / x), by its series near 0."""
        far = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = where(far, x, (self._lims[0] - 0.5) * ones_like(x))
        normalizer = log(abs(expm1(cut))) - log(abs(cut))
        return where(far, normalizer, 0.5 * x + pow(x, 2) / 24.0 - pow(x, 4) / 2880.0)

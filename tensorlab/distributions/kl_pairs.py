"""The Kullback-Leibler divergences of distributions of different families."""

import math

from tensorlab.distributions.bernoulli import Bernoulli
from tensorlab.distributions.beta import Beta
from tensorlab.distributions.binomial import Binomial
from tensorlab.distributions.continuous_bernoulli import ContinuousBernoulli
from tensorlab.distributions.exponential import Exponential
from tensorlab.distributions.gamma import Gamma
from tensorlab.distributions.gumbel import Gumbel
from tensorlab.distributions.kl import infinity, register_kl
from tensorlab.distributions.laplace import Laplace
from tensorlab.distributions.normal import Normal
from tensorlab.distributions.pareto import Pareto
from tensorlab.distributions.poisson import Poisson
from tensorlab.distributions.uniform import Uniform
from tensorlab.distributions.utils import euler_constant
from tensorlab.ops.pointwise.elementary import exp, log, log1p
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.pointwise.special import erf, xlogy

LOG_2PI = math.log(2 * math.pi)

# Pairs of which p draws what q never does: first the parameter of p whose shape the result has


INFINITE = {
    (Beta, "concentration1"): [Pareto],
    (ContinuousBernoulli, "probs"): [Pareto],
    (Exponential, "rate"): [Beta, ContinuousBernoulli, Pareto, Uniform],
    (Gamma, "concentration"): [Beta, ContinuousBernoulli, Pareto, Uniform],
    (Gumbel, "loc"): [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    (Laplace, "loc"): [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    (Normal, "loc"): [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    (Pareto, "scale"): [Beta, ContinuousBernoulli, Uniform],
    (Poisson, "rate"): [Bernoulli, Binomial],
}


def register_infinite(family, parameter, others):
    """Register infinity for a family and each of the others."""
    for other in others:
        register_kl(family, other)(lambda p, q: infinity(getattr(p, parameter)))


for (family, parameter), others in INFINITE.items():
    register_infinite(family, parameter, others)


# Different families: minus the entropy of p, minus the mean of log q over p


def normal_cross(q, mean, variance):
    """Return minus the mean of the log density of a normal q, of the mean and variance of p."""
    return 0.5 * (LOG_2PI + (variance + (mean - q.loc).pow(2)) / q.scale.pow(2)) + q.scale.log()


def to_normal(p, q):
    return -p.entropy() + normal_cross(q, p.mean, p.variance)


def to_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


for family in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(family, Normal)(to_normal)


@register_kl(Pareto, Normal)
def _pareto_normal(p, q):
    return where(p.alpha <= 2, float("inf"), to_normal(p, q))


for family in (Beta, ContinuousBernoulli, Gamma):
    register_kl(family, Exponential)(to_exponential)


@register_kl(Pareto, Exponential)
def _pareto_exponential(p, q):
    return where(p.alpha <= 1, float("inf"), to_exponential(p, q))


@register_kl(Uniform, Exponential)
def _uniform_exponential(p, q):
    return where(p.low < q.support.lower_bound, float("inf"), to_exponential(p, q))


def to_gamma(p, q, mean_log):
    """Return the divergence of a gamma q from p, given the mean of log x over p."""
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + normalizer - (q.concentration - 1) * mean_log + q.rate * p.mean


@register_kl(Beta, Gamma)
def _beta_gamma(p, q):
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return to_gamma(p, q, mean_log)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    return to_gamma(p, q, -euler_constant - p.rate.log())


@register_kl(Pareto, Gamma)
def _pareto_gamma(p, q):
    result = to_gamma(p, q, p.scale.log() + p.alpha.reciprocal())
    return where(p.alpha <= 1, float("inf"), result)


def mean_log_uniform(p):
    """Return the mean of log x of a uniform distribution above 0."""
    return (xlogy(p.high, p.high) - xlogy(p.low, p.low)) / (p.high - p.low) - 1


@register_kl(Uniform, Gamma)
def _uniform_gamma(p, q):
    return where(p.low < q.support.lower_bound, float("inf"), to_gamma(p, q, mean_log_uniform(p)))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    cross = -q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * mean_log_uniform(p)
    return where(p.low < q.support.lower_bound, float("inf"), -p.entropy() + cross)


@register_kl(Uniform, Beta)
def _uniform_beta(p, q):
    a, b, width = q.concentration1, q.concentration0, p.high - p.low
    low, high = 1 - p.high, 1 - p.low
    mean_log_rest = (xlogy(high, high) - xlogy(low, low)) / width - 1
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    result = -p.entropy() + normalizer - (a - 1) * mean_log_uniform(p) - (b - 1) * mean_log_rest
    return where((p.high > 1) | (p.low < 0), float("inf"), result)


def to_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - log1p(-q.probs) - q._log_normalizer_of_probs()


register_kl(Beta, ContinuousBernoulli)(to_continuous_bernoulli)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p, q):
    return where((p.high > 1) | (p.low < 0), float("inf"), to_continuous_bernoulli(p, q))


@register_kl(ContinuousBernoulli, Uniform)
@register_kl(Beta, Uniform)
def _unit_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    return where((q.low > 0) | (q.high < 1), float("inf"), result)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def to_gumbel(p, q, mean_exp):
    """Return the divergence of a Gumbel q from p, given the mean of exp(-(x - q.loc) / q.scale) over p."""
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + mean_exp


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p, q):
    scaled = p.rate * q.scale
    return to_gumbel(p, q, exp(q.loc / q.scale) * scaled / (scaled + 1))


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p, q):
    scaled = p.rate * q.scale
    return to_gumbel(p, q, exp(q.loc / q.scale) * (1 + scaled.reciprocal()).pow(-p.concentration))


@register_kl(Normal, Gumbel)
def _normal_gumbel(p, q):
    mean_exp = exp(-(p.loc - q.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2))
    return to_gumbel(p, q, mean_exp)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p, q):
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return to_gumbel(p, q, q.scale / (p.high - p.low) * (exp(-low) - exp(-high)))


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    shift = p.loc - q.loc
    scaled = shift / p.scale
    folded = math.sqrt(2 / math.pi) * p.scale * exp(-0.5 * scaled.pow(2))
    distance = folded + shift * erf(math.sqrt(0.5) * scaled)
    return -p.entropy() + log(2 * q.scale) + distance / q.scale

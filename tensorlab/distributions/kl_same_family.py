"""The Kullback-Leibler divergences of two distributions of one family, and of normal distributions of vectors."""

from tensorlab.autograd import enable_grad, grad
from tensorlab.distributions.bernoulli import Bernoulli
from tensorlab.distributions.beta import Beta
from tensorlab.distributions.binomial import Binomial
from tensorlab.distributions.categorical import Categorical
from tensorlab.distributions.cauchy import Cauchy
from tensorlab.distributions.continuous_bernoulli import ContinuousBernoulli
from tensorlab.distributions.dirichlet import Dirichlet
from tensorlab.distributions.exp_family import ExponentialFamily
from tensorlab.distributions.exponential import Exponential
from tensorlab.distributions.gamma import Gamma
from tensorlab.distributions.geometric import Geometric
from tensorlab.distributions.gumbel import Gumbel
from tensorlab.distributions.half_normal import HalfNormal
from tensorlab.distributions.independent import Independent
from tensorlab.distributions.kl import infinity, kl_divergence, register_kl
from tensorlab.distributions.laplace import Laplace
from tensorlab.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _log_det,
    _mahalanobis,
)
from tensorlab.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from tensorlab.distributions.normal import Normal
from tensorlab.distributions.one_hot_categorical import OneHotCategorical
from tensorlab.distributions.pareto import Pareto
from tensorlab.distributions.poisson import Poisson
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.uniform import Uniform
from tensorlab.distributions.utils import _sum_rightmost, euler_constant
from tensorlab.linalg import solve_triangular
from tensorlab.nn.functional import softplus
from tensorlab.ops.pointwise.elementary import exp, log1p
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.pointwise.special import digamma, lgamma
from tensorlab.ops.triangles import diag_embed


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = t1.masked_fill(q.probs == 0, float("inf")).masked_fill(p.probs == 0, 0)
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    t2 = t2.masked_fill(q.probs == 1, float("inf")).masked_fill(p.probs == 1, 0)
    return t1 + t2


@register_kl(Beta, Beta)
def _beta(p, q):
    p_sum, q_sum = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + p_sum.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + q_sum.lgamma()
    t3 = (p.concentration1 - q.concentration1) * digamma(p.concentration1)
    t4 = (p.concentration0 - q.concentration0) * digamma(p.concentration0)
    return t1 - t2 + t3 + t4 + (q_sum - p_sum) * digamma(p_sum)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL of two Binomial distributions where q has more trials than p has no formula"
        )
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return where(p.total_count > q.total_count, infinity(kl), kl)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = where((q.probs == 0).expand_as(t), float("inf"), t)
    return where((p.probs == 0).expand_as(t), 0.0, t).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    t1 = p.mean * (p.logits - q.logits)
    t2 = p._log_normalizer_of_probs() + log1p(-p.probs)
    return t1 + t2 - q._log_normalizer_of_probs() - log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    p_sum, q_sum = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = p_sum.lgamma() - q_sum.lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t3 = p.concentration - q.concentration
    t4 = p.concentration.digamma() - p_sum.digamma().unsqueeze(-1)
    return t1 - t2 + (t3 * t4).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """The Bregman divergence of the log normalizers."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"no KL divergence is registered for {type(p).__name__} and {type(q).__name__}, and the Bregman "
            "divergence is one of two distributions of the same family"
        )
    p_params = [x if x.requires_grad else x.detach().requires_grad_() for x in p._natural_params]
    with enable_grad():
        p_normalizer = p._log_normalizer(*p_params)
        gradients = grad(p_normalizer.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - p_normalizer
    for x, y, gradient in zip(p_params, q._natural_params, gradients, strict=True):
        result = result - _sum_rightmost((y - x) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = lgamma(q.concentration) - lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * digamma(p.concentration)
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio = p.scale / q.scale
    apart = (p.loc - q.loc) / q.scale
    mean_exp = exp((1 + ratio).lgamma() - apart)
    return -ratio.log() + apart + ratio * euler_constant + mean_exp - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio = p.scale / q.scale
    apart = (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * exp(-apart / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = p.scale / q.scale
    alpha = q.alpha / p.alpha
    result = q.alpha * ratio.log() - alpha.log() + alpha - 1
    return where(p.support.lower_bound < q.support.lower_bound, float("inf"), result)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms:
        raise NotImplementedError(
            "KL of two transformed distributions needs the same transforms in both"
        )
    if p.event_shape != q.event_shape:
        raise NotImplementedError(
            f"KL needs one event shape, got {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), float("inf"), result)


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    """Source: Chyzak and Nielsen, A closed-form formula for the KL divergence between Cauchy distributions, 2019."""
    t1 = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return t1 - (4 * p.scale * q.scale).log()


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"KL of two Independent distributions needs one reinterpreted_batch_ndims, got "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# Normal distributions of vectors


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p, q):
    check_events(p, q)
    p_tril, q_tril = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    log_dets = q._half_log_det() - p._half_log_det()
    trace = solve_triangular(q_tril, p_tril, upper=False).pow(2).sum([-2, -1])
    apart = _batch_mahalanobis(q_tril, q.loc - p.loc)
    return log_dets + 0.5 * (trace + apart - p.event_shape[0])


def check_events(p, q):
    """Raise ValueError unless the events have one shape."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL of {type(p).__name__} and {type(q).__name__} needs one event shape, got "
            f"{tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )


def low_rank_log_det(p):
    """Return log det of the covariance of a LowRankMultivariateNormal."""
    return _log_det(p._unbroadcasted_cov_diag, p._capacitance_tril)


def to_low_rank(p, q, p_log_det, p_factor, p_diag):
    """Return the divergence of a low-rank q from a normal p of covariance p_factor p_factor^T + p_diag."""
    check_events(p, q)
    factor, diag = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    apart = _mahalanobis(factor, diag, q.loc - p.loc, q._capacitance_tril)
    scaled = factor.mT / diag.unsqueeze(-2)
    a = solve_triangular(q._capacitance_tril, scaled, upper=False)
    trace = (p_factor.pow(2) / diag.unsqueeze(-1)).sum([-2, -1]) - (a @ p_factor).pow(2).sum(
        [-2, -1]
    )
    if p_diag is not None:
        trace = trace + (p_diag / diag).sum(-1) - (a.pow(2) * p_diag.unsqueeze(-2)).sum([-2, -1])
    return 0.5 * (low_rank_log_det(q) - p_log_det + trace + apart - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p, q):
    return to_low_rank(
        p, q, low_rank_log_det(p), p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    )


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal_low_rank(p, q):
    return to_low_rank(p, q, 2 * p._half_log_det(), p._unbroadcasted_scale_tril, None)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_multivariate_normal(p, q):
    check_events(p, q)
    q_tril = q._unbroadcasted_scale_tril
    apart = _batch_mahalanobis(q_tril, q.loc - p.loc)
    root = diag_embed(p._unbroadcasted_cov_diag.sqrt())
    trace = sum(
        solve_triangular(q_tril, part, upper=False).pow(2).sum([-2, -1])
        for part in (p._unbroadcasted_cov_factor, root)
    )
    return 0.5 * (2 * q._half_log_det() - low_rank_log_det(p) + trace + apart - p.event_shape[0])

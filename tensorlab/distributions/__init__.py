"""Probability distributions: draws, densities, moments, divergences, and transforms between them."""

from tensorlab import _missing
from tensorlab.distributions import constraints, kl_pairs, kl_same_family, transforms
from tensorlab.distributions.bernoulli import Bernoulli
from tensorlab.distributions.beta import Beta
from tensorlab.distributions.binomial import Binomial
from tensorlab.distributions.categorical import Categorical
from tensorlab.distributions.cauchy import Cauchy
from tensorlab.distributions.chi2 import Chi2
from tensorlab.distributions.constraint_registry import biject_to, transform_to
from tensorlab.distributions.continuous_bernoulli import ContinuousBernoulli
from tensorlab.distributions.dirichlet import Dirichlet
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.exp_family import ExponentialFamily
from tensorlab.distributions.exponential import Exponential
from tensorlab.distributions.fishersnedecor import FisherSnedecor
from tensorlab.distributions.gamma import Gamma
from tensorlab.distributions.generalized_pareto import GeneralizedPareto
from tensorlab.distributions.geometric import Geometric
from tensorlab.distributions.gumbel import Gumbel
from tensorlab.distributions.half_cauchy import HalfCauchy
from tensorlab.distributions.half_normal import HalfNormal
from tensorlab.distributions.independent import Independent
from tensorlab.distributions.inverse_gamma import InverseGamma
from tensorlab.distributions.kl import kl_divergence, register_kl
from tensorlab.distributions.kumaraswamy import Kumaraswamy
from tensorlab.distributions.laplace import Laplace
from tensorlab.distributions.lkj_cholesky import LKJCholesky
from tensorlab.distributions.log_normal import LogNormal
from tensorlab.distributions.logistic_normal import LogisticNormal
from tensorlab.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from tensorlab.distributions.mixture_same_family import MixtureSameFamily
from tensorlab.distributions.multinomial import Multinomial
from tensorlab.distributions.multivariate_normal import MultivariateNormal
from tensorlab.distributions.negative_binomial import NegativeBinomial
from tensorlab.distributions.normal import Normal
from tensorlab.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from tensorlab.distributions.pareto import Pareto
from tensorlab.distributions.poisson import Poisson
from tensorlab.distributions.relaxed_bernoulli import RelaxedBernoulli
from tensorlab.distributions.relaxed_categorical import RelaxedOneHotCategorical
from tensorlab.distributions.studentT import StudentT
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from tensorlab.distributions.uniform import Uniform
from tensorlab.distributions.von_mises import VonMises
from tensorlab.distributions.weibull import Weibull
from tensorlab.distributions.wishart import Wishart

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)

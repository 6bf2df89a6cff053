"""Probability distributions: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """AbsTransform AffineTransform Bernoulli Beta Binomial CatTransform Categorical Cauchy
        Chi2 ComposeTransform ContinuousBernoulli CorrCholeskyTransform
        CumulativeDistributionTransform Dirichlet Distribution ExpTransform Exponential
        ExponentialFamily FisherSnedecor Gamma GeneralizedPareto Geometric Gumbel HalfCauchy
        HalfNormal Independent IndependentTransform InverseGamma Kumaraswamy LKJCholesky Laplace
        LogNormal LogisticNormal LowRankMultivariateNormal LowerCholeskyTransform
        MixtureSameFamily Multinomial MultivariateNormal NegativeBinomial Normal
        OneHotCategorical OneHotCategoricalStraightThrough Pareto Poisson
        PositiveDefiniteTransform PowerTransform RelaxedBernoulli RelaxedOneHotCategorical
        ReshapeTransform SigmoidTransform SoftmaxTransform SoftplusTransform StackTransform
        StickBreakingTransform StudentT TanhTransform Transform TransformedDistribution Uniform
        VonMises Weibull Wishart biject_to identity_transform kl_divergence register_kl
        transform_to constraints""",
        until="draw with tensorlab's random functions, and write the logarithm of the density out.",
        Bernoulli="draw with tensorlab.bernoulli(p); log_prob(x) is minus "
        "binary_cross_entropy(p, x).",
        Categorical="draw with tensorlab.multinomial(probs, 1); log_prob(i) is "
        "log_softmax(logits, -1)[..., i].",
        Normal="draw with mean + std * tensorlab.randn(shape); log_prob(x) is -((x - mean) / "
        "std)**2 / 2 - log(std) - "
        "log(2 * pi) / 2.",
        Uniform="draw with low + (high - low) * tensorlab.rand(shape).",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)

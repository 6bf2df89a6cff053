"""Families against scipy.stats, for where PyTorch isn't installed: cdf, log_prob, moments, entropy."""

import numpy as np
import pytest

import tensorlab
import tensorlab.distributions
from tests.distributions.families import LOC, MATRIX, A, B, P, make

stats = pytest.importorskip("scipy.stats")

CONTINUOUS = [
    ("Beta", {"concentration1": A, "concentration0": B}, lambda: stats.beta(A, B)),
    ("Cauchy", {"loc": LOC, "scale": A}, lambda: stats.cauchy(LOC, A)),
    ("Chi2", {"df": A}, lambda: stats.chi2(A)),
    ("Exponential", {"rate": A}, lambda: stats.expon(scale=1 / A)),
    ("FisherSnedecor", {"df1": A, "df2": B + 5}, lambda: stats.f(A, B + 5)),
    ("Gamma", {"concentration": A, "rate": B}, lambda: stats.gamma(A, scale=1 / B)),
    (
        "GeneralizedPareto",
        {"loc": LOC, "scale": A, "concentration": np.array([0.3, 0.0, -0.4])},
        lambda: stats.genpareto([0.3, 0.0, -0.4], LOC, A),
    ),
    ("Gumbel", {"loc": LOC, "scale": A}, lambda: stats.gumbel_r(LOC, A)),
    ("HalfCauchy", {"scale": A}, lambda: stats.halfcauchy(scale=A)),
    ("HalfNormal", {"scale": A}, lambda: stats.halfnorm(scale=A)),
    ("InverseGamma", {"concentration": A + 2, "rate": B}, lambda: stats.invgamma(A + 2, scale=B)),
    ("Laplace", {"loc": LOC, "scale": A}, lambda: stats.laplace(LOC, A)),
    ("LogNormal", {"loc": LOC, "scale": A}, lambda: stats.lognorm(A, scale=np.exp(LOC))),
    ("Normal", {"loc": LOC, "scale": A}, lambda: stats.norm(LOC, A)),
    ("Pareto", {"scale": A, "alpha": B + 2}, lambda: stats.pareto(B + 2, scale=A)),
    ("StudentT", {"df": A + 2, "loc": LOC, "scale": B}, lambda: stats.t(A + 2, LOC, B)),
    ("Uniform", {"low": LOC, "high": LOC + A}, lambda: stats.uniform(LOC, A)),
    ("VonMises", {"loc": LOC, "concentration": A}, lambda: stats.vonmises(A, LOC)),
    ("Weibull", {"scale": A, "concentration": B + 1}, lambda: stats.weibull_min(B + 1, scale=A)),
]
DISCRETE = [
    ("Bernoulli", {"probs": P}, lambda: stats.bernoulli(P)),
    ("Binomial", {"total_count": 5, "probs": P}, lambda: stats.binom(5, P)),
    ("Geometric", {"probs": P}, lambda: stats.geom(P, loc=-1)),
    ("NegativeBinomial", {"total_count": A, "probs": P}, lambda: stats.nbinom(A, 1 - P)),
    ("Poisson", {"rate": A}, lambda: stats.poisson(A)),
]
CIRCULAR = {"VonMises"}  # whose moments are those of an angle


def close(ours, theirs, tolerance=1e-8):
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("row", CONTINUOUS + DISCRETE, ids=lambda row: row[0])
def test_against_scipy(row):
    name, parameters, reference = row
    distribution, _ = make(tensorlab, name, parameters)
    reference = reference()
    tensorlab.manual_seed(0)
    x = distribution.sample((6,))
    log_prob = reference.logpmf if row in DISCRETE else reference.logpdf
    close(distribution.log_prob(x), log_prob(x.numpy()), 1e-7)
    if name not in CIRCULAR | {"Cauchy", "HalfCauchy"}:
        close(distribution.mean, reference.mean())
        close(distribution.variance, reference.var(), 1e-6)
    for method in ("cdf", "entropy", "icdf"):
        try:
            if method == "cdf":
                close(distribution.cdf(x), reference.cdf(x.numpy()), 1e-7)
            elif method == "entropy":
                close(distribution.entropy(), reference.entropy(), 1e-6)
            else:
                p = tensorlab.linspace(0.1, 0.9, 3, dtype=tensorlab.float64)
                close(distribution.icdf(p), reference.ppf(p.numpy()), 1e-7)
        except NotImplementedError:
            pass


def test_vectors_and_matrices():
    d = tensorlab.distributions
    matrix = tensorlab.from_numpy(MATRIX)
    normal = d.MultivariateNormal(tensorlab.from_numpy(LOC[:2].copy()), matrix)
    x = normal.sample((4,))
    reference = stats.multivariate_normal(LOC[:2], MATRIX)
    close(normal.log_prob(x), reference.logpdf(x.numpy()))
    close(normal.entropy(), reference.entropy())
    wishart = d.Wishart(tensorlab.tensor(4.5, dtype=tensorlab.float64), matrix)
    x = wishart.sample()
    reference = stats.wishart(4.5, MATRIX)
    close(wishart.log_prob(x), reference.logpdf(x.numpy()))
    close(wishart.entropy(), reference.entropy())
    dirichlet = d.Dirichlet(tensorlab.from_numpy(A))
    x = dirichlet.sample()
    close(dirichlet.log_prob(x), stats.dirichlet(A).logpdf(x.numpy()))
    close(dirichlet.entropy(), stats.dirichlet(A).entropy())

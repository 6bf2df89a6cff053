"""The divergence of every registered pair against PyTorch, and the registry."""

import numpy as np
import pytest

import tensorlab
import tensorlab.distributions
from tensorlab.distributions import kl
from tests.distributions.families import LOC, MATRIX, PROBS, TRIL, A, B, P, make
from tests.oracle import require_torch

torch = require_torch()

# Two sets of parameters for each family: of p and of q.
PAIRS = {
    "Bernoulli": ({"probs": P}, {"probs": P[::-1]}),
    "Beta": (
        {"concentration1": A, "concentration0": B},
        {"concentration1": B, "concentration0": A},
    ),
    "Binomial": ({"total_count": 5, "probs": P}, {"total_count": 5, "probs": P[::-1]}),
    "Categorical": ({"probs": PROBS}, {"probs": PROBS[::-1]}),
    "Cauchy": ({"loc": LOC, "scale": A}, {"loc": A, "scale": B}),
    "ContinuousBernoulli": ({"probs": P}, {"probs": P[::-1]}),
    "Dirichlet": ({"concentration": A}, {"concentration": B}),
    "Exponential": ({"rate": A}, {"rate": B}),
    "Gamma": ({"concentration": A, "rate": B}, {"concentration": B, "rate": A}),
    "Geometric": ({"probs": P}, {"probs": P[::-1]}),
    "Gumbel": ({"loc": LOC, "scale": A}, {"loc": A, "scale": B}),
    "HalfNormal": ({"scale": A}, {"scale": B}),
    "Laplace": ({"loc": LOC, "scale": A}, {"loc": A, "scale": B}),
    "LogNormal": ({"loc": LOC, "scale": A}, {"loc": A, "scale": B}),
    "LowRankMultivariateNormal": (
        {"loc": LOC[:2], "cov_factor": A[:2, None], "cov_diag": B[:2]},
        {"loc": A[:2], "cov_factor": B[:2, None], "cov_diag": A[1:]},
    ),
    "MultivariateNormal": (
        {"loc": LOC[:2], "covariance_matrix": MATRIX},
        {"loc": np.stack([A[:2], B[:2]]), "scale_tril": 2 * TRIL},
    ),
    "Normal": ({"loc": LOC, "scale": A}, {"loc": A, "scale": B}),
    "OneHotCategorical": ({"probs": PROBS}, {"probs": PROBS[::-1]}),
    "Pareto": ({"scale": A + 1, "alpha": B + 2}, {"scale": A, "alpha": B}),
    "Poisson": ({"rate": A}, {"rate": B}),
    "Uniform": ({"low": A / 9, "high": A / 9 + 0.4}, {"low": LOC - 2, "high": LOC + 5}),
    "ExponentialFamily": ({}, {}),
    "TransformedDistribution": ({}, {}),
    "Independent": ({}, {}),
}
REGISTERED = sorted((p.__name__, q.__name__) for p, q in kl._KL_REGISTRY)
NAMED = [pair for pair in REGISTERED if PAIRS[pair[0]][0]]


def agree(ours, theirs, tolerance=1e-9):
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance
    )


def test_the_same_pairs_are_registered():
    theirs = torch.distributions.kl._KL_REGISTRY
    assert sorted((p.__name__, q.__name__) for p, q in theirs) == REGISTERED


@pytest.mark.parametrize("pair", NAMED, ids="-".join)
def test_values_and_gradients(pair):
    results = []
    for library in (tensorlab, torch):
        p, p_tensors = make(library, pair[0], PAIRS[pair[0]][0], requires_grad=True)
        q, q_tensors = make(library, pair[1], PAIRS[pair[1]][1], requires_grad=True)
        out = library.distributions.kl_divergence(p, q)
        if out.requires_grad and out.isfinite().all():
            out.sum().backward()
        results.append((out, [*p_tensors.items(), *q_tensors.items()]))
    (ours, our_tensors), (theirs, their_tensors) = results
    agree(ours, theirs)
    for (name, mine), (_, other) in zip(our_tensors, their_tensors, strict=True):
        if other.grad is not None and other.grad.isfinite().all() and name != "probs":
            agree(mine.grad, other.grad, 1e-7)


@pytest.mark.parametrize(
    "name", ["Beta", "Dirichlet", "Exponential", "Gamma", "Normal", "Poisson", "Bernoulli"]
)
def test_the_bregman_divergence_is_that_of_the_formula(name):
    p, q = (make(tensorlab, name, PAIRS[name][i])[0] for i in (0, 1))
    bregman = kl._KL_REGISTRY[
        tensorlab.distributions.ExponentialFamily, tensorlab.distributions.ExponentialFamily
    ]
    agree(bregman(p, q), tensorlab.distributions.kl_divergence(p, q))
    if name in {"Bernoulli", "Exponential"}:
        agree(tensorlab.distributions.ExponentialFamily.entropy(p), p.entropy())


def test_independent_and_transformed():
    results = []
    for library in (tensorlab, torch):
        d = library.distributions
        p, q = (make(library, "Normal", PAIRS["Normal"][i])[0] for i in (0, 1))
        results.append(d.kl_divergence(d.Independent(p, 1), d.Independent(q, 1)))
        p, q = (make(library, "LogNormal", PAIRS["LogNormal"][i])[0] for i in (0, 1))
        results.append(d.kl_divergence(p, q))
    agree(results[0], results[2])
    agree(results[1], results[3])


def test_what_is_not_registered_raises():
    d = tensorlab.distributions
    with pytest.raises(NotImplementedError, match="Normal and StudentT"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.StudentT(1.0))
    with pytest.raises(TypeError, match="type_p is 3"):
        d.register_kl(3, d.Normal)
    normal = d.Normal(tensorlab.zeros(2), 1.0)
    p, q = d.Independent(normal, 1), d.Independent(normal, 0)
    with pytest.raises(NotImplementedError, match="one reinterpreted_batch_ndims, got 1 and 0"):
        d.kl_divergence(p, q)

"""The families of distributions, each with parameters as NumPy arrays: for both libraries."""

import numpy as np

A = np.array([0.7, 1.5, 3.2])
B = np.array([2.3, 0.4, 1.1])
P = np.array([0.15, 0.5, 0.8])
LOC = np.array([-1.2, 0.0, 0.6])
PROBS = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
LOGITS = np.array([[0.2, -0.3, 1.5], [0.6, 0.1, -2.3]])
MATRIX = np.array([[2.0, 0.3], [0.3, 1.0]])
TRIL = np.linalg.cholesky(MATRIX)
N = np.array([5.0, 5.0, 5.0])

# Each row: family, parameters by name.
FAMILIES = [
    ("Bernoulli", {"probs": P}),
    ("Bernoulli", {"logits": LOC}),
    ("Beta", {"concentration1": A, "concentration0": B}),
    ("Binomial", {"total_count": N, "probs": P}),
    ("Binomial", {"total_count": 4, "logits": LOC}),
    ("Categorical", {"probs": PROBS}),
    ("Categorical", {"logits": LOGITS}),
    ("Categorical", {"logits": LOGITS[0]}),
    ("Cauchy", {"loc": LOC, "scale": A}),
    ("Chi2", {"df": A}),
    ("ContinuousBernoulli", {"probs": P}),
    ("ContinuousBernoulli", {"logits": LOC}),
    ("Dirichlet", {"concentration": A}),
    ("Dirichlet", {"concentration": np.stack([A, B])}),
    ("Exponential", {"rate": A}),
    ("FisherSnedecor", {"df1": A, "df2": B + 4}),
    ("Gamma", {"concentration": A, "rate": B}),
    ("GeneralizedPareto", {"loc": LOC, "scale": A, "concentration": np.array([0.3, 0.0, -0.4])}),
    ("Geometric", {"probs": P}),
    ("Geometric", {"logits": LOC}),
    ("Gumbel", {"loc": LOC, "scale": A}),
    ("HalfCauchy", {"scale": A}),
    ("HalfNormal", {"scale": A}),
    ("InverseGamma", {"concentration": A + 2, "rate": B}),
    ("Kumaraswamy", {"concentration1": A + 1, "concentration0": B + 1}),
    ("LKJCholesky", {"dim": 3, "concentration": A}),
    ("Laplace", {"loc": LOC, "scale": A}),
    ("LogNormal", {"loc": LOC, "scale": A}),
    ("LogisticNormal", {"loc": LOC, "scale": A}),
    (
        "LowRankMultivariateNormal",
        {"loc": LOC, "cov_factor": np.stack([A, B], 1), "cov_diag": np.stack([A, B])},
    ),
    ("Multinomial", {"total_count": 6, "probs": PROBS}),
    ("Multinomial", {"total_count": 6, "logits": LOGITS}),
    ("MultivariateNormal", {"loc": LOC[:2], "covariance_matrix": MATRIX}),
    ("MultivariateNormal", {"loc": np.stack([LOC[:2], A[:2]]), "precision_matrix": MATRIX}),
    ("MultivariateNormal", {"loc": LOC[:2], "scale_tril": np.stack([TRIL, 2 * TRIL])}),
    ("NegativeBinomial", {"total_count": A, "probs": P}),
    ("NegativeBinomial", {"total_count": 3.0, "logits": LOC}),
    ("Normal", {"loc": LOC, "scale": A}),
    ("OneHotCategorical", {"probs": PROBS}),
    ("OneHotCategorical", {"logits": LOGITS}),
    ("OneHotCategoricalStraightThrough", {"probs": PROBS}),
    ("Pareto", {"scale": A, "alpha": B + 2}),
    ("Poisson", {"rate": A}),
    ("RelaxedBernoulli", {"temperature": np.array(0.7), "probs": P}),
    ("RelaxedBernoulli", {"temperature": np.array(0.7), "logits": LOC}),
    ("RelaxedOneHotCategorical", {"temperature": np.array(0.7), "probs": PROBS}),
    ("RelaxedOneHotCategorical", {"temperature": np.array(0.7), "logits": LOGITS}),
    ("StudentT", {"df": A + 2, "loc": LOC, "scale": B}),
    ("Uniform", {"low": LOC, "high": LOC + A}),
    ("VonMises", {"loc": LOC, "concentration": A}),
    ("Weibull", {"scale": A, "concentration": B + 1}),
    ("Wishart", {"df": A + 2, "covariance_matrix": MATRIX}),
    ("Wishart", {"df": np.array(3.5), "scale_tril": TRIL}),
    ("Wishart", {"df": np.array(3.5), "precision_matrix": MATRIX}),
]
# Families of numbers also take numbers.
SCALARS = [
    (name, {key: float(np.ravel(value)[0]) for key, value in parameters.items()})
    for name, parameters in FAMILIES
    if name
    in {"Beta", "Cauchy", "Exponential", "Gamma", "Gumbel", "HalfNormal", "HalfCauchy", "Laplace", "LogNormal",
        "Normal", "Poisson", "StudentT", "Uniform", "Weibull", "Pareto", "Bernoulli", "Geometric", "FisherSnedecor",
        "InverseGamma", "Kumaraswamy", "ContinuousBernoulli"}
]  # fmt: skip


def make(torch, name, parameters, dtype="float64", requires_grad=False):
    """Return a distribution of a library, and its tensors by name."""
    tensors = {}
    arguments = {}
    for key, value in parameters.items():
        if isinstance(value, np.ndarray):
            tensor = torch.tensor(value.tolist(), dtype=getattr(torch, dtype))
            if requires_grad and key not in {"total_count", "dim"}:
                tensor.requires_grad_()
                tensors[key] = tensor
            arguments[key] = tensor
        else:
            arguments[key] = value
    return getattr(torch.distributions, name)(**arguments), tensors


def label(row):
    """Name a row of the table in the list of tests."""
    return row[0] + "-" + "-".join(row[1])

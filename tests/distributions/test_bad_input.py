"""What the errors of distributions say: the parameter, its values, its constraint, the shapes."""

import re

import pytest

import tensorlab
import tensorlab.distributions as d
from tensorlab.func import vmap

T = tensorlab.tensor

BAD_VALUES = [
    (lambda: d.Normal(0.0, -1.0), "scale of shape () must satisfy GreaterThan(lower_bound=0.0), but it is -1.0"),
    (lambda: d.Normal(0.0, T([1.0, -2.0])), "1 of 2 don't: -2.0 at [1]"),
    (lambda: d.Gamma(T([0.0, 1.0]), 1.0), "the parameter concentration"),
    (lambda: vmap(lambda x: d.Normal(0.0, x).mean)(T([1.0, -2.0])), "1 of 2 don't: -2.0 at [1]"),
    (lambda: vmap(d.Uniform(0.0, 1.0).log_prob)(T([0.5, 2.0])), "1 of 2 don't: 2.0 at [1]"),
    (
        lambda: vmap(lambda x: d.Uniform(x, x + 1).log_prob(T(1.5)))(T([1.0, 2.0])),
        "1 of 2 values don't",
    ),
    (lambda: d.Uniform(1.0, 0.0), "the parameter low"),
    (lambda: d.Bernoulli(1.5), "the parameter probs"),
    (lambda: d.Bernoulli(0.5, 0.5), "Bernoulli takes either probs or logits, but both was given"),
    (lambda: d.Categorical(), "Categorical takes either probs or logits, but neither was given"),
    (lambda: d.Categorical(T(1.0)), "must have a dimension of events"),
    (lambda: d.Categorical(T([-1.0, 2.0])), "must satisfy Simplex()"),
    (lambda: d.Geometric(0.0), "must be above 0"),
    (lambda: d.Dirichlet(T(1.0)), "must have a dimension of events"),
    (lambda: d.Normal("a", 1.0), "a number or a tensor, not str"),
    (lambda: d.Normal(T([0.0, 0.0]), 1.0).log_prob(tensorlab.zeros(3)), "can't be broadcast with batch shape (2,)"),
    (lambda: d.Normal(0.0, 1.0).log_prob(1.0), "a value must be a tensor, not float"),
    (lambda: d.Normal(0.0, 1.0).log_prob(T(float("nan"))), "must lie in the support, Real(), but it is nan"),
    (lambda: d.Exponential(1.0).log_prob(T([1.0, -1.0])), "1 of 2 don't: -1.0 at [1]"),
    (lambda: d.Categorical(T([1.0, 1.0])).log_prob(T(2)), "IntegerInterval(lower_bound=0, upper_bound=1)"),
    (lambda: d.Dirichlet(T([1.0, 1.0])).log_prob(tensorlab.ones(3) / 3), "must be the event shape"),
    (lambda: d.MultivariateNormal(tensorlab.zeros(2)), "but none was given"),
    (lambda: d.MultivariateNormal(tensorlab.zeros(2), -tensorlab.eye(2)), "the parameter covariance_matrix"),
    (lambda: d.Wishart(0.5, tensorlab.eye(2)), "df must be above n - 1 = 1"),
    (lambda: d.LKJCholesky(1), "at least 2, not 1"),
    (lambda: d.Independent(d.Normal(0.0, 1.0), 1), "reinterpreted_batch_ndims is 1, but the batch shape () has 0"),
    (
        lambda: d.MixtureSameFamily(d.Categorical(tensorlab.ones(3)), d.Normal(tensorlab.zeros(2), 1.0)),
        "the mixture has 3 categories, but there are 2 components",
    ),
    (lambda: d.MixtureSameFamily(3, d.Normal(tensorlab.zeros(2), 1.0)), "must be a Categorical, not int"),
    (lambda: d.Distribution.set_default_validate_args(3), "True or False, not 3"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"), BAD_VALUES, ids=[str(i) for i in range(len(BAD_VALUES))]
)
def test_bad_values(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_what_a_family_lacks():
    for call in (
        d.Poisson(1.0).entropy,
        d.Poisson(1.0).rsample,
        d.Normal(0.0, 1.0).enumerate_support,
        lambda: d.StudentT(1.0).cdf(T(0.0)),
        lambda: d.Beta(1.0, 1.0).icdf(T(0.5)),
    ):
        with pytest.raises(NotImplementedError, match="doesn't define|no differentiable|no values"):
            call()


def test_nothing_is_checked_when_that_is_asked_for():
    assert d.Normal(0.0, -1.0, validate_args=False).scale == -1
    assert d.Normal(0.0, 1.0, validate_args=False).log_prob(T(float("nan"))).isnan()


def test_a_subclass_with_its_own_init_needs_its_own_expand():
    class Mine(d.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    with pytest.raises(NotImplementedError, match="Mine defines its own __init__"):
        Mine().expand((2,))


def test_a_mixture():
    mixture = d.MixtureSameFamily(d.Categorical(T([0.25, 0.75])), d.Normal(T([0.0, 4.0]), 1.0))
    assert mixture.mean == 3
    assert mixture.variance == 4
    assert mixture.expand((3,)).sample((2,)).shape == (2, 3)
    assert mixture.cdf(T(100.0)) == 1

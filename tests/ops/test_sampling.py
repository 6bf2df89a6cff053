"""Poisson, binomial, gamma and Dirichlet numbers: PyTorch's after equal seeds, and well spread."""

import math

import numpy as np
import pytest
import scipy.stats

import tensorlab
from tests.ops.agreement import agree
from tests.oracle import require_torch

CALLS = {
    "poisson": lambda T, x: T.poisson(x),
    "binomial": lambda T, x: T.binomial(x.round(), T.full_like(x, 0.3)),
    "binomial likely": lambda T, x: T.binomial(x.round(), T.full_like(x, 0.9)),
    "_standard_gamma": lambda T, x: T._standard_gamma(x),
    "_sample_dirichlet": lambda T, x: T._sample_dirichlet(x),
}


def parameters(T, dtype, shape=(6, 50)):
    """From 0.02 to 200, so that every recipe comes in turn."""
    return (
        T.logspace(-1.7, 2.3, math.prod(shape), dtype=T.float64)
        .to(getattr(T, dtype))
        .reshape(shape)
    )


def seeded(call, tolerance=3e-6):
    """The call after a seed, and what the stream gives next."""

    def program(T):
        T.manual_seed(7)
        return call(T), T.rand(3, dtype=T.float64)

    agree(program, tolerance=tolerance)


# ------------------------------------------------------------------------------ the stream
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_after_a_seed_are_those_of_pytorch(name, dtype):
    seeded(lambda T: CALLS[name](T, parameters(T, dtype)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_poisson_numbers_of_half_types_are_those_of_pytorch(dtype):
    seeded(lambda T: T.poisson(parameters(T, dtype)))


def shapes_of_gammas(count, kind):
    alpha = 10 ** np.random.default_rng(count).uniform(*kind, count)
    alpha[5::97], alpha[11::89], alpha[60::83] = 0, np.inf, np.nan
    return alpha.astype(np.float32)


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 33, 623, 5000])
@pytest.mark.parametrize("kind", [(-2, 2), (0, 1), (-2, -0.1)])
@pytest.mark.parametrize("normals", [0, 1])  # one leaves a spare normal number
def test_many_gammas_are_those_that_come_one_by_one(count, kind, normals):
    alpha = tensorlab.from_numpy(shapes_of_gammas(count, kind))

    def draw(call):
        tensorlab.manual_seed(count)
        tensorlab.randn(normals)
        return call(), tensorlab.get_rng_state()

    together, state = draw(lambda: tensorlab._standard_gamma(alpha))
    alone, after = draw(lambda: [tensorlab._standard_gamma(one) for one in alpha])
    precise, last = draw(lambda: tensorlab._standard_gamma(alpha.double()))
    same = {"rtol": 0, "atol": 0, "equal_nan": True}
    tensorlab.testing.assert_close(together, tensorlab.stack(alone), **same)
    tensorlab.testing.assert_close(
        together.double(), precise, rtol=2e-4, atol=2e-38, equal_nan=True
    )
    assert state.equal(after)
    assert state.equal(last)


@pytest.mark.parametrize("kind", [(-2, 2), (0, 1), (-2, -0.1)])
def test_many_gammas_are_pytorchs_to_the_bit(kind):
    torch = require_torch()
    alpha = shapes_of_gammas(20_000, kind)
    alpha = alpha[np.isfinite(alpha)]  # for nan PyTorch draws forever
    found = []
    for T in (torch, tensorlab):
        T.manual_seed(3)
        numbers = T._standard_gamma(T.from_numpy(alpha)).numpy()
        found.append((numbers, T.rand(5).numpy(), T.randn(3).numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gamma_numbers_of_half_types_are_those_of_float32_rounded(dtype):
    """PyTorch has none."""
    x = parameters(tensorlab, dtype)
    results = []
    for y in (x, x.float()):
        tensorlab.manual_seed(3)
        results.append(tensorlab._standard_gamma(y).to(x.dtype))
    assert tensorlab.equal(*results)


LAYOUTS = {
    "transposed": lambda x: x.t(),
    "stepped": lambda x: x[:, ::2],
    "expanded": lambda x: x[:1].expand(3, 50),
    "empty": lambda x: x[:0],
    "a single number": lambda x: x[3, 7],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["poisson", "binomial", "_standard_gamma"])
def test_numbers_are_drawn_in_the_order_of_the_dimensions(name, layout):
    seeded(lambda T: CALLS[name](T, LAYOUTS[layout](parameters(T, "float64"))).tolist())


def test_a_generator_of_its_own():
    def program(T):
        generator = T.Generator().manual_seed(3)
        x = parameters(T, "float64")
        return T.poisson(x, generator), T.binomial(x.round(), x / 300, generator=generator)

    agree(program)


def test_counts_and_probabilities_are_broadcast():
    def program(T):
        T.manual_seed(1)
        return T.binomial(T.tensor([[3.0], [50.0]]), T.tensor([0.0, 0.2, 1.0]))

    agree(program)


# ------------------------------------------------------------------------------ distributions
def drawn(call, value, n=20000):
    tensorlab.manual_seed(11)
    return call(tensorlab, tensorlab.full((n,), value, dtype=tensorlab.float64)).numpy()


@pytest.mark.parametrize("rate", [0.3, 4.0, 25.0, 1e4])
def test_poisson_numbers_have_the_right_moments(rate):
    numbers = drawn(CALLS["poisson"], rate)
    assert numbers.mean() == pytest.approx(rate, abs=5 * math.sqrt(rate / 20000))
    assert numbers.var() == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize("count", [5, 30, 1000])
@pytest.mark.parametrize("name", ["binomial", "binomial likely"])
def test_binomial_numbers_follow_their_distribution(name, count):
    numbers = drawn(CALLS[name], float(count))
    p = 0.3 if name == "binomial" else 0.9
    places = np.arange(count + 1)
    share = np.searchsorted(np.sort(numbers), places, side="right") / len(numbers)
    assert np.abs(share - scipy.stats.binom.cdf(places, count, p)).max() < 0.015


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 3.0, 60.0])
def test_gamma_numbers_follow_their_distribution(shape):
    numbers = drawn(CALLS["_standard_gamma"], shape)
    assert scipy.stats.kstest(numbers, scipy.stats.gamma(shape).cdf).statistic < 0.015


def test_dirichlet_numbers_are_parts_of_one():
    tensorlab.manual_seed(5)
    alphas = tensorlab.tensor([0.5, 2.0, 7.5], dtype=tensorlab.float64).expand(20000, 3)
    parts = tensorlab._sample_dirichlet(alphas)
    assert parts.sum(-1).sub(1).abs().max() < 1e-12
    for part, alpha in zip(parts.unbind(-1), [0.5, 2.0, 7.5], strict=True):
        exact = scipy.stats.beta(alpha, 10 - alpha)
        assert scipy.stats.kstest(part.numpy(), exact.cdf).statistic < 0.015


# ------------------------------------------------------------------------------ derivatives
@pytest.mark.parametrize("shape", [0.05, 0.4, 1.0, 5.0, 30.0, 300.0])
def test_a_gamma_sample_moves_with_its_shape_as_its_quantile_does(shape):
    alpha = tensorlab.full((200,), shape, dtype=tensorlab.float64, requires_grad=True)
    tensorlab.manual_seed(2)
    sample = tensorlab._standard_gamma(alpha)
    sample.sum().backward()
    x, h = sample.detach().numpy(), 1e-4 * shape
    share, beyond = scipy.special.gammainc(shape, x), scipy.special.gammaincc(shape, x)
    quantile = lambda a: np.where(
        share < 0.5, scipy.special.gammaincinv(a, share), scipy.special.gammainccinv(a, beyond)
    )
    want = (quantile(shape + h) - quantile(shape - h)) / (2 * h)
    usual = (x > 1e-200) & (np.minimum(share, beyond) > 1e-8)
    np.testing.assert_allclose(alpha.grad.numpy()[usual], want[usual], rtol=1e-5, atol=1e-12)


def test_a_beta_sample_moves_with_its_parameters_as_its_quantile_does():
    alpha = tensorlab.tensor([1.5, 4.0], dtype=tensorlab.float64).repeat(100, 1).requires_grad_()
    tensorlab.manual_seed(2)
    sample = tensorlab._sample_dirichlet(alpha)
    sample[:, 0].sum().backward()
    share = scipy.special.betainc(1.5, 4.0, sample[:, 0].detach().numpy())
    h = 1e-5
    for column, (da, db) in enumerate([(h, 0), (0, h)]):
        ends = [scipy.special.betaincinv(1.5 + s * da, 4.0 + s * db, share) for s in (1, -1)]
        want = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose(alpha.grad[:, column].numpy(), want, rtol=1e-5)


def test_derivatives_are_near_those_of_pytorch():
    torch = require_torch()
    grads = []
    for T in (tensorlab, torch):
        x = parameters(T, "float64").requires_grad_()
        T.manual_seed(7)
        T._standard_gamma(x).log().sum().backward()
        grads.append(x.grad.numpy())
    np.testing.assert_allclose(*grads, rtol=2e-2, atol=1e-2)


def test_rates_have_no_gradient():
    x = tensorlab.tensor([3.0, 0.0], requires_grad=True)
    tensorlab.poisson(x).sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_counts_have_none_and_say_so():
    x = tensorlab.tensor([3.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="'count'"):
        tensorlab.binomial(x, tensorlab.tensor([0.5])).backward()


# ------------------------------------------------------------------------------ bad input
BAD = {
    "a negative rate": (lambda T: T.poisson(T.tensor([1.0, -1.0])), "rate is -1"),
    "a rate that is nan": (lambda T: T.poisson(T.tensor([math.nan])), "rate is nan"),
    "whole rates": (lambda T: T.poisson(T.tensor([1, 2])), "floating dtype"),
    "whole counts": (lambda T: T.binomial(T.tensor([1]), T.tensor([1])), "floating type"),
    "whole probabilities": (lambda T: T.binomial(T.ones(1), T.tensor([1])), "prob has type"),
    "no generator": (lambda T: T.poisson(T.tensor([1]), 3), "generator"),
    "two types": (
        lambda T: T.binomial(T.tensor([1.0]), T.tensor([0.5], dtype=T.float64)),
        "float32, and prob",
    ),
    "shapes that do not fit": (lambda T: T.binomial(T.ones(3), T.ones(2)), "3"),
    "whole shapes": (lambda T: T._standard_gamma(T.tensor([1])), "floating dtype"),
    "whole alphas": (lambda T: T._sample_dirichlet(T.tensor([1])), "floating dtype"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_and_draws_nothing(name):
    call, message = BAD[name]
    agree(call)
    tensorlab.manual_seed(0)
    before = tensorlab.get_rng_state()
    with pytest.raises(Exception, match=message):
        call(tensorlab)
    assert tensorlab.equal(before, tensorlab.get_rng_state())


@pytest.mark.parametrize("call", [tensorlab._standard_gamma, tensorlab.poisson])
def test_edges_of_a_parameter(call):
    result = call(tensorlab.tensor([0.0, math.inf]))
    assert result[0] <= tensorlab.finfo(tensorlab.float32).tiny
    assert result[1] == math.inf


def test_odd_parameters_of_binomial_numbers():
    count = tensorlab.tensor([-3.0, 5.0, 5.0, 5.0, math.nan, math.inf])
    prob = tensorlab.tensor([0.5, -0.5, 1.5, math.nan, 0.5, 0.5])
    numbers = tensorlab.binomial(count, prob).tolist()
    assert numbers[:3] == [0, 0, 5]
    assert math.isnan(numbers[3])
    assert math.isnan(numbers[4])
    assert numbers[5] == math.inf

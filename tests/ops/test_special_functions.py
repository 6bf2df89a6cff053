"""The functions of tensorlab.special: accuracy, identities of mathematics, edges, derivatives."""

import functools
import math

import numpy as np
import pytest
import scipy.special

import tensorlab
from tests.oracle import require_torch

special = tensorlab.special
OF_SEVERAL = {"log_softmax", "logsumexp", "softmax"}
OTHER_ARGUMENTS = {"polygamma", "round", "multigammaln"}
INCOMPLETE = ["gammainc", "gammaincc"]
OF_TWO = [*INCOMPLETE, "xlog1py", "xlogy", "zeta"]
POLYNOMIALS = [name for name in special.__all__ if "polynomial" in name]
OF_ONE = [
    name
    for name in special.__all__
    if name not in OF_SEVERAL | OTHER_ARGUMENTS | set(OF_TWO) | set(POLYNOMIALS)
]
INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 2.5, 7.7, -7.7, 30.0, 1e4, INF, -INF, NAN]


# ------------------------------------------------------------------------------ accuracy
@functools.cache
def floats():
    """Numbers of float32: every 65537th bit pattern, and the range where the functions bend."""
    patterns = np.arange(0, 2**32, 65537, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = np.random.default_rng(0).uniform(-20, 20, 4000)
    nearer = np.random.default_rng(1).uniform(-1, 1, 4000)
    return np.concatenate([patterns[np.isfinite(patterns)], near, nearer]).astype(np.float32)


def pairs(name):
    low, high = np.exp(np.random.default_rng(2).uniform(-10, 10, (2, 5000))).astype(np.float32)
    return (low + 1 if name == "zeta" else low), high


def error_in_places(got, exact):
    """The largest error of float32 numbers, in units in their last place."""
    rounded = exact.astype(np.float32)
    place = np.spacing(np.clip(np.abs(rounded), np.float32(2.0**-126), np.finfo(np.float32).max))
    right = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.nanmax(np.where(right, 0, np.abs(got - exact) / place), initial=0), np.isnan(
        got
    ) & ~right


def assert_within_four_places(function, *arguments):
    with np.errstate(all="ignore"):
        got = function(*map(tensorlab.from_numpy, arguments)).numpy()
        exact = function(*[tensorlab.from_numpy(x.astype(np.float64)) for x in arguments]).numpy()
        error, lost = error_in_places(got, exact)
    assert error <= 4
    assert not lost.any()


BY_DOUBLE = {
    "erfc": scipy.special.erfc,
    "log10": np.log10,
    "log2": np.log2,
}


@pytest.mark.parametrize("name", BY_DOUBLE)
def test_floats_that_are_computed_in_double_round_once(name):
    function = getattr(special, name, None) or getattr(tensorlab, name)
    with np.errstate(all="ignore"):
        got = function(tensorlab.from_numpy(floats())).numpy()
        error, lost = error_in_places(got, BY_DOUBLE[name](floats().astype(np.float64)))
    assert error <= 0.51
    assert not lost.any()


@pytest.mark.parametrize("name", OF_ONE)
def test_float32_is_within_four_places_of_float64(name):
    assert_within_four_places(getattr(special, name), floats())


@pytest.mark.parametrize(("name", "limit"), [("i0", 3.6), ("i1", 3.6), ("i0e", 2.4), ("i1e", 3.0)])
def test_bessel_functions_of_float32_are_within_the_stated_limit(name, limit):
    """With both sides of 8, where the formula changes, and of 92, beyond which i0 is infinite."""
    ends = np.float32([8, np.nextafter(np.float32(8), np.float32(9)), 91.9, 92, 92.1, 1e30, INF])
    wide = np.random.default_rng(3).uniform(-95, 95, 400_000).astype(np.float32)
    x = np.concatenate([ends, -ends, wide, wide / 10])
    with np.errstate(all="ignore"):
        exact = getattr(scipy.special, name)(x.astype(np.float64))
        error, lost = error_in_places(
            getattr(special, name)(tensorlab.from_numpy(x)).numpy(), exact
        )
    assert error <= limit
    assert not lost.any()


@pytest.mark.parametrize("name", OF_TWO)
def test_float32_of_two_numbers_is_within_four_places_of_float64(name):
    assert_within_four_places(getattr(special, name), *pairs(name))


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("degree", [0, 1, 2, 5, 6, 7, 12, 40])
def test_float32_of_a_polynomial_is_within_four_places_of_float64(name, degree):
    x = np.random.default_rng(3).uniform(-3, 3, 2000).astype(np.float32)
    assert_within_four_places(getattr(special, name), x, np.full_like(x, degree))


# ------------------------------------------------------------------------------ identities
def assert_equal_nearly(got, want, tolerance=1e-12):
    got, want = got.numpy(), np.broadcast_to(want, got.shape)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def spread(low, high, n=200):
    return tensorlab.linspace(low, high, n, dtype=tensorlab.float64)


def test_wronskians_of_the_bessel_functions():
    """DLMF 10.5.2 and 10.28.2."""
    x = spread(0.05, 40)
    s = special
    wronskian = s.bessel_j1(x) * s.bessel_y0(x) - s.bessel_j0(x) * s.bessel_y1(x)
    assert_equal_nearly(wronskian * math.pi * x / 2, 1)
    i0, i1 = s.modified_bessel_i0(x), s.modified_bessel_i1(x)
    k0, k1 = s.modified_bessel_k0(x), s.modified_bessel_k1(x)
    assert_equal_nearly((i0 * k1 + i1 * k0) * x, 1)
    assert_equal_nearly(s.scaled_modified_bessel_k0(x) * (-x).exp() / k0, 1)
    assert_equal_nearly(s.scaled_modified_bessel_k1(x) * (-x).exp() / k1, 1)
    assert_equal_nearly(s.i0e(x) * x.exp() / i0, 1)
    assert_equal_nearly(s.i1e(x) * x.exp() / i1, 1)
    assert_equal_nearly(s.i0(x) / i0, 1)
    assert_equal_nearly(s.i1(x) / i1, 1)


def test_airy_solves_its_equation():
    """DLMF 9.2.1: w'' = x w; and 9.2.3: Ai(0)."""
    x, h = spread(-8, 5), 1e-3
    ai = special.airy_ai
    second = (-ai(x - 2 * h) + 16 * ai(x - h) - 30 * ai(x) + 16 * ai(x + h) - ai(x + 2 * h)) / 12
    assert_equal_nearly(second / h**2, (x * ai(x)).numpy(), 1e-8)
    assert ai(tensorlab.tensor(0.0, dtype=tensorlab.float64)).item() == pytest.approx(
        3 ** (-2 / 3) / math.gamma(2 / 3), rel=1e-15
    )
    assert special.airy_ai(tensorlab.tensor([1e3, 1e30, INF])).tolist() == [0, 0, 0]


def test_spherical_bessel_is_the_cardinal_sine():
    x = spread(-30, 30, 1001)
    assert_equal_nearly(special.spherical_bessel_j0(x), np.sinc(x.numpy() / np.pi), 1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sinc_is_0_at_every_whole_number_and_exact_beside_it(dtype):
    """PyTorch multiplies by pi first, which rounds what is left beyond a whole number."""
    dtype = getattr(tensorlab, dtype)
    whole = tensorlab.tensor([1, -1, 2, 3, 1000, -4097, 2**23 + 1, 2.0**33, 3e38]).to(dtype)
    assert special.sinc(whole).tolist() == [0] * 9
    beside = tensorlab.tensor([0.5, 1.5, 2.5, 1000.5, 4097.25]).to(dtype)
    signs = tensorlab.tensor([1, -1, 1, 1, -math.sqrt(0.5)], dtype=dtype)
    tolerance = 8 * tensorlab.finfo(dtype).eps
    assert_equal_nearly(special.sinc(beside) * beside * math.pi, signs.numpy(), tolerance)


ANGLE = np.linspace(0.01, 3.13, 200)
BY_ANGLE = {  # DLMF 18.5.1 to 18.5.4
    "chebyshev_polynomial_t": lambda n: np.cos(n * ANGLE),
    "chebyshev_polynomial_u": lambda n: np.sin((n + 1) * ANGLE) / np.sin(ANGLE),
    "chebyshev_polynomial_v": lambda n: np.cos((n + 0.5) * ANGLE) / np.cos(ANGLE / 2),
    "chebyshev_polynomial_w": lambda n: np.sin((n + 0.5) * ANGLE) / np.sin(ANGLE / 2),
}


@pytest.mark.parametrize("name", BY_ANGLE)
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 6, 7, 20])
def test_chebyshev_polynomials_are_waves_of_an_angle(name, degree):
    x = tensorlab.from_numpy(np.cos(ANGLE))
    want = BY_ANGLE[name](degree)
    assert_equal_nearly(getattr(special, name)(x, degree), want, 1e-10)
    shifted = getattr(special, "shifted_" + name)((x + 1) / 2, degree)
    assert_equal_nearly(shifted, want, 1e-10)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_a_low_degree_and_a_high_one_join(name):
    """The recurrence of low degrees and the formula of high ones are the same polynomial."""
    x = tensorlab.from_numpy(np.linspace(-2, 3, 41))
    p5, p6, p7 = [getattr(special, name)(x, n) for n in (5, 6, 7)]
    if "hermite" in name:
        factor = 2 if name.endswith("h") else 1
        want = factor * (x * p6 - 6 * p5)
    elif "laguerre" in name:
        want = ((13 - x) * p6 - 6 * p5) / 7
    elif "legendre" in name:
        want = (13 * x * p6 - 6 * p5) / 7
    else:
        t = 2 * x - 1 if "shifted" in name else x
        want = 2 * t * p6 - p5
    assert_equal_nearly(p7 / (1 + want.abs()), (want / (1 + want.abs())).numpy(), 1e-12)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_take_a_number_for_either_argument_and_refuse_two(name):
    function = getattr(special, name)
    x = tensorlab.tensor([0.5, 2.0])
    assert function(x, 3).tolist() == function(x, tensorlab.tensor(3)).tolist()
    ladder = function(0.5, tensorlab.arange(3))
    assert ladder.tolist() == [function(x, n)[0].item() for n in range(3)]
    assert function(x, -1).tolist() == [0, 0]
    with pytest.raises(TypeError):
        function(0.5, 3)


def test_gamma_functions_of_probabilities():
    x = spread(0.05, 30)
    for a in (0.3, 1.0, 7.5, 40.0):
        shape = tensorlab.full_like(x, a)
        lower, upper = special.gammainc(shape, x), special.gammaincc(shape, x)
        assert_equal_nearly(lower + upper, 1)
        step = special.gammainc(shape + 1, x)  # DLMF 8.8.5
        assert_equal_nearly(lower - step, (x**a * (-x).exp() / math.gamma(a + 1)).numpy())
    assert_equal_nearly(special.gammaincc(tensorlab.full_like(x, 1), x), (-x).exp().numpy())


def test_small_arguments_of_the_upper_gamma_function_keep_their_digits():
    """Its own series stands there in place of SciPy's function."""
    a, x = np.exp(np.random.default_rng(5).uniform(-40, 1, (2, 5000)))
    got = special.gammaincc(tensorlab.from_numpy(a), tensorlab.from_numpy(x)).numpy()
    np.testing.assert_allclose(got, scipy.special.gammaincc(a, x), rtol=1e-13)
    tiny = special.gammaincc(*tensorlab.tensor([1e-300, 1.0], dtype=tensorlab.float64))
    assert tiny.item() == pytest.approx(1e-300 * 0.21938393439552029, rel=1e-12)  # a * E1(x)


def test_zeta_at_known_places():
    """DLMF 25.6.1, 25.11.3 and 25.11.12."""
    number = lambda x: tensorlab.tensor(x, dtype=tensorlab.float64)
    assert special.zeta(number(2.0), 1).item() == pytest.approx(math.pi**2 / 6, rel=1e-15)
    assert special.zeta(number(4.0), 1).item() == pytest.approx(math.pi**4 / 90, rel=1e-15)
    y = spread(0.1, 20)
    assert_equal_nearly(special.zeta(3, y) - special.zeta(3, y + 1), (y**-3).numpy())
    assert_equal_nearly(-2 * special.zeta(3, y) / special.polygamma(2, y), 1)


def test_functions_of_the_normal_distribution():
    x = spread(-8, 5)
    assert_equal_nearly(special.ndtri(special.ndtr(x)), x.numpy(), 1e-9)
    assert_equal_nearly(special.log_ndtr(x), special.ndtr(x).log().numpy())
    assert_equal_nearly(special.erfcx(x), (x.square().exp() * x.erfc()).numpy(), 1e-11)
    far = special.log_ndtr(tensorlab.tensor([-1e3, -1e10], dtype=tensorlab.float64))
    assert far.tolist() == pytest.approx([-500007.8266948121, -5e19], rel=1e-12)
    assert special.erfcx(tensorlab.tensor(1e10)).item() == pytest.approx(5.641895835e-11, rel=1e-6)


def test_entropy_and_products_with_a_logarithm():
    p = tensorlab.tensor([0.0, 0.5, 1.0, -1.0, NAN])
    assert special.entr(p).tolist()[:4] == [0, pytest.approx(0.5 * math.log(2)), 0, -INF]
    assert special.entr(p)[4].isnan()
    x, y = tensorlab.tensor([0.0, 0.0, 2.0]), tensorlab.tensor([-1.0, NAN, 9.0])
    products = special.xlog1py(x, y).tolist()
    assert products[0] == 0
    assert math.isnan(products[1])
    assert products[2] == pytest.approx(2 * math.log(10))


def test_the_multivariate_gamma_function():
    x = spread(2, 9)
    assert_equal_nearly(tensorlab.mvlgamma(x, 1), x.lgamma().numpy())
    product = x.lgamma() + (x - 0.5).lgamma() + 0.5 * math.log(math.pi)
    assert_equal_nearly(tensorlab.mvlgamma(x, 2), product.numpy())
    assert_equal_nearly(special.multigammaln(x, 2), product.numpy())


@pytest.mark.parametrize("p", [0, -1])
def test_the_multivariate_gamma_function_needs_a_dimension(p):
    with pytest.raises(RuntimeError, match="at least 1"):
        tensorlab.mvlgamma(tensorlab.ones(2), p)


def test_the_multivariate_gamma_function_refuses_other_types():
    with pytest.raises(RuntimeError, match="bool"):
        tensorlab.mvlgamma(tensorlab.tensor([True]), 1)
    with pytest.raises(NotImplementedError, match="complex64"):
        tensorlab.mvlgamma(tensorlab.tensor([3 + 1j]), 1)
    with pytest.raises(TypeError, match="'p' must be an int"):
        tensorlab.mvlgamma(tensorlab.ones(2), 1.5)
    with pytest.raises(TypeError, match="'p' must be an int"):
        tensorlab.mvlgamma(tensorlab.ones(2), tensorlab.tensor(1))
    with pytest.raises(TypeError, match="must be a Tensor"):
        tensorlab.mvlgamma(3.0, 1)
    whole = tensorlab.tensor([3, 4])
    with pytest.raises(RuntimeError, match="floating"):
        whole.mvlgamma_(2)
    assert whole.tolist() == [3, 4]


# ------------------------------------------------------------------------------ edges
def assert_as_in_pytorch(function, columns, unlike=()):
    """In double, at columns of numbers; `unlike` are the places where PyTorch's value is wrong."""
    torch = require_torch()
    got, want = [
        function(T, *[T.tensor(column, dtype=T.float64) for column in columns]).tolist()
        for T in (tensorlab, torch)
    ]
    rows = list(zip(*columns, strict=True))
    for place, ours, theirs in zip(rows, got, want, strict=True):
        if str(place) not in unlike:
            assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-14, nan_ok=True), place


def columns_of(rows):
    return [list(column) for column in zip(*rows, strict=True)]


UNLIKE_OF_ONE = {  # where PyTorch's value is wrong
    "ndtr": {"(-7.7,)"},  # half of its digits
    "airy_ai": {"(inf,)"},
}


@pytest.mark.parametrize("name", OF_ONE)
def test_edges_are_those_of_pytorch(name):
    assert_as_in_pytorch(
        lambda T, x: getattr(T.special, name)(x), [EDGES], UNLIKE_OF_ONE.get(name, ())
    )


UNLIKE_OF_TWO = {  # PyTorch loses nan, and has nan for sums of zeros
    "gammainc": lambda x, y: x != x or y != y,
    "gammaincc": lambda x, y: x != x or y != y,
    "zeta": lambda x, y: x != x or y != y or x == INF or y == INF,
}


@pytest.mark.parametrize("name", OF_TWO)
def test_edges_of_two_numbers_are_those_of_pytorch(name):
    rows = [(x, y) for x in EDGES for y in EDGES]
    is_unlike = UNLIKE_OF_TWO.get(name, lambda x, y: False)
    assert_as_in_pytorch(
        lambda T, x, y: getattr(T.special, name)(x, y),
        columns_of(rows),
        {str(row) for row in rows if is_unlike(*row)},
    )


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_at_edges_are_those_of_pytorch(name):
    degrees = [-1.0, 0.0, 1.0, 2.0, 2.5, 6.0, 7.0, 10.0, 30.0]
    rows = [(x, n) for x in EDGES if abs(x) != INF for n in degrees]
    assert_as_in_pytorch(lambda T, x, n: getattr(T.special, name)(x, n), columns_of(rows))


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_far_away_have_the_sign_of_their_highest_power(name):
    """In PyTorch, most of them are nan there."""
    falls = -1 if "laguerre" in name else 1
    for x in (1e300, INF):
        x = tensorlab.tensor([x, -x], dtype=tensorlab.float64)
        for n in (1, 2, 3, 7, 8, 40):
            ahead, behind = getattr(special, name)(x, n).tolist()
            assert abs(ahead) > 1e299
            assert math.copysign(1, ahead) == falls**n
            assert math.copysign(1, behind) == (-falls) ** n


def test_a_polynomial_too_large_between_its_zeros_is_nan():
    """Its sign is not known there."""
    x = tensorlab.tensor([2000.0, 5e5], dtype=tensorlab.float64)
    assert special.laguerre_polynomial_l(x, 10000)[0].isnan()
    assert special.laguerre_polynomial_l(x, 10001)[1] == -INF


def test_nan_stays_nan_where_pytorch_forgets_it():
    x, y = tensorlab.tensor([NAN, INF]), tensorlab.tensor([0.0, NAN])
    assert special.gammainc(x, y).isnan().all()
    assert special.gammaincc(x, y).isnan().all()
    for name in POLYNOMIALS:
        assert getattr(special, name)(tensorlab.tensor([0.5]), NAN).isnan().all(), name
    assert special.zeta(2, tensorlab.tensor([INF])).tolist() == [0]


# ------------------------------------------------------------------------------ derivatives
@pytest.mark.parametrize("name", [*INCOMPLETE, "zeta"])
def test_a_derivative_that_does_not_exist_says_so(name):
    x = tensorlab.tensor([2.0, 3.0], requires_grad=True)
    result = getattr(special, name)(x, tensorlab.tensor([1.0, 2.0]))
    with pytest.raises(NotImplementedError, match="derivative with respect to 'input'"):
        result.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("name", INCOMPLETE)
def test_incomplete_gamma_functions_differentiate_with_respect_to_their_bound(name):
    a = tensorlab.tensor([0.5, 1.0, 3.5, 20.0], dtype=tensorlab.float64)
    x = tensorlab.tensor([0.3, 2.0, 3.0, 25.0], dtype=tensorlab.float64, requires_grad=True)
    call = lambda x: getattr(special, name)(a, x)
    assert tensorlab.autograd.gradcheck(call, (x,))
    assert tensorlab.autograd.gradgradcheck(call, (x,))


def test_shapes_of_gamma_samples_have_a_derivative_but_not_a_second_one():
    shape = tensorlab.tensor([2.0], requires_grad=True)
    (grad,) = tensorlab.autograd.grad(tensorlab._standard_gamma(shape), shape, create_graph=True)
    with pytest.raises(NotImplementedError, match="_standard_gamma_grad"):
        grad.backward()

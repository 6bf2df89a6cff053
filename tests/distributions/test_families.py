"""Every method of every family against PyTorch: values, gradients, shapes, and draws of one seed."""

import numpy as np
import pytest

import tensorlab
import tensorlab.distributions
from tests.distributions.families import FAMILIES, SCALARS, label, make
from tests.oracle import require_torch

torch = require_torch()

ROWS = FAMILIES + SCALARS
PROPERTIES = ["mean", "mode", "variance", "stddev", "batch_shape", "event_shape"]
IMPLICIT = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT"}
METHODS = ["entropy", "perplexity", "enumerate_support"]

row = pytest.mark.parametrize("row", ROWS, ids=label)


def same(ours, theirs, tolerance=1e-9):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance
    )


def both(row, **options):
    if row[0] == "GeneralizedPareto":  # PyTorch's methods refuse float64
        options = {**options, "dtype": "float32"}
    theirs = make(torch, *row, **options)[0]
    if row[0] == "Wishart":  # PyTorch throws away valid draws, as it takes them for singular ones
        theirs.sample = theirs.rsample = theirs._bartlett_sampling
    return make(tensorlab, *row, **options)[0], theirs


def result(function):
    """Return the value, or that there is none."""
    try:
        return function()
    except NotImplementedError:
        return NotImplementedError


def compare(ours, theirs, tolerance=1e-9):
    if theirs is NotImplementedError:
        assert ours is NotImplementedError
    elif isinstance(theirs, torch.Tensor):
        same(ours, theirs, tolerance)
    else:
        assert tuple(ours) == tuple(theirs)


def tolerance_of(row):
    if row[0] == "GeneralizedPareto":
        return 1e-5
    if row[0] == "VonMises":
        return 1e-6  # PyTorch's Bessel functions are polynomials of single precision
    return 1e-9 if is_double(row) else 1e-5


def is_double(row):
    """Whether the parameters are arrays; numbers become float32."""
    return any(isinstance(value, np.ndarray) for value in row[1].values())


@row
@pytest.mark.parametrize("name", PROPERTIES)
def test_properties(row, name):
    ours, theirs = both(row)
    if (row[0], name) == ("Kumaraswamy", "mode"):
        return  # PyTorch's is NaN; ours is tested below
    compare(
        result(lambda: getattr(ours, name)),
        result(lambda: getattr(theirs, name)),
        tolerance_of(row),
    )


@row
@pytest.mark.parametrize("name", METHODS)
def test_methods(row, name):
    ours, theirs = both(row)
    # PyTorch takes lgamma(total_count + 1) in single precision for the entropy of a Multinomial.
    tolerance = max(tolerance_of(row), 1e-6 * (row[0] == "Multinomial"))
    compare(result(getattr(ours, name)), result(getattr(theirs, name)), tolerance)


@row
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_draws_of_one_seed(row, dtype, shape):
    for method in ("sample", "rsample"):
        ours, theirs = both(row, dtype=dtype)
        torch.manual_seed(3)
        expected = result(lambda: getattr(theirs, method)(shape))  # noqa: B023
        tensorlab.manual_seed(3)
        actual = result(lambda: getattr(ours, method)(shape))  # noqa: B023
        compare(actual, expected, tolerance_of(row) if dtype == "float64" else 2e-5)


def draws(row):
    """Return draws of PyTorch, the same in both libraries."""
    torch.manual_seed(5)
    value = both(row)[1].sample((4,))
    return tensorlab.from_numpy(value.numpy().copy()), value


@row
@pytest.mark.parametrize("name", ["log_prob", "cdf"])
def test_functions_of_a_value(row, name):
    ours, theirs = both(row)
    x, y = draws(row)
    tolerance = max(tolerance_of(row), 1e-7)
    compare(
        result(lambda: getattr(ours, name)(x)), result(lambda: getattr(theirs, name)(y)), tolerance
    )


@row
def test_icdf(row):
    ours, theirs = both(row)
    p = np.linspace(0.05, 0.95, 4).reshape(4, *[1] * len(theirs.batch_shape))
    actual = result(lambda: ours.icdf(tensorlab.from_numpy(p)))
    compare(actual, result(lambda: theirs.icdf(torch.tensor(p))), tolerance_of(row))


@pytest.mark.parametrize("row", FAMILIES, ids=label)
@pytest.mark.parametrize("name", ["log_prob", "entropy", "rsample"])
def test_gradients(row, name):
    if name == "rsample" and row[0] == "Wishart":
        pytest.skip("PyTorch throws away valid draws, as it takes them for singular ones")
    # PyTorch's implicit gradients are series cut short; ours are tested on their own below.
    tolerance = 2e-2 if name == "rsample" and row[0] in IMPLICIT else 1e-6
    dtype = "float32" if row[0] == "GeneralizedPareto" else "float64"
    tolerance = max(tolerance, 1e-4) if dtype == "float32" else tolerance
    x, y = draws(row)

    def gradients(library, value):
        library.manual_seed(7)
        distribution, tensors = make(library, *row, dtype=dtype, requires_grad=True)
        function = getattr(distribution, name)
        out = {
            "log_prob": lambda: function(value),
            "entropy": function,
            "rsample": lambda: function((3,)),
        }[name]()
        weights = library.linspace(0.5, 2.0, out.numel(), dtype=out.dtype).view(out.shape)
        if not out.requires_grad:
            return {}
        (out * weights).sum().backward()
        return {key: tensor.grad for key, tensor in tensors.items()}

    theirs = result(lambda: gradients(torch, y))
    ours = result(lambda: gradients(tensorlab, x))
    if theirs is NotImplementedError:
        assert ours is NotImplementedError
        return
    for key, gradient in theirs.items():
        if gradient is not None:
            same(ours[key], gradient, tolerance)


def test_implicit_gradients_against_the_cdf():
    """The gradient of a draw is -(dF / da) / density, F its cdf: by differences, and SciPy's F."""
    stats = pytest.importorskip("scipy.stats")
    step = 1e-6
    for a in (0.3, 1.7, 8.0, 60.0):
        shape = tensorlab.tensor([a], dtype=tensorlab.float64, requires_grad=True)
        one = tensorlab.ones(1, dtype=tensorlab.float64)
        for distribution, cdf in (
            (tensorlab.distributions.Gamma(shape, one), stats.gamma),
            (tensorlab.distributions.Beta(shape, one * 1.5), lambda a: stats.beta(a, 1.5)),
        ):
            x = distribution.rsample()
            (grad,) = tensorlab.autograd.grad(x.sum(), shape)
            slope = (cdf(a + step).cdf(x.item()) - cdf(a - step).cdf(x.item())) / (2 * step)
            np.testing.assert_allclose(grad.item(), -slope / cdf(a).pdf(x.item()), rtol=1e-6)


def test_the_mode_of_kumaraswamy_is_where_its_density_is_greatest():
    d = tensorlab.distributions.Kumaraswamy(
        tensorlab.tensor([2.0, 5.0]), tensorlab.tensor([3.0, 1.5])
    )
    mode = d.mode.clone().requires_grad_()
    (grad,) = tensorlab.autograd.grad(d.log_prob(mode).sum(), mode)
    np.testing.assert_allclose(grad.numpy(), 0, atol=1e-5)


@pytest.mark.parametrize("row", FAMILIES, ids=label)
def test_expand(row):
    ours, theirs = both(row)
    shape = (4, *theirs.batch_shape)
    ours, theirs = ours.expand(shape), theirs.expand(shape)
    compare(ours.batch_shape, theirs.batch_shape)
    compare(ours.event_shape, theirs.event_shape)
    compare(
        result(lambda: ours.variance), result(lambda: theirs.variance), max(tolerance_of(row), 1e-6)
    )
    torch.manual_seed(1)
    y = (theirs._bartlett_sampling if row[0] == "Wishart" else theirs.sample)((2,))
    tensorlab.manual_seed(1)
    x = ours.sample((2,))
    same(x, y, max(tolerance_of(row), 1e-9))
    same(ours.log_prob(x), theirs.log_prob(y), max(tolerance_of(row), 1e-7))


@row
def test_names_and_support(row):
    ours, theirs = both(row)
    assert repr(ours).replace("tensorlab.", "torch.") == repr(theirs)
    assert repr(ours.support).replace("tensorlab.", "torch.") == repr(theirs.support)
    assert (ours.support.event_dim, ours.support.is_discrete) == (
        theirs.support.event_dim,
        theirs.support.is_discrete,
    )
    assert (ours.has_rsample, ours.has_enumerate_support) == (
        theirs.has_rsample,
        theirs.has_enumerate_support,
    )
    assert ours.support.check(ours.sample((5,))).all()

"""Transforms: values against PyTorch, inverses, and the determinant against the Jacobian."""

import numpy as np
import pytest

import tensorlab
import tensorlab.distributions
from tests.oracle import require_torch

torch = require_torch()

VECTOR = np.array([0.3, -0.7, 1.2])
# Name: a function of the package that makes the transform, and an x of one event.
TRANSFORMS = {
    "exp": (lambda d, t: d.ExpTransform(), VECTOR),
    "inverse of exp": (lambda d, t: d.ExpTransform().inv, np.abs(VECTOR)),
    "power": (lambda d, t: d.PowerTransform(t([1.5, 2.0, -0.5])), np.abs(VECTOR)),
    "sigmoid": (lambda d, t: d.SigmoidTransform(), VECTOR),
    "softplus": (lambda d, t: d.SoftplusTransform(), VECTOR),
    "tanh": (lambda d, t: d.TanhTransform(), VECTOR),
    "affine": (lambda d, t: d.AffineTransform(1.0, -2.0), VECTOR),
    "affine of tensors": (
        lambda d, t: d.AffineTransform(t([1.0, 2.0, 3.0]), t([-2.0, 0.5, 4.0])),
        VECTOR,
    ),
    "affine of vectors": (
        lambda d, t: d.AffineTransform(0.5, t([2.0, 3.0, -4.0]), event_dim=1),
        VECTOR,
    ),
    "affine of a vector by a number": (
        lambda d, t: d.AffineTransform(0.5, 3.0, event_dim=1),
        VECTOR,
    ),
    "stick breaking": (lambda d, t: d.StickBreakingTransform(), VECTOR),
    "correlation": (lambda d, t: d.CorrCholeskyTransform(), VECTOR),
    "reshape": (lambda d, t: d.ReshapeTransform((3,), (3, 1)), VECTOR),
    "independent": (lambda d, t: d.IndependentTransform(d.ExpTransform(), 1), VECTOR),
    "composed": (
        lambda d, t: d.ComposeTransform(
            [d.TanhTransform(), d.AffineTransform(0.0, 2.0), d.ExpTransform()]
        ),
        VECTOR,
    ),
    "composed to a simplex": (
        lambda d, t: d.ComposeTransform([d.AffineTransform(0.0, 2.0), d.StickBreakingTransform()]),
        VECTOR,
    ),
    "identity": (lambda d, t: d.identity_transform, VECTOR),
    "cat": (
        lambda d, t: d.CatTransform([d.ExpTransform(), d.identity_transform], 0, [1, 2]),
        VECTOR,
    ),
    "stack": (
        lambda d, t: d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.SigmoidTransform()]),
        VECTOR,
    ),
    "cdf": (lambda d, t: d.CumulativeDistributionTransform(d.Normal(t([0.5]), t([2.0]))), VECTOR),
}
WITHOUT_DETERMINANT = {
    "abs": (lambda d, t: d.AbsTransform(), VECTOR),
    "softmax": (lambda d, t: d.SoftmaxTransform(), VECTOR),
    "lower Cholesky": (
        lambda d, t: d.LowerCholeskyTransform(),
        np.array([[0.3, 0.0], [1.0, -0.4]]),
    ),
    "positive definite": (
        lambda d, t: d.PositiveDefiniteTransform(),
        np.array([[0.3, 0.0], [1.0, -0.4]]),
    ),
}
CONSTRAINTS = {
    "real": lambda c: c.real,
    "positive": lambda c: c.positive,
    "greater than 2": lambda c: c.greater_than(2.0),
    "nonnegative": lambda c: c.nonnegative,
    "less than 2": lambda c: c.less_than(2.0),
    "unit interval": lambda c: c.unit_interval,
    "interval": lambda c: c.interval(-1.0, 3.0),
    "half open interval": lambda c: c.half_open_interval(-1.0, 3.0),
    "simplex": lambda c: c.simplex,
    "correlation": lambda c: c.corr_cholesky,
    "independent": lambda c: c.independent(c.positive, 1),
    "cat": lambda c: c.cat([c.positive, c.real], 0, [1, 2]),
    "stack": lambda c: c.stack([c.positive, c.real, c.unit_interval]),
}


def on(library, table, name):
    make, x = table[name]

    def tensor(values):
        return library.tensor(values, dtype=library.float64)

    return make(library.distributions, tensor), tensor(x.tolist())


def agree(ours, theirs, tolerance=1e-9):
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("name", TRANSFORMS | WITHOUT_DETERMINANT)
def test_values(name):
    table = TRANSFORMS | WITHOUT_DETERMINANT
    ours, x = on(tensorlab, table, name)
    theirs, z = on(torch, table, name)
    agree(ours(x), theirs(z))
    agree(ours.inv(ours(x)), theirs.inv(theirs(z)), 1e-7)
    if name not in {"abs", "softmax"}:
        agree(ours.inv(ours(x)), z, 1e-7)
    assert ours.inv.inv is ours
    assert ours.bijective == theirs.bijective
    assert (ours.domain.event_dim, ours.codomain.event_dim) == (
        theirs.domain.event_dim,
        theirs.codomain.event_dim,
    )
    shape = tuple(z.shape)
    assert (
        tuple(ours.forward_shape(x.shape))
        == tuple(theirs.forward_shape(z.shape))
        == tuple(ours(x).shape)
    )
    assert tuple(ours.inverse_shape(ours(x).shape)) == shape
    assert ours.domain.check(x).all()
    assert ours.codomain.check(ours(x)).all()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_log_abs_det_jacobian(name):
    ours, x = on(tensorlab, TRANSFORMS, name)
    theirs, z = on(torch, TRANSFORMS, name)
    found = ours.log_abs_det_jacobian(x, ours(x))
    agree(found, theirs.log_abs_det_jacobian(z, theirs(z)))
    agree(ours.inv.log_abs_det_jacobian(ours(x), x), theirs.inv.log_abs_det_jacobian(theirs(z), z))

    def coordinates(
        x,
    ):  # as many as x has: the rest of a point of the simplex or of a correlation follows
        y = ours(x)
        if name in {"stick breaking", "composed to a simplex"}:
            return y[..., :-1]
        if name == "correlation":
            return tensorlab.distributions.utils.tril_matrix_to_vec(y, diag=-1)
        return y.flatten()

    jacobian = tensorlab.autograd.functional.jacobian(coordinates, x)
    agree(found.sum(), tensorlab.linalg.slogdet(jacobian).logabsdet, 1e-7)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_registries(registry, name):
    results = []
    for library in (tensorlab, torch):
        d = library.distributions
        transform = getattr(d, registry)(CONSTRAINTS[name](d.constraints))
        results.append(transform(library.tensor(VECTOR.tolist(), dtype=library.float64)))
        assert CONSTRAINTS[name](d.constraints).check(results[-1]).all()
    agree(*results)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_cache_gives_x_back(name):
    ours, x = on(tensorlab, TRANSFORMS, name)
    cached = ours.with_cache(1)
    y = cached(x)
    if name not in {"inverse of exp", "composed", "composed to a simplex", "identity"}:
        assert cached.inv(y) is x
    assert cached.with_cache(1) is cached or name == "inverse of exp"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d.ExpTransform(cache_size=2), "cache_size must be 0 or 1, not 2"),
        (lambda d: d.ReshapeTransform((2,), (3,)), "different numbers of elements"),
        (lambda d: d.StickBreakingTransform().forward_shape(()), "takes vectors"),
        (lambda d: d.CorrCholeskyTransform().forward_shape((4,)), "there is no n for 4"),
        (
            lambda d: d.CatTransform([d.ExpTransform()], 0, [2])(tensorlab.ones(3)),
            "must have size 2",
        ),
        (lambda d: d.StackTransform([d.ExpTransform()])(tensorlab.ones(3)), "must have size 1"),
        (
            lambda d: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
            "transforms must be a Transform",
        ),
        (
            lambda d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.SoftmaxTransform()),
            "events of 1 dimensions",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make(tensorlab.distributions)

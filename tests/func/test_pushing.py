"""Forward mode: over every sample, J t agrees with backward's v J; writes and views; what is nested."""

import importlib

import numpy as np
import pytest

import tensorlab
from tensorlab import func
from tests.ops.every_sample import FAMILIES, call_quietly
from tests.ops.samples import Sample, is_floating, make_tensor, normal

# backward leaves the row for padding out, or divides by how often a row is used; forward mode doesn't, as in PyTorch
NO_TRANSPOSE = ("embedding", "embedding frequency")


def numbers_like(x, rng):
    found = rng.standard_normal(tuple(x.shape))
    if x.is_complex():
        found = found + 1j * rng.standard_normal(tuple(x.shape))
    return tensorlab.from_numpy(np.asarray(found)).to(x.dtype)


def inner(one, other):
    """The inner product of complex numbers as of pairs of real ones."""
    product = one.conj() * other if one.is_complex() else one * other
    return (product.real if product.is_complex() else product).sum().item()


def sides(sample):
    """<w, J t> by forward mode and <J^T w, t> by backward, for random t and w."""
    rng = np.random.default_rng(3)
    arrays = sample.arrays()
    tensors = [make_tensor(tensorlab, array) for array in arrays]
    places = [i for i, array in enumerate(arrays) if is_floating(array) or array.dtype.kind == "c"]

    def call(*moving):
        arguments = list(tensors)
        for place, one in zip(places, moving, strict=True):
            arguments[place] = one
        results = call_quietly(sample.call, tensorlab, *arguments)
        found = [y for y in results if isinstance(y, tensorlab.Tensor)]
        return tuple([y for y in found if y.is_floating_point() or y.is_complex()])

    primals = tuple([tensors[place] for place in places])
    directions = tuple([numbers_like(x, rng) for x in primals])
    tensorlab.manual_seed(0)
    results, tangents = func.jvp(call, primals, directions)
    weights = [numbers_like(y, rng) for y in results]
    leaves = [x.clone().requires_grad_() for x in primals]
    tensorlab.manual_seed(0)
    pairs = [pair for pair in zip(call(*leaves), weights, strict=True) if pair[0].requires_grad]
    gradients = [None] * len(leaves)
    if pairs:
        outs, starts = zip(*pairs, strict=True)
        gradients = tensorlab.autograd.grad(outs, leaves, starts, allow_unused=True)
    forward = sum(inner(*pair) for pair in zip(weights, tangents, strict=True))
    found = zip(gradients, directions, strict=True)
    return forward, sum(inner(g, t) for g, t in found if g is not None)


@pytest.mark.parametrize("family", FAMILIES)
def test_forward_mode_is_the_transpose_of_backward(family):
    wrong = {}
    for sample in importlib.import_module(f"tests.ops.{family}").SAMPLES:
        if not sample.derivatives or sample.name in NO_TRANSPOSE:
            continue
        try:
            forward, backward = sides(sample)
        except Exception as error:  # all of a family at once, each with its name
            wrong[sample.name] = f"{type(error).__name__}: {error}"
            continue
        if not np.isclose(forward, backward, rtol=1e-6, atol=1e-8, equal_nan=True):
            wrong[sample.name] = f"{forward} and {backward}"
    assert not wrong


def test_so_it_is_for_rows_that_need_logarithms_of_tangents():
    long = Sample("logcumsumexp", lambda T, x: T.logcumsumexp(x, 0), normal(1100))
    assert np.isclose(*sides(long), rtol=1e-6)
    x = tensorlab.linspace(-1, 1, 1100, dtype=tensorlab.float64)
    first = tensorlab.eye(1, 1100, dtype=tensorlab.float64)[0]
    out, tangent = func.jvp(lambda x: x.logcumsumexp(0), (x,), (first,))
    assert tensorlab.allclose(tangent, (x[0] - out).exp())


# ---------------------------------------------------------------- writes and views
def halves(x):
    y = tensorlab.zeros(4, dtype=tensorlab.float64)
    y[:2] = x[:2].sin()
    view = y[1:]
    view.mul_(x[1:])
    y.unsqueeze_(0)
    y.add_(view.sum())
    return y.squeeze(0)[::2] * view[0]


def shifted(x):
    y = x.clone()
    y.view(2, 2).t().mul_(x.view(2, 2)).add_(1)
    y[0] = y[3].clone() * y[1].clone()
    y.cumsum_(0)
    return y


def complex_parts(x):
    z = tensorlab.complex(x, x.cos())
    z.real.mul_(x)
    tensorlab.view_as_real(z)[..., 1].add_(x.sum())
    return z.abs() * z.imag


X = tensorlab.tensor([0.3, -0.8, 1.2, 0.7], dtype=tensorlab.float64)


@pytest.mark.parametrize("function", [halves, shifted, complex_parts])
def test_writes_through_views_move_tangents(function):
    assert tensorlab.allclose(func.jacfwd(function)(X), func.jacrev(function)(X))


def test_a_tensor_from_outside_is_not_written_to():
    outside = tensorlab.zeros(4, dtype=tensorlab.float64)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        func.jvp(lambda x: outside.copy_(x), (X,), (X,))
    func.jvp(lambda x: outside.copy_(tensorlab.ones(4)) * x, (X,), (X,))  # a constant may go in
    assert outside.tolist() == [1, 1, 1, 1]


# ---------------------------------------------------------------- nested
NESTED = {
    "pointwise": lambda x: (x.exp() * x.sin()).sum(),
    "layer_norm": lambda x: (tensorlab.nn.functional.layer_norm(x, (4,)) ** 3).sum(),
    "layer_norm with weights": lambda x: (
        tensorlab.nn.functional.layer_norm(x.view(2, 2), (2,), x[:2].sin(), x[2:]) ** 3
    ).sum(),
    "layer_norm with a weight": lambda x: (
        tensorlab.nn.functional.layer_norm(x.view(2, 2).detach(), (2,), x[:2] ** 2) ** 2
    ).sum(),
    "solve": lambda x: tensorlab.linalg.solve(x.view(2, 2) + x.new_ones(2, 2), x[:2]).sum(),
    "prod": lambda x: x.prod(),
    "logsumexp": lambda x: x.logsumexp(0),
    "logsumexp of several": lambda x: (x.view(2, 1, 2) * x.view(2, 2, 1)).logsumexp((0, -1)).sum(),
    "logcumsumexp": lambda x: (x.logcumsumexp(0) ** 2).sum(),
    "max": lambda x: x.max() ** 3,
    "norm": lambda x: x.norm(3),
    "inverse": lambda x: tensorlab.linalg.inv(x.view(2, 2)).sum(),
    "cholesky": lambda x: tensorlab.linalg.cholesky(x.outer(x) + tensorlab.eye(4)).sum(),
}


@pytest.mark.parametrize("name", NESTED)
def test_second_derivatives_agree_whatever_the_order(name):
    expected = func.jacrev(func.jacrev(NESTED[name]))(X)
    for outer, inner_transform in ((func.jacfwd, func.jacrev), (func.jacrev, func.jacfwd)):
        assert tensorlab.allclose(outer(inner_transform(NESTED[name]))(X), expected)
    for t in tensorlab.eye(4, dtype=tensorlab.float64):
        _, along = func.jvp(lambda x, t=t: func.jvp(NESTED[name], (x,), (t,))[1], (X,), (t,))
        assert tensorlab.allclose(along, t @ expected @ t)


@pytest.mark.parametrize("name", NESTED)
def test_tangents_are_linear_in_the_direction_and_have_derivatives_by_it(name):
    along = lambda t: func.jvp(NESTED[name], (X,), (t,))[1]
    found = func.jacrev(along)(tensorlab.zeros_like(X))
    assert tensorlab.allclose(found, func.grad(NESTED[name])(X))

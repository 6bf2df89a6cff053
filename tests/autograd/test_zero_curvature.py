"""Gradients that depend on no value of the input still lead there, so that penalties on them can be differentiated."""

import pytest

import tensorlab
from tensorlab.nn import functional as F

PLANES = (1, 2, 4, 6)
VOLUMES = (1, 2, 4, 2, 6)
FUNCTIONS = {
    "avg_pool1d": ((2, 4, 6), lambda x: F.avg_pool1d(x, 2)),
    "avg_pool2d": (PLANES, lambda x: F.avg_pool2d(x, 2)),
    "avg_pool3d": (VOLUMES, lambda x: F.avg_pool3d(x, 2)),
    "max_pool1d": ((2, 4, 6), lambda x: F.max_pool1d(x, 2)),
    "max_pool2d": (PLANES, lambda x: F.max_pool2d(x, 2)),
    "max_pool3d": (VOLUMES, lambda x: F.max_pool3d(x, 2)),
    "lp_pool1d": ((2, 4, 6), lambda x: F.lp_pool1d(x, 1.0, 2)),
    "adaptive_avg_pool1d": ((2, 4, 6), lambda x: F.adaptive_avg_pool1d(x, 3)),
    "adaptive_avg_pool2d": (PLANES, lambda x: F.adaptive_avg_pool2d(x, 3)),
    "adaptive_avg_pool3d": (VOLUMES, lambda x: F.adaptive_avg_pool3d(x, 2)),
    "adaptive_max_pool1d": ((2, 4, 6), lambda x: F.adaptive_max_pool1d(x, 3)),
    "adaptive_max_pool2d": (PLANES, lambda x: F.adaptive_max_pool2d(x, 3)),
    "adaptive_max_pool3d": (VOLUMES, lambda x: F.adaptive_max_pool3d(x, 2)),
    "fractional_max_pool2d": (PLANES, lambda x: F.fractional_max_pool2d(x, 2, output_size=3)),
    "fractional_max_pool3d": (VOLUMES, lambda x: F.fractional_max_pool3d(x, 1, output_size=1)),
    "reflect": (PLANES, lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect")),
    "replicate": (PLANES, lambda x: F.pad(x, (1, 2, 3, -1), mode="replicate")),
    "area": (PLANES, lambda x: F.interpolate(x, size=3, mode="area")),
    "nll_loss": ((3, 4), lambda x: F.nll_loss(x, tensorlab.tensor([0, 3, 1]))),
}


def gradient(function, x, weight):
    (grad,) = tensorlab.autograd.grad((function(x) * weight).sum(), x, create_graph=True)
    return grad


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_second_derivative_is_zeros(name):
    shape, function = FUNCTIONS[name]
    tensorlab.manual_seed(0)
    x = tensorlab.randn(shape, requires_grad=True)
    grad = gradient(function, x, 2.0)
    assert grad.requires_grad
    (second,) = tensorlab.autograd.grad((grad**2).sum(), x)
    assert second.shape == x.shape
    assert not second.any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_of_the_gradient_that_came_in_is_kept(name):
    shape, function = FUNCTIONS[name]
    tensorlab.manual_seed(0)
    x = tensorlab.randn(shape, requires_grad=True)
    weight = tensorlab.rand(function(x).shape).requires_grad_()
    tensorlab.manual_seed(1)
    grad = gradient(function, x, weight)
    of_input, of_weight = tensorlab.autograd.grad(grad.sum(), [x, weight])
    tensorlab.manual_seed(1)
    total = function(tensorlab.ones_like(x)).detach()
    assert not of_input.any()
    if name not in ("lp_pool1d", "nll_loss"):  # linear, so that a gradient of ones goes through
        tensorlab.testing.assert_close(of_weight, total)


def test_it_leads_to_what_the_input_was_made_of():
    x = tensorlab.randn(1, 1, 4, 4, requires_grad=True)
    first, second = (x * x).split(2, 2)
    y = F.avg_pool2d(second, 2)
    (grad,) = tensorlab.autograd.grad(y.sum(), second, create_graph=True)
    (of_x,) = tensorlab.autograd.grad((grad * first).sum(), x)
    tensorlab.testing.assert_close(of_x[:, :, :2], x[:, :, :2].detach() / 2)
    assert not of_x[:, :, 2:].any()


def test_without_create_graph_nothing_is_recorded():
    x = tensorlab.randn(1, 1, 4, 4, requires_grad=True)
    (grad,) = tensorlab.autograd.grad(F.avg_pool2d(x, 2).sum(), x)
    assert not grad.requires_grad


def test_the_nearest_pixel_gives_its_grid_zeros():
    x = tensorlab.randn(1, 1, 4, 4, requires_grad=True)
    grid = tensorlab.tensor([[[[0.1, float("inf")], [0.3, -0.4]]]], requires_grad=True)
    out = F.grid_sample(x, grid, mode="nearest", align_corners=False)
    plain = F.grid_sample(x, grid.detach(), mode="nearest", align_corners=False)
    assert out.equal(plain)
    of_x, of_grid = tensorlab.autograd.grad(out.sum(), [x, grid], create_graph=True)
    assert of_x.requires_grad
    assert not of_grid.any()


def test_a_product_of_no_reflections_leads_to_them():
    x, tau = tensorlab.randn(3, 0, requires_grad=True), tensorlab.randn(0, requires_grad=True)
    other = tensorlab.randn(3, 2, requires_grad=True)
    (grad,) = tensorlab.autograd.grad(
        tensorlab.ormqr(x, tau, other).sum(), other, create_graph=True
    )
    assert grad.requires_grad
    assert grad.equal(tensorlab.ones(3, 2))

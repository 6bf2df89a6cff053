"""Which gradients of normalisations require grad under create_graph: those that depend on a leaf."""

import itertools

import pytest

import tensorlab
from tensorlab.errors import DTypeError, ShapeError
from tests.oracle import require_torch

torch = require_torch()

NORMS = {
    "layer_norm": lambda t, x, w, b: t.nn.functional.layer_norm(x, (4,), w, b),
    "batch_norm": lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, training=True),
    "batch_norm in evaluation": lambda t, x, w, b: t.nn.functional.batch_norm(
        x, t.zeros(4), t.ones(4), w, b
    ),
    "instance_norm": lambda t, x, w, b: t.nn.functional.instance_norm(
        x.view(2, 4, 3), None, None, w, b
    ),
    "group_norm": lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b),
    "rms_norm": lambda t, x, w, b: t.nn.functional.rms_norm(x, (4,), w) + b,
}
MADE_OF_OTHERS = {"instance_norm", "group_norm", "rms_norm"}


def gradients(t, norm, wants):
    x = t.arange(24.0).reshape(6, 4)
    inputs = (x, t.ones(4), t.ones(4))
    for one, wanted in zip(inputs, wants, strict=True):
        one.requires_grad_(wanted)
    leaves = [one for one in inputs if one.requires_grad]
    out = NORMS[norm](t, *inputs)
    grads = t.autograd.grad(out.sum(), leaves, create_graph=True)
    return out.grad_fn.name(), grads, leaves


@pytest.mark.parametrize("wants", list(itertools.product((False, True), repeat=3))[1:])
@pytest.mark.parametrize("norm", NORMS)
def test_gradients_of_norms_require_grad_where_they_depend_on_a_leaf(norm, wants):
    (name, ours, _), (their_name, theirs, leaves) = (
        gradients(T, norm, wants) for T in (tensorlab, torch)
    )
    assert name == their_name or norm in MADE_OF_OTHERS
    for our, their in zip(ours, theirs, strict=True):
        if our.requires_grad:
            assert their.requires_grad
        elif their.requires_grad:  # PyTorch has one node for all gradients of a norm
            found = torch.autograd.grad(
                (their * their).sum(), leaves, retain_graph=True, allow_unused=True
            )
            assert all(one is None or not one.any() for one in found)


def test_the_gradient_of_a_bias_is_a_tensor_of_its_own():
    x, bias = tensorlab.ones(3, requires_grad=True), tensorlab.ones(3, requires_grad=True)
    given = tensorlab.ones(3)
    out = tensorlab.nn.functional.layer_norm(x, (3,), None, bias)
    (found,) = tensorlab.autograd.grad(out, bias, given)
    assert found.data_ptr() != given.data_ptr()


def test_group_norm_refuses_weights_and_biases_that_are_none_of_the_channels():
    x, group_norm = tensorlab.ones(2, 4, 3), tensorlab.nn.functional.group_norm
    for shape in ((3,), (1,), (2, 2), ()):
        with pytest.raises(ShapeError, match=r"^group_norm: weight has shape .*expected \(4,\)"):
            group_norm(x, 2, tensorlab.ones(shape))
        with pytest.raises(ShapeError, match=r"^group_norm: bias has shape .*expected \(4,\)"):
            group_norm(x, 2, None, tensorlab.ones(shape))
    with pytest.raises(DTypeError, match=r"^group_norm: weight has type tensorlab.float64"):
        group_norm(x, 2, tensorlab.ones(4).double())
    assert group_norm(x.half(), 2, tensorlab.ones(4)).dtype == tensorlab.float16


def test_third_derivatives_of_layer_norm_are_those_of_its_formula():
    """PyTorch's are not: docs/appendix-differences.md."""

    def formula(x):
        centred = x - x.mean(-1, keepdim=True)
        return centred * ((centred * centred).mean(-1, keepdim=True) + 0.1).rsqrt()

    def third(norm):
        x = tensorlab.tensor([[-1.5, 1.75, 1.0], [0.5, 0.25, -2.0]], dtype=tensorlab.float64)
        y = norm(x.requires_grad_())
        (first,) = tensorlab.autograd.grad((y * y).sum(), x, create_graph=True)
        (second,) = tensorlab.autograd.grad((first * first).sum(), y, create_graph=True)
        return tensorlab.autograd.grad((second * second).sum(), x)[0]

    ours = third(lambda x: tensorlab.nn.functional.layer_norm(x, (3,), eps=0.1))
    assert ours.abs().max() > 1e-4
    tensorlab.testing.assert_close(ours, third(formula), rtol=1e-9, atol=1e-15)

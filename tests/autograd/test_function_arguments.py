"""Arguments by name of custom functions without a `setup_context`: they stand in their places, with their gradients."""

import pytest

import tensorlab
from tests.autograd.programs import collection, leaf, make

program, check = collection()


def weighted(M):
    def forward(ctx, x, y=None, factor=2.0, z=None):
        ctx.factor = factor
        return x * factor + (0 if y is None else y * 10) + (0 if z is None else z * 100)

    def backward(ctx, grad):
        gradients = [grad * ctx.factor, grad * 10, None, grad * 100][: len(ctx.needs_input_grad)]
        return tuple(
            gradient if wanted else None
            for gradient, wanted in zip(gradients, ctx.needs_input_grad, strict=True)
        )

    return make(M, forward, backward)


CALLS = {
    "one": lambda f, x, y, z: f.apply(x=x),
    "the second": lambda f, x, y, z: f.apply(x, y=y),
    "in another order": lambda f, x, y, z: f.apply(y=y, x=x),
    "with a number between": lambda f, x, y, z: f.apply(x, factor=3.0, y=y),
    "all": lambda f, x, y, z: f.apply(x, z=z, factor=5.0, y=y),
    "twice": lambda f, x, y, z: f.apply(x, x=x),
    "unknown": lambda f, x, y, z: f.apply(x, w=y),
    "the first is missing": lambda f, x, y, z: f.apply(y=y),
}


def call(name):
    def run(M):
        x, y, z = leaf(M, 1.0), leaf(M, 2.0), leaf(M, 3.0)
        out = CALLS[name](weighted(M), x, y, z)
        out.sum().backward()
        return out, out.grad_fn.needs_input_grad, x.grad, y.grad, z.grad

    run.__name__ = name.replace(" ", "_")
    return run


for name in CALLS:
    program(call(name))

test_a_program_has_the_same_outcome_as_with_pytorch = check()


def test_what_is_left_out_before_a_name_has_its_default():
    """PyTorch refuses this call."""
    x, z = leaf(tensorlab, 1.0), leaf(tensorlab, 3.0)
    out = weighted(tensorlab).apply(x, z=z)
    out.sum().backward()
    assert out.grad_fn.needs_input_grad == (True, False, False, True)
    assert (x.grad.item(), z.grad.item()) == (2.0, 100.0)


def test_what_has_only_a_name_is_a_setting():
    """PyTorch refuses it, too."""
    function = make(
        tensorlab, lambda ctx, x, y=1, *, shift=0.0: x * y + shift, lambda ctx, grad: grad
    )
    x = leaf(tensorlab, 1.0)
    assert function.apply(x, shift=3.0).item() == 4.0
    with pytest.raises(TypeError, match="no place left for 'shift', a Tensor that requires grad"):
        function.apply(x, shift=x)


def test_what_is_left_out_without_a_default_is_named():
    function = make(tensorlab, lambda ctx, x, y: x * y, lambda ctx, grad: (grad, grad))
    with pytest.raises(TypeError, match="forward needs the argument 'x', which is not given"):
        function.apply(y=leaf(tensorlab, 1.0))


def test_a_class_takes_no_settings():
    with pytest.raises(TypeError, match="no keyword arguments"):

        class Marked(tensorlab.autograd.Function, tag=1):
            pass

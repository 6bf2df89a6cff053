"""What a checkpointed call has recomputed can be read once in a pass, as in PyTorch."""

import functools
from importlib import import_module

import pytest

import tensorlab
from tensorlab.utils.checkpoint import checkpoint
from tests.oracle import require_torch


def reads_twice(T):
    """Return a Function whose backward reads ctx.saved_tensors two times."""

    class Twice(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (first,), (second,) = ctx.saved_tensors, ctx.saved_tensors
            return grad * first * second

    return Twice


def reads_once(T):
    """Return a Function that saves one tensor two times, and reads both at once."""

    class Once(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            first, second = ctx.saved_tensors
            return grad * first * second

    return Once


def checkpoint_of(T):
    return import_module(f"{T.__name__}.utils.checkpoint")


def through(T, function, make, **options):
    """Return the gradient of two passes through a checkpointed call, whose function `make` makes of a Function."""
    x = T.ones(3, requires_grad=True)
    run = functools.partial(checkpoint_of(T).checkpoint, use_reentrant=False, **options)
    y = run(make(function(T).apply, run), x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad.tolist()


READS = {
    "in the middle": lambda apply, run: lambda x: apply(x.exp()).sin(),
    "last": lambda apply, run: lambda x: apply(x.exp()),
    "nested": lambda apply, run: lambda x: run(lambda z: apply(z.exp()), x * 2).cos(),
}


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("name", READS)
def test_a_function_reads_its_saved_tensors_once(name, early_stop):
    for T in (tensorlab, require_torch()):
        with pytest.raises(checkpoint_of(T).CheckpointError, match=r"ctx\.saved_tensors"):
            through(T, reads_twice, READS[name], early_stop=early_stop)


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("name", READS)
def test_reading_once_in_each_of_two_passes_is_well(name, early_stop):
    found = [
        through(T, reads_once, READS[name], early_stop=early_stop)
        for T in (tensorlab, require_torch())
    ]
    assert found[0] == pytest.approx(found[1])


def test_without_a_checkpoint_they_can_be_read_again():
    x = tensorlab.ones(3, requires_grad=True)
    reads_twice(tensorlab).apply(x).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_what_hooks_inside_have_packed_can_be_read_again():
    found = []
    for T in (tensorlab, require_torch()):

        def with_hooks(apply, run, T=T):
            def function(x):
                with T.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                    return apply(x.exp())

            return function

        found.append(through(T, reads_twice, with_hooks))
    assert found[0] == pytest.approx(found[1])


def test_outside_of_a_pass_they_can_be_read_again():
    x = tensorlab.ones(3, requires_grad=True)
    y = checkpoint(reads_twice(tensorlab).apply, x, use_reentrant=False)
    for _ in range(3):
        assert y.grad_fn.saved_tensors[0].tolist() == [1, 1, 1]


def test_a_formula_that_asks_several_times_is_no_second_reading():
    x = tensorlab.ones(3, requires_grad=True)
    y = checkpoint(lambda x: (x * x).prod() + x.cumprod(0).sum(), x, use_reentrant=False)
    y.backward()
    assert x.grad.tolist() == [5, 4, 3]


@pytest.mark.parametrize("function", [lambda x: x.exp().sin(), lambda x: x * x])
def test_two_passes_of_a_group_need_different_tensors(function):
    for T in (tensorlab, require_torch()):
        module = checkpoint_of(T)
        x = T.ones(3, requires_grad=True)
        y = module.checkpoint(function, x, use_reentrant=False).sum()
        with module.GraphExecGroup():
            y.backward(retain_graph=True)
            with pytest.raises(module.CheckpointError):
                y.backward()

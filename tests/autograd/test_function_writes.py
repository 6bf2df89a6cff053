"""Custom functions that write to several arguments, and return what they have written in any place."""

import pytest

import tensorlab
from tests.autograd.programs import collection, leaf, make

program, check = collection()


def doubling_both(M):
    def forward(ctx, a, b):
        ctx.mark_dirty(a.mul_(2), b.mul_(3))
        return a, b

    return make(M, forward, lambda ctx, first, second: (first * 2, second * 3))


def doubling_first(M, returned, backward):
    """`returned` makes the results of the two arguments, the first of which has been doubled."""

    def forward(ctx, a, b):
        ctx.mark_dirty(a.mul_(2))
        return returned(a, b)

    return make(M, forward, backward)


def gradients(M, function, view=lambda t: t):
    """What a pass through both arguments and all results gives the leaves behind them."""
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0)
    a, b = view(x * 1), y * 1
    results = [out for out in function.apply(a, b) if isinstance(out, M.Tensor)]
    total = a.sum() + 10 * b.sum()
    for out in results:
        if out.requires_grad:
            total = total + 100 * out.sum()
    total.backward()
    return x.grad, y.grad, a, b, [out is a or out is b for out in results]


@program
def two_written_arguments(M):
    return gradients(M, doubling_both(M))


@program
def a_written_argument_comes_second(M):
    function = doubling_first(M, lambda a, b: (b * 7, a), lambda ctx, g, h: (h * 2, g * 7))
    return gradients(M, function)


@program
def a_written_argument_comes_after_what_is_no_tensor(M):
    function = doubling_first(M, lambda a, b: (3, None, a), lambda ctx, g, h, i: (i * 2, None))
    return gradients(M, function)


@program
def a_written_argument_comes_after_a_mask(M):
    function = doubling_first(M, lambda a, b: (b > 3, a), lambda ctx, g, h: (h * 2, None))
    return gradients(M, function)


@program
def a_written_view_beside_what_is_no_tensor(M):
    function = doubling_first(M, lambda a, b: (3, a), lambda ctx, g, h: (h * 2, None))
    return gradients(M, function, lambda t: t.view(2))


@program
def hooks_from_before_and_after_the_write(M):
    seen, x, y = [], leaf(M, 1.0), leaf(M, 3.0)
    a, b = x * 1, y * 1
    for name, tensor in ("a", a), ("b", b):
        tensor.register_hook(lambda grad, name=name: seen.append((name, "before", grad)))
    doubling_both(M).apply(a, b)
    for name, tensor in ("a", a), ("b", b):
        tensor.register_hook(lambda grad, name=name: seen.append((name, "after", grad)))
    (a + 10 * b).sum().backward()
    return sorted(seen, key=lambda entry: entry[:2])


test_a_program_has_the_same_outcome_as_with_pytorch = check()


def test_each_written_argument_retains_its_own_gradient():
    """PyTorch fails an internal assertion here."""
    a, b = leaf(tensorlab, 1.0) * 1, leaf(tensorlab, 3.0) * 1
    a.retain_grad()
    b.retain_grad()
    doubling_both(tensorlab).apply(a, b)
    (a + 10 * b).sum().backward()
    assert (a.grad.item(), b.grad.item()) == (1.0, 10.0)


def test_the_error_about_a_view_names_the_function():
    x = leaf(tensorlab, 1.0, 2.0) * 1
    with pytest.raises(RuntimeError, match="several outputs; only one is possible"):
        doubling_first(tensorlab, lambda a, b: (3, a), None).apply(x[:1], x)

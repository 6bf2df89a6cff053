"""Deep graphs: built, run and freed where the stack is small, whatever a level of them is made of.

A free, a count or a backward pass that recursed would end the process here. The depths are those that
`benchmarks/bench_deep_graphs.py` times; the nightly ones are the largest.
"""

import gc
import sys
import threading

import pytest

import tensorlab as T

STACK = 256 * 1024
# Python frees its own objects, such as the attributes of a tensor, inside one another, and puts some aside
# when they are too many: 50, or what the stack bears; but almost 10 000 in 3.13.
STACK_FOR_PYTHON = 2048 * 1024 if sys.version_info[:2] == (3, 13) else STACK


def run_with_small_stack(function, stack=STACK):
    """Run it in a thread whose stack is so small, and hand on what it raises."""
    errors = []

    def guarded():
        try:
            function()
        except BaseException as error:
            errors.append(error)

    size = threading.stack_size(stack)
    try:
        thread = threading.Thread(target=guarded)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    if errors:
        raise errors[0]


# ---------------------------------------------------------------- what a level may be made of
class Pass(T.autograd.Function):
    """The identity."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Keep(T.autograd.Function):
    """The identity, which keeps its input and output in every way there is."""

    @staticmethod
    def forward(ctx, x):
        out = x.clone()
        ctx.save_for_backward(x, out)
        ctx.argument = x
        return out

    @staticmethod
    def backward(ctx, grad):
        x, out = ctx.saved_tensors
        return grad * (out == x)


def pointwise(y):
    return y * 1.0


def saved_inputs(y):
    return y * (y / y).detach()


def saved_outputs(y):
    return y.abs().sqrt().square()


def custom_function(y):
    return Pass.apply(y)


def custom_function_that_keeps(y):
    return Keep.apply(y)


def in_place_on_view(y):
    y[0:1].mul_(1.0)
    return y


def written_from_itself(y):
    y[0:1] = y[1:2].clone()
    return y


def nested_view(y):
    return y[0:]


def several_outputs(y):
    return T.stack(y.unbind(0))


def hook_that_holds_the_one_before(y):
    out = y * 1.0
    out.register_hook(lambda grad, held=y: None)
    return out


def attribute_that_holds_the_one_before(y):
    out = y * 1.0
    out.retain_grad()
    out.before = y
    return out


def node_attribute(y):
    out = Pass.apply(y)
    out.grad_fn.before = y
    return out


def grad_that_holds_the_one_before(y):
    y = y * 1.0
    leaf = T.ones(2, requires_grad=True)
    leaf.grad = y
    out = y * 1.0
    out.leaf = leaf
    return out


LEVELS = {
    pointwise: 1_000_000,
    custom_function: 100_000,
    in_place_on_view: 50_000,
    nested_view: 100_000,
    saved_inputs: 100_000,
    saved_outputs: 100_000,
    custom_function_that_keeps: 50_000,
    written_from_itself: 50_000,
    several_outputs: 50_000,
    hook_that_holds_the_one_before: 50_000,
    attribute_that_holds_the_one_before: 50_000,
    node_attribute: 50_000,
    grad_that_holds_the_one_before: 50_000,
}


def deep(level, depth, x, in_the_middle=None):
    y = x * 1.0
    for i in range(depth):
        y = level(y)
        if i == depth // 2 and in_the_middle is not None:
            y.register_hook(in_the_middle)
    return y


# ---------------------------------------------------------------- what happens to the graph
def drop(level, depth):
    """Freed without having run."""
    x = T.ones(2, requires_grad=True)
    y = deep(level, depth, x)
    del y
    assert x.grad is None


def run(level, depth):
    """Freed while it runs: nothing holds its end."""
    x = T.ones(2, requires_grad=True)
    deep(level, depth, x).sum().backward()
    if level is written_from_itself:  # the second value reaches both places
        assert x.grad.tolist() == [0.0, 2.0]
    else:
        assert x.grad.tolist() == [1.0, 1.0]


def run_twice_then_drop(level, depth):
    """Kept after a pass, and freed as a whole."""
    x = T.ones(2, requires_grad=True)
    y = deep(level, depth, x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    del y
    assert x.grad.sum().item() == 4.0


def stop_in_the_middle(level, depth):
    """A hook raises half-way: half of the graph has run, the other half has not."""

    def stop(grad):
        raise ZeroDivisionError("half-way")

    x = T.ones(2, requires_grad=True)
    y = deep(level, depth, x, stop)
    with pytest.raises(ZeroDivisionError, match="half-way"):
        y.sum().backward()
    del y
    assert x.grad is None


def collect(level, depth):
    """Part of a cycle, which only the cycle collector finds."""
    x = T.ones(2, requires_grad=True)
    y = deep(level, depth, x)
    y.cycle = y
    y.register_hook(lambda grad, held=y: None)
    del y


FATES = [drop, run, run_twice_then_drop, stop_in_the_middle, collect]


def check(fate, level, depth):
    gc.collect()
    before = T.live_tensors()
    stack = STACK_FOR_PYTHON if level is attribute_that_holds_the_one_before else STACK
    run_with_small_stack(lambda: fate(level, depth), stack)
    gc.collect()
    assert T.live_tensors() == before


def name(value):
    return value.__name__ if callable(value) else None


@pytest.mark.parametrize("fate", FATES, ids=name)
@pytest.mark.parametrize("level", LEVELS, ids=name)
def test_a_deep_graph_needs_no_stack_and_leaves_nothing(level, fate):
    check(fate, level, LEVELS[level] // 25)


@pytest.mark.nightly
@pytest.mark.parametrize("fate", FATES, ids=name)
@pytest.mark.parametrize("level", LEVELS, ids=name)
def test_the_deepest_graphs_need_no_stack_and_leave_nothing(level, fate):
    check(fate, level, LEVELS[level])


def test_a_deep_graph_is_freed_from_its_leaf_side_too():
    """The end of the chain is held by a hook of the leaf, so that freeing starts there."""

    def build(depth):
        x = T.ones(2, requires_grad=True)
        y = deep(pointwise, depth, x)
        x.register_hook(lambda grad: y)

    gc.collect()
    before = T.live_tensors()
    run_with_small_stack(lambda: build(20_000))
    gc.collect()
    assert T.live_tensors() == before


def test_a_graph_of_a_gradient_is_freed_on_a_small_stack():
    """create_graph makes a graph behind each graph; together they are as deep as both."""

    def build():
        x = T.ones(2, requires_grad=True)
        y = deep(T.sin, 2_000, x)
        (grad,) = T.autograd.grad(y.sum(), x, create_graph=True)
        (grad * grad).sum().backward()
        assert x.grad is not None

    gc.collect()
    before = T.live_tensors()
    run_with_small_stack(build)
    gc.collect()
    assert T.live_tensors() == before

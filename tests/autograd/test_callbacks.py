"""Callbacks: what a hook asks to be called when the backward pass is through."""

import pytest

import tensorlab
from tests.autograd.programs import collection, leaf, make

program, check = collection()


def queue(M, callback):
    M.autograd.Variable._execution_engine.queue_callback(callback)


@program
def callbacks_come_after_everything_in_the_mode_of_the_pass(M):
    log, x = [], leaf(M, 2.0)
    x.register_post_accumulate_grad_hook(lambda leaf: log.append("accumulated"))
    x.register_hook(lambda grad: queue(M, lambda: log.append((M.is_grad_enabled(), x.grad))))
    y = (x**2).sum()
    y.backward(retain_graph=True)
    M.autograd.grad(y, x, create_graph=True)
    with M.no_grad():
        y.backward()
    return log


@program
def a_callback_queues_another(M):
    log, x = [], leaf(M, 1.0)

    def first():
        log.append("first")
        queue(M, lambda: log.append("third"))

    def hook(grad):
        queue(M, first)
        queue(M, lambda: log.append("second"))

    x.register_hook(hook)
    (x * 2).sum().backward()
    return log


@program
def each_pass_has_its_own(M):
    log = []

    def inner_backward(ctx, grad):
        queue(M, lambda: log.append("inner"))
        return grad

    inner = make(M, lambda ctx, x: x * 1, inner_backward)

    def outer_backward(ctx, grad):
        queue(M, lambda: log.append("outer"))
        with M.enable_grad():
            inner.apply(leaf(M, 1.0)).sum().backward()
        log.append("back")
        return grad

    make(M, lambda ctx, x: x * 1, outer_backward).apply(leaf(M, 1.0)).sum().backward()
    return log


@program
def a_pass_that_fails_calls_none(M):
    log, x = [], leaf(M, 1.0)
    y = x * 2

    def hook(grad):
        queue(M, lambda: log.append("called"))
        raise KeyError("hook")

    handle = y.register_hook(hook)
    for _ in range(2):
        try:
            y.sum().backward()
        except KeyError:
            log.append("failed")
            handle.remove()
    return log, x.grad


@program
def an_error_in_a_callback_ends_the_pass(M):
    log, x = [], leaf(M, 1.0)

    def fail():
        raise KeyError("callback")

    def hook(grad):
        queue(M, fail)
        queue(M, lambda: log.append("called"))

    x.register_hook(hook)
    try:
        (x * 2).sum().backward()
    except KeyError:
        log.append(x.grad)
    return log


@program
def outside_a_pass_there_is_nothing_to_wait_for(M):
    queue(M, print)


@program
def a_callback_that_is_no_function(M):
    x = leaf(M, 1.0)
    x.register_hook(lambda grad: queue(M, 3))
    (x * 2).sum().backward()


test_a_program_has_the_same_outcome_as_with_pytorch = check()


def test_a_callback_of_a_pass_that_runs_in_another_thread():
    log = []

    def backward(ctx, grad):
        if ctx.depth == 0:
            queue(tensorlab, lambda: log.append("called"))
            return grad, None
        with tensorlab.enable_grad():
            nest.apply(leaf(tensorlab, 1.0), ctx.depth - 1).sum().backward()
        return grad, None

    def forward(ctx, x, depth):
        ctx.depth = depth
        return x * 1

    nest = make(tensorlab, forward, backward)
    nest.apply(leaf(tensorlab, 1.0), 200).sum().backward()
    assert log == ["called"]


def test_the_error_says_where_to_call_it():
    with pytest.raises(RuntimeError, match="queue_callback: .* call it in a hook"):
        queue(tensorlab, print)


def test_only_a_function_can_be_queued():
    x = leaf(tensorlab, 1.0)
    x.register_hook(lambda grad: queue(tensorlab, 5))
    with pytest.raises(TypeError, match="queue_callback: the callback must be a function, not int"):
        (x * 2).sum().backward()

"""Backward passes under stress: selected inputs, batches, passes within passes, errors in the middle."""

import gc
import sys
import threading

import pytest

import tensorlab as T
from tests.autograd.programs import collection, leaf

program, check = collection()


# ---------------------------------------------------------------- inputs=
@program
def only_the_inputs_get_gradients(M):
    x, y = leaf(M, 2.0), leaf(M, 3.0)
    z = (x * y).exp()
    z.sum().backward(inputs=[y])
    return x.grad, y.grad


@program
def nodes_that_lead_nowhere_are_not_run(M):
    x, y = leaf(M, 2.0), leaf(M, 3.0)
    ran = []
    side = y.exp()
    side.grad_fn.register_hook(lambda i, o: ran.append("side"))
    z = x * side
    z.grad_fn.register_hook(lambda i, o: ran.append([grad is None for grad in i]))
    z.sum().backward(inputs=[x])
    return ran


@program
def an_input_in_the_middle_accumulates_too(M):
    x = leaf(M, 2.0)
    y = x**2
    z = y.exp()
    for _ in range(2):
        z.sum().backward(inputs=[y, x], retain_graph=True)
    return y.grad, x.grad


@program
def an_input_in_the_middle_that_retains_counts_once(M):
    x = leaf(M, 2.0)
    y = x * 2
    y.retain_grad()
    (y * 3).backward(M.ones(1, dtype=M.float64), inputs=[y])
    return y.grad, x.grad


@program
def an_input_in_the_middle_that_is_named_twice(M):
    x = leaf(M, 2.0)
    y = x * 2
    (y * 3).backward(M.ones(1, dtype=M.float64), inputs=[y, y], retain_graph=True)
    return y.grad, y.retains_grad, x.grad


@program
def an_input_below_another(M):
    x = leaf(M, 2.0)
    y = x**2
    z = y**2
    return M.autograd.grad(z.sum(), (z, y, x))


@program
def the_same_input_twice(M):
    x = leaf(M, 2.0)
    return M.autograd.grad((x**2).sum(), (x, x))


@program
def no_inputs(M):
    x = leaf(M, 2.0)
    (x**2).sum().backward(inputs=[])


@program
def the_node_of_an_input_in_the_middle_runs(M):
    x = leaf(M, 2.0)
    ran = []
    y = x.exp()
    y.grad_fn.register_hook(lambda i, o: ran.append(("ran", [grad is None for grad in i])))
    (y * 3).sum().backward(inputs=[y])
    try:
        y.sum().backward()
    except RuntimeError:
        ran.append("and has freed what it had saved")
    return ran, y.grad, x.grad


@program
def the_node_of_a_target_of_grad_does_not_run(M):
    x = leaf(M, 2.0)
    ran = []
    y = x.exp()
    y.grad_fn.register_hook(lambda i, o: ran.append("ran"))
    found = M.autograd.grad((y * 3).sum(), [y])
    y.sum().backward()
    return ran, found, x.grad


@program
def hooks_of_a_single_root_run_even_if_nothing_lies_behind_it(M):
    x, y = leaf(M, 2.0), leaf(M, 3.0)
    ran = []
    z = x.exp()
    z.register_hook(lambda grad: ran.append(("hook", grad)))
    z.grad_fn.register_hook(lambda i, o: ran.append("node"))
    return ran, M.autograd.grad(z, [y], M.ones_like(z), allow_unused=True)


@program
def a_node_that_gets_no_gradient_complains_about_what_is_freed(M):
    class First(M.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * 1

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    x, y = leaf(M, 2.0), leaf(M, 3.0)
    z = y.exp()
    z.sum().backward()
    First.apply(x, z).sum().backward()


@program
def the_inputs_of_grad_may_be_a_generator(M):
    x, y = leaf(M, 2.0), leaf(M, 3.0)
    return M.autograd.grad(x.exp().sum(), (one for one in (x, y)), materialize_grads=True)


@program
def zeros_that_stand_for_a_missing_gradient_require_grad_if_the_others_do(M):
    x, y = leaf(M, 2.0), leaf(M, 3.0)
    z = x.exp().sum()
    first = M.autograd.grad(z, [x, y], materialize_grads=True, create_graph=True)
    second = M.autograd.grad(z, [x, y], materialize_grads=True)
    return first, second


@program
def a_leaf_that_needs_no_gradient_any_more_still_runs_its_hooks(M):
    x = leaf(M, 2.0)
    ran = []
    y = x.exp()
    x.register_post_accumulate_grad_hook(lambda t: ran.append(("after", t.grad)))
    x.requires_grad_(False)
    y.sum().backward()
    return ran, x.grad


# ---------------------------------------------------------------- .grad that was there before
@program
def a_gradient_set_before_is_added_to_in_place(M):
    x = leaf(M, 1.0, 2.0)
    given = M.tensor([10.0, 20.0], dtype=M.float64)
    x.grad = given
    (x * 3).sum().backward()
    return x.grad is given, given


@program
def a_gradient_that_is_not_contiguous_keeps_its_strides(M):
    x = M.zeros(2, 3, dtype=M.float64, requires_grad=True)
    x.grad = M.ones(3, 2, dtype=M.float64).t()
    (x * 3).sum().backward()
    return x.grad.stride(), x.grad


@program
def a_gradient_that_is_a_view_is_written_through(M):
    x = leaf(M, 1.0, 2.0)
    store = M.zeros(4, dtype=M.float64)
    x.grad = store[1:3]
    (x * 3).sum().backward()
    return store


@program
def a_gradient_with_create_graph_is_replaced(M):
    x = leaf(M, 1.0, 2.0)
    first = x.grad = M.ones(2, dtype=M.float64)
    (x**2).sum().backward(create_graph=True)
    return x.grad is first, first, x.grad, x.grad.requires_grad


@program
def a_gradient_of_a_wrong_shape(M):
    leaf(M, 1.0, 2.0).grad = M.ones(3, dtype=M.float64)


@program
def a_gradient_of_a_wrong_type(M):
    leaf(M, 1.0, 2.0).grad = M.ones(2)


# ---------------------------------------------------------------- batches of vectors
@program
def a_batch_gives_the_rows_of_the_jacobian(M):
    x = leaf(M, 1.0, 2.0)
    y = M.stack([x[0] * x[1], x[0] ** 2, x[1].exp()])
    (rows,) = M.autograd.grad(y, x, M.eye(3, dtype=M.float64), is_grads_batched=True)
    return rows


@program
def a_batch_for_several_outputs_and_inputs(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0)
    outputs = (x * y, (x.sum() * y))
    vectors = (M.ones(4, 2, dtype=M.float64), M.arange(4, dtype=M.float64).reshape(4, 1))
    return M.autograd.grad(outputs, (x, y), vectors, is_grads_batched=True)


@program
def a_batch_with_an_unused_input(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0)
    return M.autograd.grad(
        x * 2, (x, y), M.eye(2, dtype=M.float64), is_grads_batched=True, allow_unused=True
    )


@program
def a_batch_with_a_graph(M):
    x = leaf(M, 1.0, 2.0)
    (rows,) = M.autograd.grad(
        x**3, x, M.eye(2, dtype=M.float64), is_grads_batched=True, create_graph=True
    )
    return M.autograd.grad(rows.sum(), x)[0].tolist()


@program
def a_batch_of_wrong_shape(M):
    x = leaf(M, 1.0, 2.0)
    M.autograd.grad(x * 2, x, M.eye(3, dtype=M.float64), is_grads_batched=True)


@program
def materialized_gradients(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0)
    return M.autograd.grad((x * 2).sum(), (x, y), materialize_grads=True)


# ---------------------------------------------------------------- passes within passes
@program
def a_hook_that_runs_backward(M):
    x, y = leaf(M, 2.0), leaf(M, 3.0)
    z = x * 1

    def hook(grad):
        (y * grad.sum()).sum().backward()

    z.register_hook(hook)
    (z * 5).sum().backward()
    return x.grad, y.grad


@program
def a_function_that_runs_backward_on_the_same_leaf(M):
    class Twice(M.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with M.enable_grad():
                (x * 10).sum().backward()
            return grad * 2

    x = leaf(M, 2.0)
    Twice.apply(x).sum().backward()
    return x.grad


def nested(M, depth):
    """A function whose backward runs another backward, `depth` deep; counts the calls."""
    calls = []

    class Deep(M.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with M.enable_grad():
                ctx.inner = x.detach() - 1
                ctx.inner.requires_grad_()
            return ctx.inner.detach()

        @staticmethod
        def backward(ctx, grad):
            calls.append(threading.get_ident())
            if ctx.inner > 0:
                with M.enable_grad():
                    Deep.apply(ctx.inner).sum().backward()
            return grad

    x = M.tensor(float(depth), requires_grad=True)
    Deep.apply(x).sum().backward()
    return x, calls


@program
def passes_within_passes(M):
    x, calls = nested(M, 100)
    return x.grad.item(), len(calls)


# ---------------------------------------------------------------- modes within modes
@program
def grad_mode_within_inference_mode(M):
    x = leaf(M, 2.0)
    seen = []
    with M.inference_mode():
        seen.append((M.is_grad_enabled(), M.is_inference_mode_enabled(), (x * 2).requires_grad))
        with M.enable_grad():
            seen.append((M.is_grad_enabled(), (x * 2).requires_grad, (x * 2).is_inference()))
            with M.inference_mode(False):
                seen.append((M.is_grad_enabled(), (x * 2).requires_grad))
        with M.inference_mode(False):
            seen.append((M.is_grad_enabled(), (x * 2).requires_grad))
            with M.no_grad():
                seen.append((M.is_grad_enabled(), (x * 2).requires_grad))
        M.set_grad_enabled(True)
        seen.append((M.is_grad_enabled(), (x * 2).requires_grad))
    seen.append((M.is_grad_enabled(), M.is_inference_mode_enabled(), (x * 2).requires_grad))
    return seen


@program
def backward_within_inference_mode(M):
    x = leaf(M, 2.0)
    y = (x * x * x).sum()
    with M.inference_mode():
        (grad,) = M.autograd.grad(y, x, create_graph=True)
        return grad.requires_grad, M.is_grad_enabled(), grad.tolist()


def packed_in_depth(M, depth):
    """How many tensors does the innermost of `depth` nested passes pack?"""
    packed = []

    def hook_at(level):
        def hook(grad):
            with M.enable_grad():
                p = M.ones(2, dtype=M.float64, requires_grad=True)
                if level == depth:
                    p * p
                    return
                q = p.sum()
                q.register_hook(hook_at(level + 1))
                q.backward()

        return hook

    with M.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        x = leaf(M, 2.0) + 1
        x.register_hook(hook_at(1))
        x.sum().backward()
    return len(packed)


@program
def packing_holds_at_any_depth(M):
    return [packed_in_depth(M, depth) for depth in (1, 59, 60, 61, 70, 130)]


test_a_program_has_the_same_outcome_as_with_pytorch = check()


def test_threads_for_deep_passes_hold_what_packs_for_as_long_as_they_run():
    class Pack:
        def __call__(self, tensor):
            return tensor

    def deep(level):
        with T.enable_grad():
            q = T.ones(2, requires_grad=True).sum()
            if level:
                q.register_hook(lambda grad: deep(level - 1))
            q.backward()

    pack = Pack()
    with T.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        before = sys.getrefcount(pack)
        (one,) = [one for one in gc.get_referrers(pack) if isinstance(one, tuple)] or [None]
        held = sys.getrefcount(one)
        for _ in range(5):
            deep(130)
        assert sys.getrefcount(pack) == before
        assert sys.getrefcount(one) == held


def test_1500_passes_within_one_another_need_no_deeper_recursion_limit():
    limit = sys.getrecursionlimit()
    x, calls = nested(T, 1500)
    assert len(calls) == 1500
    assert x.grad.item() == 1
    assert sys.getrecursionlimit() == limit
    assert len(set(calls)) > 20  # each 60 passes get a thread of their own


def test_an_error_deep_inside_reaches_the_outermost_caller():
    class Fails(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth == 200:
                raise ZeroDivisionError("at the bottom")
            with T.enable_grad():
                Fails.apply(T.ones(1, requires_grad=True), ctx.depth + 1).sum().backward()
            return grad, None

    with pytest.raises(ZeroDivisionError, match="at the bottom"):
        Fails.apply(T.ones(1, requires_grad=True), 0).sum().backward()
    x = leaf(T, 2.0)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0]


def test_a_pass_that_runs_while_a_gradient_is_added_may_be_deep():
    class Curious(T.Tensor):
        """A gradient that runs a backward of its own when something is added to it."""

        def add_(self, other):
            with T.enable_grad():
                y = T.ones(1, requires_grad=True)
                (y * 2).sum().backward()
            inner.append(y.grad.item())
            return super().add_(other)

    inner, done = [], []

    def go_down(levels):
        if levels == 0:
            x = T.ones(1, requires_grad=True)
            x.grad = T.zeros(1).as_subclass(Curious)
            with T.enable_grad():
                y = (x * 3).sum()
            y.backward()
            done.append(float(x.grad.item()))
            return
        with T.enable_grad():
            p = T.ones(1, requires_grad=True) * 1
            p.register_hook(lambda grad: go_down(levels - 1))
            p.sum().backward()

    worker = threading.Thread(target=go_down, args=(59,), daemon=True)
    worker.start()
    worker.join(timeout=60)
    assert not worker.is_alive(), "the passes wait for each other"
    assert done == [3.0]
    assert inner == [2.0]


# ---------------------------------------------------------------- errors in the middle
def chain_of(x, count):
    nodes, y = [], x
    for number in range(count):
        y = (y * 1.01).sin() if number % 2 else y + x
        nodes.append(y)
    return nodes, y.sum()


@pytest.mark.parametrize("where", range(50))
def test_a_hook_that_raises_leaves_a_usable_graph(where):
    x = leaf(T, 0.5, 0.25)
    nodes, y = chain_of(x, 50)
    (clean,) = T.autograd.grad(y, x, retain_graph=True)

    def fail(grad):
        raise ZeroDivisionError

    handle = nodes[where].register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        y.backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    y.backward()
    assert x.grad.tolist() == clean.tolist()
    assert T.is_grad_enabled()


def test_a_backward_that_raises_restores_the_modes():
    x = leaf(T, 0.5)
    y = x * 2
    y.register_hook(lambda grad: 1 / 0)
    with T.no_grad(), pytest.raises(ZeroDivisionError):
        y.backward(T.ones(1, dtype=T.float64), create_graph=True)
    assert T.is_grad_enabled()

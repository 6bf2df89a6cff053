"""The engine: order of nodes, accumulation, what is kept and what is freed, hooks, depth."""

import gc
import threading

import pytest

import tensorlab as T


def leaf(*values):
    return T.tensor(list(values), requires_grad=True)


# ---------------------------------------------------------------- gradients
def test_each_leaf_gets_its_own_gradient():
    x, y = leaf(2.0, 3.0), leaf(5.0, 7.0)
    (x * y).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    assert y.grad.tolist() == [2.0, 3.0]


def test_a_tensor_used_twice_gets_the_sum():
    x = leaf(3.0)
    (x * x + x).sum().backward()
    assert x.grad.tolist() == [7.0]


def test_a_second_backward_adds_to_grad():
    x = leaf(1.0)
    for _ in range(3):
        (x * 2).sum().backward()
    assert x.grad.tolist() == [6.0]


def test_accumulation_writes_into_the_same_grad_tensor():
    x = leaf(1.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 2).sum().backward()
    assert x.grad is first
    assert first.tolist() == [4.0]


def test_a_broadcast_operand_gets_the_gradient_summed_back():
    x, row, scalar = (
        T.ones(3, 2, requires_grad=True),
        leaf(1.0, 2.0),
        T.tensor(2.0, requires_grad=True),
    )
    (x * row * scalar).sum().backward()
    assert row.grad.tolist() == [6.0, 6.0]
    assert scalar.grad.shape == ()
    assert scalar.grad.item() == 9.0


def test_a_gradient_has_the_dtype_of_its_leaf():
    x, y = leaf(1.0, 2.0), T.tensor([3.0, 4.0], dtype=T.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype is T.float32
    assert y.grad.dtype is T.float64


def test_a_diamond_runs_each_node_once():
    runs = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: runs.append(g.item()))
    (y * 3 + y * 4).sum().backward()
    assert runs == [7.0]
    assert x.grad.item() == 14.0


def test_a_leaf_waits_for_all_its_gradients():
    x = leaf(1.0)
    runs = []
    x.register_hook(lambda g: runs.append(g.item()))
    out = x * 2 + x * 5
    assert T.autograd.grad(out, x, retain_graph=True)[0].item() == 7.0
    out.backward()
    assert runs == [7.0, 7.0]  # once in each pass, with the sum


def test_grads_given_by_the_caller_are_not_shared_with_leaves():
    x, y = leaf(1.0, 1.0), leaf(1.0, 1.0)
    g = T.ones(2)
    (x + y).backward(g)
    x.grad.add_(1)
    assert g.tolist() == [1.0, 1.0]
    assert y.grad.tolist() == [1.0, 1.0]


def test_a_gradient_that_arrives_as_a_view_is_taken_over_with_its_memory():
    x, g = T.ones(4, requires_grad=True), T.ones(2, 2)
    x.view(2, 2).backward(g)
    assert x.grad.data_ptr() == g.data_ptr()  # as in PyTorch


def test_a_first_gradient_is_taken_over_unless_it_is_held():
    x, addresses, held = leaf(1.0, 2.0, 3.0), [], []
    x.register_hook(lambda grad: addresses.append(grad.data_ptr()))
    (x * 2).sum().backward()
    assert x.grad.data_ptr() == addresses[-1]
    x.grad = None
    x.register_hook(held.append)
    (x * 2).sum().backward()
    assert x.grad.data_ptr() != addresses[-1]


# ---------------------------------------------------------------- retain_graph, create_graph, inputs
def test_a_second_backward_through_a_freed_graph_raises():
    x = leaf(1.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_a_second_backward_through_a_kept_graph_doubles_the_gradient():
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12.0


def test_nodes_that_saved_nothing_can_run_twice():
    x = leaf(1.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.item() == 2.0


def test_create_graph_gives_second_derivatives():
    x = leaf(2.0)
    (g,) = T.autograd.grad((x * x * x).sum(), x, create_graph=True)
    assert g.item() == 12.0
    (h,) = T.autograd.grad(g.sum(), x)
    assert h.item() == 12.0
    assert x.grad is None


def test_inputs_limits_which_leaves_get_a_gradient():
    x, y = leaf(2.0), leaf(3.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.item() == 3.0
    assert y.grad is None


def test_inputs_may_name_a_computed_tensor():
    x = leaf(2.0)
    y = x * 3
    (y * y).sum().backward(inputs=[y])
    assert y.grad.item() == 12.0
    assert x.grad is None


def test_grad_of_an_unused_input_raises_or_gives_none_or_zeros():
    x, y = leaf(1.0), leaf(1.0)
    out = (x * 2).sum()
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        T.autograd.grad(out, [x, y], retain_graph=True)
    assert T.autograd.grad(out, [x, y], retain_graph=True, allow_unused=True)[1] is None
    assert T.autograd.grad(out, [x, y], materialize_grads=True)[1].tolist() == [0.0]


def test_grad_with_respect_to_an_intermediate_and_its_leaf_at_once():
    x = leaf(2.0)
    y = x * x
    dy, dx = T.autograd.grad((y * 5).sum(), [y, x])
    assert dy.item() == 5.0
    assert dx.item() == 20.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: (x * 2).backward(), "one element"),
        (lambda x: T.ones(1).backward(), "requires_grad_"),
        (lambda x: (x * 2).backward(T.ones(3)), "shape"),
        (lambda x: T.autograd.grad((x * 2).sum(), T.ones(2)), "does not require grad"),
        (lambda x: (x * 2).sum().backward(inputs=[]), "empty"),
    ],
)
def test_wrong_use_raises_a_runtime_error_that_says_what_to_do(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(leaf(1.0, 2.0))


# ---------------------------------------------------------------- hooks
def test_a_hook_may_replace_the_gradient():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert x.grad.item() == 20.0


def test_a_removed_hook_is_not_called():
    x = leaf(1.0)
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    handle.remove()
    y.sum().backward()
    assert x.grad.item() == 2.0


def test_hooks_of_a_leaf_run_in_order_before_accumulation():
    x = leaf(1.0)
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 10)
    (x * 2).sum().backward()
    assert x.grad.item() == 30.0


def test_retain_grad_sees_what_the_hooks_made():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.item() == 10.0


def test_a_hook_of_another_shape_is_refused():
    y = leaf(1.0) * 2
    y.register_hook(lambda g: T.ones(5))
    with pytest.raises(RuntimeError, match="shape"):
        y.sum().backward()


def test_a_hook_that_raises_leaves_the_engine_usable():
    x = leaf(1.0)

    def fail(grad):
        raise KeyError("on purpose")

    y = x * 2
    handle = y.register_hook(fail)
    out = y.sum()
    with pytest.raises(KeyError):
        out.backward(retain_graph=True)
    handle.remove()
    out.backward()
    assert x.grad.item() == 2.0


def test_backward_inside_a_hook_does_not_disturb_the_outer_one():
    x = leaf(2.0)

    def inner(grad):
        assert not T.is_grad_enabled()  # hooks run as backward does
        with T.enable_grad():
            z = leaf(5.0)
            (z * z).sum().backward()
            assert z.grad.item() == 10.0
            (x * 3).sum().backward()

    y = x * x
    y.register_hook(inner)
    (y * y).sum().backward()
    assert x.grad.item() == 2 * 4.0 * 4.0 + 3.0


# ---------------------------------------------------------------- depth and memory
def run_with_small_stack(function):
    """Run it in a thread whose stack is 256 KiB, and hand on what it raises."""
    errors = []

    def guarded():
        try:
            function()
        except BaseException as error:
            errors.append(error)

    size = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=guarded)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    if errors:
        raise errors[0]


def chain(x, n):
    for _ in range(n):
        x = x * 1.0
    return x


def test_a_deep_graph_runs_and_is_freed_on_a_small_stack():
    x = leaf(1.0)

    def build_run_and_free():
        y = chain(x, 200_000)
        y.backward(T.ones(1))
        z = chain(x, 200_000)
        del y, z

    gc.collect()
    before = T.live_tensors()
    run_with_small_stack(build_run_and_free)
    assert x.grad.item() == 1.0
    assert T.live_tensors() == before + 1


def test_nested_views_written_in_place_are_freed_on_a_small_stack():
    x = leaf(1.0, 1.0)

    def build_and_free():
        y = x * 1
        for _ in range(5_000):
            y[0:1].mul_(1.0)
        y.sum().backward()

    run_with_small_stack(build_and_free)
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_graph_that_is_dropped_gives_its_tensors_back():
    gc.collect()
    x = leaf(1.0)
    before = T.live_tensors()
    y = chain(x, 100)
    assert T.live_tensors() > before
    del y
    assert T.live_tensors() == before


def test_training_steps_leave_no_tensors_behind():
    w = T.ones(4, 4, requires_grad=True)

    def step(fail):
        loss = ((w * 2).tanh() * w).sum()
        if fail:
            loss.register_hook(lambda g: 1 / 0)
        try:
            loss.backward()
        except ZeroDivisionError:
            pass
        with T.no_grad():
            w.sub_(w.grad if w.grad is not None else 0, alpha=0.01)
        w.grad = None

    for i in range(20):
        step(i % 10 == 9)
    gc.collect()
    tensors, allocated = T.live_tensors(), T.memory_stats()["allocated_bytes"]
    for i in range(300):
        step(i % 10 == 9)
    gc.collect()
    assert T.live_tensors() == tensors
    assert T.memory_stats()["allocated_bytes"] == allocated


def test_threads_run_backward_at_the_same_time():
    x = T.ones(3, requires_grad=True)

    def work():
        for _ in range(50):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [400.0] * 3


def test_grad_mode_belongs_to_its_thread():
    seen = []
    with T.no_grad():
        thread = threading.Thread(target=lambda: seen.append(T.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not T.is_grad_enabled()
    assert seen == [True]

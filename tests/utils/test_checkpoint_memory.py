"""Checkpointing beyond gradients: modules, memory, what it says of a second run that differs, nesting, threads."""

import gc
import importlib
import threading
import weakref
from itertools import pairwise

import pytest

import tensorlab as T
from tensorlab import nn
from tensorlab.utils import recomputing
from tensorlab.utils.checkpoint import (
    CheckpointError,
    GraphExecGroup,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)
from tests.autograd.programs import leaf
from tests.utils.counted import Counted, backward_of


# ---------------------------------------------------------------- modules and random numbers
def test_dropout_masks_and_initial_weights_make_equal_gradients():
    T.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.5), nn.Tanh(), nn.Linear(7, 2))
    x = T.randn(9, 5)
    found = []
    for run in (model, lambda x: checkpoint(model, x, use_reentrant=False)):
        model.zero_grad()
        T.manual_seed(1)
        y = run(x)
        (y * y).sum().backward()
        found.append([y, *(p.grad for p in model.parameters())])
    assert all(map(T.equal, *found))


def test_layers_of_many_kinds_pass_the_check():
    T.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Dropout2d(0.3), nn.GroupNorm(2, 4), nn.GELU(), nn.Flatten(), nn.Linear(16, 6),
        nn.LayerNorm(6), nn.Softmax(-1),
    )  # fmt: skip
    x = T.randn(3, 2, 4, 4, requires_grad=True)
    weights = T.randn(3, 6)
    found = []
    for run in (layers, lambda x: checkpoint(layers, x, use_reentrant=False)):
        x.grad = None
        T.manual_seed(1)
        (run(x) * weights).sum().backward()
        found.append(x.grad)
    assert T.equal(*found)
    assert layers[1].num_batches_tracked == 3, (
        "a recomputation moves running statistics a second time"
    )


def test_a_recomputation_that_ends_inside_a_custom_function_leaves_nothing():
    """The function had made its result, and was about to save it: node and result owned each other."""
    results = []

    class Copy(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.clone()
            ctx.save_for_backward(result)
            results.append(weakref.ref(result))
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    x = T.ones(2, requires_grad=True)
    gc.disable()
    try:
        checkpoint(lambda x: Copy.apply(x), x, use_reentrant=False).sum().backward()
        assert [result() for result in results] == [None, None]
    finally:
        gc.enable()


def test_a_module_that_comes_twice_runs_twice():
    layer = nn.Linear(3, 3)
    model = nn.Sequential(layer, layer, layer, layer)
    x = T.randn(2, 3)
    for segments in (1, 2, 4):
        y = checkpoint_sequential(model, segments, x, use_reentrant=False)
        assert T.equal(y, model(x))


def test_gradcheck_goes_through_a_checkpoint():
    x = T.tensor([0.3, 0.7], dtype=T.float64, requires_grad=True)

    def f(x):
        return checkpoint(lambda x: x.sin() * x.exp(), x, use_reentrant=False)

    assert T.autograd.gradcheck(f, (x,))
    assert T.autograd.gradgradcheck(f, (x,))


# ---------------------------------------------------------------- memory
def deep(depth, every):
    """Bytes in use between the passes, and at most, for `depth` layers; `every` of them in a checkpoint, 0 for none."""
    layers = [nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(depth)]
    x = T.randn(256, 16, requires_grad=True)
    for layer in layers:  # gradients are there before we look
        for p in layer.parameters():
            p.grad = T.zeros_like(p)
    before = T.memory_stats()["allocated_bytes"]
    T.reset_peak_memory_stats()
    y = x
    for i in range(0, depth, every or depth):
        part = nn.Sequential(*layers[i : i + (every or depth)])
        y = checkpoint(part, y, use_reentrant=False) if every else part(y)
    between = T.memory_stats()["allocated_bytes"] - before
    y.sum().backward()
    del y
    x.grad = None
    return (
        between,
        T.memory_stats()["peak_bytes"] - before,
        T.memory_stats()["allocated_bytes"] - before,
    )


def test_memory_falls_to_the_inputs_of_regions_and_one_region():
    layer = 256 * 16 * 4  # bytes of what one layer returns
    gc.collect()
    plain, sparse = deep(64, 0), deep(64, 8)
    assert 64 * layer <= plain[0] <= 66 * layer
    # eight inputs (the first is x itself) and the last output, each region's numbers for the random stream aside
    assert 8 * layer <= sparse[0] <= 9 * layer + 8 * 6144
    # in backward: one region recomputed besides
    assert sparse[1] <= plain[1] / 3
    assert plain[2] == sparse[2] == 0, "memory did not return"


def test_memory_of_recomputed_tensors_is_freed_one_by_one():
    alive = []

    class Watch(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            gc.collect()
            alive.append(T.live_tensors())
            return grad * y

    def f(x):
        for _ in range(5):
            x = Watch.apply(x)
        return x

    x = T.zeros(3, requires_grad=True)
    y = checkpoint(f, x, use_reentrant=False).sum()
    y.backward()
    steps = [after - before for before, after in pairwise(alive)]
    assert all(step < 0 for step in steps), alive


@pytest.mark.filterwarnings(
    "ignore:checkpoint. none of the inputs"
)  # the inner call: the outer has no graph
@pytest.mark.parametrize("reentrant", [False, True])
def test_nothing_is_left_when_the_graph_is_gone(reentrant):
    gc.collect()
    gc.disable()
    try:
        x = T.ones(3, requires_grad=True)
        checkpoint(lambda x: x.exp() * x, x, use_reentrant=reentrant).sum().backward()
        x.grad = None
        gc.collect()  # what others left would go meanwhile
        before = T.live_tensors()

        def f(x):
            return checkpoint(lambda x: (x.sin() * x).exp(), x * 2, use_reentrant=reentrant)

        for end in ("backward", "no backward", "an error"):
            y = checkpoint(f, x, use_reentrant=reentrant).sum()
            if end == "backward":
                y.backward()
            if end == "an error":
                y.register_hook(lambda grad: 1 / 0)
                with pytest.raises(ZeroDivisionError):
                    y.backward()
            del y
            x.grad = None
            assert T.live_tensors() == before, end
    finally:
        gc.enable()


def test_arguments_are_let_go_with_the_graph():
    x = T.ones(3, requires_grad=True)
    h = x * 2
    watch = weakref.ref(h)
    y = checkpoint(lambda h: h.exp(), h, use_reentrant=False).sum()
    del h
    assert watch() is not None
    y.backward()
    assert watch() is None


# ---------------------------------------------------------------- a recomputation that differs
def message(*functions, **options):
    with pytest.raises(CheckpointError) as caught:
        backward_of(T, *functions, **options)
    return str(caught.value)


def test_the_message_counts_what_was_saved():
    text = message(lambda x: x.exp().sin() * x, lambda x: x.exp().sin())
    assert "Forward saved 4 tensors, the recomputation 2." in text
    assert "preserve_rng_state" in text
    assert "debug=True" in text
    text = message(lambda x: x.exp(), lambda x: x.exp().sin(), early_stop=False)
    assert "Forward saved 1 tensors, the recomputation 2." in text


def test_the_message_says_which_tensor_differs_and_how():
    text = message(lambda x: x.sin().exp(), lambda x: x.sin()[:1].float().exp())
    assert (
        "Saved tensor 1 was (2,) tensorlab.float64 on cpu at version 0, "
        "and is (1,) tensorlab.float32 on cpu at version 0." in text
    )
    assert "Saved tensor 0" not in text


def sines(count, n):
    """A function that saves `count` tensors of n numbers."""

    def f(x):
        x = x[:n]
        for _ in range(count):
            x = x.sin()
        return x

    return f


def test_a_long_list_of_differences_is_cut():
    text = message(sines(20, 2), sines(20, 1))
    assert text.count("Saved tensor") == 8
    assert "12 more differ." in text


def test_a_list_that_is_just_short_enough_is_shown_whole():
    text = message(sines(8, 2), sines(8, 1))
    assert text.count("Saved tensor") == 8
    assert "more differ" not in text


def test_the_older_way_warns_of_inputs_without_gradients():
    with pytest.warns(UserWarning, match="none of the inputs requires grad"):
        checkpoint(lambda x: x * 2, T.ones(2), use_reentrant=True)


def test_debug_shows_which_lines_saved_what():
    def first(x):
        return x.exp().sin() * x

    def second(x):
        return x.exp().cos()[:1]

    text = message(first, second, debug=True, early_stop=False)
    table = [line.split(maxsplit=2) for line in text.splitlines()[3:]]
    assert [(number, run) for number, run, _ in table] == [
        (str(i), run) for i in range(4) for run in ("forward", "recomputation")
    ]
    assert [what == "nothing" for _, _, what in table] == [False] * 5 + [True, False, True]
    assert table[0][2].endswith("return x.exp().sin() * x")
    assert table[1][2].endswith("return x.exp().cos()[:1]")
    assert f"{__file__}:" in text


def test_debug_changes_no_gradient():
    tools = importlib.import_module("tensorlab.utils.checkpoint")
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with tools.set_checkpoint_debug_enabled(True):
        checkpoint(lambda x: x.exp() * x, x, use_reentrant=False).sum().backward()
    assert T.allclose(x.grad, x.detach().exp() * (1 + x.detach()))


def test_an_error_of_the_second_run_says_so():
    with pytest.raises(ZeroDivisionError) as caught:
        backward_of(T, lambda x: x.exp(), lambda x: 1 / 0)
    assert "ran again" in caught.value.__notes__[0]


def test_the_graph_is_whole_after_a_recomputation_that_differed():
    x = leaf(T, 0.5, 1.0)
    order = iter([T.sin, lambda x: x + 1, T.sin])
    y = checkpoint(lambda x: next(order)(x), x, use_reentrant=False).sum()
    with pytest.raises(CheckpointError, match="Forward saved 1 tensors, the recomputation 0"):
        y.backward()
    y.backward()
    assert T.allclose(x.grad, x.detach().cos())


def test_an_except_in_the_function_does_not_catch_the_early_stop():
    for kind in (Exception, BaseException):
        x, after = leaf(T, 0.5, 1.0), []

        def f(x, kind=kind, after=after):
            try:
                y = x.exp()
            except kind:
                y = x.sin()
            after.append(1)
            return y

        checkpoint(f, x, use_reentrant=False).sum().backward()
        assert T.allclose(x.grad, x.detach().exp())
        assert len(after) == 1


# ---------------------------------------------------------------- wrong gradients that PyTorch gives in silence
def test_a_weight_written_before_backward_is_noticed():
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    y = checkpoint(lambda x: (x * w).sin(), x, use_reentrant=False)
    with T.no_grad():
        w.add_(1)
    with pytest.raises(CheckpointError, match="at version 0, and is .* at version 1"):
        y.sum().backward()


def test_a_function_that_writes_to_what_it_saved_is_noticed():
    x = leaf(T, 0.5, 1.0)

    def f(x):
        h = x.exp()
        y = h * h
        h.add_(1)
        return y.sin() * h

    with pytest.raises(RuntimeError, match="in-place|in place"):
        f(x).sum().backward()
    with pytest.raises(RuntimeError, match="in place after an operation has saved it"):
        checkpoint(f, x, use_reentrant=False).sum().backward()
    assert x.grad is None


def test_an_inner_argument_that_the_outer_function_writes_to_is_noticed():
    x = leaf(T, 0.5, 1.0)

    def outer(x):
        h = x * 2
        y = checkpoint(lambda h: h.exp(), h, use_reentrant=False)
        h.add_(1)
        return y.sin() * h

    with pytest.raises(RuntimeError, match="in-place|in place"):
        checkpoint(outer, x, use_reentrant=False).sum().backward()


def test_a_tensor_by_name_that_is_written_before_backward_is_noticed():
    x, c = leaf(T, 1.0, 2.0), T.tensor([2.0, 3.0], dtype=T.float64)
    y = checkpoint(lambda x, c: x * c, x, c=c, use_reentrant=False)
    c.add_(1)
    with pytest.raises(RuntimeError, match="at version 1 but was saved at 0"):
        y.sum().backward()


# ---------------------------------------------------------------- passes inside passes, and several threads
def test_a_pass_inside_a_pass_through_the_same_region():
    x = leaf(T, 0.5, 1.0)
    a, b = checkpoint(lambda x: (x.exp(), x.sin()), x, use_reentrant=False)
    seen = []

    def again(grad):
        seen.append(T.autograd.grad(total, x, retain_graph=True)[0])

    inner, total = b * 1, b.sum()
    inner.register_hook(again)
    (a.sum() + inner.sum()).backward(retain_graph=True)
    assert T.allclose(seen[0], x.detach().cos())
    assert T.allclose(x.grad, x.detach().cos() + x.detach().exp())


def test_several_threads_through_one_region():
    x = leaf(T, 0.5, 1.0)
    y = checkpoint(lambda x: (x.exp() * x).sin(), x, use_reentrant=False).sum()
    (expected,) = T.autograd.grad(y, x, retain_graph=True)
    found = []

    def work():
        for _ in range(50):
            (slope,) = T.autograd.grad(y, x, retain_graph=True)
            found.append(T.equal(slope, expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 200


def test_deep_chains_of_regions():
    for reentrant in (False, True):
        x = leaf(T, 0.5)
        y = x
        for _ in range(500):
            y = checkpoint(lambda y: (y * 1.001).sin(), y, use_reentrant=reentrant)
        y.backward()
        z = plain = x.detach().requires_grad_()
        for _ in range(500):
            z = (z * 1.001).sin()
        z.backward()
        assert T.equal(x.grad, plain.grad)


@pytest.mark.parametrize("length", [3, 40])
def test_used_tensors_are_freed_although_the_graph_is_kept(length):
    def f(x):
        for _ in range(length):
            x = x.sin()
        return x

    x = T.ones(3, requires_grad=True)
    y = checkpoint(f, x, use_reentrant=False).sum()
    x.grad = T.zeros(3)
    gc.collect()  # what others left would go meanwhile
    before = T.live_tensors()
    for _ in range(3):
        y.backward(retain_graph=True)
        assert T.live_tensors() - before <= 2 * recomputing.RECENT
    assert T.allclose(T.autograd.grad(f(x).sum(), x)[0] * 3, x.grad)


def test_a_group_keeps_its_number_of_runs_over_many_passes():
    x = leaf(T, 0.5, 1.0)
    f = Counted(lambda x: [x.exp(), x.sin(), x.tanh()])
    outputs = checkpoint(f, x, use_reentrant=False)
    with GraphExecGroup():
        for y in outputs:
            y.sum().backward(retain_graph=True)
    assert f.calls == 2
    with set_checkpoint_early_stop(False):
        for y in outputs:
            y.sum().backward(retain_graph=True)
    assert f.calls == 5

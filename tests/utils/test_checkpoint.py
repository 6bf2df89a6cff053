"""Checkpointing: gradients as without it and as PyTorch's, how often the function runs, and what the options do."""

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
from tests.autograd.programs import collection, leaf

program, check = collection()


def tools(M):
    """The module utils.checkpoint of a package."""
    return importlib.import_module(f"{M.__name__}.utils.checkpoint")


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def curve(M):
    return Counted(lambda x: (x.sin() * x.exp()).tanh() * x)


# ---------------------------------------------------------------- values and numbers of calls
def both_ways(function):
    """Make two programs of one that takes `reentrant`."""
    for reentrant in (False, True):

        def run(M, reentrant=reentrant):
            return function(M, reentrant)

        run.__name__ = f"{function.__name__}_{'reentrant' if reentrant else 'lazily'}"
        program(run)
    return function


@both_ways
def gradients_of_one_region(M, reentrant):
    x, f = leaf(M, 1.0, 2.0), curve(M)
    y = tools(M).checkpoint(f, x, use_reentrant=reentrant)
    y.sum().backward()
    return y, x.grad, f.calls


@both_ways
def regions_in_a_row_share_a_leaf(M, reentrant):
    x, w, f = leaf(M, 0.3, -0.7), leaf(M, 1.5, 2.0), Counted(lambda x, w: (x * w).tanh() * w)
    y = x
    for _ in range(4):
        y = tools(M).checkpoint(f, y, w, use_reentrant=reentrant)
    y.sum().backward()
    return y, x.grad, w.grad, f.calls


@both_ways
def a_weight_inside_the_function(M, reentrant):
    x, w = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0)
    tools(M).checkpoint(lambda x: (x * w).sin() * w, x, use_reentrant=reentrant).sum().backward()
    return x.grad, w.grad


@both_ways
def several_outputs_and_arguments_that_are_no_tensors(M, reentrant):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 0.5, 0.25)

    def f(x, power, name, y, nothing):
        assert (name, nothing) == ("exp", None)
        return (x**power * y).exp(), x * y.sin()

    a, b = tools(M).checkpoint(f, x, 2, "exp", y, None, use_reentrant=reentrant)
    (a * b + b).sum().backward()
    return a, b, x.grad, y.grad


@both_ways
def an_argument_without_grad(M, reentrant):
    x, c = leaf(M, 1.0, 2.0), M.tensor([2.0, 3.0], dtype=M.float64)
    tools(M).checkpoint(
        lambda x, c: (x * c).sin() * c, x, c, use_reentrant=reentrant
    ).sum().backward()
    return x.grad, c.grad


@both_ways
def no_argument_that_needs_grad(M, reentrant):
    w, x = leaf(M, 1.0, 2.0), M.tensor([2.0, 3.0], dtype=M.float64)
    y = tools(M).checkpoint(lambda x: (x * w).sin(), x, use_reentrant=reentrant)
    y.sum().backward()
    return w.grad


@both_ways
def inside_no_grad(M, reentrant):
    x, f = leaf(M, 1.0, 2.0), curve(M)
    with M.no_grad():
        return tools(M).checkpoint(f, x, use_reentrant=reentrant), f.calls


@both_ways
def a_second_backward_with_retain_graph(M, reentrant):
    x, f = leaf(M, 1.0, 2.0), curve(M)
    y = tools(M).checkpoint(f, x, use_reentrant=reentrant).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, f.calls


@both_ways
def a_second_backward_without_it(M, reentrant):
    x = leaf(M, 1.0, 2.0)
    y = tools(M).checkpoint(curve(M), x, use_reentrant=reentrant).sum()
    y.backward()
    y.backward()


@both_ways
def autograd_grad(M, reentrant):
    x = leaf(M, 1.0, 2.0)
    y = tools(M).checkpoint(curve(M), x, use_reentrant=reentrant).sum()
    return M.autograd.grad(y, x)


@both_ways
def backward_with_inputs(M, reentrant):
    x, w = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0)
    y = tools(M).checkpoint(lambda x: (x * w).sin() * w, x, use_reentrant=reentrant).sum()
    y.backward(inputs=[x])
    return x.grad, w.grad


@both_ways
def nested(M, reentrant):
    x, f = leaf(M, 1.0, 2.0), curve(M)
    g = Counted(lambda x: tools(M).checkpoint(f, x.cos(), use_reentrant=reentrant).exp())
    h = Counted(lambda x: tools(M).checkpoint(g, x * x, use_reentrant=reentrant).sin())
    y = tools(M).checkpoint(h, x, use_reentrant=reentrant)
    y.sum().backward()
    return y, x.grad


@both_ways
def an_argument_changed_in_place_afterwards(M, reentrant):
    x = leaf(M, 1.0, 2.0)
    y = x * 2
    z = tools(M).checkpoint(curve(M), y, use_reentrant=reentrant)
    y.add_(1)
    z.sum().backward()


@both_ways
def the_function_raises(M, reentrant):
    x = leaf(M, 1.0, 2.0)
    tools(M).checkpoint(lambda x: x @ M.ones(3, 3, dtype=M.float64), x, use_reentrant=reentrant)


@both_ways
def outputs_that_do_not_depend_on_the_input(M, reentrant):
    x = leaf(M, 1.0, 2.0)
    y = tools(M).checkpoint(lambda x: x.detach() * 2, x, use_reentrant=reentrant)
    y.sum().backward()
    return x.grad


@both_ways
def linear_layers_and_dropout(M, reentrant):
    M.manual_seed(5)
    model = M.nn.Sequential(
        M.nn.Linear(6, 8), M.nn.Dropout(0.5), M.nn.Tanh(), M.nn.Linear(8, 3)
    ).double()
    x = M.linspace(-1, 1, 24, dtype=M.float64).reshape(4, 6).requires_grad_()
    y = tools(M).checkpoint(model, x, use_reentrant=reentrant)
    plain = [p.clone() for p in M.autograd.grad(model(x).sum(), x)]  # draws another mask
    y.sum().backward()
    assert not M.equal(plain[0], x.grad)
    return (y == 0).tolist(), M.rand(3)


@both_ways
def the_stream_of_random_numbers_goes_on_as_if_nothing_was_recomputed(M, reentrant):
    M.manual_seed(1)
    x = leaf(M, 1.0, 2.0)
    y = tools(M).checkpoint(
        lambda x: (x * M.rand(2, dtype=M.float64)).sin(), x, use_reentrant=reentrant
    )
    between = M.rand(2)
    y.sum().backward()
    return y, x.grad, between, M.rand(2)


@both_ways
def without_preserving_it(M, reentrant):
    M.manual_seed(1)
    x = leaf(M, 1.0, 2.0)
    y = tools(M).checkpoint(
        lambda x: (x * M.rand(2, dtype=M.float64)).sin(),
        x,
        use_reentrant=reentrant,
        preserve_rng_state=False,
    )
    y.sum().backward()
    return y, x.grad, M.rand(2)


@both_ways
def a_sequence_in_segments(M, reentrant):
    results = []
    for segments in (1, 2, 3, 7):
        fs = [Counted(lambda x, k=k: (x * (k + 1)).sin() * x) for k in range(7)]
        x = leaf(M, 0.5, 0.25)
        y = tools(M).checkpoint_sequential(fs, segments, x, use_reentrant=reentrant)
        y.sum().backward()
        results.append((y, x.grad, [f.calls for f in fs]))
    return results


@both_ways
def a_sequential_module_in_segments(M, reentrant):
    M.manual_seed(0)
    layers = [make() for _ in range(3) for make in (lambda: M.nn.Linear(4, 4), M.nn.Tanh)]
    model = M.nn.Sequential(*layers).double()
    x = M.linspace(-1, 1, 8, dtype=M.float64).reshape(2, 4).requires_grad_()
    y = tools(M).checkpoint_sequential(model, 3, x, use_reentrant=reentrant)
    y.sum().backward()
    return [y.shape, y.requires_grad, [p.grad.shape for p in model.parameters()]]


@program
def nested_structures_of_outputs(M):
    x = leaf(M, 1.0, 2.0)
    out = tools(M).checkpoint(
        lambda x: {"a": [x.exp(), 3], "b": (x.sin() * x,)}, x, use_reentrant=False
    )
    (out["a"][0] * out["b"][0]).sum().backward()
    return out["a"][1], x.grad


@program
def tensors_in_lists_get_gradients(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 0.5, 0.25)
    f = Counted(lambda pair: pair[0].exp() * pair[1]["y"].sin())
    tools(M).checkpoint(f, [x, {"y": y}], use_reentrant=False).sum().backward()
    return x.grad, y.grad, f.calls


@program
def tensors_in_lists_get_none_by_the_older_way(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 0.5, 0.25)
    z = tools(M).checkpoint(lambda x, ys: (x * ys[0]).exp(), x, [y * 1], use_reentrant=True)
    z.sum().backward()
    return x.grad


@program
def arguments_by_name(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 0.5, 0.25)
    z = tools(M).checkpoint(
        lambda x, *, y, power: (x**power * y).exp(), x, y=y, power=2, use_reentrant=False
    )
    z.sum().backward()
    return x.grad, y.grad


@program
def arguments_by_name_are_refused_by_the_older_way(M):
    x = leaf(M, 1.0, 2.0)
    tools(M).checkpoint(lambda x, y: x * y, x, y=2, use_reentrant=True)


@program
def a_second_derivative(M):
    x, f = leaf(M, 0.7, 1.1), curve(M)
    y = tools(M).checkpoint(f, x, use_reentrant=False).sum()
    (first,) = M.autograd.grad(y, x, create_graph=True)
    (second,) = M.autograd.grad(first.sum(), x)
    return first, second, f.calls


@program
def a_derivative_inside_the_function(M):
    x = leaf(M, 0.7, 1.1)

    def f(x):
        y = (x.sin() * x).exp()
        (slope,) = M.autograd.grad(y.sum(), x, create_graph=True)
        return slope * y

    results = []
    for stop in (True, False):
        x.grad = None
        y = tools(M).checkpoint(f, x, use_reentrant=False, early_stop=stop)
        y.sum().backward()
        results.append((y, x.grad))
    return results


@program
def each_level_of_nesting_adds_a_run(M):
    x, f = leaf(M, 1.0, 2.0), curve(M)
    run = tools(M).checkpoint
    g = Counted(lambda x: run(f, x.cos(), use_reentrant=False).exp())
    h = Counted(lambda x: run(g, x * x, use_reentrant=False).sin())
    y = run(h, x, use_reentrant=False)
    y.sum().backward()
    return y, x.grad, f.calls, g.calls, h.calls


def how_far(M, **options):
    """A function whose last op saves nothing: which of its parts ran, and how often."""
    x, parts = leaf(M, 1.0, 2.0), []

    def f(x):
        parts.append("start")
        y = x.exp() * x
        parts.append("saved all")
        y = y + 1
        parts.append("end")
        return y

    y = tools(M).checkpoint(f, x, use_reentrant=False, **options)
    y.sum().backward()
    return x.grad, parts


@program
def the_recomputation_stops_when_all_is_there(M):
    return how_far(M)


@program
def it_does_not_stop_if_told_so(M):
    return how_far(M, early_stop=False)


@program
def a_context_overrides_early_stop(M):
    with tools(M).set_checkpoint_early_stop(False):
        first = how_far(M, early_stop=True)
    with tools(M).set_checkpoint_early_stop(True):
        with tools(M).set_checkpoint_early_stop(False):
            pass
        second = how_far(M, early_stop=False)
    return first, second, how_far(M)


@program
def a_function_whose_saved_tensors_are_not_needed_runs_once(M):
    x, f = leaf(M, 1.0, 2.0), Counted(lambda x: x + 1)
    tools(M).checkpoint(f, x, use_reentrant=False).sum().backward()
    return x.grad, f.calls


@program
def only_regions_on_the_way_run_again(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 1.0, 2.0)
    f, g = curve(M), curve(M)
    a = tools(M).checkpoint(f, x, use_reentrant=False)
    b = tools(M).checkpoint(g, y, use_reentrant=False)
    (a + b).sum().backward(inputs=[y])
    return f.calls, g.calls, x.grad, y.grad


@program
def two_contexts_for_the_two_runs(M):
    seen = []

    class Note:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(f"enter {self.name}")

        def __exit__(self, *_):
            seen.append(f"exit {self.name}")

    x = leaf(M, 1.0, 2.0)
    f = Counted(lambda x: seen.append("f") or x.exp() * x)
    y = tools(M).checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: (Note("first"), Note("second"))
    )
    y.sum().backward()
    return seen


@program
def a_forward_context_that_swallows_errors(M):
    import contextlib

    x = leaf(M, 1.0)
    tools(M).checkpoint(
        lambda x: x / [],
        x,
        use_reentrant=False,
        context_fn=lambda: (contextlib.suppress(TypeError), contextlib.nullcontext()),
    )


@program
def saved_values_outside_a_pass(M):
    x = leaf(M, 1.0, 2.0)
    y = tools(M).checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    first = y.grad_fn._saved_result.tolist(), y.grad_fn._saved_result.tolist()
    y.sum().backward()
    return first, x.grad


@program
def two_passes_in_a_group_recompute_once(M):
    x, f = leaf(M, 1.0, 2.0), Counted(lambda x: (x.exp(), x.sin()))
    a, b = tools(M).checkpoint(f, x, use_reentrant=False)
    with tools(M).GraphExecGroup():
        a.sum().backward(retain_graph=True)
        b.sum().backward()
    return x.grad, f.calls


@program
def groups_do_not_nest(M):
    with tools(M).GraphExecGroup(), tools(M).GraphExecGroup():
        pass


@program
def hooks_of_the_user_around_a_region_see_its_arguments(M):
    seen = []
    x = leaf(M, 1.0, 2.0)
    with M.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
        y = tools(M).checkpoint(lambda x: (x * 3).exp(), x, use_reentrant=False)
        y = y.sin()
    y.sum().backward()
    return [values for values in seen if values], x.grad


@program
def saved_tensor_hooks_are_forbidden(M):
    with M.autograd.graph.disable_saved_tensors_hooks("not here"):
        tools(M).checkpoint(curve(M), leaf(M, 1.0), use_reentrant=False)


# ---------------------------------------------------------------- what is refused
@program
def an_unknown_determinism_check(M):
    tools(M).checkpoint(curve(M), leaf(M, 1.0), use_reentrant=False, determinism_check="strict")


@program
def debug_with_contexts(M):
    tools(M).checkpoint(
        curve(M), leaf(M, 1.0), use_reentrant=False, debug=True, context_fn=lambda: (None, None)
    )


@program
def debug_by_the_older_way(M):
    tools(M).checkpoint(curve(M), leaf(M, 1.0), use_reentrant=True, debug=True)


@program
def contexts_by_the_older_way(M):
    tools(M).checkpoint(curve(M), leaf(M, 1.0), use_reentrant=True, context_fn=lambda: (None, None))


@program
def an_unknown_option_of_a_sequence(M):
    tools(M).checkpoint_sequential([curve(M)], 1, leaf(M, 1.0), use_reentrant=False, debug=True)


@program
def more_segments_than_functions(M):
    tools(M).checkpoint_sequential([curve(M)], 2, leaf(M, 1.0), use_reentrant=False)


@program
def leaves_over_the_same_memory(M):
    x, y = leaf(M, 1.0) * 2, M.tensor([3.0])
    a, b, c = tools(M).detach_variable((x, y, "text"))
    return a.requires_grad, a.is_leaf, a.data_ptr() == x.data_ptr(), b.requires_grad, c


@program
def detach_variable_takes_a_tuple(M):
    tools(M).detach_variable([M.ones(1)])


def changing(M, *functions):
    """A function that does something else each time it is called."""
    order = iter(functions)
    return lambda x: next(order)(x)


def backward_of(M, *functions, **options):
    x = leaf(M, 0.5, 1.0)
    y = tools(M).checkpoint(changing(M, *functions), x, use_reentrant=False, **options)
    y.sum().backward()
    return x.grad


@program
def fewer_tensors_saved(M):
    backward_of(M, lambda x: x.exp().sin() * x, lambda x: x.exp().sin())


@program
def more_tensors_saved(M):
    backward_of(M, lambda x: x.exp(), lambda x: x.exp().sin(), early_stop=False)


@program
def more_tensors_saved_go_unnoticed_when_it_stops_early(M):
    return backward_of(M, lambda x: x.exp(), lambda x: x.exp().sin())


@program
def another_shape(M):
    backward_of(M, lambda x: x.exp().sin(), lambda x: x[:1].exp().sin())


@program
def another_dtype(M):
    backward_of(M, lambda x: x.exp().sin(), lambda x: x.float().exp().sin())


@program
def another_shape_without_the_check(M):
    return backward_of(
        M, lambda x: x.sin() * 2, lambda x: x.unsqueeze(0).sin() * 2, determinism_check="none"
    )


test_a_program_has_the_same_outcome_as_with_pytorch = check()


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


def test_a_long_list_of_differences_is_cut():
    def many(n):
        def f(x):
            x = x[:n]
            for _ in range(20):
                x = x.sin()
            return x

        return f

    text = message(many(2), many(1))
    assert text.count("Saved tensor") == 8
    assert "12 more differ." in text


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


def test_saved_tensors_may_be_read_twice():
    class Twice(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    x, f = leaf(T, 1.0), Counted(Twice.apply)
    checkpoint(f, x, use_reentrant=False).backward()
    assert T.allclose(x.grad, x.detach().exp() ** 2)
    assert f.calls == 2


@pytest.mark.parametrize("length", [3, 40])
def test_used_tensors_are_freed_although_the_graph_is_kept(length):
    def f(x):
        for _ in range(length):
            x = x.sin()
        return x

    x = T.ones(3, requires_grad=True)
    y = checkpoint(f, x, use_reentrant=False).sum()
    x.grad = T.zeros(3)
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

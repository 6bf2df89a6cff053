"""Checkpointing on both packages: gradients, how often the function runs, what the options do, what is refused."""

from tests.autograd.programs import collection, leaf
from tests.utils.counted import Counted, backward_of, curve, tools

program, check = collection()


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

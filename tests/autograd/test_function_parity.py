"""Custom functions do what PyTorch's do: the same small programs run with both."""

from tests.autograd.programs import collection, leaf

program, check = collection()


def make(M, forward, backward, **members):
    """A Function class with these static methods."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), **members}
    return type("Made", (M.autograd.Function,), members)


# ---------------------------------------------------------------- setup_context, arguments
@program
def backward_runs_under_inference_mode(M):
    class Double(M.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    x = leaf(M, 2.0)
    y = Double.apply(x).sum()
    with M.inference_mode():
        y.backward()
    return x.grad.tolist()


@program
def only_tensors_among_the_arguments_have_edges(M):
    class Scale(M.autograd.Function):
        @staticmethod
        def forward(ctx, factor, x, name, y):
            return x * factor + y

        @staticmethod
        def backward(ctx, grad):
            return None, grad, None, grad

    x, y = leaf(M, 2.0), M.ones(1, dtype=M.float64)
    z = Scale.apply(3.0, x, "name", y)
    gradients = []
    z.grad_fn.register_hook(lambda i, o: gradients.append([grad is None for grad in i]))
    z.sum().backward()
    return [node is None for node, _ in z.grad_fn.next_functions], gradients, x.grad


@program
def a_gradient_for_an_argument_that_was_no_tensor_is_refused(M):
    class Scale(M.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    x = leaf(M, 2.0)
    Scale.apply(x, 3.0).sum().backward()


@program
def setup_context_with_keywords_and_defaults(M):
    class Scale(M.autograd.Function):
        @staticmethod
        def forward(x, factor=3.0, *, shift=1.0):
            return x * factor + shift

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]
            ctx.count = len(inputs)

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None, None

    x = leaf(M, 1.0, 2.0)
    return Scale.apply(x, factor=5.0)


@program
def setup_context_defaults_are_filled_in(M):
    class Scale(M.autograd.Function):
        @staticmethod
        def forward(x, factor=3.0):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = leaf(M, 1.0, 2.0)
    y = Scale.apply(x)
    y.sum().backward()
    return y, x.grad


@program
def keywords_without_setup_context(M):
    x = leaf(M, 1.0)
    y = make(M, lambda ctx, x, k=2: x * k, lambda ctx, g: (g * 3, None)).apply(x, k=3)
    y.sum().backward()
    return y, x.grad


@program
def arguments_that_are_not_tensors(M):
    def forward(ctx, x, how, table, y):
        ctx.save_for_backward(x, y)
        ctx.table = table
        return x * table["a"] + y

    def backward(ctx, grad):
        assert ctx.needs_input_grad == (True, False, False, True)
        return grad * ctx.table["a"], None, None, grad

    x, y = leaf(M, 1.0), leaf(M, 2.0)
    make(M, forward, backward).apply(x, "mul", {"a": 4}, y).backward(M.ones(1, dtype=M.float64))
    return x.grad, y.grad


@program
def results_that_are_not_tensors(M):
    f = make(M, lambda ctx, x: (x * 2, "text", None, 5), lambda ctx, *grads: grads[0] * 2)
    x = leaf(M, 1.0)
    out = f.apply(x)
    out[0].sum().backward()
    return out[1:], out[0], x.grad


@program
def gradients_of_results_that_are_not_tensors_are_none(M):
    seen = []

    def backward(ctx, *grads):
        seen.append([grad is None for grad in grads])
        return grads[0] * 2

    x = leaf(M, 1.0)
    make(M, lambda ctx, x: (x * 2, "text", x * 3), backward).apply(x)[0].sum().backward()
    return seen, x.grad


# ---------------------------------------------------------------- gradients that are refused
@program
def too_few_gradients(M):
    f = make(M, lambda ctx, x, y: x * y, lambda ctx, g: g)
    f.apply(leaf(M, 1.0), leaf(M, 2.0)).sum().backward()


@program
def too_many_gradients(M):
    f = make(M, lambda ctx, x: x * 1, lambda ctx, g: (g, g))
    f.apply(leaf(M, 1.0)).sum().backward()


@program
def trailing_nones_are_forgiven(M):
    x = leaf(M, 1.0)
    make(M, lambda ctx, x: x * 1, lambda ctx, g: (g, None, None)).apply(x).sum().backward()
    return x.grad


@program
def a_gradient_of_wrong_shape(M):
    f = make(M, lambda ctx, x: x * 1, lambda ctx, g: M.ones(3, dtype=M.float64))
    f.apply(leaf(M, 1.0, 2.0)).sum().backward()


@program
def a_gradient_that_can_be_summed_to_the_shape(M):
    x = leaf(M, 1.0)
    make(M, lambda ctx, x: x * 1, lambda ctx, g: M.ones(3, 1, dtype=M.float64)).apply(
        x
    ).sum().backward()
    return x.grad


@program
def a_gradient_of_another_type_is_converted(M):
    x = leaf(M, 1.0)
    make(M, lambda ctx, x: x * 1, lambda ctx, g: M.ones(1)).apply(x).sum().backward()
    return x.grad


@program
def a_gradient_of_integers_is_converted(M):
    x = leaf(M, 1.0)
    make(M, lambda ctx, x: x * 1, lambda ctx, g: M.tensor([3])).apply(x).sum().backward()
    return x.grad


@program
def a_gradient_that_is_no_tensor(M):
    make(M, lambda ctx, x: x * 1, lambda ctx, g: 1.0).apply(leaf(M, 1.0)).sum().backward()


@program
def a_gradient_for_an_argument_that_needs_none(M):
    x = leaf(M, 1.0)
    f = make(M, lambda ctx, x, y: x * y, lambda ctx, g: (g, g * 2))
    f.apply(x, M.ones(1, dtype=M.float64)).sum().backward()
    return x.grad


@program
def none_where_a_gradient_is_needed(M):
    x, y = leaf(M, 1.0), leaf(M, 2.0)
    f = make(M, lambda ctx, x, y: x * y, lambda ctx, g: (None, g * 2))
    f.apply(x, y).sum().backward()
    return x.grad, y.grad


# ---------------------------------------------------------------- twice
def cube(M):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad

    return make(M, forward, backward)


@program
def double_backward_three_times_over(M):
    x = leaf(M, 1.5, -2.0)
    first = M.autograd.grad(cube(M).apply(x).sum(), x, create_graph=True)[0]
    second = M.autograd.grad(first.sum(), x, create_graph=True)[0]
    third = M.autograd.grad(second.sum(), x)[0]
    return first, second, third


@program
def double_backward_repeated_with_retain(M):
    x = leaf(M, 1.5)
    first = M.autograd.grad(cube(M).apply(x).sum(), x, create_graph=True)[0]
    return [M.autograd.grad(first.sum(), x, retain_graph=True)[0] for _ in range(3)]


@program
def double_backward_through_a_saved_output(M):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    x = leaf(M, 0.5)
    f = make(M, forward, lambda ctx, grad: grad * ctx.saved_tensors[0])
    first = M.autograd.grad(f.apply(x).sum(), x, create_graph=True)[0]
    return first, M.autograd.grad(first.sum(), x)[0]


def once(M):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad

    return make(M, forward, M.autograd.function.once_differentiable(backward))


@program
def once_differentiable_once(M):
    x = leaf(M, 3.0)
    once(M).apply(x).sum().backward()
    return x.grad


@program
def once_differentiable_twice(M):
    x, vector = leaf(M, 3.0), leaf(M, 1.0)
    first = M.autograd.grad(once(M).apply(x), x, vector, create_graph=True)[0]
    assert first.requires_grad
    M.autograd.grad(first.sum(), x)


@program
def once_differentiable_with_create_graph_but_plain_gradient_is_not_an_error(M):
    x = leaf(M, 3.0)
    y = once(M).apply(x)
    return M.autograd.grad(y, x, M.ones(1, dtype=M.float64), create_graph=True)[0]


# ---------------------------------------------------------------- saved tensors
@program
def saved_tensors_cannot_be_read_twice(M):
    x = leaf(M, 1.0)
    y = cube(M).apply(x)
    y.sum().backward()
    y.sum().backward()


@program
def a_saved_input_changed_in_place(M):
    x = leaf(M, 1.0)
    z = x * 1
    y = cube(M).apply(z)
    z.add_(1)
    y.sum().backward()


@program
def a_saved_output_changed_in_place(M):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    y = make(M, forward, lambda ctx, grad: grad * ctx.saved_tensors[0]).apply(leaf(M, 1.0))
    y.mul_(2)
    y.sum().backward()


@program
def saving_what_is_no_tensor(M):
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 1

    make(M, forward, lambda ctx, grad: grad).apply(leaf(M, 1.0))


@program
def saving_none_and_an_intermediate(M):
    def forward(ctx, x):
        ctx.save_for_backward(None, x * 10)
        return x * 1

    def backward(ctx, grad):
        nothing, big = ctx.saved_tensors
        assert nothing is None
        return grad * big

    x = leaf(M, 2.0)
    make(M, forward, backward).apply(x).sum().backward()
    return x.grad


@program
def saving_twice_keeps_the_last(M):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 5)
        return x * 1

    x = leaf(M, 2.0)
    make(M, forward, lambda ctx, grad: grad * ctx.saved_tensors[0]).apply(x).sum().backward()
    return x.grad


@program
def the_context_outlives_the_call(M):
    x = leaf(M, 2.0)
    y = cube(M).apply(x)
    ctx = y.grad_fn
    return list(ctx.saved_tensors), ctx.needs_input_grad, ctx.name()


# ---------------------------------------------------------------- what forward returns
@program
def an_input_returned_as_it_is(M):
    x = leaf(M, 1.0)
    z = x * 2
    y = make(M, lambda ctx, a: a, lambda ctx, grad: grad * 7).apply(z)
    y.sum().backward()
    return x.grad, y is z, type(y.grad_fn).__name__


@program
def a_view_returned(M):
    x = leaf(M, 1.0, 2.0)
    y = make(M, lambda ctx, a: a.view(2, 1), lambda ctx, grad: grad.view(2) * 3).apply(x * 1)
    y.sum().backward()
    return x.grad


@program
def a_view_returned_and_changed_in_place(M):
    x = leaf(M, 1.0, 2.0)
    y = make(M, lambda ctx, a: a.view(2, 1), lambda ctx, grad: grad.view(2) * 3).apply(x * 1)
    y.mul_(2)
    y.sum().backward()
    return x.grad


@program
def two_views_returned_and_one_changed(M):
    x = leaf(M, 1.0, 2.0)
    f = make(M, lambda ctx, a: (a[:1], a[1:]), lambda ctx, g, h: M.cat([g, h]))
    y, _ = f.apply(x * 1)
    y.mul_(2)


@program
def in_place_on_an_input_marked_dirty(M):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a.mul_(3)

    x = leaf(M, 1.0)
    z = x * 1
    y = make(M, forward, lambda ctx, grad: grad * 3).apply(z)
    y.sum().backward()
    return x.grad, y is z, z._version


@program
def in_place_not_marked_dirty(M):
    def forward(ctx, a):
        return a.mul_(3)

    x = leaf(M, 1.0)
    z = x * 1
    y = make(M, forward, lambda ctx, grad: grad * 3).apply(z)
    y.sum().backward()
    return x.grad, y is z


@program
def marked_dirty_but_not_returned(M):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        a.mul_(3)
        return a.clone()

    make(M, forward, lambda ctx, grad: grad * 3).apply(leaf(M, 1.0) * 1)


@program
def an_integer_output(M):
    def forward(ctx, a):
        order = a.argsort()
        ctx.mark_non_differentiable(order)
        return a * 1, order

    x = leaf(M, 2.0, 1.0)
    y, order = make(M, forward, lambda ctx, grad, none: grad * 2).apply(x)
    y.sum().backward()
    return x.grad, order, order.requires_grad


@program
def no_output_needs_grad_in_no_grad(M):
    with M.no_grad():
        y = cube(M).apply(leaf(M, 2.0))
    return y.requires_grad, y.grad_fn is None


@program
def forward_runs_without_grad(M):
    modes = []

    def forward(ctx, a):
        modes.append(M.is_grad_enabled())
        return a * 1

    def backward(ctx, grad):
        modes.append(M.is_grad_enabled())
        return grad

    x = leaf(M, 2.0)
    make(M, forward, backward).apply(x).sum().backward()
    M.autograd.grad(make(M, forward, backward).apply(x).sum(), x, create_graph=True)
    return modes


# ---------------------------------------------------------------- materialized gradients
@program
def missing_gradients_are_zeros(M):
    seen = []

    def backward(ctx, g, h):
        seen.append([g.tolist(), h.tolist()])
        return g + h

    x = leaf(M, 1.0)
    make(M, lambda ctx, a: (a * 1, a * 2), backward).apply(x)[0].sum().backward()
    return seen, x.grad


@program
def missing_gradients_are_none_if_asked(M):
    seen = []

    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 1, a * 2

    def backward(ctx, g, h):
        seen.append([g is None, h is None])
        return g

    x = leaf(M, 1.0)
    make(M, forward, backward).apply(x)[0].sum().backward()
    return seen, x.grad


def without_a_gradient(materializes):
    def run(M):
        seen = []

        def forward(ctx, a):
            ctx.set_materialize_grads(materializes)
            return a * 1, a.long()

        def backward(ctx, *grads):
            seen.append([None if grad is None else grad.tolist() for grad in grads])
            return grads[0]

        first = make(M, forward, backward)
        blind = make(M, lambda ctx, a: a * 1, lambda ctx, grad: None)
        x = leaf(M, 1.0, 2.0)
        blind.apply(first.apply(x)[0]).sum().backward()
        return seen, x.grad is None or x.grad.tolist()

    run.__name__ = f"a_function_that_gets_no_gradient_{materializes}"
    return run


program(without_a_gradient(True))
program(without_a_gradient(False))


# ---------------------------------------------------------------- the class
@program
def without_forward(M):
    class Empty(M.autograd.Function):
        pass

    return Empty.apply(leaf(M, 1.0))


@program
def without_backward(M):
    class Half(M.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    Half.apply(leaf(M, 1.0)).sum().backward()


@program
def vjp_instead_of_backward(M):
    class Named(M.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def vjp(ctx, grad):
            return grad * 9

    x = leaf(M, 1.0)
    Named.apply(x).sum().backward()
    return x.grad


@program
def both_backward_and_vjp(M):
    f = make(M, lambda ctx, x: x * 1, lambda ctx, g: g, vjp=staticmethod(lambda ctx, g: g))
    f.apply(leaf(M, 1.0)).sum().backward()


@program
def inherited_and_overridden(M):
    base = cube(M)

    class Louder(base):
        @staticmethod
        def backward(ctx, grad):
            return base.backward(ctx, grad) * 100

    x = leaf(M, 1.0)
    Louder.apply(x).sum().backward()
    return x.grad, type(Louder.apply(x).grad_fn).__name__


@program
def attributes_of_the_context(M):
    def forward(ctx, x):
        ctx.mark_non_differentiable()
        ctx.anything = [1, 2]
        return x * 1

    y = make(M, forward, lambda ctx, g: g).apply(leaf(M, 1.0))
    return y.grad_fn.anything, y.grad_fn.metadata, y.grad_fn.next_functions[0][1]


@program
def a_hook_on_the_context(M):
    x, seen = leaf(M, 1.0), []
    y = cube(M).apply(x)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2,))
    y.sum().backward()
    return x.grad, seen


@program
def two_functions_called_within_one_another(M):
    inner = cube(M)

    def forward(ctx, x):
        with M.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = inner.apply(ctx.x)
        return ctx.y.detach()

    def backward(ctx, grad):
        return M.autograd.grad(ctx.y, ctx.x, grad)[0]

    x = leaf(M, 2.0)
    make(M, forward, backward).apply(x).sum().backward()
    return x.grad


@program
def raw_saved_tensors_can_be_packed(M):
    x = leaf(M, 2.0)
    y = cube(M).apply(x)
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t.tolist(), lambda v: leaf(M, *v) + 1)
    y.sum().backward()
    return x.grad


@program
def a_list_returned(M):
    f = make(M, lambda ctx, x: [x * 1, x * 2], lambda ctx, g, h: g + 2 * h)
    out = f.apply(leaf(M, 1.0))
    return type(out).__name__, len(out)


test_a_program_has_the_same_outcome_as_with_pytorch = check()

"""Custom functions do what PyTorch's do: the same small programs run with both."""

import warnings

from tests.autograd.programs import collection, cube, leaf, make

program, check = collection()


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


def result_of_marking(M, choose):
    """What comes of it when forward marks something dirty that is no argument of it."""

    def forward(ctx, a):
        made = choose(a)
        ctx.mark_dirty(made)
        return made

    x = leaf(M, 1.0, 2.0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        y = make(M, forward, lambda ctx, grad: grad * 3).apply(x * 1)
    y.sum().backward()
    return x.grad, y._version, [warning.category for warning in heard]


@program
def a_new_tensor_marked_dirty(M):
    return result_of_marking(M, lambda a: a * 3)


@program
def a_view_of_an_argument_marked_dirty(M):
    return result_of_marking(M, lambda a: a[:1].mul_(3))


@program
def a_view_of_something_else_marked_dirty(M):
    return result_of_marking(M, lambda a: M.ones(3)[:2].mul_(3))


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

"""What custom functions save and give back in backward is what PyTorch's do: the same small programs run with both."""

from tests.autograd.programs import collection, cube, leaf, make

program, check = collection()


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
def once_differentiable_twice_with_several_gradients(M):
    def forward(ctx, x, y):
        return x * 2, y * 3

    def backward(ctx, *grads):
        return grads[0] * 2, grads[1] * 3

    x, y, vector = leaf(M, 3.0), leaf(M, 4.0), leaf(M, 1.0)
    f = make(M, forward, M.autograd.function.once_differentiable(backward))
    found = M.autograd.grad(f.apply(x, y), (x, y), (vector, vector), create_graph=True)
    assert [one.tolist() for one in found] == [[2.0], [3.0]]
    assert all(one.requires_grad for one in found)
    M.autograd.grad(found[1].sum(), vector)


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


test_a_program_has_the_same_outcome_as_with_pytorch = check()

"""Grad modes as decorators, nodes called by hand, marks of functions, hooks of several outputs: as in PyTorch."""

import tensorlab
from tests.autograd.programs import collection, leaf, make

program, check = collection()


def class_of_error(call, *arguments):
    """The name of the built-in class of what call(*arguments) raises."""
    try:
        call(*arguments)
    except Exception as error:
        return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")


# ---------------------------------------------------------------- modes
@program
def a_generator_is_closed_in_its_own_mode(M):
    heard = []

    def numbers():
        try:
            yield 1
        finally:
            heard.append(M.is_grad_enabled())

    for mode in M.no_grad(), M.inference_mode(), M.set_grad_enabled(False):
        generator = mode(numbers)()
        next(generator)
        generator.close()
    with M.no_grad():
        generator = M.enable_grad()(numbers)()
        next(generator)
        generator.close()
    return heard


@program
def set_grad_enabled_as_a_decorator_concerns_the_function_only(M):
    seen = []
    for outside in True, False:
        with M.set_grad_enabled(outside):
            for inside in True, False:
                look = M.set_grad_enabled(inside)(M.is_grad_enabled)
                seen += [M.is_grad_enabled(), look(), M.is_grad_enabled()]
    return seen


@program
def set_grad_enabled_takes_a_bool(M):
    errors = [class_of_error(M.set_grad_enabled, mode) for mode in (1, None, "off")]
    return errors, M.is_grad_enabled()


@program
def requires_grad_takes_a_bool(M):
    x = M.ones(1)
    errors = [class_of_error(x.requires_grad_, flag) for flag in (1, None, "yes")]
    errors.append(class_of_error(setattr, x, "requires_grad", 1))
    return errors, x.requires_grad, x.requires_grad_(requires_grad=True).requires_grad


@program
def a_mode_switched_in_backward_does_not_outlive_the_function(M):
    seen = []

    def switching(mode):
        def backward(ctx, grad):
            M.set_grad_enabled(mode)
            return grad

        return make(M, lambda ctx, x: x * 2, backward)

    def backward(ctx, grad):
        seen.append(M.is_grad_enabled())
        return grad

    look = make(M, lambda ctx, x: x * 2, backward)
    x = leaf(M, 1.0)
    switching(True).apply(look.apply(x)).sum().backward()
    seen.append(M.is_grad_enabled())
    M.autograd.grad(switching(False).apply(look.apply(x)).sum(), x, create_graph=True)
    return seen, M.is_grad_enabled()


@program
def packing_that_a_hook_starts_ends_with_the_pass(M):
    packed = []
    context = M.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t)
    x = leaf(M, 1.0)
    y = x * 2
    y.register_hook(lambda grad: context.__enter__())
    y.sum().backward()
    x.sin()
    return packed


def test_inference_mode_that_a_hook_enters_ends_with_the_hook():
    seen = []
    context = tensorlab.inference_mode()
    x = tensorlab.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: seen.append(context.__enter__()))
    x.register_hook(lambda grad: seen.append(tensorlab.is_inference_mode_enabled()))
    y.sum().backward()
    assert seen == [None, False]
    assert not tensorlab.is_inference_mode_enabled()
    assert not (x * 2).is_inference()


# ---------------------------------------------------------------- nodes called by hand
@program
def a_node_is_called_by_hand(M):
    x = leaf(M, 2.0, 3.0)
    y = x * x
    heard = []
    y.grad_fn.register_prehook(lambda grads: heard.append("prehook"))
    y.grad_fn.register_hook(lambda grads, outer: heard.append("posthook"))
    left, right = y.grad_fn(M.ones(2, dtype=M.float64))
    with M.no_grad():
        again = y.grad_fn(M.ones(2, dtype=M.float64))
    second = M.autograd.grad(left.sum(), x)
    return left, right, again, second, heard, y.sum().grad_fn(M.ones((), dtype=M.float64))


@program
def a_node_of_several_outputs_takes_a_gradient_for_each(M):
    first = leaf(M, 1.0, 2.0).unbind()[0]
    one = M.ones((), dtype=M.float64)
    return first.grad_fn(one, one * 2), first.grad_fn(None, one), first.grad_fn(None, None)


@program
def a_leafs_node_adds_to_its_gradient(M):
    x = leaf(M, 1.0, 2.0)
    node = (x * 1).grad_fn.next_functions[0][0]
    grad = M.ones(2, dtype=M.float64)
    results = node(grad), node(grad)
    return results, x.grad, x.grad is grad, grad


@program
def a_node_is_called_wrongly(M):
    x = leaf(M, 2.0, 3.0)
    y = x * x
    ones = M.ones(2, dtype=M.float64)
    calls = [(), (ones, ones), (3,), ("a",)]
    errors = [class_of_error(y.grad_fn, *call) for call in calls]
    y.sum().backward()
    return [*errors, class_of_error(y.grad_fn, ones)]


@program
def a_node_is_called_with_a_gradient_of_another_shape(M):
    x = leaf(M, 2.0, 3.0)
    (x * x).grad_fn(M.ones(3, dtype=M.float64))


@program
def inputs_of_grad_must_not_be_empty(M):
    x = leaf(M, 1.0)
    return [
        class_of_error(M.autograd.grad, x * 2, []),
        class_of_error(M.autograd.grad, [], []),
    ]


@program
def flags_of_a_pass_are_bools_or_whole_numbers(M):
    x = leaf(M, 1.0)
    errors = []
    for flag in "retain_graph", "create_graph", "allow_unused":
        for value in 1, "yes", 1.0, [True], M.ones(1):
            flags = {"retain_graph": True, flag: value}
            if flag != "allow_unused":
                errors.append(class_of_error(lambda y=x * x, f=flags: y.backward(**f)))
            errors.append(class_of_error(lambda y=x * x, f=flags: M.autograd.grad(y, x, **f)))
    errors.append(class_of_error(lambda: (x * x).backward(create_graph=None)))
    return errors


# ---------------------------------------------------------------- custom functions
def told(M, tell):
    """The class of the error of a function whose forward calls tell(ctx)."""

    def forward(ctx, x):
        tell(ctx)
        return x * 2

    return class_of_error(make(M, forward, lambda ctx, grad: grad).apply, leaf(M, 1.0))


@program
def only_tensors_can_be_marked(M):
    return [
        told(M, lambda ctx: ctx.mark_non_differentiable(3)),
        told(M, lambda ctx: ctx.mark_dirty(3)),
        told(M, lambda ctx: ctx.set_materialize_grads(3)),
        told(M, lambda ctx: ctx.mark_non_differentiable()),
    ]


@program
def nothing_is_saved_while_forward_has_saved_nothing(M):
    return told(M, lambda ctx: ctx.saved_tensors)


@program
def an_inplace_function_is_a_function(M):
    class Add(M.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            return a.add_(b), b + 2

        @staticmethod
        def backward(ctx, grad_a, grad_b):
            return grad_a, grad_a + grad_b

    a, b = M.ones(2, dtype=M.float64), leaf(M, 1.0, 2.0)
    q, _ = Add.apply(a, b)
    q.sum().backward()
    return q is a, q.grad_fn.name(), b.grad, issubclass(Add, M.autograd.Function)


# ---------------------------------------------------------------- hooks, versions
@program
def a_hook_that_an_unpack_function_registers_is_called(M):
    nodes, heard = [], []

    def halve(grads, outer):
        heard.append(len(grads))
        return tuple(grad / 2 for grad in grads)

    def unpack(x):
        nodes[0].register_hook(halve)
        return x

    x = leaf(M, 0.5)
    with M.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.exp()
    nodes.append(y.grad_fn)
    y.sum().backward()
    return heard, x.grad


@program
def hooks_of_one_output_stand_together(M):
    x = leaf(M, 1.0, 2.0)
    a, b = x.unbind()
    heard = []
    a.register_hook(lambda grad: heard.append("a1"))
    b.register_hook(lambda grad: heard.append("b1"))
    a.register_hook(lambda grad: heard.append("a2"))
    handle = b.register_hook(lambda grad: heard.append("b2"))
    b.register_hook(lambda grad: heard.append("b3"))
    (a + b).backward(retain_graph=True)
    handle.remove()
    (a + b).backward()
    return heard


@program
def an_inference_tensor_has_no_writes_to_count(M):
    with M.inference_mode():
        x = M.ones(2)
        M.autograd.graph.increment_version(x)
    y = M.ones(2)
    M.autograd.graph.increment_version([x, y])
    return y._version


@program
def a_leaf_view_keeps_its_gradient_while_its_base_requires_grad(M):
    base = M.tensor([[1.0, 2.0], [3.0, 4.0]])
    leaf_view = base.unbind(1)[0]
    leaf_view.requires_grad_()
    base.requires_grad_()
    part = leaf_view[:1]
    leaf_view.requires_grad_(False)
    (part * part).sum().backward()
    return leaf_view.grad, base.grad


test_a_program_has_the_same_outcome_as_with_pytorch = check()

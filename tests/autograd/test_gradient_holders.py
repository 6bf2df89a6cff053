"""Memory of gradients: the engine takes it over, or adds into it, only where nothing else holds the tensor.

It finds out by counting references, and how many of them a running program has differs from one Python to
the next: 3.14 borrows where 3.13 counted. So here each kind of holder holds a gradient.
"""

import pytest


def leaf(T):
    return T.tensor([1.0, 2.0], requires_grad=True)


def triple(T, show):
    """A function whose backward shows the new gradient before it returns it."""

    class Triple(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            out = grad * 3
            show(out)
            return out

    return Triple.apply


# ---------------------------------------------------------------- holders: what takes a tensor, what gives it back
def a_list():
    held = []
    return held.append, held.pop


def a_variable_of_a_closure():
    held = None

    def keep(grad):
        nonlocal held
        held = grad

    return keep, lambda: held


def a_variable_of_a_generator():
    def hold():
        grad = yield
        yield
        yield grad

    generator = hold()
    next(generator)

    def keep(grad):
        generator.send(grad)

    return keep, lambda: next(generator)


def an_argument_of_a_generator():
    generators = []

    def hold(grad):
        yield grad

    return lambda grad: generators.append(hold(grad)), lambda: next(generators.pop())


def a_default_of_a_function():
    functions = []

    def keep(grad):
        functions.append(lambda grad=grad: grad)

    return keep, lambda: functions.pop()()


HOLDERS = [
    a_list,
    a_variable_of_a_closure,
    a_variable_of_a_generator,
    an_argument_of_a_generator,
    a_default_of_a_function,
]


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_leaf_copies_a_gradient_that_is_held(T, holder):
    keep, give = holder()
    x = leaf(T)
    triple(T, keep)(x).sum().backward()
    x.grad.zero_()
    assert give().tolist() == [3.0, 3.0]


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_sum_is_not_written_to_a_gradient_that_is_held(T, holder, is_first):
    keep, give = holder()
    x = leaf(T)
    hidden = x * 1
    if is_first:  # what was made last runs first
        other = hidden * 5
        shown = triple(T, keep)(hidden)
    else:
        shown = triple(T, keep)(hidden)
        other = hidden * 5
    (shown + other).sum().backward()
    assert give().tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [8.0, 8.0]


# ---------------------------------------------------------------- nothing else holds it
def test_a_leaf_takes_over_a_gradient_that_only_passed_through_python(T):
    addresses = []
    x = leaf(T)
    triple(T, lambda grad: addresses.append(grad.data_ptr()))(x).sum().backward()
    assert x.grad.data_ptr() == addresses[0]


def test_a_sum_is_written_to_a_gradient_that_only_passed_through_python(T):
    addresses = []
    x = leaf(T)
    hidden = x * 1
    hidden.register_hook(lambda grad: addresses.append(grad.data_ptr()))
    other = hidden * 5
    shown = triple(T, lambda grad: addresses.append(grad.data_ptr()))(hidden)
    (shown + other).sum().backward()
    assert addresses[0] == addresses[1]
    assert x.grad.tolist() == [8.0, 8.0]


# ---------------------------------------------------------------- functions that wait for another pass
def test_a_gradient_that_a_hook_gives_to_another_pass_is_not_taken_over_twice(T):
    x, z = leaf(T), leaf(T)
    x.register_hook(lambda grad: z.backward(grad))
    (x * 2).sum().backward()
    assert x.grad.data_ptr() != z.grad.data_ptr()


def test_the_gradient_given_to_backward_stays_the_callers(T):
    given = T.ones(2)
    x, y = leaf(T), leaf(T)
    x.backward(given)
    T.autograd.backward([y, y], [given, given])
    x.grad.zero_()
    y.grad.zero_()
    assert given.tolist() == [1.0, 1.0]


def test_a_gradient_that_was_asked_for_is_not_summed_into(T):
    x = leaf(T)
    other = x * 5
    hidden = x + 1
    grads = T.autograd.grad((hidden * 2 + other).sum(), [hidden, x])
    assert [grad.tolist() for grad in grads] == [[2.0, 2.0], [7.0, 7.0]]

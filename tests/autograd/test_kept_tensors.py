"""What nodes keep of the forward pass, as a program sees it, and when they let go of it."""

import gc
import weakref

import pytest

import tensorlab
from tests.autograd.programs import collection, leaf, make

program, check = collection()


def saving(M, backward, **members):
    """A Function that saves its argument, copies it and has this backward."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    return make(M, forward, backward, **members)


# ---------------------------------------------------------------- a backward that frees memory while it runs
@program
def saved_tensors_that_are_let_go_when_read(M):
    freed = []

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        reference = weakref.ref(x)
        del x
        freed.append((reference() is None, ctx._raw_saved_tensors))
        return grad

    x = leaf(M, 1.0, 2.0)
    saving(M, backward, clear_saved_tensors_on_access=True).apply(x.clone()).sum().backward()
    return freed, x.grad


@program
def saved_tensors_that_are_let_go_are_read_once(M):
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    function = saving(M, backward, clear_saved_tensors_on_access=True)
    function.apply(leaf(M, 1.0)).sum().backward()


@program
def saved_tensors_that_were_let_go_serve_one_pass(M):
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]

    y = saving(M, backward, clear_saved_tensors_on_access=True).apply(leaf(M, 1.0)).sum()
    y.backward(retain_graph=True)
    y.backward()


@program
def saved_tensors_stay_unless_told(M):
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    x = leaf(M, 3.0)
    y = saving(M, backward).apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@program
def raw_saved_tensors_go_with_the_graph(M):
    y = saving(M, lambda ctx, grad: grad).apply(leaf(M, 3.0))
    y.backward(retain_graph=True)
    length = len(y.grad_fn._raw_saved_tensors)
    assert length == 1
    y.backward()
    return y.grad_fn._raw_saved_tensors


@program
def gradients_in_a_list(M):
    seen = []

    def backward(ctx, *given):
        (grads,) = given
        seen.append((type(grads).__name__, [grad.tolist() for grad in grads[:2]], grads[2]))
        first = grads.pop(0)
        return first * 2 + grads.pop(0)

    x = leaf(M, 1.0, 2.0)
    function = make(M, lambda ctx, x: (x * 2, x * 3, "text"), backward, boxed_grads_call=True)
    y, z, _ = function.apply(x)
    (y + z * 5).sum().backward()
    function.apply(x)[1].sum().backward()
    single = make(M, lambda ctx, x: x * 2, lambda ctx, grads: grads[0] * 2, boxed_grads_call=True)
    single.apply(x).sum().backward()
    return seen, x.grad


@program
def gradients_in_a_list_and_hooks_of_the_node(M):
    def backward(ctx, grads):
        return grads.pop() + grads.pop()

    x, lengths = leaf(M, 1.0), []
    y, z = make(M, lambda ctx, x: (x * 1, x * 1), backward, boxed_grads_call=True).apply(x)
    y.grad_fn.register_prehook(lambda grads: tuple(grad * 7 for grad in grads))
    y.grad_fn.register_hook(lambda out, into: lengths.append((len(out), len(into))))
    (y + z).sum().backward()
    return lengths, x.grad


# ---------------------------------------------------------------- what a custom function said of its tensors
@program
def an_output_without_gradient_is_freed_before_its_node(M):
    def forward(ctx, x):
        extra = x + 1
        ctx.mark_non_differentiable(extra)
        return x * 2, extra

    x = leaf(M, 1.0)
    y, extra = make(M, forward, lambda ctx, grad, _: grad * 2).apply(x)
    reference = weakref.ref(extra)
    del extra
    return reference() is None, y.requires_grad


@pytest.mark.parametrize("is_view", [False, True])
def test_a_written_argument_that_is_saved_makes_no_cycle(T, is_view):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    function = make(T, forward, lambda ctx, grad: grad)

    def run():
        x = leaf(T, 1.0, 2.0).clone()
        x = x.view(2) if is_view else x
        assert function.apply(x) is x
        return weakref.ref(x)

    gc.disable()
    try:
        assert run()() is None
    finally:
        gc.enable()


@program
def a_written_view_that_is_saved(M):
    seen = []

    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x.mul_(3))
        return x

    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        seen.append((y, y.grad_fn.name()))
        return grad * y

    x = leaf(M, 1.0, 2.0, 3.0)
    base = x**2
    view = make(M, forward, backward).apply(base[1:])
    (first,) = M.autograd.grad((view**2).sum(), x, create_graph=True)
    first.sum().backward()
    return seen, first, x.grad


@program
def an_argument_returned_as_it_is_keeps_its_class(M):
    class Own(M.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return super().__torch_function__(function, types, args, kwargs or {})

    function = make(M, lambda ctx, x: x, lambda ctx, grad: grad)
    seen = []
    for wanted in (False, True):
        x = M.ones(2).as_subclass(Own).requires_grad_(wanted)
        y = function.apply(x)
        seen.append((type(y).__name__, y is x, y._is_view(), y.requires_grad))
    return seen


# ---------------------------------------------------------------- saved tensors as objects
@program
def none_among_saved_tensors_is_an_object_too(M):
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * 1

    y = make(M, forward, lambda ctx, grad: grad).apply(leaf(M, 1.0))
    first, second = y.grad_fn._raw_saved_tensors
    kinds = type(first).__name__, type(second).__name__, isinstance(first, M.autograd.SavedTensor)
    first.register_hooks(lambda t: t, lambda t: t)
    return kinds, y.grad_fn.saved_tensors[1]


@program
def none_among_saved_tensors_cannot_be_packed(M):
    def forward(ctx, x):
        ctx.save_for_backward(None)
        return x * 1

    y = make(M, forward, lambda ctx, grad: grad).apply(leaf(M, 1.0))
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t, lambda t: t)


@program
def a_constant_of_a_checkpoint_is_itself(M):
    seen = []

    def forward(ctx, x, constant):
        ctx.save_for_backward(constant)
        return x * 1

    def backward(ctx, grad):
        seen.append(ctx.saved_tensors[0] is constant)
        return grad, None

    constant, function = M.ones(1), make(M, forward, backward)
    for is_reentrant in (False, True):
        y = M.utils.checkpoint.checkpoint(
            function.apply, leaf(M, 1.0), constant, use_reentrant=is_reentrant
        )
        y.sum().backward()
    return seen


@program
def hooks_that_are_no_functions(M):
    with M.autograd.graph.saved_tensors_hooks(1, lambda t: t):
        pass


test_a_program_has_the_same_outcome_as_with_pytorch = check()


def test_an_object_for_none_says_so():
    def forward(ctx, x):
        ctx.save_for_backward(None)
        return x * 1

    y = make(tensorlab, forward, lambda ctx, grad: grad).apply(leaf(tensorlab, 1.0))
    (saved,) = y.grad_fn._raw_saved_tensors
    assert repr(saved) == "<SavedTensor of None>"
    assert saved.data is None

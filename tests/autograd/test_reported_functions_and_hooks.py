"""Wrong gradients of custom functions, hooks and retain_grad that PyTorch's users reported.

A test that takes `T` runs twice, with tensorlab and with PyTorch, so what it asserts is what PyTorch
2.13 does as well.  One that does not take it says what PyTorch does instead.  Numbers are those of
issues and pull requests at github.com/pytorch/pytorch.
"""

import tensorlab
from tests.autograd.reported import SEVERAL, function, leaf, refuses

# ---------------------------------------------------------------- views from custom functions
BYPASS = "returned by a custom autograd Function"


def test_a_view_that_a_custom_function_returned_cannot_be_written(T):
    """#31258: the write replaced the function's own backward, silently."""
    flat = function(T, lambda ctx, x: x.view(-1), lambda ctx, grad: grad * 7)
    y = leaf(T, 1.0, 2.0) * 1
    view = flat.apply(y)
    with refuses(T, BYPASS):
        view.mul_(2)
    assert y.tolist() == [1.0, 2.0]


def test_an_input_returned_as_it_is_cannot_be_written_either(T):
    """#31258: the output is a view of the input, and its backward is the function's."""
    same = function(T, lambda ctx, x: x, lambda ctx, grad: grad * 7)
    y = leaf(T, 1.0, 2.0) * 1
    out = same.apply(y)
    assert out is not y
    with refuses(T, BYPASS):
        out.mul_(2)
    out.sum().backward()


def test_views_that_a_custom_function_returned_together_cannot_be_written(T):
    """#13452, #31258: two views from one function, as of unbind."""
    halves = function(T, lambda ctx, x: (x[:1], x[1:]), lambda ctx, a, b: T.cat([a, b]))
    first, _ = halves.apply(leaf(T, 1.0, 2.0) * 1)
    with refuses(T, SEVERAL):
        first.mul_(2)


def test_a_custom_view_cannot_be_used_after_its_base_was_written(T):
    """#73604: replaying the view would leave out the custom backward."""
    alias = function(T, lambda ctx, x: x[:], lambda ctx, grad: grad)
    y = leaf(T, 1.0) * 1
    view = alias.apply(y)
    y.mul_(-1)
    with refuses(T, BYPASS):
        view.sum().backward()


def test_a_custom_view_of_a_temporary_keeps_its_backward_or_raises(T):
    """#14707: after a write under no_grad the backward was skipped and x.grad stayed None."""
    calls = []

    def backward(ctx, grad):
        calls.append(grad)
        return grad.view(2) * 3

    triple = function(T, lambda ctx, x: (x.detach() * 3).view(-1), backward)
    out = triple.apply(leaf(T, 1.0, 2.0))
    with T.no_grad():
        out.fill_(1)
    with refuses(T, BYPASS):
        out.sum().backward()
    assert calls == []


def test_writing_to_a_view_inside_forward_leaves_the_functions_node(T):
    """#34145: grad_fn was AsStridedBackward, and the custom backward was never called."""

    def forward(ctx, x, writes):
        view = x.clone()[:1]
        if writes:
            view += 2
        return view

    head = function(T, forward, lambda ctx, grad: (T.cat([grad * 5, grad * 0]), None))
    for writes in (False, True):
        x = leaf(T, 1.0, 2.0)
        head.apply(x, writes).sum().backward()
        assert x.grad.tolist() == [5.0, 0.0]


def test_a_saved_view_that_forward_returned_is_checked(T):
    """#24413: the output did not own its storage, and a write to it was not noticed."""

    def forward(ctx, x):
        turned = x.clone().t()
        ctx.save_for_backward(turned)
        return turned

    def backward(ctx, grad):
        (turned,) = ctx.saved_tensors
        return (turned * grad).t()

    turn = function(T, forward, backward)
    out = turn.apply(T.ones(2, 3, requires_grad=True))
    with T.no_grad():
        out.add_(1)
    with refuses(T):
        out.sum().backward()


def test_a_dirty_input_gets_gradients_for_all_inputs(T):
    """#5871: what was added to a part of a computed tensor got no gradient."""

    def forward(ctx, x, part):
        x[1:2] += part
        ctx.mark_dirty(x)
        return x

    add_to_part = function(T, forward, lambda ctx, grad: (grad, grad[1:2].clone()))
    x, part = leaf(T, 1.0, 1.0), leaf(T, 1.0)
    add_to_part.apply(x + 1, part).sum().backward()
    assert (x.grad.tolist(), part.grad.tolist()) == ([1.0, 1.0], [1.0])


def test_a_dirty_input_has_its_new_history_though_the_result_is_dropped(T):
    """#184113: a compiled PyTorch loses the factor 3 here."""

    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    triple = function(T, forward, lambda ctx, grad: grad * 3)
    x = leaf(T, 1.0)
    y = x * 1
    triple.apply(y)
    y.sum().backward()
    assert x.grad.tolist() == [3.0]


def test_a_dirty_input_must_be_returned(T):
    """#31258, #33069: its history cannot be rewritten otherwise."""

    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2).clone()

    double = function(T, forward, lambda ctx, grad: grad * 2)
    with refuses(T, "marked dirty was not returned"):
        double.apply(leaf(T, 1.0) * 1)


def test_a_dirty_input_is_returned_as_the_same_object_without_gradients_too(T):
    """#90209."""

    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.relu_()

    relu = function(T, forward, lambda ctx, grad: grad)
    for x in (T.ones(1), leaf(T, 1.0) * 1):
        assert relu.apply(x) is x


# ---------------------------------------------------------------- retain_grad and hooks around writes
def test_a_hook_stays_with_the_value_and_retain_grad_with_the_tensor(T):
    """#79767: the hook was set before y was doubled, and sees the gradient of the y before."""
    x, seen = leaf(T, 1.0), []
    y = x * 1
    y.register_hook(lambda grad: seen.append(grad.item()))
    y.retain_grad()
    y.mul_(2)
    (y + 1).sum().backward()
    assert seen == [2.0]
    assert y.grad.tolist() == [1.0]


def test_retain_grad_after_a_write_keeps_the_gradient_of_what_was_written(T):
    """#79996."""
    x = leaf(T, 1.0)
    y = x * 1
    y.mul_(2)
    y.retain_grad()
    (y * 3).sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([3.0], [6.0])


def test_a_retained_gradient_survives_two_writes(T):
    """#79996, #92604: the wish to retain moves from node to node."""
    x = leaf(T, 1.0)
    y = x * 1
    y.retain_grad()
    y.mul_(2)
    y.mul_(5)
    (y * 3).sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([3.0], [30.0])


def test_a_base_retains_its_gradient_when_a_view_of_it_is_written(T):
    """#117366: it got the gradient from before the write."""
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    y.retain_grad()
    y[:1].mul_(2)
    (y * 3).sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([3.0, 3.0], [6.0, 3.0])


def test_a_stale_view_retains_its_gradient(T):
    """#8874: a write to the base gives the view another node; the wish to retain goes with it."""
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    view = y[:1]
    view.retain_grad()
    y.mul_(3)
    (view * 5).sum().backward()
    assert (view.grad.tolist(), x.grad.tolist()) == ([5.0], [15.0, 0.0])


def test_a_view_between_retains_nothing_after_a_write_to_the_base(T):
    """#8874: a stale view of a view hangs on the base, no longer on the view between."""
    kept = {}
    for writes in (False, True):
        base = leaf(T, 1.0, 1.0, 1.0) * 1
        between = base[1:]
        last = between[1]
        between.retain_grad()
        if writes:
            base[0] += 0
        last.backward()
        kept[writes] = between.grad
    assert kept[False].tolist() == [0.0, 1.0]
    assert kept[True] is None


def test_a_hook_on_a_stale_view_is_called():
    """#196459: PyTorch 2.13 crashes here (so it is not asked); mended by #196514."""
    x = leaf(tensorlab, 1.0, 1.0)
    y = x.clone().view(2)
    y[:].add_(1)
    y.register_hook(lambda grad: grad * 5)
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_hook_may_remove_itself(T):
    """#58354, #66037: a hook that removed itself and returned another gradient crashed PyTorch."""
    x = leaf(T, 1.0, 1.0)

    def once(grad):
        handle.remove()
        return grad * 10

    handle = x.register_hook(once)
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [22.0, 22.0]


def test_a_hook_may_change_a_gradient_in_place_that_nothing_else_reads(T):
    """#262: the changed gradient goes on, and is what retain_grad keeps."""
    x = leaf(T, 1.0, 2.0)
    y = x * 3
    y.register_hook(lambda grad: grad.mul_(10))
    y.register_hook(lambda grad: grad.__setitem__(0, 0.0))
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [0.0, 120.0]
    assert x.grad.tolist() == [0.0, 360.0]


def test_a_hook_cannot_write_to_an_expanded_gradient(T):
    """#17935: the gradient of a sum is one number, seen many times."""
    x = leaf(T, 1.0, 2.0)
    x.register_hook(lambda grad: grad.mul_(10))
    with refuses(T, "share one place"):
        x.sum().backward()
    assert x.grad is None


def test_a_gradient_that_a_hook_kept_is_not_the_leafs(T):
    """#24368: a leaf takes a gradient over without a copy only if nothing else holds it."""
    x, kept = leaf(T, 1.0, 2.0), []
    x.register_hook(kept.append)
    (x * 2).sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == [2.0, 2.0]

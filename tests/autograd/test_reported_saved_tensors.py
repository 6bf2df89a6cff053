"""Holes in version counting, and shared gradients, that PyTorch's users reported.

A test that takes `T` runs twice, with tensorlab and with PyTorch, so what it asserts is what PyTorch
2.13 does as well.  One that does not take it says what PyTorch does instead.  Numbers are those of
issues and pull requests at github.com/pytorch/pytorch.
"""

import pytest

import tensorlab
from tests.autograd.reported import function, leaf, refuses


# ---------------------------------------------------------------- what forward saved
def test_a_second_backward_needs_a_retained_graph_only_where_something_was_saved(T):
    """#23653: a slice could be run through twice, a list of indices not."""
    x = T.ones(10, requires_grad=True)
    part = x[1:4].sum()
    part.backward()
    part.backward()
    assert x.grad.tolist()[:5] == [0.0, 2.0, 2.0, 2.0, 0.0]
    picked = x[[1, 2, 3]].sum()
    picked.backward()
    with refuses(T, "retain_graph=True"):
        picked.backward()


def test_a_tensor_detached_in_place_after_it_was_saved_is_an_error(T):
    """#88809: an internal assertion failed."""
    y = leaf(T, 3.0) * 1
    square = y * y
    y.detach_()
    with refuses(T, "detach_"):
        square.sum().backward()


def test_a_saved_tensor_that_double_backward_saves_again_is_checked(T):
    """#60195: the version was handed on, but not the counter."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad

    cube = function(T, forward, backward)
    x = leaf(T, 3.0)
    y = x * 1
    (grad,) = T.autograd.grad(cube.apply(y).sum(), x, create_graph=True)
    y.detach().add_(1)
    with refuses(T, "version 1 but was saved at 0"):
        grad.sum().backward()


def test_a_backward_that_writes_to_what_was_saved_is_noticed_by_the_next(T):
    """#60195."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return x.mul_(2) * grad

    square = function(T, forward, backward)
    x = leaf(T, 3.0)
    z = square.apply(x * 1).sum()
    z.backward(retain_graph=True)
    assert x.grad.tolist() == [6.0]
    with refuses(T, "version 1 but was saved at 0"):
        z.backward()


def test_repeated_double_backward_of_a_custom_function_that_saved_its_output(T):
    """#18619: the second evaluation failed."""

    def forward(ctx, x):
        y = x**2
        ctx.save_for_backward(x, y)
        return y

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * 2 * y / x

    square = function(T, forward, backward)
    x = T.tensor(2.0, dtype=T.float64, requires_grad=True)
    y = square.apply(x)
    for _ in range(3):
        (first,) = T.autograd.grad(y, x, create_graph=True)
        (second,) = T.autograd.grad(first, x, create_graph=True)
        (third,) = T.autograd.grad(second, x, retain_graph=True)
        assert [first.item(), second.item(), third.item()] == [4.0, 2.0, 0.0]


def test_an_intermediate_kept_outside_of_save_for_backward_has_no_second_derivative(T):
    """#58509, #76185, #104040: where nothing else needs a gradient, asking for it is an error."""

    def forward(ctx, x):
        ctx.doubled = x * 2
        return ctx.doubled**2

    square = function(T, forward, lambda ctx, grad: 4 * ctx.doubled * grad)
    x = leaf(T, 3.0)
    (grad,) = T.autograd.grad(square.apply(x).sum(), x, create_graph=True)
    assert grad.tolist() == [24.0]
    with refuses(T, "does not require grad"):
        T.autograd.grad(grad.sum(), x)


def test_a_gradient_changed_by_the_backward_that_was_given_it_is_an_error():
    """#81417: PyTorch 2.13 gives 4 here, and 3 is right."""
    double = function(tensorlab, lambda ctx, x: x * 2, lambda ctx, grad: grad.mul_(2))
    y = leaf(tensorlab, 1.0) * 1
    with pytest.raises(RuntimeError, match="CustomBackward.*changed gradient 0 in place"):
        (double.apply(y) + y).sum().backward()


# ---------------------------------------------------------------- other memory: set_, data, resize_
def test_set_through_detach_counts(T):
    """#97500: the alias gets other memory, the saved tensor does not; the count says that
    something happened, and a false alarm is better than a wrong number."""
    y = leaf(T, 1.0, 2.0) * 1
    square = y * y
    y.detach().set_(T.zeros(2))
    assert y.tolist() == [1.0, 2.0]
    with refuses(T, "version 1 but was saved at 0"):
        square.sum().backward()


def test_set_through_detach_makes_a_view_ask_its_base_again(T):
    """#97500: so the view's node is an AsStridedBackward, and the gradient is right."""
    x = leaf(T, 1.0)
    view = x.view(-1)
    view.detach().set_(T.ones(1))
    assert view.grad_fn.name() == "AsStridedBackward0"
    (view * 3).sum().backward()
    assert x.grad.tolist() == [3.0]


def test_set_on_a_computed_tensor_never_gives_a_wrong_gradient(T):
    """#97500: tensorlab refuses the set_, PyTorch the backward."""
    y = leaf(T, 2.0) * 1
    square = y**2
    with refuses(T, "set_"):
        y.set_(T.ones(1))
        square.sum().backward()


def test_set_under_no_grad_counts(T):
    """#97500."""
    y = leaf(T, 1.0, 2.0) * 1
    square = y * y
    with T.no_grad():
        y.set_(T.zeros(2))
    with refuses(T, "version 1 but was saved at 0"):
        square.sum().backward()


def test_assigning_data_keeps_the_counter(T):
    """#20391: PyTorch 1.1 gave the tensor another counter, and its views were left behind."""
    x = T.ones(2, 3)
    view = x[:]
    x.add_(1)
    x.data = T.zeros(2, 3)
    x.add_(1)
    assert x._version == view._version == 2


def test_a_leaf_may_change_its_size_between_two_graphs(T):
    """#823, #33941: the accumulate node remembered the old size."""
    w = T.ones(3, requires_grad=True)
    T.cat([w, w]).sum().backward()
    w.grad = None
    w.data = T.ones(2)
    T.cat([w, w]).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_resizing_counts(T):
    """#93776: resize_ did not, and a saved tensor could change its size unseen."""
    y = leaf(T, 1.0, 2.0) * 1
    square = y * y
    y.detach().resize_(1)
    with refuses(T, "version 1 but was saved at 0"):
        square.sum().backward()


def test_memory_cannot_be_taken_from_a_saved_tensor():
    """#171676: PyTorch 2.13 crashes in the backward (so it is not asked)."""
    y = leaf(tensorlab, 1.0, 2.0) * 1
    square = y * y
    with pytest.raises(RuntimeError, match="resize_"):
        y.detach().untyped_storage().resize_(0)
    square.sum().backward()


# ---------------------------------------------------------------- gradients that are views
def test_the_gradient_of_an_assigned_value_can_be_detached_and_zeroed(T):
    """#25814: it was a view of the whole gradient, and zero_grad failed at detach_()."""
    x = leaf(T, 1.0, 2.0)
    table = T.zeros(2, 2)
    table[0:1] = x
    table.sum().backward()
    x.grad.detach_()
    x.grad.zero_()
    assert x.grad.tolist() == [0.0, 0.0]


def test_zero_grad_in_place_and_another_backward(T):
    """#25814, #27128."""
    x = leaf(T, 1.0, 2.0)
    optimizer = T.optim.SGD([x], lr=1.0)
    for _ in range(2):
        optimizer.zero_grad(set_to_none=False)
        table = T.zeros(2, 2)
        table[0:1] = x
        (table * 3).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]


def test_two_leaves_do_not_share_one_gradient(T):
    """#46168: the derivative of a sum returns one gradient for both."""
    x, y = leaf(T, 1.0), leaf(T, 2.0)
    (x + y).backward(T.ones(1))
    x.grad.zero_()
    assert y.grad.tolist() == [1.0]


def test_an_expanded_gradient_becomes_memory_of_its_own(T):
    """#17935: the gradient of a sum has strides of zero; the leaf's can be written."""
    x = leaf(T, 1.0, 2.0)
    x.sum().backward()
    x.grad[0] = 5.0
    assert x.grad.tolist() == [5.0, 1.0]

"""Wrong gradients of views and writes that PyTorch's users reported: each one a test.

What they reported of functions and hooks, of saved tensors and of corner points is in the files
beside this one.

A test that takes `T` runs twice, with tensorlab and with PyTorch, so what it asserts is what PyTorch
2.13 does as well.  One that does not take it says what PyTorch does instead.  Numbers are those of
issues and pull requests at github.com/pytorch/pytorch.
"""

import pytest

import tensorlab
from tests.autograd.reported import SEVERAL, leaf, refuses

# ---------------------------------------------------------------- several views from one function
SPLITTERS = {
    "unbind": lambda x: x.unbind(0),
    "split": lambda x: x.split(1),
    "split of sizes": lambda x: x.split([1, 1]),
    "chunk": lambda x: x.chunk(2),
    "iteration": lambda x: tuple(x),
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_one_of_several_outputs_cannot_be_written(T, name):
    """#36403, #46820: before 1.8 PyTorch only warned, and gradients could be wrong."""
    y = leaf(T, 1.0, 2.0) * 1
    part = SPLITTERS[name](y)[1]
    with refuses(T, SEVERAL):
        part.mul_(10)
    assert y.tolist() == [1.0, 2.0]
    assert y._version == 0


VIEWS_OF_IT = {
    "[...]": lambda part: part[...],
    "view": lambda part: part.view(1),
    "view_as": lambda part: part.view_as(part),
    "unsqueeze": lambda part: part.unsqueeze(0),
    "reshape of a slice": lambda part: part.reshape(1)[:1].reshape(1, 1),
}


@pytest.mark.parametrize("view_of_it", VIEWS_OF_IT)
@pytest.mark.parametrize("name", SPLITTERS)
def test_nor_can_a_view_of_one_of_several_outputs(T, name, view_of_it):
    """#36608, #49824: the rule was not handed on to views of views, and the write went by."""
    y = leaf(T, 1.0, 2.0) * 1
    view = VIEWS_OF_IT[view_of_it](SPLITTERS[name](y)[0])
    with refuses(T, SEVERAL):
        view.mul_(10)
    assert y.tolist() == [1.0, 2.0]
    assert y._version == 0


@pytest.mark.parametrize("name", SPLITTERS)
def test_one_of_several_outputs_cannot_be_used_after_its_base_was_written(T, name):
    """#36403: the outputs share one node, which describes the values before the write."""
    y = leaf(T, 1.0, 2.0) * 1
    part = SPLITTERS[name](y)[0]
    y.mul_(3)
    with refuses(T, SEVERAL):
        part * 2


def test_one_of_several_outputs_cannot_be_detached_in_place(T):
    """#57679, #58285: it would have left the base in the graph and its part outside."""
    part = (leaf(T, 1.0, 2.0) * 1).split(1)[0]
    with refuses(T, "detach"):
        part.detach_()
    assert part.requires_grad


def test_a_hook_on_an_unused_output_gets_none(T):
    """#11751: a hook on one output of unbind crashed when backward came through another."""
    x, seen = leaf(T, 1.0, 2.0), []
    first, second = x.unbind()
    first.register_hook(seen.append)
    second.backward()
    assert seen == [None]
    assert x.grad.tolist() == [0.0, 1.0]


# ---------------------------------------------------------------- views made under no_grad
def test_a_view_made_under_no_grad_cannot_be_written_outside(T):
    """#11390, #32839: should gradients flow through the write or not? No one could say."""
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    with T.no_grad():
        view = y[:1]
    with refuses(T, "made under no_grad"):
        view.mul_(3)
    assert y.tolist() == [1.0, 2.0]
    assert y._version == 0


def test_nor_can_a_view_of_such_a_view(T):
    """#88205, #88243: an internal assertion failed."""
    plain = T.zeros(2)
    with T.no_grad():
        view = plain.view(2)
    view.requires_grad_()
    again = view.view(2)
    with refuses(T, "made under no_grad"):
        again.div_(2)
    assert plain._version == 0


def test_a_view_made_and_written_under_no_grad_gets_no_node(T):
    """#26546: it got an AsStridedBackward, and a checkpointed network silently lost its gradient."""
    x = leaf(T, 1.0)
    with T.no_grad():
        view = x.t()
        view.add_(0)
    with refuses(T, "made under no_grad"):
        view.grad_fn  # noqa: B018 - reading it is what raises
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_a_view_made_under_inference_mode_cannot_be_written_outside(T):
    """#53343: the same rule for inference mode."""
    y = leaf(T, 1.0, 2.0) * 1
    with T.inference_mode():
        view = y[:1]
    with refuses(T, "made under inference_mode"):
        view.mul_(2)
    assert y.tolist() == [1.0, 2.0]


def test_a_write_under_inference_mode_counts(T):
    """#53343: a normal tensor written there must be seen by the node that saved it."""
    y = leaf(T, 1.0, 2.0) * 1
    square = y * y
    with T.inference_mode():
        y.mul_(2)
    with refuses(T, "version 1 but was saved at 0"):
        square.sum().backward()


def test_a_write_to_a_view_under_no_grad_counts_if_a_formula_needs_it(T):
    """#197054 took the second of these for a bug: multiplying by 2 saves nothing."""
    x = leaf(T, 1.0, 2.0)
    view = x.view(-1)
    square, double = view * view, view * 2
    with T.no_grad():
        view.add_(1)
    with refuses(T, "version 1 but was saved at 0"):
        square.sum().backward()
    double.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# ---------------------------------------------------------------- requires_grad of views
def test_requires_grad_of_a_view_of_a_plain_tensor_makes_it_a_leaf(T):
    """#19778, #1479: the view is a leaf of its own; its base stays plain."""
    base = T.ones(2)
    view = base[:1]
    view.requires_grad_()
    (view * 2).sum().backward()
    assert view.is_leaf
    assert view.grad.tolist() == [2.0]
    assert not base.requires_grad


def test_such_a_view_cannot_be_written(T):
    """#39150: the write went by, and backward said that a leaf had moved."""
    base = T.ones(2)
    view = base[:1]
    view.requires_grad_()
    with refuses(T, "view of a leaf"):
        view.add_(1)
    assert base.tolist() == [1.0, 1.0]


def test_a_view_of_a_leaf_cannot_be_written(T):
    """#39150: the message spoke of a leaf moved into the graph interior, far from the write."""
    x = T.ones(4, 4).requires_grad_()
    corner = x[2:, 2:]
    with refuses(T, "view of a leaf"):
        corner.mul_(10)
    assert x._version == 0


def test_a_write_to_the_base_of_a_leaf_view_is_seen_by_what_saved_the_view(T):
    """#8874 speaks of what such a write does to hooks; to saved tensors it does this."""
    base = T.ones(2)
    view = base[:1]
    view.requires_grad_()
    square, double = view * view, view * 2
    base.add_(1)
    with refuses(T, "version 1 but was saved at 0"):
        square.sum().backward()
    double.sum().backward()
    assert view.grad.tolist() == [2.0]


def test_a_leaf_view_whose_base_got_a_history_is_no_leaf_any_more(T):
    """#39150: what was computed before the write has no leaf to go to, and says so."""
    factors, base = leaf(T, 3.0, 4.0), T.ones(2)
    view = base[:1]
    view.requires_grad_()
    before = (view * 2).sum()
    base.mul_(factors)
    with refuses(T, "no leaf any more"):
        before.backward()
    (view * 2).sum().backward()
    assert not view.is_leaf
    assert factors.grad.tolist() == [2.0, 0.0]


def test_requires_grad_cannot_be_taken_from_a_computed_view(T):
    """Gradients would stop there without a word."""
    x = leaf(T, 1.0, 2.0)
    for view in (x[:1], (x * 1)[:1]):
        with refuses(T, "leaves only"):
            view.requires_grad_(False)
        assert view.requires_grad


def test_the_gradient_of_a_reshaped_leaf_is_the_leafs(T):
    """#1479, #8474, #19778, #32708: the most reported of all. x is the name of a computed tensor."""
    given = leaf(T, 1.0, 2.0)
    x = given.view(2, 1)
    x.sum().backward()
    assert given.grad.tolist() == [1.0, 1.0]
    assert not x.is_leaf


# ---------------------------------------------------------------- writes to slices
def test_adding_to_a_whole_slice_is_differentiated(T):
    """#2425: `t[:] += y` reads a view, adds in place, and assigns the view to itself."""
    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    t = x * 1
    t[:] += y
    (t * t).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([8.0, 12.0], [8.0, 12.0])
    assert t._version == 2


def test_adding_to_a_slice_of_a_plain_tensor_makes_it_part_of_the_graph(T):
    """#2425, #9634: `x += bias` on a plain x lost the gradient of the bias."""
    bias, x = T.zeros(2, requires_grad=True), T.ones(3, 2)
    x += bias
    x[1:] += bias
    x.sum().backward()
    assert bias.grad.tolist() == [5.0, 5.0]


def test_adding_to_a_slice_of_a_stale_view_works():
    """PyTorch 2.13 writes, and raises an error about leaves afterwards."""
    y, base = leaf(tensorlab, 1.0), tensorlab.ones(2)
    view = base[:1]
    view[:] += y
    base.sum().backward()
    assert y.grad.tolist() == [1.0]


def test_multiplying_a_slice_in_place_works_where_assigning_the_product_cannot(T):
    """#55980: the product saved the slice that the assignment then overwrote."""
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0)
    y = x * 1
    y[0] *= w[0]
    y.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([3.0, 1.0], [1.0])
    y = x * 1
    y[0] = y[0] * w[0]
    with refuses(T, "version 1 but was saved at 0"):
        y.sum().backward()


def test_results_written_behind_their_inputs_add_but_do_not_multiply(T):
    """#74874: one buffer for a whole computation. Sums save nothing, products their factors."""
    for combine, grads in ((T.add, [1.0, 1.0]), (T.mul, None)):
        a, b = leaf(T, 2.0), leaf(T, 3.0)
        buffer = T.zeros(3)
        buffer[0], buffer[1] = a, b
        buffer[2] = combine(buffer[0], buffer[1])
        if grads:
            buffer[2].backward()
            assert [a.grad.item(), b.grad.item()] == grads
        else:
            with refuses(T, "was saved at"):
                buffer[2].backward()


def test_what_an_assignment_replaced_gets_no_gradient(T):
    """#61946."""
    x, value = leaf(T, 1.0, 2.0, 3.0), leaf(T, 5.0)
    squares = x * x
    squares[0] = value
    squares.sum().backward()
    assert (x.grad.tolist(), value.grad.tolist()) == ([0.0, 4.0, 6.0], [1.0])


def test_writing_to_what_a_formula_needs_depends_on_the_formula(T):
    """#9391: sigmoid needs its output, the same sum written out does not."""
    x = leaf(T, 1.0, 2.0)
    sigmoid = x.sigmoid()
    sigmoid[1] = 2
    with refuses(T, "own output"):
        sigmoid.sum().backward()
    by_hand = 1 / ((-x).exp() + 1)
    by_hand[1] = 2
    by_hand.sum().backward()
    assert x.grad.tolist() == pytest.approx([0.196612, 0.0], abs=1e-6)


def test_a_masked_assignment_of_what_was_read_through_the_mask(T):
    """#24853: right, since reading through a mask copies."""
    x, y = T.zeros(3, requires_grad=True), T.ones(3, requires_grad=True)
    mask = T.tensor([True, False, False])
    z = x + 1
    z[mask] = T.min(z[mask], y[mask])
    z.sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([0.5, 1.0, 1.0], [0.5, 0.0, 0.0])


def test_writes_through_several_stale_views_are_all_in_the_gradient(T):
    """#3313: the case that the whole machinery of views was made for."""
    x = leaf(T, 1.0, 2.0, 3.0)
    y = x * 1
    first_two, first = y[:2], y[:2][:1]
    y.mul_(2)
    first_two.mul_(3)
    first.mul_(5)
    (y * T.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [30.0, 60.0, 200.0]


def test_double_backward_through_a_written_view(T):
    """#89812: CopySlices must give its inner node what that expects."""
    x = leaf(T, 2.0, 3.0)
    y = x * 1
    y[:1].mul_(x[1:])
    (grad,) = T.autograd.grad((y**3).sum(), x, create_graph=True)
    (second,) = T.autograd.grad(grad.sum(), x)
    assert grad.tolist() == [324.0, 243.0]  # of (ab)**3 + b**3 at a = 2, b = 3
    assert second.tolist() == [648.0, 486.0]


def test_an_expanded_tensor_cannot_be_written(T):
    """#957, #4664, #17935: one place in memory was counted up twenty times."""
    one = T.ones(1, 1)
    with refuses(T, "share one place"):
        one.expand(4, 5).add_(1)
    assert one.item() == 1.0


def test_a_tensor_cannot_be_multiplied_in_place_by_a_part_of_itself(T):
    """A neighbour of #17935: the part would change while it is being read."""
    y = leaf(T, 2.0, 3.0) * 1
    with refuses(T, "share part of their memory"):
        y.mul_(y[0])
    assert y.tolist() == [2.0, 3.0]


def test_transposing_in_place_is_differentiated(T):
    """#47704: an in-place view op changes the layout, not the values."""
    x = T.arange(4.0).reshape(2, 2).requires_grad_()
    y = x.clone()
    y.transpose_(0, 1)
    (y * T.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [[1.0, 3.0], [2.0, 4.0]]

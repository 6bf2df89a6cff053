"""Custom autograd functions: context, in-place, views, wrong gradients."""

import pytest

import tensorlab as T
from tensorlab.autograd import Function
from tensorlab.autograd.function import BackwardCFunction, FunctionCtx
from tests.oracle import require_torch


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class Triple(Function):
    """Writes over its input."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def leaf(*values):
    return T.tensor(list(values), requires_grad=True)


def test_backward_gets_the_gradient_and_differentiates_again():
    x = leaf(3.0)
    y = Square.apply(x)
    assert y.grad_fn.name() == "SquareBackward"
    (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = T.autograd.grad(g.sum(), x)
    assert (g.item(), h.item()) == (6.0, 2.0)


def test_needs_input_grad_tells_which_gradients_are_used():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, scale, y):
            return x * scale + y

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            return grad * 2, None, None

    Two.apply(leaf(1.0), 2, T.ones(1)).sum().backward()
    assert seen == [(True, False, False)]


def test_a_dirty_input_is_returned_itself_with_a_new_history():
    x = leaf(2.0)
    y = x * 1
    z = Triple.apply(y)
    assert z is y
    assert y._version == 2  # mul_ counts, and mark_dirty does, for a write that no op of ours made
    z.sum().backward()
    assert x.grad.item() == 3.0


def test_marking_dirty_counts_a_version_no_matter_who_wrote():
    class TripleByNumPy(Triple):
        @staticmethod
        def forward(ctx, x):
            x.detach().numpy()[...] *= 3
            ctx.mark_dirty(x)
            return x

    x = leaf(2.0)
    y = x * 1
    z = y * y
    TripleByNumPy.apply(y)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="version 1 but was saved at 0"):
        z.sum().backward()


def test_a_dirty_view_changes_the_history_of_its_base():
    x = leaf(2.0, 4.0)
    base = x * 1
    Triple.apply(base[0:1])
    base.sum().backward()
    assert x.grad.tolist() == [3.0, 1.0]


def test_a_dirty_leaf_that_requires_grad_is_refused():
    with pytest.raises(RuntimeError, match="leaf"):
        Triple.apply(leaf(1.0))


def test_a_returned_view_cannot_be_written():
    class Flat(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.view(-1)

        @staticmethod
        def backward(ctx, grad):
            return grad.view(ctx.shape)

    x = T.ones(2, 2, requires_grad=True)
    y = Flat.apply(x * 1)
    with pytest.raises(RuntimeError, match="custom autograd Function"):
        y.add_(1)


def test_an_input_returned_as_it_is_becomes_another_tensor():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x
    y.sum().backward()
    assert x.grad.item() == 7.0


def test_missing_gradients_come_as_zeros_or_as_none():
    seen = []

    class Split(Function):
        materialize = True

        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(Split.materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, a, b):
            seen.append(b if b is None else b.tolist())
            return a

    for Split.materialize in (True, False):
        Split.apply(leaf(1.0))[0].sum().backward()
    assert seen == [[0.0], None]


def test_a_non_differentiable_output_does_not_require_grad():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            twice = x * 2
            ctx.mark_non_differentiable(twice)
            return x * 1, twice

        @staticmethod
        def backward(ctx, grad, _):
            return grad

    one, twice = Sort.apply(leaf(1.0))
    assert one.requires_grad
    assert not twice.requires_grad


def test_setup_context_gets_inputs_and_output():
    class Double(Function):
        @staticmethod
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = leaf(1.0)
    Double.apply(x, 5).sum().backward()
    assert x.grad.item() == 5.0


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (lambda g: (g, g), RuntimeError, "returned 2 gradients"),
        (lambda g: T.ones(5), RuntimeError, "shape"),
        (lambda g: 1.0, RuntimeError, "float"),
    ],
)
def test_wrong_gradients_are_refused_by_name(returned, error, message):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return returned(grad)

    with pytest.raises(error, match=message) as caught:
        Wrong.apply(leaf(1.0, 2.0)).sum().backward()
    assert "WrongBackward" in str(caught.value)


def test_a_backward_that_writes_to_its_gradient_is_detected():
    class Writes(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad.mul_(2)

    with pytest.raises(RuntimeError, match="WritesBackward.*in place"):
        Writes.apply(leaf(1.0)).sum().backward()


def test_saved_tensors_are_version_checked_and_freed():
    x = leaf(1.0)
    y = x * 1
    z = Square.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="SquareBackward.*version"):
        z.sum().backward()
    z = Square.apply(x)
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        z.sum().backward()


def test_a_function_cannot_be_instantiated():
    with pytest.raises(RuntimeError, match="apply"):
        Square()


def test_a_write_to_a_view_without_a_gradient_leaves_the_rest_of_its_base_alone():
    """PyTorch takes None for the view as None for the whole base, and loses the gradient of what was not written."""

    class Clear(Function):
        @staticmethod
        def forward(ctx, a):
            ctx.mark_dirty(a)
            return a.zero_()

        @staticmethod
        def backward(ctx, grad):
            return None

    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    Clear.apply(base[1:])
    base.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.0]


class MulInto(Function):
    """Writes `view * factor` over `view`, its second argument."""

    @staticmethod
    def forward(ctx, factor, view):
        ctx.save_for_backward(factor, view.clone())
        ctx.mark_dirty(view)
        return view.mul_(factor)

    @staticmethod
    def backward(ctx, grad):
        factor, old = ctx.saved_tensors
        return grad * old, grad * factor


@pytest.mark.parametrize("inputs", ["all", "factor", "x"])
def test_a_view_may_be_written_at_any_place_of_the_arguments(inputs):
    """PyTorch takes the gradient of the first argument for that of the view."""
    factor, x = leaf(2.0, 3.0), leaf(1.0, 4.0, 5.0, 6.0)
    base = (x * 1).view(2, 2)
    MulInto.apply(factor, base[1])
    wanted = {"all": None, "factor": [factor], "x": [x]}[inputs]
    (base * T.tensor([[10.0, 20.0], [30.0, 40.0]])).sum().backward(inputs=wanted)
    if inputs != "x":
        assert factor.grad.tolist() == [30.0 * 5.0, 40.0 * 6.0]
    if inputs != "factor":
        assert x.grad.tolist() == [10.0, 20.0, 30.0 * 2.0, 40.0 * 3.0]


def test_a_view_of_a_second_output_is_written_as_the_second_argument():
    factor, x = leaf(2.0, 3.0), leaf(1.0, 4.0, 5.0, 6.0)
    values, _ = (x * 1).view(2, 2).sort(dim=0, descending=True)  # two outputs of one node
    MulInto.apply(factor, values[0])
    values.sum().backward()
    assert factor.grad.tolist() == [5.0, 6.0]
    assert x.grad.tolist() == [1.0, 1.0, 2.0, 3.0]


def test_the_class_of_ctx_has_pytorchs_names():
    node = Square.apply(leaf(2.0)).grad_fn
    assert isinstance(node, FunctionCtx)
    assert isinstance(node, BackwardCFunction)
    assert not isinstance((leaf(2.0) * 2).grad_fn, FunctionCtx)


def test_the_switches_of_a_function_stand_as_in_pytorch():
    theirs, ours = require_torch().autograd.Function, T.autograd.Function
    switches = [name for name in dir(theirs) if isinstance(getattr(theirs, name), bool)]
    shared = [name for name in switches if hasattr(ours, name)]
    assert "clear_saved_tensors_on_access" in shared
    assert all(getattr(ours, name) is getattr(theirs, name) for name in shared)


def test_what_a_function_does_not_define_is_named_when_it_is_needed():
    class Half(T.autograd.Function):
        pass

    for call, name in (
        (lambda: Half.apply(T.ones(1)), "forward"),
        (lambda: Half.setup_context(None, (), None), "setup_context"),
        (lambda: Half.vjp(None, T.ones(1)), "backward"),
        (lambda: Half.jvp(None, T.ones(1)), "jvp"),
    ):
        with pytest.raises(NotImplementedError, match=name):
            call()
    Half.forward = staticmethod(lambda ctx, x: x * 2)
    out = Half.apply(T.ones(1, requires_grad=True))
    with pytest.raises(NotImplementedError, match="Half.*: write backward"):
        out.backward()

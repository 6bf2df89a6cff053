"""Saved tensors packed and unpacked: by context, one by one, on the CPU, as lazy clones; and what is refused."""

import contextlib
import gc
import weakref

import pytest

import tensorlab as T
from tests.autograd.programs import collection, leaf, make

program, check = collection()


def packing(M, pack, unpack):
    return M.autograd.graph.saved_tensors_hooks(pack, unpack)


def as_list(M):
    """A context that keeps what is saved as Python lists."""
    return packing(M, lambda t: t.tolist(), lambda v: M.tensor(v, dtype=M.float64))


# ---------------------------------------------------------------- values
@program
def gradients_are_as_without_packing(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0)
    with as_list(M):
        z = ((x * y).tanh() ** 2 + x.exp()).sum()
    z.backward()
    return x.grad, y.grad


@program
def an_op_that_takes_a_list(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0)
    with as_list(M):
        z = M.einsum("i,i->", x, y) * M.cat([x, y]).prod()
    z.backward()
    return x.grad, y.grad


@program
def pack_is_called_once_for_each_saved_tensor(M):
    x, y = leaf(M, 1.0), leaf(M, 3.0)
    seen = []
    with packing(M, lambda t: seen.append(t.tolist()) or t, lambda t: t):
        x * y
        x.exp()
        x + y
        x.sum()
    return sorted(seen)


@program
def pack_runs_without_grad_and_gets_the_tensor_itself(M):
    x = leaf(M, 1.0)
    seen = []
    with packing(
        M, lambda t: seen.append((M.is_grad_enabled(), t.requires_grad)) or t, lambda t: t
    ):
        x.exp()
        x * x
    return seen


@program
def unpack_is_called_at_each_backward(M):
    x = leaf(M, 1.0)
    seen = []
    with packing(M, lambda t: t, lambda t: seen.append(1) or t):
        y = x.exp()
    for _ in range(3):
        y.sum().backward(retain_graph=True)
    return seen, x.grad


@program
def a_second_derivative_goes_through_what_was_unpacked(M):
    x = leaf(M, 1.5)
    with as_list(M):
        y = x**3
        (first,) = M.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = M.autograd.grad(first.sum(), x, create_graph=True)
        (third,) = M.autograd.grad(second.sum(), x)
    return first, second, third


@program
def a_second_derivative_through_a_packed_output(M):
    x = leaf(M, 0.5)
    with as_list(M):
        y = x.tanh()
    (first,) = M.autograd.grad(y.sum(), x, create_graph=True)
    return first, M.autograd.grad(first.sum(), x)[0]


@program
def a_second_derivative_by_two_leaves(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0)
    with as_list(M):
        z = (x * y) ** 2
    grads = M.autograd.grad(z.sum(), (x, y), create_graph=True)
    return M.autograd.grad((grads[0] * grads[1]).sum(), (x, y))


@program
def a_second_derivative_through_one_of_several_outputs(M):
    x = leaf(M, 1.0, 2.0, 3.0)
    c = x.unbind()[2]
    with as_list(M):
        y = c**2.5
    (first,) = M.autograd.grad(y, c, create_graph=True)
    return first, M.autograd.grad(first, x)


@program
def a_function_of_ones_own(M):
    class Square(M.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    x = leaf(M, 3.0)
    with packing(M, lambda t: t * 10, lambda t: t):
        y = Square.apply(x)
    y.sum().backward()
    return x.grad


# ---------------------------------------------------------------- nesting, errors
@program
def the_innermost_counts(M):
    x = leaf(M, 3.0)
    seen = []
    with packing(M, lambda t: seen.append("outer") or t, lambda t: t):
        with packing(M, lambda t: seen.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    return seen


@program
def an_error_in_pack_leaves_the_context(M):
    x = leaf(M, 3.0)
    try:
        with packing(M, lambda t: 1 / 0, lambda t: t):
            x.exp()
    except ZeroDivisionError:
        pass
    y = x.exp()
    y.backward(M.ones(1, dtype=M.float64))
    return x.grad


@program
def unpack_returns_no_tensor(M):
    x = leaf(M, 3.0)
    with packing(M, lambda t: t, lambda t: 5):
        y = x.exp()
    y.sum().backward()


@program
def pack_changes_its_tensor(M):
    x = leaf(M, 3.0) * 1
    with packing(M, lambda t: t.add_(1), lambda t: t):
        x * x


@program
def packed_tensors_are_not_checked_for_writes(M):
    x = leaf(M, 3.0)
    y = x * 1
    with packing(M, lambda t: t, lambda t: t):
        z = y.exp() + y**2
    y.mul_(2)
    z.sum().backward()
    return x.grad


@program
def a_freed_graph_stays_freed(M):
    x = leaf(M, 3.0)
    with as_list(M):
        y = x.exp()
    y.sum().backward()
    y.sum().backward()


@program
def contexts_can_be_disabled(M):
    with M.autograd.graph.disable_saved_tensors_hooks("not here"), as_list(M):
        pass


@program
def disabling_ends_with_its_context(M):
    x = leaf(M, 3.0)
    with M.autograd.graph.disable_saved_tensors_hooks("not here"):
        pass
    with as_list(M):
        y = x.exp()
    y.sum().backward()
    return x.grad


# ---------------------------------------------------------------- one by one
@program
def hooks_of_one_saved_tensor(M):
    x, y = leaf(M, 1.0, 2.0), leaf(M, 3.0, 4.0)
    z = x * y
    z.grad_fn._raw_saved_other.register_hooks(
        lambda t: t.tolist(), lambda v: M.tensor(v, dtype=M.float64) * 100
    )
    z.sum().backward()
    return x.grad, y.grad


@program
def hooks_of_a_saved_result(M):
    x = leaf(M, 1.0, 2.0)
    z = x.exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, lambda t: t)
    z.sum().backward()
    return x.grad


@program
def a_second_pair_of_hooks(M):
    z = leaf(M, 1.0).exp()
    for _ in range(2):
        z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)


@program
def hooks_of_a_freed_tensor(M):
    z = leaf(M, 1.0).exp()
    saved = z.grad_fn._raw_saved_result
    z.sum().backward()
    saved.register_hooks(lambda t: t, lambda t: t)


# ---------------------------------------------------------------- ready-made ones
@program
def save_on_cpu(M):
    x = leaf(M, 1.0, 2.0)
    with M.autograd.graph.save_on_cpu():
        y = (x * x).tanh()
    y.sum().backward()
    return x.grad


@program
def mutation_of_saved_tensors_is_allowed(M):
    x = leaf(M, 1.0, 2.0)
    with M.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y.exp() * y
        y.mul_(100)
        z.sum().backward()
    return x.grad


@program
def mutation_through_a_view_and_of_an_output(M):
    x = leaf(M, 1.0, 2.0)
    with M.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.exp()
        z = (y * y).tanh()
        y[0].zero_()
        z.sub_(1)
        z.sum().backward()
    return x.grad


@program
def backward_after_the_mutation_context(M):
    x = leaf(M, 1.0, 2.0)
    with M.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.exp()
    y.sum().backward()


@program
def mutation_of_what_is_saved_after_the_context(M):
    x = leaf(M, 1.0, 2.0)
    with M.autograd.graph.allow_mutation_on_saved_tensors():
        pass
    y = x.exp()
    y.add_(1)
    y.sum().backward()


@program
def the_indices_of_writes_are_packed(M):
    seen, x, v = [], leaf(M, 1.0, 2.0, 3.0, 4.0), leaf(M, 5.0, 6.0)
    index = M.tensor([0, 2])

    def pack(t):
        seen.append(t.tolist())
        return t.clone()

    with M.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = x * 1
        y.index_put_((index,), v)
        y[index] = v * 2
        y.index_put_((index,), v, accumulate=True)
        y.index_add_(0, index, v)
    y.sum().backward()
    return seen, x.grad.tolist(), v.grad.tolist()


@program
def a_version_counted_by_hand(M):
    x = leaf(M, 1.0, 2.0)
    y = x * 1
    z = y**2
    M.autograd.graph.increment_version(y)
    z.sum().backward()


@program
def versions_of_several_counted_by_hand(M):
    x, y = M.ones(1), M.ones(2)
    M.autograd.graph.increment_version([x, y])
    M.autograd.graph.increment_version(x)
    return x._version, y._version


test_a_program_has_the_same_outcome_as_with_pytorch = check()


# ---------------------------------------------------------------- memory
def test_what_was_packed_does_not_hold_the_tensor():
    x = T.ones(3, requires_grad=True)
    y = x * 2
    watch = weakref.ref(y)
    with packing(T, lambda t: t.tolist(), T.tensor):
        z = y * y
    del y
    gc.collect()
    assert watch() is None
    z.sum().backward()
    assert x.grad.tolist() == [8.0, 8.0, 8.0]


def test_the_leaf_gets_its_gradient_though_another_tensor_stands_for_it():
    x = T.ones(3, requires_grad=True)
    with packing(T, lambda t: t.tolist(), T.tensor):
        z = x.sin()
    (first,) = T.autograd.grad(z.sum(), x, create_graph=True)
    first.sum().backward()
    assert x.grad is not None


def test_a_tensor_that_was_changed_cannot_be_packed_any_more():
    y = T.ones(3, requires_grad=True) * 1
    z = y**2
    with T.no_grad():
        y.add_(10)
    with pytest.raises(RuntimeError, match="in-place operation has changed"):
        z.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_a_message_names_what_unpack_returned():
    x = T.ones(3, requires_grad=True)
    with packing(T, lambda t: t, lambda t: "text"):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack returned str"):
        y.sum().backward()


# ---------------------------------------------------------------- pack and unpack that run backward
def test_pack_must_not_free_what_it_packs():
    x = T.ones(3, requires_grad=True)
    s = x * x
    saved = s.grad_fn._raw_saved_self

    def pack(tensor):
        s.backward(T.ones(3))
        return tensor

    with pytest.raises(RuntimeError, match="while pack was running"):
        saved.register_hooks(pack, lambda tensor: tensor)


def test_pack_must_not_be_packed_meanwhile():
    x = T.ones(3, requires_grad=True)
    saved = (x * x).grad_fn._raw_saved_self

    def pack(tensor):
        saved.register_hooks(lambda tensor: tensor, lambda tensor: tensor)
        return tensor

    with pytest.raises(RuntimeError, match="while pack was running"):
        saved.register_hooks(pack, lambda tensor: tensor)


@pytest.mark.parametrize("write", ["exp", "exp_"])
def test_pack_must_not_run_backward_through_the_result_it_is_given(write):
    def pack(tensor):
        if tensor.grad_fn is not None:
            tensor.backward(T.ones(3))
        return tensor

    y = T.ones(3, requires_grad=True) + 0
    with (
        pytest.raises(RuntimeError, match="not been saved yet"),
        T.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
    ):
        getattr(y, write)()


@pytest.mark.parametrize("compute", [lambda x: x * x, lambda x: x.sin(), lambda x: x.exp()])
def test_unpack_may_run_the_same_graph(compute):
    ran = []

    def unpack(tensor):
        if not ran:
            ran.append(1)
            result.backward(T.ones(3))
        return tensor

    x = T.ones(3, requires_grad=True)
    with T.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach(), unpack):
        result = compute(x)
    with contextlib.suppress(RuntimeError):  # the pass within has freed what this one needs
        result.backward(T.ones(3))
    assert x.grad is not None


def test_hooks_cannot_be_forbidden_where_they_are_in_force():
    with T.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        with (
            pytest.raises(RuntimeError, match="not here"),
            T.autograd.graph.disable_saved_tensors_hooks("not here"),
        ):
            pass
        y = T.ones(2, requires_grad=True).exp()
    with T.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):  # nothing was forbidden
        y.sum().backward()


def test_what_backward_has_freed_cannot_be_looked_at():
    y = T.ones(2, requires_grad=True).exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        _ = y.grad_fn._saved_result


def test_an_unpack_function_that_frees_the_graph_frees_what_is_unpacked_next():
    # Not next to PyTorch, which crashes here.
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    def unpack(packed):
        if not begun:
            begun.append(True)
            z.backward()
        return packed

    begun, x, y = [], leaf(T, 2.0), leaf(T, 3.0)
    with packing(T, lambda t: t.detach(), unpack):
        z = make(T, forward, backward).apply(x, y).sum()
    with pytest.raises(RuntimeError, match="has run before, and what it had saved was freed"):
        z.backward()
    assert (x.grad.item(), y.grad.item()) == (3.0, 2.0)

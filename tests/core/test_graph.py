"""Views, in-place operations and version counters: what a wrong gradient would come from."""

import gc

import pytest

import tensorlab as T


def leaf(*values):
    return T.tensor(list(values), requires_grad=True)


# ---------------------------------------------------------------- version counters
def test_an_in_place_op_counts_one_version():
    x = T.ones(3)
    assert x._version == 0
    x.mul_(2)
    x.add_(1)
    assert x._version == 2


def test_base_views_and_detached_aliases_share_one_counter():
    x = T.ones(2, 3)
    view, detached = x.t()[1:], x.detach()
    view.mul_(2)
    assert x._version == view._version == detached._version == 1
    detached.mul_(2)
    assert x._version == view._version == detached._version == 2


def test_data_has_a_counter_of_its_own():
    x = T.ones(2)
    x.data.mul_(2)
    assert x._version == 0
    assert x.tolist() == [2.0, 2.0]


def test_a_saved_input_that_was_changed_is_an_error_that_tells_versions():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * 1
    z = y * w
    y.add_(1)
    with pytest.raises(RuntimeError, match="version 1 but was saved at 0"):
        z.sum().backward()


def test_a_saved_output_that_was_changed_is_an_error():
    y = leaf(1.0).tanh()
    y.add_(1)
    with pytest.raises(RuntimeError, match="TanhBackward0.*its own output"):
        y.sum().backward()


def test_a_write_through_a_view_of_what_was_saved_is_noticed():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    y.detach()[0:1].zero_()
    with pytest.raises(RuntimeError, match="in-place"):
        z.sum().backward()


def test_what_no_gradient_needs_is_not_saved():
    x, constant = leaf(1.0, 2.0), T.tensor([3.0, 4.0])
    y = x * 1
    z = y * constant
    y.add_(1)  # only the gradient of `constant` would need y
    z.sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]


# ---------------------------------------------------------------- in-place on computed tensors
def test_in_place_on_a_computed_tensor_is_differentiated():
    x = leaf(3.0)
    y = x * 2
    y.mul_(x)
    y.sum().backward()
    assert x.grad.item() == 12.0


def test_in_place_on_a_leaf_that_requires_grad_raises_and_changes_nothing():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="leaf that requires grad"):
        x.add_(1)
    assert x.tolist() == [1.0]
    assert x._version == 0


def test_in_place_on_a_view_of_such_a_leaf_raises():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[0:1].add_(1)
    assert x.tolist() == [1.0, 2.0]


def test_no_grad_allows_writing_to_a_leaf():
    x = leaf(1.0)
    with T.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0]
    assert x.is_leaf


# ---------------------------------------------------------------- views
def test_a_write_to_a_view_is_seen_in_the_gradient_of_its_base():
    x = leaf(1.0, 2.0)
    base = x * 1
    base[0:1].mul_(10)
    base.sum().backward()
    assert x.grad.tolist() == [10.0, 1.0]


def test_a_write_to_the_base_is_seen_in_the_gradient_of_a_view():
    x = leaf(1.0, 2.0)
    base = x * 1
    view = base[0:1]
    base.mul_(3)
    view.sum().backward()
    assert x.grad.tolist() == [3.0, 0.0]


def test_a_view_made_stale_by_another_view_gets_a_new_node():
    x = leaf(1.0, 2.0)
    base = x * 1
    first, second = base[0:1], base.view(2)
    old = first.grad_fn
    second.mul_(5)
    assert first.grad_fn is not old
    assert first.grad_fn.name() == "AsStridedBackward0"
    first.sum().backward()
    assert x.grad.tolist() == [5.0, 0.0]


def test_a_hook_on_a_stale_view_works():
    x = T.ones(2, requires_grad=True).clone().view(2)
    seen = []
    x[:].add_(1)
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.sum().backward()
    assert seen == [[1.0, 1.0]]


def test_views_of_views_know_the_root():
    base = T.ones(2, 3)
    view = base.t()[0:1].view(2)
    assert view._base is base
    assert view._is_view()
    assert not base.detach()._is_view()


def test_a_write_through_a_view_makes_a_plain_base_part_of_the_graph():
    base, y = T.zeros(3), leaf(5.0)
    base[1:2] = y
    assert base.requires_grad
    base.sum().backward()
    assert y.grad.item() == 1.0


def test_one_of_several_views_cannot_be_written():
    first, _ = (leaf(1.0, 2.0) * 1).unbind(0)
    with pytest.raises(RuntimeError, match="several"):
        first.add_(1)


def test_a_view_made_under_no_grad_cannot_be_written_with_grad_mode_on():
    base = leaf(1.0, 2.0) * 1
    with T.no_grad():
        view = base[0:1]
    with pytest.raises(RuntimeError, match="no_grad"):
        view.add_(1)


def test_an_expanded_tensor_cannot_be_written():
    x = T.ones(1).expand(3)
    with pytest.raises(
        RuntimeError, match=r"share one place in memory \(shape \(3,\), strides \(0,\)\)"
    ):
        x.add_(1)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_in_place_keeps_a_retained_gradient():
    x = leaf(2.0)
    y = x * 1
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    assert y.grad.item() == 1.0
    assert x.grad.item() == 3.0


def test_double_backward_through_an_in_place_op_on_a_view():
    x = leaf(0.5, 0.25)
    base = x * 1
    base[0:1].tanh_()
    (g,) = T.autograd.grad((base * base).sum(), x, create_graph=True)
    (h,) = T.autograd.grad(g.sum(), x)
    t = T.tensor(0.5, dtype=T.float64).tanh().item()
    d = 1 - t * t
    assert h[0].item() == pytest.approx(2 * d * d - 4 * t * t * d, rel=1e-5)
    assert h[1].item() == pytest.approx(2.0)


# ---------------------------------------------------------------- flags
def test_requires_grad_of_integers_is_refused():
    with pytest.raises(RuntimeError, match="floating-point"):
        T.tensor([1]).requires_grad_()


def test_requires_grad_cannot_be_switched_off_for_a_computed_tensor():
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match="leaves"):
        y.requires_grad = False
    assert y.requires_grad


def test_what_was_the_second_result_is_a_plain_leaf_after_detach_in_place():
    class Twice(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1, x * 2

        @staticmethod
        def backward(ctx, one, two):
            return one + 2 * two

    _, second = Twice.apply(leaf(3.0))
    assert second.output_nr == 1
    second.detach_()
    assert second.output_nr == 0
    (second.requires_grad_() * 3).backward()
    assert second.grad.tolist() == [3.0]


def test_data_of_a_tensor_that_requires_grad_must_be_floating():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="data: the tensor requires grad"):
        x.data = T.tensor([1, 2])
    assert x.tolist() == [1.0, 2.0]
    assert x.dtype == T.float32
    x.requires_grad_(False).data = T.tensor([1, 2])
    assert x.dtype == T.int64


def test_only_what_requires_grad_retains_it():
    x = T.ones(2)
    with pytest.raises(RuntimeError, match="retain_grad: the tensor does not require grad"):
        x.retain_grad()
    assert not x.retains_grad


def test_detach_in_place_makes_a_leaf_but_not_of_a_view():
    y = leaf(1.0) * 2
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    with pytest.raises(RuntimeError, match="view"):
        (leaf(1.0) * 2)[0:1].detach_()


@pytest.mark.parametrize(
    ("value", "error"),
    [(3.0, TypeError), (T.ones(2, dtype=T.float64), RuntimeError), (T.ones(3), RuntimeError)],
)
def test_grad_must_fit_its_tensor(value, error):
    x = leaf(1.0, 2.0)
    with pytest.raises(error):
        x.grad = value
    with pytest.raises(RuntimeError, match="its own"):
        x.grad = x
    assert x.grad is None


def test_reading_grad_of_a_computed_tensor_warns():
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="retain_grad"):
        assert y.grad is None


# ---------------------------------------------------------------- modes
def test_modes_nest_and_decorate():
    x = leaf(1.0)

    @T.no_grad()
    def quiet():
        assert not T.is_grad_enabled()
        with T.enable_grad():
            return x * 2, T.is_grad_enabled()

    y, inside = quiet()
    assert inside
    assert y.requires_grad
    assert T.is_grad_enabled()
    with T.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_inference_tensors_have_no_version_and_cannot_be_saved():
    with T.inference_mode():
        x = T.ones(2) * 2
        assert x.is_inference()
        x.add_(1)
    with pytest.raises(RuntimeError, match="do not track"):
        _ = x._version
    with pytest.raises(RuntimeError, match="inference"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="inference"):
        leaf(1.0, 2.0) * x
    assert x.tolist() == [3.0, 3.0]


# ---------------------------------------------------------------- cycles
def test_a_hook_that_holds_its_own_tensor_is_collected():
    gc.collect()
    before = T.live_tensors()
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: y * g)  # noqa: F821 - deleted further down
    x.register_hook(lambda g: x * g)  # noqa: F821
    x.note = y
    del x, y
    gc.collect()
    assert T.live_tensors() == before


def test_a_saved_output_is_freed_with_its_tensor_without_the_cycle_collector():
    x = leaf(0.5)
    gc.collect()
    gc.disable()
    try:
        before = T.live_tensors()
        y = x.tanh()
        del y
        assert T.live_tensors() == before
    finally:
        gc.enable()


def test_a_hook_may_not_move_a_gradient_to_another_device():
    for make in (lambda x: x, lambda x: x * 2):
        x = make(leaf(1.0, 2.0))
        x.register_hook(lambda grad: grad.to("meta"))
        with pytest.raises(
            RuntimeError, match="hook: returned a gradient on meta instead of .* cpu"
        ):
            x.sum().backward()


def test_a_mode_that_is_kept_can_be_entered_later():
    off = T.set_grad_enabled(False)
    T.set_grad_enabled(True)
    with off:
        assert not T.is_grad_enabled()
    assert T.is_grad_enabled()


def test_inference_mode_decorates_without_brackets():
    @T.inference_mode
    def ask():
        return T.is_inference_mode_enabled()

    assert ask()
    assert not T.is_inference_mode_enabled()

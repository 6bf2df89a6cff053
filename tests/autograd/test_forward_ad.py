"""forward_ad: dual tensors, their gradients, and ordinary tensors that become dual."""

import pytest

import tensorlab
from tensorlab.autograd import forward_ad as fw
from tensorlab.autograd import grad

X = tensorlab.tensor([1.0, 2.0])
T = tensorlab.tensor([1.0, 0.5])


def parts(x):
    primal, tangent = fw.unpack_dual(x)
    return primal.tolist(), None if tangent is None else tangent.tolist()


def test_a_dual_tensor_has_both_parts_until_its_level_ends():
    with fw.dual_level():
        dual = fw.make_dual(X, T)
        made = dual * 3
        assert parts(made) == ([3, 6], [3, 1.5])
        assert dual._base is X
        assert parts(X) == ([1, 2], None)
        assert parts(fw.unpack_dual(dual).primal) == ([1, 2], None)
        assert repr(dual) == "tensor([1., 2.], tangent=tensor([1.0000, 0.5000]))"
        assert dual.numpy().tolist() == [1, 2]
    assert repr(made) == "tensor([3., 6.])"
    assert parts(made) == ([3, 6], None)
    assert made.numpy().tolist() == [3, 6]


def test_backward_goes_through_dual_tensors_and_tangents():
    x, t = X.clone().requires_grad_(), T.clone().requires_grad_()
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        y = (dual**3).sum()
        tangent = fw.unpack_dual(y).tangent
        assert [g.tolist() for g in grad(tangent, (x, t))] == [[6, 6], [3, 12]]
        (first,) = grad(y, x, create_graph=True)
        assert parts(first) == ([3, 12], [6, 6])
        assert grad(fw.unpack_dual(first).tangent.sum(), x)[0].tolist() == [6, 3]


def test_a_write_makes_an_ordinary_tensor_and_its_base_dual():
    whole = tensorlab.zeros(3)
    part = whole[1:]
    with fw.dual_level():
        part.copy_(fw.make_dual(X, T))
        assert parts(whole) == ([0, 1, 2], [0, 1, 0.5])
        whole.mul_(2)
        assert parts(part) == ([2, 4], [2, 1])
    assert parts(whole) == ([0, 2, 4], None)
    assert part.add_(1).tolist() == whole[1:].tolist() == [3, 5]


def test_a_written_tensor_keeps_its_history():
    w = tensorlab.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 2
    with fw.dual_level():
        x[1:] = fw.make_dual(X, T)
        y = (x * w).sum()
        (found,) = grad(y, w, retain_graph=True)
        assert parts(found) == ([4, 1, 2], [0, 1, 0.5])
    y.backward()
    assert w.grad.tolist() == [4, 1, 2]


def test_no_tangents_are_computed_where_they_are_switched_off():
    with fw.dual_level():
        dual = fw.make_dual(X, T)
        with fw._set_fwd_grad_enabled(False):
            assert parts(dual * 2) == ([2, 4], None)
            assert parts(dual) == ([1, 2], None)
        with tensorlab.inference_mode():
            assert parts(dual * 2) == ([2, 4], None)
            assert parts(dual) == ([1, 2], None)
        with tensorlab.no_grad():
            assert parts(dual * 2) == ([2, 4], [2, 1])
        assert parts(dual.detach()) == ([1, 2], None)


def test_what_does_not_fit_is_refused():
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(X, T)
    with pytest.raises(RuntimeError, match="no level to end"):
        fw.exit_dual_level()
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            fw.enter_dual_level()
        with pytest.raises(RuntimeError, match=r"Tensor is of size \[2\] .* of size \[1\]"):
            fw.make_dual(X, T[:1])
        with pytest.raises(ValueError, match="Expected primal to be floating"):
            fw.make_dual(X.long(), T)
        with pytest.raises(RuntimeError, match="already has a forward gradient"):
            fw.make_dual(fw.make_dual(X, T), T)
        with pytest.raises(RuntimeError, match="itself has a forward gradient"):
            fw.make_dual(X, fw.make_dual(T, T))
        with pytest.raises(RuntimeError, match="not the last one"):
            fw.exit_dual_level(level=3)

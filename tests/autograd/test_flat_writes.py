"""Writes in place of what has no slope, such as `x.gt_(1)`: x loses the history of what it was."""

import pytest

import tensorlab
from tests.autograd.programs import collection, leaf

program, check = collection()

COMPARISONS = ("eq_", "ne_", "lt_", "le_", "gt_", "ge_")
LOGIC = ("logical_and_", "logical_or_", "logical_xor_")


def read(M, write, others):
    """Names, flags and gradients after a write over a tensor with a history, and over one without."""
    x = leaf(M, 1.0, 2.0)
    y = x * 3
    facts = []
    for other in others:
        for target in y * 1, M.ones(2, dtype=M.float64):
            write(target, other)
            facts.append(
                (target.requires_grad, target, getattr(target.grad_fn, "name", str)().rstrip("01"))
            )
            if target.requires_grad:
                facts.append(M.autograd.grad(target.sum(), x, retain_graph=True, allow_unused=True))
    return facts


@program
def comparisons(M):
    ones = M.ones(2, dtype=M.float64)
    w = leaf(M, 1.0, 3.0)
    return [
        read(M, lambda x, other, name=name: getattr(x, name)(other), [1.0, ones, w])
        for name in COMPARISONS
    ]


@program
def comparisons_of_a_part(M):
    x = leaf(M, 1.0, 2.0, 3.0)
    y = x * 2
    y[1:].gt_(4.0)
    y.sum().backward()
    return y, y.grad_fn.name().rpartition(":")[2].rstrip("01"), x.grad


@program
def a_comparison_over_a_leaf(M):
    leaf(M, 1.0).gt_(0.0)


@program
def a_comparison_over_a_view_of_a_leaf(M):
    leaf(M, 1.0, 2.0)[:1].eq_(0.0)


@program
def comparisons_under_no_grad_and_over_integers(M):
    x = leaf(M, 1.0, 2.0)
    with M.no_grad():
        x.gt_(1.0)
    return x, M.tensor([1, 2]).gt_(1)


@program
def a_comparison_saves_nothing(M):
    x = leaf(M, 1.0, 2.0)
    w = M.ones(2, dtype=M.float64)
    y = (x * 1).lt_(w)
    w.add_(1)
    y.sum().backward()
    return x.grad


@program
def next_numbers_move_along(M):
    x, y = leaf(M, 1.0, 2.0, 3.0), leaf(M, 5.0, 2.0, 1.0)
    out = M.nextafter(x, y)
    out.backward(M.tensor([2.0, 3.0, 4.0], dtype=M.float64))
    written = (x * 1).nextafter_(y)
    gradients = [x.grad, y.grad, *M.autograd.grad(written.sum(), (x, y))]
    return out.requires_grad, written.requires_grad, [grad.tolist() for grad in gradients]


@program
def out_needs_no_history_without_a_slope(M):
    x = leaf(M, 1.0, 2.0)
    flags = M.zeros(2, dtype=M.bool)
    return [
        M.gt(x, 1.0, out=flags).tolist(),
        M.logical_not(x, out=flags).tolist(),
        M.signbit(x, out=flags).tolist(),
        M.eq(x, 1.0, out=M.zeros(2)).requires_grad,
    ]


test_a_program_has_the_same_outcome_as_with_pytorch = check()


@pytest.mark.parametrize("name", LOGIC)
def test_logic_is_flat_as_well(name):
    """PyTorch leaves the history, and so a gradient of 1, to a tensor that was overwritten."""
    x = tensorlab.tensor([0.0, 2.0], requires_grad=True)
    y = x * 3
    getattr(y, name)(tensorlab.ones(2))
    y.logical_not_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    for write in (lambda: getattr(x, name)(tensorlab.ones(2)), x.logical_not_):
        with pytest.raises(RuntimeError, match="leaf"):
            write()
    assert x.tolist() == [0.0, 2.0]


def test_a_step_has_a_slope_where_its_value_was_given():
    """PyTorch has no derivative of heaviside, and raises in backward."""
    x = tensorlab.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    values = tensorlab.tensor([5.0, 6.0, 7.0], requires_grad=True)
    tensorlab.heaviside(x, values).backward(tensorlab.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    assert values.grad.tolist() == [0.0, 2.0, 0.0]
    written = (x * 1).heaviside_(values)
    assert tensorlab.autograd.grad(written.sum(), values)[0].tolist() == [0.0, 1.0, 0.0]

"""Ops without a derivative: what they return requires grad, and backward through it says that it cannot go there."""

import pytest

import tensorlab
from tests.autograd.programs import collection, leaf

program, check = collection()

OPS = {
    "unique": lambda M, x: M.unique(x),
    "unique with counts": lambda M, x: M.unique(x, return_inverse=True, return_counts=True),
    "unique rows": lambda M, x: M.unique(x.view(3, 1), dim=0, return_counts=True),
    "unique_consecutive": lambda M, x: M.unique_consecutive(x, return_counts=True),
    "unique_consecutive rows": lambda M, x: M.unique_consecutive(x.view(3, 1), dim=0),
    "bincount of weights": lambda M, x: M.bincount(M.tensor([0, 2, 2]), weights=x),
    "histogram": lambda M, x: M.histogram(x, 2),
    "histogram of weights": lambda M, x: M.histogram(x.detach(), 2, weight=x),
    "histogram by edges": lambda M, x: M.histogram(x.detach() - 1, x),
}


def results(M, name, x):
    out = OPS[name](M, x)
    return list(out) if isinstance(out, tuple) else [out]


@program
def results_require_grad(M):
    flags = []
    for name in OPS:
        flags.append([out.requires_grad for out in results(M, name, leaf(M, 1.0, 2.0, 2.0))])
        with M.no_grad():
            flags.append([out.requires_grad for out in results(M, name, leaf(M, 1.0, 2.0, 2.0))])
        constant = M.tensor([1.0, 2.0, 2.0])
        flags.append([out.requires_grad for out in results(M, name, constant)])
    return flags


test_a_program_has_the_same_outcome_as_with_pytorch = check()


@pytest.mark.parametrize("name", OPS)
def test_backward_raises_before_a_leaf_gets_a_gradient(T, name):
    x = leaf(T, 1.0, 2.0, 2.0)
    for out in results(T, name, x):
        if out.requires_grad:
            with pytest.raises(RuntimeError, match="not implemented"):
                (out.sum() + x.sum()).backward()
    assert x.grad is None


def test_the_error_says_what_to_do():
    y = tensorlab.unique(leaf(tensorlab, 1.0, 2.0))
    with pytest.raises(NotImplementedError, match=r"unique: its derivative .* detach\(\)"):
        y.sum().backward()

"""Warnings: of PyTorch's class, and with the line of the program that did what they are about."""

import copy
import pickle
import warnings

import pytest

import tensorlab
from tests.oracle import require_torch


def hooked(T, hook):
    """A leaf with a hook."""
    x = T.ones(1, requires_grad=True)
    x.register_hook(hook)
    return x


CALLS = {
    "a gradient of no leaf": lambda T: (T.ones(1, requires_grad=True) * 2).grad,
    "a tensor of a tensor": lambda T: T.tensor(T.ones(2)),
    "a new tensor of a tensor": lambda T: T.ones(2).new_tensor(T.ones(2)),
    "a result resized": lambda T: T.add(T.ones(2), 1, out=T.ones(3)),
    "a write to expanded memory": lambda T: (
        T.ones(1).expand(2).masked_fill_(T.tensor([True, True]), 1.0)
    ),
    "a mask of bytes": lambda T: T.ones(2)[T.tensor([0, 1], dtype=T.uint8)],
    "a hook left out of a pickle": lambda T: pickle.dumps(hooked(T, lambda grad: grad)),
    "a broadcast target": lambda T: T.nn.functional.mse_loss(T.ones(2), T.ones(2, 1)),
    "a divergence by elements": lambda T: T.nn.functional.kl_div(
        T.ones(2), T.ones(2), reduction="mean"
    ),
    "a variance of one": lambda T: T.ones(1).var(),
    "deviations of as many as are subtracted": lambda T: T.ones(2, 3).std(1, correction=3),
    "a variance of nothing": lambda T: T.ones(0).var(unbiased=False),
    "old arguments of grad": lambda T: T.autograd.grad(
        (x := T.ones(1, requires_grad=True)) * 2, x, only_inputs=False
    ),
    "old arguments of backward": lambda T: T.autograd.backward(
        T.ones(1, requires_grad=True) * 2, grad_variables=T.ones(1)
    ),
}

SILENT = {
    "a variance of two": lambda T: T.ones(2).var(),
    "a variance without correction": lambda T: T.ones(1).var(unbiased=False),
    "a tensor as a tensor": lambda T: (T.as_tensor(T.ones(2)), T.asarray(T.ones(2))),
    "a tensor of numbers in tensors": lambda T: T.tensor([T.ones(()), T.ones(())]),
    "a hook that may be left out": lambda T: pickle.dumps(
        hooked(T, T.utils.hooks.unserializable_hook(lambda grad: grad))
    ),
    "a deep copy with a hook": lambda T: copy.deepcopy(hooked(T, lambda grad: grad)),
    "a pickle without hooks": lambda T: pickle.dumps(T.ones(1, requires_grad=True)),
    "the old constructor": lambda T: T.Tensor(T.ones(2)),
}


def heard(T, call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(T)
    return found


@pytest.fixture
def torch():
    torch = require_torch()
    was = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield torch
    torch.set_warn_always(was)


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_has_the_class_of_pytorchs(torch, name):
    theirs, ours = heard(torch, CALLS[name]), heard(tensorlab, CALLS[name])
    assert [one.category for one in ours] == [one.category for one in theirs]
    assert len(ours) == 1


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_line_of_the_call(name):
    (warning,) = heard(tensorlab, CALLS[name])
    first = CALLS[name].__code__.co_firstlineno
    assert warning.filename == __file__
    assert first <= warning.lineno <= first + 2


@pytest.mark.parametrize("name", SILENT)
def test_where_pytorch_does_not_warn(torch, name):
    assert heard(torch, SILENT[name]) == []
    assert heard(tensorlab, SILENT[name]) == []

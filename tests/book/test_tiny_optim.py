"""The small program of chapter 33: its optimizers take the library's steps."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T
from tensorlab import optim

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"


def program(path):
    specification = importlib.util.spec_from_file_location(Path(path).stem, CHAPTERS / path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


tiny = program("33-optimizers/tiny_optim.py")
PAIRS = {
    "SGD": (optim.SGD, tiny.SGD, {"lr": 0.1}),
    "momentum": (optim.SGD, tiny.SGD, {"lr": 0.1, "momentum": 0.9}),
    "Nesterov": (optim.SGD, tiny.SGD, {"lr": 0.1, "momentum": 0.8, "nesterov": True}),
    "Adagrad": (optim.Adagrad, tiny.Adagrad, {"lr": 0.1}),
    "Adam": (optim.Adam, tiny.Adam, {"lr": 0.02}),
    "Adam, other betas": (optim.Adam, tiny.Adam, {"lr": 0.1, "betas": (0.5, 0.8), "eps": 0.1}),
    "AdamW": (optim.AdamW, tiny.Adam, {"lr": 0.1, "weight_decay": 0.2}),
}


@pytest.mark.parametrize("name", PAIRS)
def test_steps_are_those_of_the_library(name):
    theirs, ours, options = PAIRS[name]
    T.manual_seed(0)
    first = [T.randn(size, dtype=T.float64, requires_grad=True) for size in (3, (2, 4))]
    second = [param.detach().clone().requires_grad_() for param in first]
    library, textbook = theirs(first, **options), ours(second, **options)
    for step in range(5):
        for a, b in zip(first, second, strict=True):
            a.grad = T.randn(a.shape, dtype=T.float64)
            b.grad = a.grad.clone()
        if step == 2:
            first[0].grad = second[0].grad = None
        library.step()
        textbook.step()
        for a, b in zip(first, second, strict=True):
            T.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


def test_plain_sgd_is_equal_to_the_bit():
    first = T.linspace(-1, 1, 50).requires_grad_()
    second = first.detach().clone().requires_grad_()
    for param, kind in ((first, optim.SGD), (second, tiny.SGD)):
        param.grad = T.linspace(3, 5, 50)
        kind([param], lr=0.3).step()
    assert first.equal(second)


def test_gradients_are_forgotten_and_steps_are_not_recorded():
    param = T.ones(2, requires_grad=True)
    param.grad = T.ones(2)
    optimizer = tiny.SGD([param], lr=0.5)
    optimizer.step()
    assert param.is_leaf
    assert param.tolist() == [0.5, 0.5]
    optimizer.zero_grad()
    assert param.grad is None


def test_the_network_of_chapter_28_trains_with_it():
    module = program("28-modules/tiny_module.py")
    x, labels = T.eye(10, 64), T.arange(10)
    for net in (module.DigitNet(), tiny.DigitNet()):
        params = [param for _, param in net.named_parameters()]
        optimizer, losses = tiny.Adam(params, lr=0.05), []
        for _ in range(40):
            loss = T.nn.functional.cross_entropy(net(x), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.1 * losses[0]

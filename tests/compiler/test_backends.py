"""compile: backends by name and of one's own, and what runs without a C compiler."""

import collections

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler import program
from tests.compiler.comparing import equal

pytestmark = pytest.mark.usefixtures("fresh")

x, y = torch.randn(4, 5), torch.randn(4, 5)


def test_a_backend_of_ones_own_gets_the_graph():
    seen = []

    def backend(module, examples):
        seen.append(
            (
                [node.target.name for node in module.graph.nodes if node.op == "call_function"],
                len(examples),
            )
        )
        return module.forward

    g = torch.compile(lambda a, b: ((a + b).relu(), a), backend=backend)
    for _ in range(3):
        assert equal(g(x, y), ((x + y).relu(), x))
    assert seen == [(["add", "relu"], 2)]
    a = x.clone().requires_grad_()
    for _ in range(2):
        a.grad = None
        g(a, y)[0].sum().backward()
        assert equal(a.grad, ((x + y) > 0).float())


def test_a_backend_that_fails_is_named_with_the_function():
    def backend(module, examples):
        raise ValueError("no such chip")

    class Net(nn.Module):
        def forward(self, a):
            return a + 1

    def f(a):
        return a + 1

    for given in (f, Net()):
        line = (f if given is f else Net.forward).__code__.co_firstlineno
        reason = "the function was recorded, but its backend raised ValueError: no such chip"
        message = rf"test_backends\.py:{line}: {reason}"
        with pytest.warns(UserWarning, match=message):
            assert equal(torch.compile(given, backend=backend)(x), x + 1)
        with pytest.raises(ValueError, match="no such chip"):
            torch.compile(given, backend=backend, fullgraph=True)(x)


def test_backends_are_listed_and_registered():
    assert {"tensorlab", "inductor", "eager", "aot_eager"} <= set(torch.compiler.list_backends())

    @torch.compiler.register_backend(name="mine")
    def backend(module, examples):
        return module.forward

    g = torch.compile(lambda a: a + 1, backend="mine")
    assert equal(g(x), x + 1)
    assert equal(g(x), x + 1)


def test_without_a_compiler_the_ops_run_one_by_one(monkeypatch):
    monkeypatch.setenv("TENSORLAB_CC", "/nowhere/cc")

    monkeypatch.setattr(program, "warned", set())
    g = torch.compile(lambda a: (a * 7.25).tanh() - 0.125)
    with pytest.warns(UserWarning, match="/nowhere/cc"):
        first = g(x)
    assert equal(first, (x * 7.25).tanh() - 0.125)
    assert equal(g(x), first)
    assert g.compiled.counts["replayed"] == 1


def test_a_backend_of_ones_own_gives_back_what_the_function_returns():
    Pair = collections.namedtuple("Pair", "first second")

    def f(a):
        return Pair(a + 1, [a.max(0), {"x": a, "n": 3}])

    g = torch.compile(f, backend=lambda module, examples: module.forward)
    a = torch.randn(3, 4)
    g(a)
    found, expected = g(a), f(a)
    assert g.compiled.counts["replayed"] == 1
    assert equal(found, expected)
    assert type(found.second[0]) is type(expected.second[0])

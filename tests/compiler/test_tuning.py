"""Mode "max-autotune" makes variants of a program, measures them and keeps the fastest; checks see what passes do."""

import dataclasses

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler import tuning
from tensorlab.compiler.passes.running import PASSES, PassFailed
from tensorlab.compiler.program import Settings

F = nn.functional


pytestmark = pytest.mark.usefixtures("fresh")


def made(monkeypatch, times):
    """Let the variants take these times; returns the list of the programs that are made."""
    programs, real = [], tuning.make_program
    monkeypatch.setattr(
        tuning, "make_program", lambda *given: programs.append(real(*given)) or programs[-1]
    )
    calls = {}

    def seconds_for(call, count):
        call()
        place = calls.setdefault(id(call), len(calls))
        return times[place] * count

    monkeypatch.setattr(tuning, "seconds_for", seconds_for)
    return programs


@pytest.mark.parametrize("times", [(1.0, 2.0), (2.0, 1.0)])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("mode", ["max-autotune", "max-autotune-no-cudagraphs"])
def test_the_faster_variant_is_kept(monkeypatch, times, requires_grad, mode):
    programs = made(monkeypatch, times)
    x = torch.randn(6, 40, requires_grad=requires_grad)
    g = torch.compile(lambda x: F.softmax(x * 2, 1) * 3, mode=mode, fullgraph=True)
    g(x)
    assert len(programs) == 2
    (entry,) = g.compiled.entries
    assert entry.program is programs[times.index(min(times))]
    ops = [[node.target.name for node in one.pieces[0].graph.nodes if node.op == "call_function"]
           for one in programs]  # fmt: skip
    assert "softmax" in ops[0]
    assert "softmax" not in ops[1]
    assert torch.allclose(g(x), F.softmax(x * 2, 1) * 3)
    assert g.compiled.counts["replayed"] == 1
    if requires_grad:
        (mine,) = torch.autograd.grad(g(x).square().sum(), x)
        (other,) = torch.autograd.grad((F.softmax(x * 2, 1) * 3).square().sum(), x)
        assert torch.allclose(mine, other, atol=1e-6)


def test_the_trials_change_nothing():
    def f(x):
        x.add_(1)
        return F.layer_norm(F.dropout(x), (5,))

    plain, tuned = torch.ones(3, 5), torch.ones(3, 5)
    torch.manual_seed(1)
    expected = [f(plain) for _ in range(3)]
    torch.manual_seed(1)
    g = torch.compile(f, mode="max-autotune")
    for one in expected:
        assert torch.allclose(g(tuned), one, atol=1e-6)
    assert torch.equal(tuned, plain)


def test_without_a_mode_there_is_one_variant(monkeypatch):
    programs = made(monkeypatch, (1.0, 1.0))
    torch.compile(lambda x: F.softmax(x * 2, 1))(torch.randn(2, 3))
    assert len(programs) == 1
    assert [one.without for one in Settings(tune=True).variants] == [("decompose",), ()]
    assert Settings().variants == [Settings()]
    assert dataclasses.replace(Settings(), tune=True) == Settings(tune=True)


def square_first(graph):
    """A pass that is wrong: x * y becomes x * x."""
    for node in graph.nodes:
        if node.op == "call_function" and node.target.name == "mul":
            node.args = (node.args[0], node.args[0])
    return 1


@pytest.mark.parametrize(
    ("f", "requires_grad"),
    [
        (lambda x: x * (x + 1), False),
        (lambda x: x * (x + 1), True),
        (lambda x: x.exp(), True),  # it multiplies in backward only
    ],
)
def test_a_wrong_pass_is_named_where_checks_are_asked_for(monkeypatch, f, requires_grad):
    monkeypatch.setitem(PASSES, "simplify", square_first)
    x = torch.randn(4, requires_grad=requires_grad)
    torch.compile(f)(x)
    monkeypatch.setenv("TENSORLAB_COMPILE_CHECK", "1")
    with pytest.raises(PassFailed, match="the pass simplify is wrong"):
        torch.compile(f)(x)


def test_right_passes_pass_the_checks(monkeypatch):
    monkeypatch.setenv("TENSORLAB_COMPILE_CHECK", "1")
    net = nn.Sequential(nn.Linear(5, 7), nn.Dropout(), nn.LayerNorm(7), nn.GELU())
    net.compile(options={"without": []}, fullgraph=True)
    for _ in range(3):
        net(torch.randn(3, 5)).sum().backward()
    assert net._compiled_call_impl.compiled.counts["replayed"] == 2

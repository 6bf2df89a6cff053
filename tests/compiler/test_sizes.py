"""compile: how many recordings a function gets, for other sizes of its tensors and for other reasons."""

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler import frontend, toolchain
from tests.compiler.comparing import equal

pytestmark = pytest.mark.usefixtures("fresh")

x, y = torch.randn(4, 5), torch.randn(4, 5)


def test_after_eight_recordings_the_rest_runs_as_python():
    g = torch.compile(lambda a, n: a * n)
    with pytest.warns(UserWarning, match="was recorded 8 times") as found:
        results = [g(x, n) for n in range(20)]
    assert equal(results, [x * n for n in range(20)])
    assert len(found) == 1
    assert g.compiled.counts["recorded"] == 8
    assert equal(g(x, 3), x * 3)
    assert g.compiled.counts["replayed"] == 1


def test_sizes_may_change_more_often_than_other_things():
    g = torch.compile(lambda a, n: (a * n).tanh())
    for n in (1, 2):
        for size in range(1, 31):
            a = torch.randn(size)
            assert equal(g(a, n), (a * n).tanh())
    assert g.compiled.counts == {"replayed": 0, "recorded": 60, "as Python": 0}
    assert g.compiled.resized == 58
    a = torch.randn(7, 2)  # another number of dimensions is not another size
    assert equal(g(a, 1), a.tanh())
    assert g.compiled.resized == 58


def test_sizes_that_never_come_again_are_not_recorded_for_ever(monkeypatch):
    monkeypatch.setattr(frontend, "SIZES", 5)
    g = torch.compile(lambda a: a * 2)
    with pytest.warns(UserWarning, match="recorded 6 times, as the sizes of its tensors kept"):
        [g(torch.ones(size)) for size in range(1, 10)]
    assert g.compiled.counts == {"replayed": 0, "recorded": 6, "as Python": 3}


def test_sizes_that_do_come_again_are_recorded_and_the_oldest_is_dropped(monkeypatch):
    monkeypatch.setattr(frontend, "SIZES", 5)
    monkeypatch.setattr(frontend, "RECORDINGS", 2)
    g = torch.compile(lambda a: a * 2)
    for size in range(1, 13):
        for _ in range(10):
            assert equal(g(torch.ones(size)), torch.full((size,), 2.0))
    assert g.compiled.counts == {"replayed": 108, "recorded": 12, "as Python": 0}
    assert len(g.compiled.entries) == 7


def test_sizes_count_like_all_else_where_dynamic_is_false():
    g = torch.compile(lambda a: a * 2, dynamic=False)
    with pytest.warns(UserWarning, match="recorded 8 times, as its guards kept changing"):
        [g(torch.ones(size)) for size in range(1, 12)]
    assert g.compiled.counts["recorded"] == 8


def test_a_function_that_looks_at_ever_other_values_runs_as_python_in_the_end():
    f = lambda a: a * a.sum().item()
    g = torch.compile(f)
    inputs = [torch.full((2,), float(k)) for k in range(12)]
    with pytest.warns(UserWarning, match="recorded 8 times, as values that it looks at kept"):
        found = [g(a) for a in inputs]
    assert all(equal(one, f(a)) for one, a in zip(found, inputs, strict=True))
    assert g.compiled.counts == {"replayed": 0, "recorded": 8, "as Python": 4}


def test_a_function_whose_values_come_again_is_recorded_for_more_of_them():
    g = torch.compile(lambda a: a * a.sum().item())
    for k in range(20):
        for _ in range(6):
            g(torch.full((2,), float(k)))
    assert g.compiled.counts == {"replayed": 100, "recorded": 20, "as Python": 0}


def test_another_size_compiles_nothing(monkeypatch):
    net = nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.LayerNorm(9))
    g = torch.compile(lambda x: (net(x) * 2).exp().sum(1))
    g(torch.randn(5, 6)).sum().backward()
    monkeypatch.setattr(toolchain, "compile_text", None)
    x = torch.randn(8, 6)
    assert equal(g(x), (net(x) * 2).exp().sum(1))

"""Random programs of linear algebra, complex numbers, ...: see random_programs.py."""

import pytest

from tests.ops import random_programs
from tests.ops.random_programs import LINES_OF, Run, Writer, check, difference
from tests.oracle import require_torch


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs_give_what_they_give_with_pytorch(first):
    require_torch()
    for seed in range(first, first + 20):
        source, found, _ = check(seed)
        assert found is None, f"program {seed}\n{source}\n{found}"


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 21000, 1000))
def test_many_random_programs_give_what_they_give_with_pytorch(first):
    require_torch()
    assert [seed for seed in range(first, first + 1000) if check(seed)[1] is not None] == []


def test_programs_are_the_same_each_time():
    require_torch()
    assert [check(seed)[0] for seed in range(5)] == [check(seed)[0] for seed in range(5)]


def test_almost_all_lines_run():
    require_torch()
    outcomes = [check(seed) for seed in range(40)]
    lines = sum(source.count("\n") + 1 for source, _, _ in outcomes)
    assert sum(failed for _, _, failed in outcomes) < 0.1 * lines


def test_each_line_can_be_written():
    run = Run(3)
    writer = Writer(3)
    writer.names = run.sides[0]
    for lines in LINES_OF.values():
        for line in lines:
            name, text = writer.assigned(line)
            assert text.startswith(f"{name} = ")
            assert "{" not in text, line


def test_a_difference_is_found(monkeypatch):
    """A thousandth more on one side is noticed, by values or by gradients."""
    require_torch()
    run_line = random_programs.run_line

    def wrongly(line, names):
        more = " * 1.001" if names["T"].__name__ == "tensorlab" else ""
        name, _, text = line.partition(" = ")
        return run_line(
            f"{name} = {text.replace(';', f'{more};', 1) if ';' in text else text + more}", names
        )

    monkeypatch.setattr(random_programs, "run_line", wrongly)
    assert sum(check(seed)[1] is not None for seed in range(20)) > 15


def test_what_counts_as_a_difference():
    torch = require_torch()
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    nan = torch.tensor([1.0, float("nan")], dtype=torch.float64)
    assert difference("x", x, x.clone(), 1e-9) is None
    assert difference("x", nan, nan.clone(), 1e-9) is None
    assert difference("x", None, torch.zeros(2), 1e-9) is None
    for other in (x + 1e-6, x.float(), x[:1], nan, x.clone().requires_grad_(), None):
        assert difference("x", x, other, 1e-9)


def test_a_line_that_fails_on_one_side_only_is_told():
    run = Run(0)
    run.sides[1]["x0"] = "no tensor"
    assert "TypeError" in run.step("v1", "v1 = T.sin(x0)")
    assert run.step("v2", "v2 = T.sin(5, 6, 7)") is None

"""The small program of chapter 34: a restored run is the run that went on."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/34-schedulers-and-resume/tiny_resume.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_resume", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


def make_run(seed):
    T.manual_seed(3)
    return tiny.Run(T.randn(100, 64), T.arange(100) % 10, seed, steps=40)


def test_the_schedule_has_the_values_that_the_page_works_out():
    root = 3**0.5 / 2
    expected = [0.5, 1, 1, (1 + root) / 2, 0.75, 0.5, 0.25, (1 - root) / 2, 0, 0]
    assert [tiny.warm_up_cosine(step, 2, 8) for step in range(10)] == pytest.approx(expected)


def test_each_row_comes_once_in_an_epoch_and_the_order_differs():
    order = tiny.Shuffled(12, 4, seed=1)
    epochs = [[row for _ in range(3) for row in next(order)] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(12))
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("steps", [0, 5, 17])
def test_a_restored_run_is_the_run_that_went_on(steps):
    whole = make_run(0)
    for _ in range(steps):
        whole.step()
    saved = whole.snapshot()
    went_on = [whole.step() for _ in range(15)]
    other = make_run(1)
    other.restore(saved)
    assert [other.step() for _ in range(15)] == went_on
    for mine, theirs in zip(whole.model.parameters(), other.model.parameters(), strict=True):
        assert T.equal(mine, theirs)


@pytest.mark.parametrize("part", [*tiny.PARTS, "random"])
def test_each_part_is_needed(part):
    whole = make_run(0)
    for _ in range(5):
        whole.step()
    saved = whole.snapshot()
    went_on = [whole.step() for _ in range(10)]
    other = make_run(1)
    other.restore(saved, leave_out=[part])
    assert [other.step() for _ in range(10)] != went_on

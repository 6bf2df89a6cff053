"""In a notebook the same names check, give hints and show solutions, on the cell's own functions."""

import pytest

from tensorlab.learn import ExerciseError, check, hint, solution, status
from tensorlab.learn.progress import Progress


def test_check_looks_at_the_names_of_the_caller(capsys):
    names = {"check": check}
    exec("sizes, strides, offset = (4, 2), (1, 12), 8\ncheck('03.1')", names)
    assert capsys.readouterr().out.split(". ")[-1] == "right\n"
    assert Progress().of("03.1")["solved"]


def test_check_counts_a_try_and_names_the_next_step(capsys):
    check("03.1", {"sizes": (4, 2), "strides": (1, 12), "offset": 14})
    assert 'Stuck? hint("03.1")' in capsys.readouterr().out
    assert Progress().of("03.1") == {
        "tries": 1,
        "hints": 0,
        "solution_seen": False,
        "solved": None,
    }


def test_hints_come_one_at_a_time(capsys):
    for number in (1, 2, 3):
        hint("03.1")
        text = capsys.readouterr().out
        assert f"Hint {number} of 3" in text
        assert f"Hint {number + 1} of 3" not in text
        assert "no more" not in text
    hint("03.1")
    assert "There are no more" in capsys.readouterr().out
    assert Progress().of("03.1")["hints"] == 3


def test_the_solution_comes_with_its_reason_and_the_wrong_answers(capsys):
    solution("03.4")
    text = capsys.readouterr().out
    assert "def test(is_contiguous):" in text
    assert "Planted: a stride is compared although its dimension has size 1" in text
    assert "A common wrong answer: One matrix and its transpose" in text
    assert Progress().of("03.4")["solution_seen"]


def test_status_tells_the_story_of_every_exercise(capsys):
    check("03.1", {"sizes": (4, 2), "strides": (1, 12), "offset": 8})
    hint("03.2")
    solution("03.2")
    capsys.readouterr()
    status()
    lines = capsys.readouterr().out.split("\n")
    assert "03 Strides: 1 of 4" in lines
    assert any("03.1" in line and "solved on" in line and "(1 try)" in line for line in lines)
    assert any("03.2" in line and "1 hint, solution seen" in line for line in lines)
    assert any("03.3" in line and "not begun" in line for line in lines)


def test_a_hint_wants_one_exercise():
    with pytest.raises(ExerciseError, match=r"which exercise of chapter 03\? It has 03\.1"):
        hint("03")
    with pytest.raises(ExerciseError, match="names no exercise"):
        check("three")

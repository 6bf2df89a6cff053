"""Answers that are the same but for their names are found; what everyone writes is not."""

import pytest

from tensorlab.learn import classes
from tensorlab.learn.exercise import load_chapter
from tensorlab.learn.similar import runs, similar
from tensorlab.learn.workbook import file_text

ONE = """
def windows(x, k):
    found = []
    for i in range(x.shape[0] - k + 1):
        for j in range(x.shape[1] - k + 1):
            found.append(x[i : i + k, j : j + k])
    return torch.stack(found).reshape(-1, k, k)
"""
RENAMED = """
# my own work
def windows(matrix, size):
    parts   = []
    for row in range(matrix.shape[0] - size + 1):
        for column in range(matrix.shape[1] - size + 1):
            parts.append(matrix[row : row + size, column : column + size])

    return torch.stack(parts).reshape(-1, size, size)
"""
OTHER = """
def windows(x, k):
    s, t = x.stride()
    n, m = x.shape
    return x.as_strided((n - k + 1, m - k + 1, k, k), (s, t, s, t)).reshape(-1, k, k)
"""
STUB = "def windows(x, k):\n    return x"


def answers(**code):
    return {("03.2", student): text for student, text in code.items()}


def test_new_names_and_comments_hide_nothing():
    (pair,) = similar(answers(ada=ONE, bob=RENAMED, eve=OTHER), STUB)
    assert (pair.exercise, pair.one, pair.other) == ("03.2", "ada", "bob")
    assert pair.similarity == 1.0


def test_the_share_is_that_of_common_runs():
    changed = RENAMED.replace("parts   = []", "parts = list()").replace("-1, size", "2, size")
    (pair,) = similar(answers(ada=ONE, bob=changed), STUB, least=0.5)
    first, second = runs(ONE) - runs(STUB), runs(changed) - runs(STUB)
    assert pair.similarity == len(first & second) / len(first | second)
    assert 0.5 < pair.similarity < 1
    assert list(similar(answers(ada=ONE, bob=changed), STUB, least=0.99)) == []


def test_short_answers_and_the_stub_are_not_compared():
    short = "def windows(x, k):\n    return x.unfold(0, k, 1)"
    assert list(similar(answers(ada=short, bob=short, eve=STUB, joe=STUB), STUB)) == []


def test_what_half_of_a_class_writes_tells_nothing():
    everyone = {f"student{number}": ONE for number in range(6)}
    assert list(similar(answers(**everyone), STUB)) == []


def test_an_answer_that_is_no_program_is_like_no_other():
    assert list(similar(answers(ada="def (", bob="def ("), STUB)) == []


def test_a_folder_is_searched_exercise_by_exercise(tmp_path):
    chapter = load_chapter("03")
    exercise = chapter["03.2"]
    text = file_text(chapter)
    for student, code in (("ada", ONE), ("bob", RENAMED), ("eve", OTHER)):
        (tmp_path / f"{student}-03.py").write_text(
            text.replace(exercise.stub, code), encoding="utf-8"
        )
    pairs = classes.alike(tmp_path)
    assert [(p.exercise, p.one, p.other) for p in pairs] == [("03.2", "ada", "bob")]
    assert classes.alike(tmp_path, ["18"]) == []


@pytest.mark.parametrize("least", [0.9])
def test_the_command_prints_pairs(tmp_path, capsys, least):
    from tensorlab.cli import main

    chapter = load_chapter("03")
    for student in ("ada", "bob"):
        code = file_text(chapter).replace(chapter["03.2"].stub, ONE)
        (tmp_path / f"{student}-03.py").write_text(code, encoding="utf-8")
    assert main(["similar", str(tmp_path), "--least", str(least)]) == 0
    assert capsys.readouterr().out == "03.2  100%  ada and bob\n"
    assert main(["similar", str(tmp_path), "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "03.2,ada,bob,1.00"

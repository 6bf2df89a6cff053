"""A submission can't forge its verdict: each of these would earn a point if it could."""

import json
import os
import time

import pytest

from tensorlab.learn import classes, packs, sandbox
from tensorlab.learn.exercise import load_chapter

from .cheats import CHEATS, PLAIN

HONEST = {
    "90.1": "seasons = 4",
    "90.2": "def double(x):\n    return x + x",
    "90.3": "def test(largest):\n    assert largest([-1, -2]) == -1\n    assert largest([1, 2]) == 2",
}


def file_of(answers):
    return "import tensorlab\n\n" + "\n\n".join(
        f"# %% {key}\n{code}" for key, code in answers.items()
    )


def notebook_of(answers):
    """Return the text of a notebook as students hand it in: headings, answers, and their checks."""
    cells = [{"cell_type": "code", "source": "raise SystemExit('the chapter is not run')"}]
    for key, code in answers.items():
        cells.append({"cell_type": "markdown", "source": [f"### {key} Its title (kind)\n", "text"]})
        cells.append({"cell_type": "code", "source": code})
        check = f'from tensorlab.learn import check, hint\n\ncheck("{key}")'
        cells.append({"cell_type": "code", "source": f"%matplotlib inline\n{check}"})
    cells.append({"cell_type": "markdown", "source": "## In PyTorch"})
    cells.append({"cell_type": "code", "source": "1 / 0"})
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture(scope="module")
def named_pack(pack):
    before = os.environ.get(packs.VARIABLE)
    os.environ[packs.VARIABLE] = str(pack)
    yield pack
    os.environ.pop(packs.VARIABLE)
    if before is not None:
        os.environ[packs.VARIABLE] = before


def exercises_of_a_cheat(number, share):
    """Answers are judged in processes of their own, a hunt's in three: so by day a cheat tries one exercise."""
    keys = list(HONEST)
    return keys if share == "all" else [keys[(0, 1, 0, 1, 0, 2)[number % 6]]]


@pytest.fixture(scope="module", params=["one", pytest.param("all", marks=pytest.mark.nightly)])
def share(request):
    return request.param


@pytest.fixture(scope="module")
def verdicts(named_pack, tmp_path_factory, share):
    """The rows of all cheats and of some who do not cheat, judged two at a time."""
    folder = tmp_path_factory.mktemp("submissions")
    wrong = {**HONEST, "90.2": "def double(x):\n    return x + 1"}
    endless = {**HONEST, "90.2": "def double(x):\n    while True:\n        pass"}
    files = {"honest": file_of(HONEST), "wrong": file_of(wrong), "endless": file_of(endless)}
    for number, (name, code) in enumerate(CHEATS.items()):
        own = code.replace("EXERCISES", str(named_pack))
        files[name] = file_of(dict.fromkeys(exercises_of_a_cheat(number, share), PLAIN + own))
    for name, text in files.items():
        (folder / name).mkdir()
        (folder / name / "90.py").write_text(text, encoding="utf-8")
    (folder / "notebook").mkdir()
    (folder / "notebook" / "90.ipynb").write_text(notebook_of(HONEST), encoding="utf-8")
    rows = classes.grade(folder, seconds=3, jobs=2)
    return {(row["student"], row["exercise"]): row for row in rows}


def states(verdicts, student):
    return [verdicts[student, f"90.{number}"]["state"] for number in (1, 2, 3)]


def points(verdicts, student):
    return sum(verdicts[student, f"90.{number}"]["points"] for number in (1, 2, 3))


def test_who_is_honest_gets_what_is_right(verdicts):
    assert states(verdicts, "honest") == ["right"] * 3
    assert points(verdicts, "honest") == 3


def test_a_notebook_is_a_submission(verdicts):
    assert states(verdicts, "notebook") == ["right"] * 3


def test_a_wrong_answer_is_told_what_came(verdicts):
    assert states(verdicts, "wrong") == ["right", "not yet", "right"]
    row = verdicts["wrong", "90.2"]
    assert row["verdict"].call == "double(tensor([1, 3]))"
    assert "came tensor([2, 4]), expected tensor([2, 6])" in row["remark"]


def test_an_endless_loop_costs_its_own_exercise(verdicts):
    assert states(verdicts, "endless") == ["right", "endless", "right"]


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_earns_nothing(verdicts, name):
    assert "right" not in states(verdicts, name)
    assert points(verdicts, name) == 0


@pytest.mark.parametrize(
    "name", ["reads the solution from the file", "reads the answers of the tests"]
)
def test_an_answer_that_opens_the_exercises_is_reported(verdicts, share, name):
    rows = [verdicts[name, key] for key in exercises_of_a_cheat([*CHEATS].index(name), share)]
    assert {row["state"] for row in rows} == {"reads the exercises"}
    assert "Your code opens the exercises themselves" in rows[0]["remark"]


def test_the_solution_that_the_package_carries_earns_nothing(tmp_path):
    (tmp_path / "eve").mkdir()
    code = (
        "from tensorlab.learn.exercise import load_chapter\n"
        "for exercise in load_chapter('03').exercises:\n    exec(exercise.solution)\n"
    )
    chapter = load_chapter("03")
    text = file_of({exercise.id: code for exercise in chapter.exercises[:3]})
    (tmp_path / "eve" / "03.py").write_text(text, encoding="utf-8")
    rows = classes.grade(tmp_path, seconds=5)
    assert [row["state"] for row in rows[:3]] == ["reads the exercises"] * 3
    assert sum(row["points"] for row in rows) == 0


REACHING = [
    "import sys\nsys.modules['tensorlab.learn.expect'].expect = print",
    "import tensorlab.learn.expect as e\ne.require = e.expect = lambda *a, **k: None",
    "import tensorlab\ntensorlab.allclose = tensorlab.equal = lambda *a, **k: True",
    "import gc",
    "__builtins__['isinstance'] = lambda *a: True",
    "setattr(torch, 'equal', lambda *a: True)",
    "eval('1')",
    "def f():\n    return f.__globals__",
]


def write_beside(folder, student, code=""):
    """Hand in the one exercise of chapter 07 that is judged beside its answer: its solution, and `code`."""
    chapter = load_chapter("07")
    exercise = chapter["07.3"]
    assert exercise.beside
    text = f"{chapter.imports}\n\n# %% 07.3\n{exercise.solution}\n\n{code}\n"
    (folder / f"{student}-07.py").write_text(text, encoding="utf-8")


def graded_beside(folder, **options):
    """Return {student: row} of that exercise."""
    rows = classes.grade(folder, seconds=5, **options)
    return {row["student"]: row for row in rows if row["exercise"] == "07.3"}


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """The rows of one who only calculates, and of those who reach for more, two judged at a time."""
    folder = tmp_path_factory.mktemp("beside")
    write_beside(folder, "ada")
    for number, code in enumerate(REACHING):
        write_beside(folder, f"eve{number}", code)
    return graded_beside(folder, jobs=2)


@pytest.mark.parametrize("number", range(len(REACHING)), ids=REACHING)
def test_where_the_check_runs_beside_the_answer_a_person_has_to_look(beside, number):
    row = beside[f"eve{number}"]
    assert row["points"] == 0
    assert row["state"] in ("suspicious", "error", "not yet")
    assert row["judged"] == "beside"


def test_an_answer_beside_its_check_that_only_calculates_is_right(beside):
    assert (beside["ada"]["state"], beside["ada"]["points"]) == ("right", 1)


# ---------------------------------------------------------------- in a sandbox

needs_bubblewrap = pytest.mark.skipif(
    not sandbox.is_there(), reason="no bubblewrap may be used here"
)


@needs_bubblewrap
def test_a_sandbox_hides_the_exercises_and_the_other_submissions(named_pack, tmp_path):
    spy = (
        "import ctypes\n"
        "seasons = 4\n"
        "for path in ({!r}, {!r}):\n"
        "    if ctypes.CDLL(None).open(path.encode(), 0) >= 0:\n"
        "        seasons = 0\n"
        "try:\n    open('mine', 'w')\nexcept OSError:\n    pass\nelse:\n    seasons = 0\n"
    ).format(str(named_pack / "90-made-up/exercises.py"), str(tmp_path / "ada/90.py"))
    for student, answers in (("ada", HONEST), ("eve", {**HONEST, "90.1": spy})):
        (tmp_path / student).mkdir()
        (tmp_path / student / "90.py").write_text(file_of(answers), encoding="utf-8")
    rows = classes.grade(tmp_path, seconds=5, sandbox=sandbox.BUBBLEWRAP)
    assert [row["state"] for row in rows] == ["right"] * 6


@needs_bubblewrap
def test_a_check_beside_its_answer_runs_in_a_sandbox_too(tmp_path):
    write_beside(tmp_path, "ada")
    rows = graded_beside(tmp_path, sandbox=sandbox.BUBBLEWRAP)
    assert rows["ada"]["state"] == "right"


def test_a_program_that_is_left_running_ends_with_its_judge(named_pack, tmp_path):
    mark = tmp_path / "still here"
    code = (
        "import threading, time\n"
        f"def later():\n    time.sleep(4)\n    open({str(mark)!r}, 'w').close()\n"
        "threading.Thread(target=later).start()\n" + HONEST["90.1"]
    )
    (tmp_path / "eve-90.py").write_text(file_of({"90.1": code}), encoding="utf-8")
    (row, *_) = classes.grade(tmp_path, seconds=5)
    assert row["state"] == "right"
    time.sleep(4)
    assert not mark.exists()

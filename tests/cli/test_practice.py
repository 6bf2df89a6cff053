"""The commands of practising, one after the other, as a reader uses them."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorlab.cli import COMMANDS
from tensorlab.learn.exercise import load_chapter

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = load_chapter("03")


def solve(path, number):
    exercise = CHAPTER[f"03.{number}"]
    path.write_text(path.read_text().replace(exercise.stub, exercise.solution))


def test_a_reader_starts_tries_and_solves(run, folder):
    code, text, _ = run("start 03")
    assert code == 0
    path = folder / "tensorlab-exercises/03.py"
    assert text == f"{path.relative_to(folder)} is ready. Edit it, then: tensorlab check 03\n"
    code, text, _ = run("check 03")
    assert code == 1
    assert "0 of 4 right. Next: 03.1" in text
    solve(path, 1)
    code, text, _ = run("check 3.1")
    assert code == 0
    assert text.endswith("right\n")
    _, text, _ = run("status")
    assert "03 Strides: 1 of 4" in text
    assert f"Kept in {os.environ['TENSORLAB_HOME']}" in text


def test_without_a_number_all_that_is_begun_is_checked(run):
    run("start 03")
    run("start 18")
    _, text, _ = run("check")
    assert "0 of 8 right" in text
    _, text, _ = run("check 03.2 18.1")
    assert [line[:4] for line in text.split("\n")[:2]] == ["03.2", "18.1"]


def test_start_again_changes_nothing(run, folder):
    run("start 03")
    path = folder / "tensorlab-exercises/03.py"
    path.write_text("mine")
    code, text, _ = run("start 3")
    assert code == 0
    assert "stays as it is" in text
    assert path.read_text() == "mine"


def test_reset_forgets_and_on_demand_begins_a_new_file(run, folder, monkeypatch):
    run("start 03")
    path = folder / "tensorlab-exercises/03.py"
    solve(path, 1)
    mine = path.read_text()
    run("check 03")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    code, text, _ = run("reset 03")
    assert code == 1
    assert "Nothing is changed" in text
    code, text, _ = run("reset 03 --yes")
    assert code == 0
    assert path.read_text() == mine
    assert "03 Strides: 0 of 4" in run("status")[1]
    run("reset 03 --file --yes")
    assert path.with_name("03-old-1.py").read_text() == mine
    assert CHAPTER["03.1"].stub in path.read_text()
    assert run("reset all --file --yes")[0] == 2
    assert run("reset all --yes")[0] == 0


def test_the_solution_asks_before_it_shows(run, monkeypatch):
    for answer, shown in (("", False), ("no", False), ("y", True), ("YES", True)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer + "\n"))
        code, text, _ = run("solution 03.2")
        assert (code == 0) == shown
        assert ("as_strided(sizes" in text) == shown
    assert "as_strided(sizes" in run("solution 03.2 --yes")[1]


def test_the_question_says_how_many_hints_are_left(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("n\nn\nn\n"))
    assert "There are 3 more hints." in run("solution 03.1")[1]
    run("hint 03.1")
    run("hint 03.1")
    assert "There is 1 more hint." in run("solution 03.1")[1]
    run("hint 03.1")
    assert "more hint" not in run("solution 03.1")[1]


def test_show_prints_the_stub_with_its_mark(run):
    code, text, _ = run("show 03.2")
    assert code == 0
    assert text.startswith("# %% 03.2 ")
    assert CHAPTER["03.2"].stub in text


def test_check_can_answer_as_json(run, folder):
    (folder / "mine.py").write_text("sizes, strides, offset = (4, 2), (1, 12), 8")
    code, text, _ = run("check 03.1 --file mine.py --json")
    assert code == 0
    (verdict,) = json.loads(text)
    assert (verdict["id"], verdict["state"]) == ("03.1", "right")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("check 03", "there is no tensorlab-exercises/03.py here; `tensorlab start 03` writes it"),
        ("check 03 --file gone.py", "there is no file gone.py"),
        ("check", "nothing is begun here; `tensorlab start 03` begins chapter 3"),
        ("check --file mine.py", "which exercise is mine.py?"),
        ("check 99", "chapter 99 has no exercises"),
        ("check 03.9", "there is no exercise 03.9; chapter 03 has 03.1"),
        ("start three", "'three' names no exercise; write 03 or 03.2"),
        ("hint 03", "which exercise of chapter 03?"),
        ("export-class --chapters , new", "--chapters is empty"),
        ("grade gone", "there is no folder gone"),
        ("grade .", "has no submissions; expected NAME/03.py or NAME-03.py"),
        ("grade . --course gone.toml", "gone.toml can't be read"),
        ("similar gone", "there is no folder gone"),
        ("exercises verify", "there is no course pack; name one with --exercises"),
        ("exercises list --exercises gone", "there are no exercises in gone"),
        ("start 60 --exercises .", "has no exercises; a pack holds NN-name/exercises.py"),
        ("book 99 --notebook", "there is no chapter 99 yet"),
        ("book --notebook", "which chapter?"),
    ],
)
def test_a_mistake_in_the_call_is_one_sentence(run, line, message):
    code, text, complaint = run(line)
    assert code == 2
    assert text == ""
    assert message in complaint
    assert complaint.startswith(f"tensorlab {line.split()[0]}: ")
    assert complaint.count("\n") == 1


def test_a_teacher_exports_and_grades(run, folder):
    code, text, _ = run("export-class --chapters 03,18 stubs")
    assert code == 0
    assert len(text.split()) == 4
    (folder / "handed-in").mkdir()
    (folder / "stubs/03.py").rename(folder / "handed-in/ada-03.py")
    code, text, _ = run("grade handed-in")
    assert code == 0
    assert text.split("\n")[1].split() == ["ada", "0/4", "0/4", "0/4"]
    assert "ada,03.1," in run("grade handed-in --format csv")[1]


def test_a_teacher_grades_by_the_rules_of_a_course(run, folder):
    run("export-class --chapters 03 handed-in/ada")
    solve(folder / "handed-in/ada/03.py", 1)
    (folder / "course.toml").write_text('[points]\n"03.1" = 5\n')
    line = "grade handed-in --course course.toml --feedback back --jobs 2 --sandbox none"
    code, text, complaint = run(line)
    assert code == 0
    assert text.split("\n")[1].split() == ["ada", "1/4", "1/4", "5/8"]
    assert "back/ada.txt" in complaint
    assert (folder / "back/ada.txt").read_text().startswith("ada: 5 of 8 points\n")


def test_without_a_sandbox_a_teacher_is_told_what_that_means(run, folder, monkeypatch):
    from tensorlab.learn import sandbox

    monkeypatch.setattr(sandbox, "is_there", lambda: False)
    (folder / "ada-03.py").write_text("# %% 03.1\n")
    _, _, complaint = run("grade . --chapters 03")
    assert "there is no sandbox here: programs can read what you can read" in complaint
    code, text, complaint = run("grade . --sandbox bwrap")
    assert (code, text) == (2, "")
    assert "apt install bubblewrap" in complaint.replace("\n", "")


def test_a_notebook_can_be_checked(run, folder):
    cells = [
        {"cell_type": "markdown", "source": "### 03.1 A layout by hand (warm-up)"},
        {"cell_type": "code", "source": [f"{CHAPTER['03.1'].solution}\n", "%timeit 1"]},
        {"cell_type": "code", "source": 'from tensorlab.learn import check\n\ncheck("03.1")'},
    ]
    (folder / "03.ipynb").write_text(json.dumps({"cells": cells}))
    code, text, _ = run("check 03.1 --file 03.ipynb")
    assert code == 0
    assert text.endswith("right\n")
    (folder / "bad.ipynb").write_text("{}")
    code, _, complaint = run("check 03.1 --file bad.ipynb")
    assert code == 2
    assert "bad.ipynb is not a notebook" in complaint


def test_every_command_is_in_the_help():
    command = [sys.executable, "-m", "tensorlab", "--help"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    answer = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert answer.returncode == 0
    for name in COMMANDS:
        assert f"\n    {name}" in answer.stdout


def test_importing_the_package_does_not_import_its_command_line():
    program = (
        "import sys, tensorlab; print([m for m in sys.modules if m.startswith('tensorlab.cli')"
    )
    program += " or m.startswith('tensorlab.learn')])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert answer.stdout.strip() == "[]"


def test_a_reader_of_the_output_may_leave_early():
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    command = f"{sys.executable} -m tensorlab status | head -1"
    answer = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment)
    assert answer.stdout.startswith("01 ")
    assert answer.stderr == ""

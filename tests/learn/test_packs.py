"""Exercises that are not the book's: found by folder, package and entry point, verified, and shipped."""

import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tensorlab.cli import main
from tensorlab.learn import handout, packs, verify
from tensorlab.learn.exercise import ExerciseError, exercise_files, load_chapter

from .conftest import EXERCISES

ROOT = Path(__file__).resolve().parents[2]


def test_a_folder_adds_its_chapters_to_the_book_s(pack, monkeypatch):
    assert "90" not in exercise_files()
    monkeypatch.setenv(packs.VARIABLE, str(pack))
    assert "90" in exercise_files()
    assert "03" in exercise_files()
    assert [exercise.id for exercise in load_chapter("90").exercises] == ["90.1", "90.2", "90.3"]


def test_a_package_is_named_and_its_code_is_not_run(tmp_path, monkeypatch):
    folder = tmp_path / "my_course" / "91-more"
    folder.mkdir(parents=True)
    (tmp_path / "my_course" / "__init__.py").write_text("raise RuntimeError('was run')")
    (folder / "exercises.py").write_text(EXERCISES, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(packs.VARIABLE, "my_course")
    assert exercise_files()["91"] == folder / "exercises.py"


def test_an_entry_point_names_a_package(tmp_path, monkeypatch):
    folder = tmp_path / "their_course" / "92-theirs"
    folder.mkdir(parents=True)
    (tmp_path / "their_course" / "__init__.py").write_text("")
    (folder / "exercises.py").write_text(EXERCISES, encoding="utf-8")
    info = tmp_path / "their_course-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-course\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tensorlab.exercises]\ntheirs = their_course\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert exercise_files()["92"] == folder / "exercises.py"


def test_a_pack_stands_for_a_chapter_of_the_book_and_two_packs_may_not_clash(
    pack, tmp_path, monkeypatch
):
    own = tmp_path / "own" / "03-mine"
    own.mkdir(parents=True)
    (own / "exercises.py").write_text(EXERCISES, encoding="utf-8")
    monkeypatch.setenv(packs.VARIABLE, str(own.parent))
    assert load_chapter("03").title == "Mine"
    again = tmp_path / "again" / "90-again"
    again.mkdir(parents=True)
    (again / "exercises.py").write_text(EXERCISES, encoding="utf-8")
    monkeypatch.setenv(packs.VARIABLE, os.pathsep.join((str(pack), str(again.parent))))
    with pytest.raises(ExerciseError, match="are both chapter 90"):
        exercise_files()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", "there are no exercises in gone: it is neither a folder nor a package"),
        ("json", "has no exercises; a pack holds NN-name/exercises.py"),
        ("../gone", "neither a folder nor a package"),
    ],
)
def test_what_is_no_pack_is_one_sentence(capsys, name, message):
    assert main(["exercises", "list", "--exercises", name]) == 2
    complaint = capsys.readouterr().err
    assert message in complaint
    assert complaint.count("\n") == 1


@pytest.fixture
def named(pack, monkeypatch):
    """The pack, named by the environment, which is put back in the end."""
    monkeypatch.setenv(packs.VARIABLE, str(pack))
    return pack


def test_a_good_pack_is_verified(named, capsys):
    assert main(["exercises", "verify"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "90.1 The number of seasons: ok",
        "90.2 Twice as much: ok",
        "90.3 A test for the largest: ok",
    ]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('stub = "seasons = None"', 'stub = "seasons = 4"', "the stub is right"),
        ('solution = "seasons = 4"', 'solution = "seasons = 5"', "the solution is not right"),
        ('Wrong("seasons = 12"', 'Wrong("seasons = 4"', "wrong answer 1 is right"),
        ('says="months"', 'says="weeks"', "wrong answer 1 isn't told 'weeks'"),
        ('    idea = "Seasons"\n', "", "idea is empty"),
    ],
)
def test_what_is_wrong_with_a_pack_is_said(tmp_path, monkeypatch, capsys, old, new, complaint):
    folder = tmp_path / "90-bad"
    folder.mkdir()
    assert old in EXERCISES
    (folder / "exercises.py").write_text(EXERCISES.replace(old, new), encoding="utf-8")
    monkeypatch.setenv(packs.VARIABLE, str(tmp_path))
    assert main(["exercises", "verify", "90.1"]) == 1
    assert complaint in capsys.readouterr().out


def test_a_check_that_can_not_be_asked_from_outside_is_told_to_say_so(tmp_path, monkeypatch):
    text = EXERCISES.replace(
        "            came = double(x)\n",
        "            came = double(x)\n            require(double.__code__.co_name == 'double', 'What?')\n",
    )
    folder = tmp_path / "90-close"
    folder.mkdir()
    (folder / "exercises.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv(packs.VARIABLE, str(tmp_path))
    chapter = load_chapter("90")
    found = list(verify.complaints(chapter, chapter["90.2"]))
    assert any(
        text.startswith("in a process of its own, the solution is not right") for text in found
    )


def test_a_pack_goes_along_with_the_stubs(named, tmp_path, monkeypatch, capsys):
    handout.export(["90"], tmp_path / "handout")
    shipped = tmp_path / "handout" / "exercises" / "90-made-up" / "exercises.py"
    assert shipped.read_text(encoding="utf-8") == EXERCISES
    readme = (tmp_path / "handout" / "README.txt").read_text(encoding="utf-8")
    assert "tensorlab check 90 --file 90.py --exercises exercises" in readme
    monkeypatch.delenv(packs.VARIABLE)
    monkeypatch.chdir(tmp_path / "handout")
    monkeypatch.setenv(packs.VARIABLE, "exercises")
    assert main(["check", "90", "--file", "90.py"]) == 1
    assert "90.1 The number of seasons" in capsys.readouterr().out


# ---------------------------------------------------------------- without solutions


def test_what_tells_an_answer_is_taken_out_and_the_rest_stays():
    text = handout.stripped(EXERCISES)
    assert 'solution = ""' in text
    assert "wrong = []" in text
    assert "Count them" not in text
    assert "x + x" not in text
    assert "the search begins at 0" in text  # a planted bug is needed to check
    assert "def check(double):" in text
    compile(text, "exercises.py", "exec")


@pytest.fixture(scope="module")
def bare_package(tmp_path_factory):
    """A handout without solutions, and its wheel unpacked as pip would."""
    folder = tmp_path_factory.mktemp("handout")
    handout.export(["03"], folder, without_solutions=True)
    (wheel,) = folder.glob("*.whl")
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
        assert archive.testzip() is None
    return folder, site


def run_with(site, arguments, **more):
    environment = {**os.environ, "PYTHONPATH": str(site), **more}
    command = [sys.executable, "-P", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=site)


def test_the_package_of_a_handout_carries_no_solutions(bare_package):
    _, site = bare_package
    program = (
        "import tensorlab; from tensorlab.learn.exercise import all_chapters; "
        "exercises = [one for chapter in all_chapters() for one in chapter.exercises]; "
        "print(tensorlab.__file__, len(exercises), {one.solution for one in exercises})"
    )
    answer = run_with(site, ["-c", program])
    assert answer.returncode == 0, answer.stderr
    place, count, solutions = answer.stdout.split(" ")
    assert place.startswith(str(site))
    assert int(count) > 100
    assert solutions.strip() == "{''}"
    answer = run_with(site, ["-m", "tensorlab", "solution", "03.1", "--yes"])
    assert answer.returncode == 2
    assert "came without solutions" in answer.stderr


def test_grading_works_from_the_package_of_a_handout(bare_package, tmp_path):
    folder, site = bare_package
    chapter = load_chapter("03")
    text = (folder / "03.py").read_text(encoding="utf-8")
    honest = text
    for exercise in chapter.exercises:
        honest = honest.replace(exercise.stub, exercise.solution)
    cheat = "from tensorlab.learn.exercise import load_chapter\n"
    cheat += "for one in load_chapter('03').exercises:\n    exec(one.solution)\n"
    (tmp_path / "ada-03.py").write_text(honest, encoding="utf-8")
    stolen = text
    for exercise in chapter.exercises:
        stolen = stolen.replace(exercise.stub, cheat)
    (tmp_path / "eve-03.py").write_text(stolen, encoding="utf-8")
    answer = run_with(site, ["-m", "tensorlab", "grade", tmp_path, "--sandbox", "none"])
    assert answer.returncode == 0, answer.stderr
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert rows[1:] == [["ada", "4/4", "4/4", "4/4"], ["eve", "0/4", "0/4", "0/4"]]


def test_an_installed_package_can_solve_the_exercises_that_compile(bare_package):
    _, site = bare_package
    solution = load_chapter("47")["47.1"].solution
    program = (
        "import sys; from tensorlab.learn.exercise import load_chapter; "
        "from tensorlab.learn.verify import Beside, flat; chapter = load_chapter('47'); "
        "print(flat(Beside(chapter).judge(chapter['47.1'], sys.argv[1])))"
    )
    answer = run_with(site, ["-c", program, solution])
    assert answer.stdout.rstrip().endswith("right"), answer.stdout + answer.stderr

"""A class gets stubs, and what it hands in becomes a table."""

import csv
import io
import json

import pytest

from tensorlab.learn import classes, handout
from tensorlab.learn.exercise import load_chapter
from tensorlab.learn.workbook import file_text


@pytest.fixture
def class_folder(tmp_path):
    """Submissions of three students in the three forms that are understood."""
    chapter = load_chapter("03")
    text = file_text(chapter)
    solved = text.replace(chapter["03.1"].stub, chapter["03.1"].solution)
    folder = tmp_path / "submissions"
    (folder / "ada").mkdir(parents=True)
    (folder / "ada/03.py").write_text(solved)
    (folder / "bob-03.py").write_text(text)
    (folder / "eve/tensorlab-exercises").mkdir(parents=True)
    (folder / "eve/tensorlab-exercises/03.py").write_text("def (")
    (folder / "notes.py").write_text("1 / 0")
    (folder / "eve/03-old-1.py").write_text("1 / 0")
    return folder


def test_the_stubs_come_with_their_programs_and_a_word_to_the_students(tmp_path):
    written = handout.export(["3", "18"], tmp_path / "new")
    assert [path.name for path in written] == ["03.py", "18.py", "tiny_engine.py", "README.txt"]
    assert written[0].read_text() == file_text(load_chapter("03"))
    assert "tensorlab check 03 --file 03.py" in written[-1].read_text()


def test_nothing_is_overwritten_and_nothing_is_written_by_half(tmp_path):
    (tmp_path / "18.py").write_text("mine")
    with pytest.raises(FileExistsError, match=r"18\.py is there already"):
        handout.export(["03", "18"], tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["18.py"]


def test_submissions_are_found_in_every_form(class_folder):
    found = [(student, number) for student, number, _ in classes.submissions(class_folder)]
    assert found == [("ada", "03"), ("bob", "03"), ("eve", "03")]


def test_every_student_and_exercise_has_a_row(class_folder):
    rows = classes.grade(class_folder, ["03", "18"], seconds=5)
    assert len(rows) == 3 * (4 + 4)
    states = {(row["student"], row["exercise"]): row["state"] for row in rows}
    assert states["ada", "03.1"] == "right"
    assert states["ada", "03.2"] == "not begun"
    assert states["bob", "03.1"] == "not begun"
    assert states["eve", "03.1"] in ("error", "missing")
    assert states["ada", "18.1"] == "not handed in"
    assert [row["passed"] for row in rows].count(True) == 1

    table = classes.as_table(rows).split("\n")
    assert table[0].split() == ["student", "03", "18", "all", "points"]
    assert table[1].split() == ["ada", "1/4", "0/4", "1/8", "1/8"]
    read = list(csv.DictReader(io.StringIO(classes.as_csv(rows))))
    assert len(read) == len(rows)
    assert read[0]["student"] == "ada"
    assert [row["exercise"] for row in json.loads(classes.as_json(rows))][:2] == ["03.1", "03.2"]


def test_a_cell_that_looks_like_a_formula_is_text():
    row = dict.fromkeys(classes.COLUMNS, 0) | {"student": "=1+1", "remark": "@x"}
    assert "'=1+1" in classes.as_csv([row])
    assert "'@x" in classes.as_csv([row])

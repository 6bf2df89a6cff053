"""A course says what an answer earns; each student hears what came of theirs."""

import datetime
import os

import pytest

from tensorlab.learn import classes
from tensorlab.learn.course import Course, read_course
from tensorlab.learn.exercise import ExerciseError, load_chapter
from tensorlab.learn.feedback import feedback_text, write_feedback
from tensorlab.learn.judge import Verdict
from tensorlab.learn.workbook import file_text

CHAPTER = load_chapter("03")
TEXT = """
late = 0.5
grace = 10

[points]
"3.1" = 2

[weights]
"03" = 3

[deadlines]
"03" = 2026-11-08T12:00:00
"18" = 2026-11-15
"""


def course_of(tmp_path, text):
    path = tmp_path / "course.toml"
    path.write_text(text, encoding="utf-8")
    return read_course(path)


def test_points_are_multiplied_by_the_weight_of_their_chapter(tmp_path):
    course = course_of(tmp_path, TEXT)
    assert [course.most(CHAPTER[f"03.{number}"]) for number in (1, 2)] == [6, 3]
    assert course.most(load_chapter("18")["18.1"]) == 1


def test_an_exercise_may_say_its_points_itself(monkeypatch):
    monkeypatch.setattr(CHAPTER["03.2"], "points", 4)
    assert Course().most(CHAPTER["03.2"]) == 4
    assert Course(points={"03.2": 1}).most(CHAPTER["03.2"]) == 1


def test_a_late_answer_keeps_its_share(tmp_path):
    course = course_of(tmp_path, TEXT)
    right = Verdict("03.2", "x", credit=1.0)
    assert course.earned(CHAPTER["03.2"], right, is_late=False) == 3
    assert course.earned(CHAPTER["03.2"], right, is_late=True) == 1.5


def test_what_an_answer_has_earned_before_it_fails_counts_unless_the_course_says_no():
    half = Verdict("03.2", "x", "not yet", credit=0.5)
    assert Course().earned(CHAPTER["03.2"], half, is_late=False) == 0.5
    assert Course(partial=False).earned(CHAPTER["03.2"], half, is_late=False) == 0


@pytest.mark.parametrize(
    ("minutes", "is_late"), [(-60, False), (9, False), (11, True), (60 * 24, True)]
)
def test_the_time_of_the_file_decides(tmp_path, minutes, is_late):
    course = course_of(tmp_path, TEXT)
    path = tmp_path / "03.py"
    path.write_text("")
    written = datetime.datetime(2026, 11, 8, 12) + datetime.timedelta(minutes=minutes)
    os.utime(path, (written.timestamp(), written.timestamp()))
    assert course.is_late("03", path) == is_late
    assert not course.is_late("05", path)


def test_a_day_ends_at_midnight(tmp_path):
    course = course_of(tmp_path, TEXT)
    assert course.deadlines["18"] == datetime.datetime(2026, 11, 16)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latte = 1", "latte is no rule; known are deadlines, grace, late"),
        ("late = 2", "late is 2; it is a share"),
        ("grace = -1", "grace is -1; it is a number, 0 or more"),
        ("grace = nan", "grace is nan"),
        ("partial = 1", "partial is 1; it is true or false"),
        ("points = 3", r"points is 3; it is a table, \[points\]"),
        ('[points]\n"03" = 1', r'points are of exercises, such as "03\.1"'),
        ('[points]\n"03.1" = "two"', "03.1 is 'two'"),
        ('[points]\n"three" = 1', "'three' names no exercise"),
        ('[deadlines]\n"03" = "monday"', "write a time, such as"),
        ("late =", "can't be read"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path, text, message):
    with pytest.raises(ExerciseError, match=message):
        course_of(tmp_path, text)


def test_a_missing_file_is_said_so(tmp_path):
    with pytest.raises(ExerciseError, match="can't be read"):
        read_course(tmp_path / "gone.toml")


@pytest.fixture
def submissions(tmp_path):
    """One student in time, one late, one with an empty chapter."""
    folder = tmp_path / "submissions"
    folder.mkdir()
    text = file_text(CHAPTER)
    solved = text.replace(CHAPTER["03.1"].stub, CHAPTER["03.1"].solution)
    half = (
        "def test(is_contiguous):\n    import tensorlab\n    assert is_contiguous((1, 3), (9, 1))"
    )
    solved = solved.replace(CHAPTER["03.4"].stub, half)
    for name in ("ada", "=late"):
        (folder / f"{name}-03.py").write_text(solved, encoding="utf-8")
        moment = datetime.datetime(2026, 11, 8 if name == "ada" else 9).timestamp()
        os.utime(folder / f"{name}-03.py", (moment, moment))
    return folder


def test_rows_say_points_and_feedback_says_why(tmp_path, submissions):
    course = course_of(tmp_path, TEXT)
    rows = classes.grade(submissions, ["03", "18"], seconds=5, course=course, jobs=2)
    of = {row["student"]: [r for r in rows if r["student"] == row["student"]] for row in rows}
    assert [row["points"] for row in of["ada"]][:4] == [6, 0, 0, 1]
    assert [row["points"] for row in of["=late"]][:4] == [3, 0, 0, 0.5]
    assert [row["of"] for row in of["ada"]] == [6, 3, 3, 3, 1, 1, 1, 1]
    assert [row["late"] for row in of["=late"]] == [True] * 4 + [False] * 4
    assert "7/19" in classes.as_table(rows)

    paths = write_feedback(rows, tmp_path / "feedback")
    assert [path.name for path in paths] == ["_late.txt", "ada.txt"]
    text = paths[1].read_text(encoding="utf-8")
    assert text.startswith("ada: 7 of 19 points\n\nChapter 03: 7 of 15 points\n")
    assert "03.1 A layout by hand" in text
    assert "2 of 3 planted bugs" in text
    assert "    1 of 3 points\n" in text
    assert "18.1 Counting by hand" in text or "not handed in" in text
    assert "late" in paths[0].read_text(encoding="utf-8")


def test_a_name_can_not_lead_out_of_the_folder(tmp_path):
    row = {
        "exercise": "03.1",
        "title": "x",
        "state": "not handed in",
        "remark": "",
        "verdict": None,
    }
    row |= {"points": 0, "of": 1, "late": False}
    rows = [row | {"student": name} for name in ("../eve", "..", "a/b", "a_b", "Zoë")]
    paths = write_feedback(rows, tmp_path / "feedback")
    assert [path.name for path in paths] == ["_eve.txt", "_.txt", "a_b.txt", "a_b_.txt", "Zoë.txt"]
    assert {path.parent for path in paths} == {tmp_path / "feedback"}
    assert feedback_text("eve", rows[:1]).endswith("0 of 1 points\n")

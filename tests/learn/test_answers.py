"""A reader's file is checked in a process of its own, and nothing in it harms the others."""

import pytest

from tensorlab.learn import answers
from tensorlab.learn.answers import check_file
from tensorlab.learn.exercise import ExerciseError, load_chapter
from tensorlab.learn.workbook import file_text

CHAPTER = load_chapter("03")


def states(path, identity="03", seconds=5.0):
    return {v.id: v.state for v in check_file(path, identity, seconds=seconds)}


def write(path, **code):
    """Write a reader's file with answers in place of the stubs of some exercises."""
    text = file_text(CHAPTER)
    for number, answer in code.items():
        exercise = CHAPTER[f"03.{number[1:]}"]
        assert exercise.stub in text
        text = text.replace(exercise.stub, answer)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_fresh_file_is_not_begun(tmp_path):
    path = write(tmp_path / "03.py")
    assert set(states(path).values()) == {"not begun"}


def test_a_file_of_solutions_is_right(tmp_path):
    solutions = {f"e{n}": CHAPTER[f"03.{n}"].solution for n in range(1, 5)}
    assert set(states(write(tmp_path / "03.py", **solutions)).values()) == {"right"}


def test_one_exercise_alone_can_be_checked(tmp_path):
    path = write(tmp_path / "03.py", e1=CHAPTER["03.1"].solution)
    assert states(path, "3.1") == {"03.1": "right"}


def test_mistakes_of_every_kind_leave_the_other_exercises_alone(tmp_path):
    path = write(
        tmp_path / "03.py",
        e1="sizes = (4, 2",
        e2="def patches(x, k):\n    while True:\n        pass",
        e3="1 / 0",
        e4=CHAPTER["03.4"].solution,
    )
    verdicts = {v.id: v for v in check_file(path, "03", seconds=1.0)}
    assert [v.state for v in verdicts.values()] == ["error", "endless", "error", "right"]
    assert "SyntaxError" in verdicts["03.1"].trace
    line = path.read_text().split("\n").index("1 / 0") + 1
    assert verdicts["03.3"].trace.startswith(f"03.py, line {line}")
    assert "child.py" not in verdicts["03.3"].trace


def test_a_program_that_ends_or_cannot_be_stopped_is_no_harm(tmp_path, monkeypatch):
    monkeypatch.setattr(answers, "PATIENCE", 4.0)
    stubborn = (
        "def patches(x, k):\n    while True:\n        try:\n            while True:\n"
        "                pass\n        except BaseException:\n            pass"
    )
    path = write(
        tmp_path / "03.py",
        e1="import os\nos._exit(7)",
        e2=stubborn,
        e4=CHAPTER["03.4"].solution,
    )
    verdicts = {v.id: v for v in check_file(path, "03", seconds=0.3)}
    assert verdicts["03.1"].state == "error"
    assert "status 7" in verdicts["03.1"].remark
    assert verdicts["03.2"].state == "endless"
    assert verdicts["03.3"].state == "not begun"
    assert verdicts["03.4"].state == "right"


def test_the_same_name_in_two_exercises_is_two_answers(tmp_path):
    path = tmp_path / "03.py"
    first, last = CHAPTER["03.1"].solution, "sizes = strides = offset = None"
    path.write_text(f"import tensorlab\n\n# %% 03.1\n{first}\n\n# %% 03.2\n{last}\n")
    assert states(path, "03.1") == {"03.1": "right"}


def test_what_the_reader_prints_is_shown_and_breaks_nothing(tmp_path):
    code = 'print("hello")\nimport os\nos.write(1, b"{}\\n")\n' + CHAPTER["03.1"].solution
    (verdict,) = check_file(write(tmp_path / "03.py", e1=code), "03.1")
    assert verdict.state == "right"
    assert verdict.printed == "hello\n"


def test_a_missing_part_is_said_so(tmp_path):
    path = tmp_path / "03.py"
    path.write_text("# %% 03.1 only this\nsizes = 1\n")
    verdicts = check_file(path, "03")
    assert [v.state for v in verdicts] == ["missing"] * 4
    assert "no `strides`" in verdicts[0].remark
    assert "no line `# %% 03.2`" in verdicts[1].remark


def test_a_file_without_marks_is_one_piece(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CHAPTER["03.1"].solution)
    assert states(path, "03.1") == {"03.1": "right"}


def test_a_file_may_import_what_lies_beside_it(tmp_path):
    (tmp_path / "mine_too.py").write_text("answer = 8\n")
    code = "from mine_too import answer\nsizes, strides, offset = (4, 2), (1, 12), answer"
    assert states(write(tmp_path / "03.py", e1=code), "03.1") == {"03.1": "right"}


def test_a_file_that_is_none_or_no_text_is_one_sentence(tmp_path):
    with pytest.raises(ExerciseError, match="there is no file"):
        check_file(tmp_path / "03.py", "03")
    (tmp_path / "03.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExerciseError, match="not a text in UTF-8"):
        check_file(tmp_path / "03.py", "03")


def test_a_mark_that_stands_twice_is_an_error_of_the_file(tmp_path):
    path = tmp_path / "03.py"
    path.write_text("# %% 03.1\nx = 1\n# %% 03.1\nx = 2\n")
    with pytest.raises(ExerciseError, match=r"03\.1 stands in the file twice"):
        check_file(path, "03")

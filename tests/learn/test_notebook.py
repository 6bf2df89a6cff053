"""A chapter as a notebook: what the book alone understands is translated, code stays as it is."""

from importlib.util import find_spec

import pytest

from tensorlab.learn import notebook
from tensorlab.learn.exercise import Wrong, read_chapter

makes_cells = pytest.mark.skipif(
    find_spec("nbformat") is None, reason="the extra `notebooks` is not installed"
)


def test_links_within_the_book_become_their_words():
    text = "See [How](../../docs/practising.md), [below](in-pytorch), [it](https://example.org/a)."
    assert notebook.plain_text(text) == "See How, below, [it](https://example.org/a)."


@makes_cells
def test_an_exercise_is_its_text_a_cell_to_fill_in_its_check_and_what_opens(chapter, monkeypatch):
    exercise = chapter["90.2"]
    code = 'def double(x):\n    return parts["train"](model)'  # looks like a link, and is none
    monkeypatch.setattr(exercise, "wrong", [Wrong(code, "", "A {term}`square`.")])
    text, stub, check, folded = notebook.exercise_cells(exercise)
    assert text.source.startswith("### 90.2 Twice as much (implement)\n\nWrite `double(x)`.")
    assert stub.source == exercise.stub
    assert check.source.endswith('check("90.2")')
    assert folded.source.count("<details>") == folded.source.count("</details>") == 2
    assert "<summary>Hint 1</summary>" in folded.source
    assert "A common wrong answer. A square." in folded.source
    assert code in folded.source


@makes_cells
def test_the_imports_of_a_chapters_exercises_stand_once_before_the_first(chapter, monkeypatch):
    monkeypatch.setattr(notebook, "find", lambda identity: (chapter, (chapter[identity],)))
    first = notebook.translate("exercise", "90.1", "")
    second = notebook.translate("exercise", "90.2", "")
    assert [cell.source for cell in first[:1]] == [chapter.imports]
    assert [len(first), len(second)] == [5, 4]


@makes_cells
def test_exercises_go_on_in_a_second_file_and_neither_is_shown(tmp_path, chapter):
    folder = tmp_path / "91-longer"
    folder.mkdir()
    text = (chapter.folder / "exercises.py").read_text(encoding="utf-8")
    for name in ("exercises.py", "exercises_more.py"):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "tool.py").write_text("x = 1\n", encoding="utf-8")
    longer = read_chapter(folder / "exercises.py")
    assert [one.id for one in longer.exercises] == [f"91.{n}" for n in range(1, 7)]
    assert [one.title for one in longer.exercises] == 2 * [one.title for one in chapter.exercises]
    (cell,) = notebook.file_cells(folder)
    assert cell.source.startswith("%%writefile tool.py")


@makes_cells
def test_small_programs_in_c_go_along(tmp_path):
    (tmp_path / "loop.c").write_text("int one;\n", encoding="utf-8")
    (tmp_path / "loop.o").write_text("no text", encoding="utf-8")
    assert [cell.source for cell in notebook.file_cells(tmp_path)] == [
        "%%writefile loop.c\nint one;\n"
    ]


@makes_cells
def test_programs_in_cython_and_results_come_along_and_recording_does_not(tmp_path):
    for name in ("loops.pyx", "recorded.json", "tool.py", "record.py", "picture.svg"):
        (tmp_path / name).write_text("text\n", encoding="utf-8")
    first_lines = [cell.source.split("\n")[0] for cell in notebook.file_cells(tmp_path)]
    assert first_lines == [f"%%writefile {n}" for n in ("loops.pyx", "recorded.json", "tool.py")]

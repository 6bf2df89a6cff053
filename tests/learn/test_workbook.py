"""A reader's file is written once, never overwritten, and taken apart at its marks."""

import ast

import pytest

from tensorlab.learn import workbook
from tensorlab.learn.exercise import ExerciseError, all_chapters, load_chapter

CHAPTERS = [pytest.param(chapter, id=chapter.number) for chapter in all_chapters()]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_file_is_python_with_every_stub_under_its_mark(chapter):
    text = workbook.file_text(chapter)
    ast.parse(text)
    pieces = workbook.sections(text)
    assert list(pieces) == [None, *(exercise.id for exercise in chapter.exercises)]
    for exercise in chapter.exercises:
        assert exercise.stub in pieces[exercise.id]
        assert r"\begin" not in exercise.text, "a terminal can't show a formula of several lines"
    assert max(map(len, text.split("\n"))) <= 110
    assert "{term}" not in text
    assert "{chapter}" not in text


def test_a_piece_keeps_the_line_numbers_of_the_file():
    text = "import a\n\n# %% 03.1 One\nb = 1\n\n# %% 03.2 Two\nc = 2\n"
    pieces = workbook.sections(text)
    for code in pieces.values():
        for number, line in enumerate(code.split("\n")):
            assert line in ("", text.split("\n")[number])


def test_start_writes_the_file_and_the_programs_it_imports(tmp_path):
    path, written = workbook.start("18", tmp_path)
    folder = tmp_path / "tensorlab-exercises"
    assert path == folder / "18.py"
    assert written == [folder / "18.py", folder / "tiny_engine.py"]


def test_start_never_overwrites(tmp_path):
    path, _ = workbook.start("18", tmp_path)
    path.write_text("mine")
    (path.parent / "tiny_engine.py").unlink()
    again, written = workbook.start("18", tmp_path)
    assert again == path
    assert written == [path.parent / "tiny_engine.py"]
    assert path.read_text() == "mine"


def test_the_file_is_found_from_the_folder_above_and_from_inside(tmp_path):
    inside = tmp_path / "tensorlab-exercises"
    assert workbook.place("3", tmp_path) == inside / "03.py"
    assert workbook.place("03", inside) == inside / "03.py"
    (tmp_path / "03.py").write_text("")
    assert workbook.place("03", tmp_path) == tmp_path / "03.py"


def test_an_old_file_is_set_aside_under_a_free_name(tmp_path):
    for number in (1, 2):
        path = tmp_path / "03.py"
        path.write_text(f"try {number}")
        kept = workbook.set_aside(path)
        assert kept.name == f"03-old-{number}.py"
        assert kept.read_text() == f"try {number}"
        assert not path.exists()


def test_markdown_reads_as_text_in_a_terminal():
    text = "A {term}`view`, {term}`leaves <leaf>`, chapter {chapter}`7` and [a link](../x.md#y)."
    assert workbook.plain(text) == "A view, leaves, chapter 7 and a link."


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"$k \times k$", "k × k"),  # noqa: RUF001
        (r"$x_{i+a,\,j+b}$", "x_(i+a, j+b)"),
        (r"$o + \sum_k (n_k - 1) s_k$", "o + Σ_k (n_k - 1) s_k"),
        (r"$2^{18} = 262\,144$", "2^(18) = 262 144"),
        (r"$-\log p_y$", "-log p_y"),
        (r"$e^{x}$", "e^x"),
        (r"$\bar x$", "grad x"),
        (r"$A^{\mathsf T} \bar b$", "A^T grad b"),
        (r"$\lfloor \log_2 n \rfloor$", "⌊log_2 n⌋"),
        (r"$$ \bar x = \frac{\bar u - 1}{\lVert x \rVert} $$", "grad x = (grad u - 1) / (‖x‖)"),
    ],
)
def test_formulas_read_as_text_in_a_terminal(formula, text):
    assert workbook.plain(formula) == text


def test_a_chapter_without_exercises_is_one_sentence():
    with pytest.raises(ExerciseError, match="chapter 99 has no exercises; those that have: 01"):
        load_chapter("99")

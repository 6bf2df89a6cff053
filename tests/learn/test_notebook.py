"""A chapter as a notebook: what the book alone understands is translated, code stays as it is."""

from tensorlab.learn import notebook
from tensorlab.learn.exercise import Wrong


def test_links_within_the_book_become_their_words():
    text = "See [How](../../docs/practising.md), [below](in-pytorch), [it](https://example.org/a)."
    assert notebook.plain_text(text) == "See How, below, [it](https://example.org/a)."


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

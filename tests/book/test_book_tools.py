"""The checks of the book find what they are for, and the book as it stands has nothing to find."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import check_book  # noqa: E402
import make_notebooks  # noqa: E402
import make_toc  # noqa: E402
import source_region  # noqa: E402

from tensorlab.learn.notebook import make_notebook  # noqa: E402
from tensorlab.learn.server import NoFreePort, open_server  # noqa: E402

CHAPTER = """\
# Title

## Question and prediction

```{admonition} Predict
:class: prediction
What happens?
```

## After this chapter you can

- say it

## Idea
## Build it

```{source} tensorlab/learn/excerpts.py
:name: is_banner
```

## Worked trace
## Experiment

```{code-cell} ipython3
# ## Not a heading
1 + 1
```

## Break it

```{code-cell} ipython3
:tags: [raises-exception]
1 / 0
```

## In PyTorch
"""


def problems(text):
    checks = (check_book.check_parts, check_book.check_regions, check_book.check_figures)
    return [problem for check in checks for problem in check(text)]


def test_the_texts_of_the_book_have_nothing_to_mend():
    assert list(check_book.check_texts()) == []


def test_a_whole_chapter_passes():
    assert problems(CHAPTER) == []


@pytest.mark.parametrize(
    "part", [p for p in check_book.PARTS if p not in check_book.OPTIONAL_PARTS]
)
def test_a_missing_part_is_found(part):
    text = CHAPTER.replace(f"## {part}\n", f"### {part}\n")
    assert any(f"'## {part}' is missing" in problem for problem in problems(text))


def test_parts_out_of_order_or_twice_are_found():
    swapped = CHAPTER.replace("## Idea", "## X").replace("## In PyTorch", "## Idea\n## In PyTorch")
    assert any("in the order" in problem for problem in problems(swapped))
    assert any("2 times" in problem for problem in problems(CHAPTER + "\n## Idea\n"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("is_banner", "no_such_name", "has no region"),
        ("tensorlab/learn/excerpts.py", "tensorlab/nowhere.py", "there is no file"),
        (":name: is_banner", "", "has no :name:"),
        ("is_banner", "Region\n:most-lines: 9", "lines, more than 9"),
        ("```{admonition} Predict", "```text", "no prediction box"),
        ("- say it", "say it", "no list of outcomes"),
        ("1 / 0", "![](plot.png)\n1 / 0", ""),
        ("## In PyTorch", "![](plot.png)\n\n## In PyTorch", "no alternative text"),
        ("## In PyTorch", "```{figure} a.svg\nText\n```\n\n## In PyTorch", "has no :alt:"),
        ("## In PyTorch", '<svg viewBox="0 0 1 1"></svg>\n\n## In PyTorch', "aria-label"),
    ],
)
def test_what_is_wrong_in_a_chapter_is_found(old, new, expected):
    found = problems(CHAPTER.replace(old, new))
    assert any(expected in problem for problem in found) if expected else found == []


@pytest.mark.parametrize(
    ("docstrings", "begin"), [("yes", '    """Return (first'), ("no", "            return number")]
)
def test_a_line_that_would_scroll_sideways_is_found(docstrings, begin, monkeypatch):
    path = "tensorlab/learn/excerpts.py"
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    first = lines.index("def find_banner(lines, name):")
    number = next(n for n in range(first, len(lines)) if lines[n].startswith(begin))
    text = CHAPTER.replace("is_banner", f"find_banner\n:docstrings: {docstrings}")
    monkeypatch.setattr(source_region, "WIDEST", len(lines[number]))
    assert problems(text) == []
    monkeypatch.setattr(source_region, "WIDEST", len(lines[number]) - 1)
    assert problems(text) == [
        f"{{source}} line {number + 1} of {path} has {len(lines[number])} columns in find_banner, "
        f"more than {len(lines[number]) - 1}; wrap it in the source"
    ]


def test_a_wide_line_is_found_where_only_a_part_of_a_function_is_shown(monkeypatch):
    path, line = (
        "tensorlab/learn/excerpts.py",
        "return number, after[0][0] if after else len(lines)",
    )
    lines = [one.strip() for one in (ROOT / path).read_text(encoding="utf-8").split("\n")]
    part = "find_banner\n:start: return number\n:end: return number"
    monkeypatch.setattr(source_region, "WIDEST", len(line) - 1)
    assert problems(CHAPTER.replace("is_banner", part)) == [
        f"{{source}} line {lines.index(line) + 1} of {path} has {len(line)} columns in find_banner, "
        f"more than {len(line) - 1}; wrap it in the source"
    ]


def test_an_unknown_term_is_found_and_a_known_one_is_not():
    terms = check_book.glossary_terms("```{glossary}\nview\n  A tensor.\n\nleaf\n  Another.\n```\n")
    assert terms == {"view", "leaf"}
    text = "A {term}`View`, {term}`leaves <leaf>` and a {term}`branch`."
    assert list(check_book.check_terms(text, terms)) == [
        "the term 'branch' is not in docs/glossary.md"
    ]


def test_a_promised_test_that_does_not_exist_is_found():
    text = "`tests/learn/test_excerpts.py::test_gone` and `tests/learn/test_excerpts.py::region`, tests/x.py"
    found = list(check_book.check_named_tests(text, ROOT))
    assert [problem.partition(" is")[0] for problem in found] == [
        "tests/learn/test_excerpts.py::test_gone",
        "tests/x.py",
    ]


def test_pages_with_bad_pictures_or_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<img src="x.png" alt="../x.png"><a href="b.html#here">b</a><a href="c.html">c</a>'
        '<a href="b.html#gone">d</a><a href="https://example.org/">e</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"><img src="y.png" alt="A falling line"></p>')
    assert [problem.partition(": ")[2] for problem in check_book.check_pages(tmp_path)] == [
        "the picture x.png has no alternative text",
        "the link c.html leads to no file",
        "the link b.html#gone leads to a place that its page does not have",
    ]


def test_the_table_of_contents_lists_every_written_chapter_and_no_other():
    listed = {line.split()[-1] for line in make_toc.toc_text().split("\n") if "chapters/" in line}
    pages = ROOT.glob("chapters/*/*.md")
    written = {path.relative_to(ROOT).with_suffix("").as_posix() for path in pages}
    assert listed == written


def test_a_notebook_has_the_cells_and_no_directive(tmp_path):
    folder = tmp_path / "01-made-up"
    folder.mkdir()
    (folder / "index.md").write_text(
        "---\njupytext:\n  text_representation:\n    format_name: myst\n---\n"
        + CHAPTER.replace("say it", "say {term}`strides <stride>` and {func}`~tensorlab.tanh`")
    )
    (folder / "helper.py").write_text("answer = 42\n")
    notebook = make_notebook(folder / "index.md")
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert code[0] == "%%writefile helper.py\nanswer = 42\n"
    assert code[1].endswith('source("tensorlab/learn/excerpts.py", "is_banner")')
    assert code[2:] == ["# ## Not a heading\n1 + 1", "1 / 0"]
    assert "{" not in text
    assert "> **Predict**\n>\n> What happens?" in text
    assert "- say strides and `tensorlab.tanh`" in text


def test_a_notebook_for_the_machine_of_another_first_installs_what_it_was_made_with(tmp_path):
    (tmp_path / "index.md").write_text("# Title\n\nText.\n")
    notebook = make_notebook(tmp_path / "index.md")
    make_notebooks.make_hosted({"01.ipynb": notebook}, tmp_path)
    install = notebook.cells[1].source
    assert "find_spec" in install
    wanted = (tmp_path / "requirements.txt").read_text().split()
    assert wanted[0].startswith("tensorlab-book==")
    assert all("==" in one for one in wanted)
    assert install.endswith("%pip install --quiet " + " ".join(wanted))
    assert (tmp_path / "runtime.txt").read_text().startswith("python-3.")


def test_a_busy_port_gives_the_next_one():
    first = open_server(8750)
    second = open_server(first.server_port)
    first.server_close()
    second.server_close()
    assert second.server_port > first.server_port


def test_no_free_port_is_one_sentence():
    last = open_server(65535)
    with pytest.raises(NoFreePort, match="no free port from 65535"):
        open_server(65535)
    last.server_close()

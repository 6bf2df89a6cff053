"""Cells run several pages at once, and what they put out is used again only while nothing changed."""

import os
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "docs/_ext")]

import build_book  # noqa: E402
import execute_pages  # noqa: E402
import executed_pages  # noqa: E402
import progress  # noqa: E402
from execute_pages import Execution, ExecutionFailed  # noqa: E402
from executed_pages import is_executed, key_of  # noqa: E402

FRONT = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
---

# {title}

"""
CELL = "```{{code-cell}} ipython3\n{code}\n```\n\n"


def write(page, *cells):
    """Write a page with some cells under the checkout's root."""
    file = executed_pages.ROOT / f"{page}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = FRONT.format(title=page) + "".join(CELL.format(code=code) for code in cells)
    file.write_text(text)
    return page


@pytest.fixture(autouse=True)
def checkout(tmp_path, monkeypatch):
    """A checkout with a package and no pages yet."""
    for module in (executed_pages, execute_pages):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(executed_pages, "STORE", tmp_path / "docs/_build/executed")
    monkeypatch.setattr(progress, "DURATIONS", tmp_path / "docs/_build/durations.json")
    for name in ("tensorlab/a.py", *executed_pages.MACHINERY):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    executed_pages.common_digest.cache_clear()
    yield tmp_path
    executed_pages.common_digest.cache_clear()


def execution(*pages, at_once=2, say=lambda line: None):
    titles = {page: page for page in pages}
    told = progress.Progress("chapter", titles, progress.Durations(), at_once, say=say)
    return Execution(list(pages), told, at_once)


def outputs(page):
    """Return what the cells of a page that has run printed."""
    notebook = nbformat.read(executed_pages.place_of(page, key_of(page)), as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(output.text for output in cell.outputs) for cell in cells]


def run(*pages, **options):
    with execution(*pages, **options) as running:
        running.wait_for(pages)


# ---------------------------------------------------------------- what outputs depend on
@pytest.mark.parametrize(
    "changed, is_stale",
    [
        ("chapters/01-a/index.md", True),
        ("chapters/01-a/tiny.py", True),
        ("chapters/01-a/recorded.json", True),
        ("tensorlab/a.py", True),
        ("tensorlab/new.so", True),
        ("docs/execute_pages.py", True),
        ("chapters/02-b/tiny.py", False),
        ("chapters/01-a/__pycache__/tiny.pyc", False),
        ("tensorlab/README.md", False),
    ],
)
def test_outputs_are_stale_when_something_changed_that_they_depend_on(checkout, changed, is_stale):
    page = write("chapters/01-a/index", "print(1)")
    before = key_of(page)
    file = checkout / changed
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((file.read_text() if file.exists() else "") + "\n# changed\n")
    executed_pages.common_digest.cache_clear()
    assert (key_of(page) != before) is is_stale


def test_outputs_are_stale_under_another_setting(monkeypatch):
    page = write("chapters/01-a/index", "print(1)")
    before = key_of(page)
    monkeypatch.setenv("TENSORLAB_SOMETHING", "1")
    executed_pages.common_digest.cache_clear()
    assert key_of(page) != before


def test_a_page_of_the_guide_depends_on_the_exercises_of_all_chapters(checkout):
    page = write("docs/guide", "print(1)")
    before = key_of(page)
    write("chapters/01-a/index")
    assert key_of(page) == before
    (checkout / "chapters/01-a/exercises.py").write_text("")
    assert key_of(page) != before


def test_newer_outputs_of_a_page_take_the_place_of_older_ones():
    page = write("chapters/01-a/index", "print(1)")
    other = write("chapters/01-ab/index", "print(1)")
    for key in ("a", "b"):
        for each in (page, other):
            executed_pages.store(each, key, nbformat.v4.new_notebook())
    names = sorted(path.name for path in executed_pages.STORE.iterdir())
    assert names == ["chapters.01-a.index-b.ipynb", "chapters.01-ab.index-b.ipynb"]


# ---------------------------------------------------------------- running cells
def test_pages_begin_in_reading_order_and_the_next_run_has_nothing_to_do():
    pages = [write(f"chapters/0{n}-x/index", f"print({n})", "print('end')") for n in (1, 2, 3)]
    said = []
    run(*pages, say=said.append)
    assert [line.split("(")[1].split(")")[0] for line in said] == pages
    assert [outputs(page) for page in pages] == [[f"{n}\n", "end\n"] for n in (1, 2, 3)]
    said.clear()
    run(*pages, say=said.append)
    assert said == []
    write(pages[1], "print('new')")
    run(*pages, say=said.append)
    assert len(said) == 1
    assert outputs(pages[1]) == ["new\n"]


def test_cells_run_in_the_folder_of_their_page(checkout):
    page = write("chapters/01-a/index", "from tiny import answer\nprint(answer)")
    (checkout / "chapters/01-a/tiny.py").write_text("answer = 42\n")
    run(page)
    assert outputs(page) == ["42\n"]


@pytest.mark.parametrize(
    "cell, says",
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import sys\nprint('careful', file=sys.stderr)", "it wrote to stderr:\ncareful"),
        ("import os\nos._exit(1)", "died"),
    ],
)
def test_a_cell_that_fails_is_named_and_no_other_page_begins(cell, says):
    good = write("chapters/01-a/index", "print(1)")
    bad = write("chapters/02-b/index", "x = 1", cell)
    later = write("chapters/03-c/index", "print(3)")
    with execution(good, bad, later, at_once=1) as running:
        running.wait_for([good])
        with pytest.raises(ExecutionFailed, match=says) as failure:
            running.wait_for([good, bad, later])
    line = (executed_pages.ROOT / f"{bad}.md").read_text().split("\n").index(cell.split("\n")[0])
    assert f"{bad}.md:{line}: cell 2 of 2" in str(failure.value)
    assert is_executed(good)
    assert not is_executed(bad)
    assert not is_executed(later)


def test_a_cell_that_takes_too_long_is_named(monkeypatch):
    slow = {**execute_pages.CONFIG["execute"], "timeout": 1}
    monkeypatch.setitem(execute_pages.CONFIG, "execute", slow)
    page = write("chapters/01-a/index", "import threading\nthreading.Event().wait(60)")
    with pytest.raises(ExecutionFailed, match="cell 1 of 1.*1 second"):
        run(page)


def test_a_cell_may_fail_where_its_tag_says_so():
    page = write("chapters/01-a/index", ":tags: [raises-exception]\n1 / 0")
    run(page)
    assert is_executed(page)


def test_a_page_that_is_edited_while_it_runs_is_not_kept(checkout):
    file = checkout / "chapters/01-a/tiny.py"
    page = write("chapters/01-a/index", f"open({str(file)!r}, 'w').write('x = 1')")
    run(page)
    assert not is_executed(page)


def test_a_cell_that_measures_runs_alone(checkout):
    note = f"import time, pathlib\nlog = pathlib.Path({str(checkout / 'log')!r})\n"
    spans = "begin = time.time_ns()\ntime.sleep(0.3)\nlog.open('a').write(f'{begin} {time.time_ns()}\\n')"
    others = "for _ in range(3): sum(range(10**6))"
    pages = [write(f"chapters/0{n}-x/index", note + spans, others, spans) for n in (1, 2, 3)]
    run(*pages, at_once=3)
    lines = (checkout / "log").read_text().splitlines()
    measured = sorted(tuple(map(int, line.split())) for line in lines)
    assert len(measured) == 6
    assert all(end <= begin for (_, end), (begin, _) in pairwise(measured))


def test_stopping_ends_the_kernels_and_what_has_run_is_kept(checkout):
    pid = checkout / "pid"
    first = write("chapters/01-a/index", "print(1)")
    cell = f"import os, threading\nopen({str(pid)!r}, 'w').write(str(os.getpid()))"
    second = write("chapters/02-b/index", cell, "threading.Event().wait(600)")
    begun = time.monotonic()
    with execution(first, second) as running:
        running.wait_for([first])
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.05)
    assert time.monotonic() - begun < 60
    assert not running.problems
    assert not any(thread is running.thread for thread in threading.enumerate())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert is_executed(first)
    assert not is_executed(second)


def test_a_preview_is_shown_as_soon_as_its_chapters_have_run(monkeypatch):
    pages = ["docs/index", *(f"chapters/0{n}-x/index" for n in (1, 2, 3)), "docs/glossary"]
    for page in pages[:-1]:
        write(page, "print(1)")
    (executed_pages.ROOT / "docs/glossary.md").write_text("# Glossary\n")
    shown = []

    class Site:
        progress = None

        def show(self, folder):
            shown.append(folder)

    def write_preview(pages, cores):
        assert all(map(is_executed, pages[:-1]))
        shown.append(pages)

    monkeypatch.setattr(build_book, "PREVIEWS", (1, 2, 30))
    monkeypatch.setattr(build_book, "write_preview", write_preview)
    monkeypatch.setattr(build_book, "say", lambda line: None)
    site = Site()
    build_book.execute({page: page for page in pages}, site, with_previews=True)
    first, second = [*pages[:2], "docs/glossary"], [*pages[:3], "docs/glossary"]
    assert shown == [first, build_book.PREVIEW, second, build_book.PREVIEW]
    assert all(map(is_executed, pages[:-1]))
    assert site.progress().startswith("chapter 4 of 4 (chapters/03-x/index)")


# ---------------------------------------------------------------- reading pages
def build(checkout, preview=""):
    """Have Sphinx read and write the pages of the checkout; return what it read."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace

    read = []
    with docutils_namespace():
        app = Sphinx(
            checkout,
            None,
            checkout / "out",
            checkout / "trees",
            "html",
            status=None,
            confoverrides={
                "extensions": ["myst_nb", "executed_pages"],
                "root_doc": "chapters/01-a/index",
                "include_patterns": ["chapters/**"],
                "nb_execution_mode": "force",
                "book_preview": preview,
            },
        )
        app.connect("source-read", lambda app, page, content: read.append(page))
        app.build(False, [str(checkout / f"{page}.md") for page in preview.split()])
    return sorted(read)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_a_preview_shows_some_pages_and_the_next_one_reads_only_those_that_are_new(
    checkout, monkeypatch
):
    sphinx = pytest.importorskip("myst_nb.sphinx_")
    monkeypatch.setattr(sphinx, "create_client", sphinx.create_client)  # what the extension changes
    pages = [
        write(f"chapters/0{n}-{letter}/index", "import os\nprint(os.getpid())")
        for n, letter in enumerate("abc", start=1)
    ]
    run(*pages)
    out = checkout / "out"
    assert build(checkout, " ".join(pages[:1])) == pages
    assert outputs(pages[0])[0].strip() in (out / f"{pages[0]}.html").read_text()
    assert not (out / f"{pages[1]}.html").exists()
    assert build(checkout, " ".join(pages[:2])) == [pages[1]]
    assert outputs(pages[1])[0].strip() in (out / f"{pages[1]}.html").read_text()
    assert build(checkout) == [] or not (out / f"{pages[2]}.html").exists()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_a_page_is_read_again_when_a_program_changed_that_only_its_cells_use(checkout, monkeypatch):
    sphinx = pytest.importorskip("myst_nb.sphinx_")
    monkeypatch.setattr(sphinx, "create_client", sphinx.create_client)
    tiny = checkout / "chapters/01-a/tiny.py"
    page = write("chapters/01-a/index", "import tiny\nprint('it says', tiny.answer)")
    other = write("chapters/02-b/index", "print(2)")
    tiny.write_text("answer = 'before'\n")
    run(page, other)
    build(checkout)
    tiny.write_text("answer = 'after that'\n")
    run(page, other)
    assert build(checkout) == [page]
    assert "it says after that" in (checkout / f"out/{page}.html").read_text()

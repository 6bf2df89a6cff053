"""The book is built again for what has changed since, and for nothing else."""

import os
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import build_book  # noqa: E402


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """A checkout with a chapter, a page and a module; the steps of a build are noted instead of run."""
    noted = []
    docs = tmp_path / "docs"
    for name, value in {
        "ROOT": tmp_path,
        "DOCS": docs,
        "BUILT": docs / "_build/html",
        "STAMP": docs / "_build/last-good-build",
    }.items():
        monkeypatch.setattr(build_book, name, value)
    for name in (
        "chapters/01-first/index.md",
        "docs/index.md",
        "docs/_config.yml",
        "tensorlab/a.pyx",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    def run(title, *command):
        noted.append("everything" if "--all" in command else title)
        time.sleep(0.02)  # more than the clock of the file system may be off
        if title == "table of contents" and not (docs / "_toc.yml").exists():
            (docs / "_toc.yml").write_text("")
        build_book.BUILT.mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(build_book, "run", run)
    monkeypatch.setattr(sys, "argv", ["build_book.py"])
    return noted


def test_a_second_build_has_nothing_to_do_though_the_first_wrote_the_table_of_contents(
    steps, capsys
):
    build_book.main()
    assert "everything" in steps
    steps.clear()
    build_book.main()
    assert steps == []
    assert "up to date" in capsys.readouterr().out


@pytest.mark.parametrize(
    "changed, everything",
    [("chapters/01-first/index.md", False), ("docs/_config.yml", True), ("tensorlab/a.pyx", True)],
)
def test_a_change_builds_what_depends_on_it(steps, tmp_path, changed, everything):
    build_book.main()
    steps.clear()
    later = time.time() + 60
    os.utime(tmp_path / changed, (later, later))
    build_book.main()
    assert "check of the pages" in steps
    assert ("everything" in steps) is everything


def test_again_builds_everything_in_any_case(steps, monkeypatch):
    build_book.main()
    steps.clear()
    monkeypatch.setattr(sys, "argv", ["build_book.py", "--again"])
    build_book.main()
    assert "everything" in steps


def test_a_step_that_fails_leaves_the_next_build_to_do(steps, monkeypatch):
    run = build_book.run

    def fails(title, *command):
        run(title, *command)
        if title == "check of the pages":
            sys.exit("book: this step failed")

    monkeypatch.setattr(build_book, "run", fails)
    for _ in range(2):
        steps.clear()
        with pytest.raises(SystemExit):
            build_book.main()
        assert "everything" in steps

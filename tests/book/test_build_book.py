"""The book is built again for what has changed since, and for nothing else."""

import os
import socket
import sys
import time
import urllib.error
import urllib.request
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
        "PREVIEW": docs / "_build/preview/html",
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
        noted.append("everything" if "--fresh" in command else title)
        time.sleep(0.02)  # more than the clock of the file system may be off
        if title == "table of contents" and not (docs / "_toc.yml").exists():
            (docs / "_toc.yml").write_text("")
        build_book.BUILT.mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(build_book, "run", run)
    monkeypatch.setattr(build_book, "write_pages", run)
    monkeypatch.setattr(build_book, "pages_in_order", dict)
    monkeypatch.setattr(build_book, "execute", lambda *_, **options: noted.append("cells"))
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
    executed = build_book.DOCS / "_build/executed"
    executed.mkdir()
    steps.clear()
    monkeypatch.setattr(sys, "argv", ["build_book.py", "--again"])
    build_book.main()
    assert "everything" in steps
    assert not executed.exists()


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


def test_a_build_that_stops_in_the_middle_is_no_good_build(steps, tmp_path, monkeypatch):
    build_book.main()
    later = time.time() + 60
    os.utime(tmp_path / "docs/index.md", (later, later))

    def stop(*_, **options):
        raise KeyboardInterrupt

    execute = build_book.execute
    monkeypatch.setattr(build_book, "execute", stop)
    with pytest.raises(SystemExit) as exit:
        build_book.main()
    assert exit.value.code == 130
    monkeypatch.setattr(build_book, "execute", execute)
    steps.clear()
    build_book.main()
    assert "everything" in steps  # nobody knows how far Sphinx was with the pages


def test_previews_show_the_guide_and_the_first_chapters_in_reading_order(monkeypatch):
    chapters = [f"chapters/{number:02d}-name/index" for number in range(1, 8)]
    monkeypatch.setattr(build_book, "PREVIEWS", (2, 5, 7))
    first, second = build_book.previews(["docs/index", "docs/guide", *chapters, "docs/glossary"])
    assert first == ["docs/index", "docs/guide", *chapters[:2], "docs/glossary"]
    assert second[:-1] == ["docs/index", "docs/guide", *chapters[:5]]


def get(address):
    try:
        with urllib.request.urlopen(address) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def site(steps, monkeypatch):
    """A server of the book that is built, and a function that asks it for a page."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr(build_book.Site, "go_on", lambda self: self.server.shutdown())
    site = build_book.Site(port)
    yield site, lambda page: get(f"http://127.0.0.1:{port}/{page}")
    site.server.shutdown()
    site.server.server_close()


def test_a_page_that_is_still_to_come_says_so_and_how_far_the_build_is(site, capsys):
    site, ask = site
    site.progress = lambda: "chapter 12 of 46 (Convolution), 2:10"
    status, text = ask("chapters/12-convolution/index.html")
    assert status == 503
    assert "This page is being built" in text
    assert "chapter 12 of 46 (Convolution), 2:10" in text
    assert 'http-equiv="refresh"' in text
    build_book.PREVIEW.mkdir(parents=True)
    (build_book.PREVIEW / "index.html").write_text("first chapters")
    assert "http://" not in capsys.readouterr().out
    site.show(build_book.PREVIEW)
    assert capsys.readouterr().out.count("http://127.0.0.1:") == 1
    assert ask("") == (200, "first chapters")
    build_book.BUILT.mkdir(parents=True)
    (build_book.BUILT / "index.html").write_text("whole book")
    site.show(build_book.BUILT, is_complete=True)
    assert "http" not in capsys.readouterr().out  # the reader has the address
    assert ask("") == (200, "whole book")
    assert ask("chapters/99-lost/index.html")[0] == 404


@pytest.mark.parametrize("is_announced", [False, True])
def test_a_build_that_fails_ends_unless_there_are_pages_to_read(
    site, monkeypatch, capsys, is_announced
):
    site, ask = site
    site.is_announced = is_announced
    monkeypatch.setattr(build_book, "Site", lambda port: site)

    def fail(site):
        sys.exit("book: this cell failed")

    with pytest.raises(SystemExit) as exit:
        build_book.build_served(fail, None)
    assert ("still served" in capsys.readouterr().out) is is_announced
    assert exit.value.code == (1 if is_announced else "book: this cell failed")


def test_the_whole_book_takes_the_place_of_the_preview(site, monkeypatch):
    site, ask = site
    monkeypatch.setattr(build_book, "Site", lambda port: site)
    seen = []

    def build(site):
        for folder in (build_book.PREVIEW, build_book.BUILT):
            folder.mkdir(parents=True)
            (folder / "index.html").write_text(folder.parent.name)
        site.show(build_book.PREVIEW)
        seen.append(ask(""))

    monkeypatch.setattr(type(site), "go_on", lambda site: seen.append(ask("")))
    build_book.build_served(build, None)
    assert seen == [(200, "preview"), (200, "_build")]
    assert not build_book.PREVIEW.exists()


def test_a_group_of_processes_is_gone_when_its_block_is_left():
    with (
        pytest.raises(KeyboardInterrupt),
        build_book.process_group("-c", "import time; time.sleep(600)") as process,
    ):
        raise KeyboardInterrupt
    assert process.returncode is not None

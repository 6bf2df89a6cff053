"""The book is served where it is built; a chapter becomes a notebook that is never overwritten."""

import json
import socket
import threading
import urllib.request

import pytest

from tensorlab.cli import book
from tensorlab.learn import server as serving


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A small built book."""
    folder = tmp_path / "html"
    (folder / "chapters/03-strides").mkdir(parents=True)
    (folder / "index.html").write_text("cover")
    (folder / "chapters/03-strides/index.html").write_text("strides")
    monkeypatch.setattr(serving, "BUILT", folder)
    return folder


@pytest.fixture
def served(monkeypatch):
    """What the pages answer, asked while the server runs."""
    answers = []

    def serve(self):
        address = f"http://127.0.0.1:{self.server_port}/chapters/03-strides/index.html"
        thread = threading.Thread(target=self.handle_request)
        thread.start()
        with urllib.request.urlopen(address) as page:
            answers.append(page.read().decode())
        thread.join()
        self.server_close()
        raise KeyboardInterrupt

    monkeypatch.setattr(serving.BookServer, "serve_forever", serve)
    return answers


def busy_port():
    """Return a socket that listens, on a port that the system chose."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    holder.listen()
    return holder


def test_the_book_is_served_and_its_address_printed(run, built, served):
    code, text, _ = run("book")
    assert code == 0
    assert "book: http://127.0.0.1:" in text
    assert served == ["strides"]


def test_a_chapter_s_address_is_printed(run, built, served):
    _, text, _ = run("book 3")
    assert "/chapters/03-strides/index.html (stop with Ctrl-C)" in text


def test_a_port_in_use_is_one_clear_sentence(run, built):
    with busy_port() as holder:
        port = holder.getsockname()[1]
        code, text, complaint = run(f"book --port {port}")
    assert (code, text) == (1, "")
    assert f"port {port} is in use by another program; choose another" in complaint


def test_without_a_wish_the_next_free_port_is_taken_and_said_so(run, built, served, monkeypatch):
    with busy_port() as holder:
        port = holder.getsockname()[1]
        monkeypatch.setattr(book, "PORT", port)
        code, text, _ = run("book")
    assert code == 0
    assert f"port {port} is in use, so it is another one" in text


def test_a_book_that_is_not_built_says_how_to_build_it(run, tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "BUILT", tmp_path / "docs/_build/html")
    code, _, complaint = run("book")
    assert code == 1
    assert "tensorlab book 03 --notebook" in complaint  # an installed package has no docs
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/build_book.py").write_text("")
    assert "run make book-html" in run("book")[2]


def test_a_chapter_that_is_not_in_the_built_book_is_said_so(run, built):
    (built / "chapters/03-strides/index.html").unlink()
    code, _, complaint = run("book 03")
    assert code == 2
    assert "chapter 03 is not in the built book" in complaint


def test_a_notebook_is_written_and_opened(run, folder, monkeypatch):
    pytest.importorskip("jupytext", reason="the extra `notebooks` is not installed")
    calls = []

    def start(command, env):
        calls.append(command)
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(book.subprocess, "run", start)
    monkeypatch.setattr(book, "is_there", lambda module: True)
    code, text, _ = run("book 03 --notebook")
    path = folder / "tensorlab-notebooks/03-strides.ipynb"
    assert code == 0
    assert "is written" in text
    assert calls[0][1:] == ["-m", "jupyterlab", str(path.relative_to(folder))]
    sources = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
    assert any(source.endswith('check("03.2")') for source in sources)
    assert any("<summary>Solution</summary>" in source for source in sources)
    path.write_text("mine")
    _, text, _ = run("book 03 --notebook")
    assert "stays as it is" in text
    assert path.read_text() == "mine"


def test_a_missing_extra_is_named(run, monkeypatch):
    monkeypatch.setattr(book, "is_there", lambda module: False)
    code, _, complaint = run("book 03 --notebook")
    assert code == 1
    assert "pip install 'tensorlab-book[notebooks]'" in complaint

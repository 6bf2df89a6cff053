"""An empty folder to work in, a home of its own, and the command line as a function."""

import pytest

from tensorlab.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The empty folder that the reader works in."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("TENSORLAB_HOME", str(tmp_path / "home"))
    return place


@pytest.fixture
def run(capsys):
    """Run a command line; return (exit code, what it printed, what it complained of)."""

    def run(line):
        code = main(line.split())
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run

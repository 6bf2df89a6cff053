"""Bars and lines while people wait: with tqdm, without it, and not at all."""

import io
import sys
import threading
import time
import types
import typing

import pytest

from tensorlab import _progress
from tensorlab.datasets.utils import download_url
from tensorlab.utils.data import DataLoader, IterableDataset
from tests.datasets.served import server  # noqa: F401 - a fixture


class Bar:
    """What tests put in the place of tqdm's: it notes what it is told."""

    made: typing.ClassVar[list] = []

    def __init__(self, **options):
        self.total = options.pop("total")
        self.options, self.steps, self.is_closed = options, 0, False
        self.made.append(self)

    def update(self, n=1):
        self.steps += n

    def reset(self):
        self.steps = 0

    def close(self):
        self.is_closed = True


@pytest.fixture(autouse=True)
def wanted(monkeypatch):
    monkeypatch.setenv("TENSORLAB_PROGRESS", "1")


@pytest.fixture
def tqdm(monkeypatch):
    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    monkeypatch.setattr(Bar, "made", [])
    return Bar


@pytest.fixture
def no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


def test_a_loader_shows_its_batches_if_it_is_asked_to(tqdm):
    assert len(list(DataLoader(range(5), batch_size=2, progress="epoch 1"))) == 3
    (bar,) = tqdm.made
    assert (bar.total, bar.steps, bar.is_closed) == (3, 3, True)
    assert bar.options["desc"] == "epoch 1"


def test_a_loader_that_is_not_asked_shows_nothing(tqdm, capsys):
    loader = DataLoader(range(5), batch_size=2)
    assert len(list(loader)) == 3
    assert not hasattr(iter(loader), "gi_frame")
    assert tqdm.made == []
    assert capsys.readouterr().err == ""


def test_a_pass_that_is_left_ends_its_bar(tqdm):
    batches = iter(DataLoader(range(5), progress=True))
    next(batches)
    batches.close()
    assert tqdm.made[0].is_closed


def test_a_stream_has_a_bar_without_an_end(tqdm):
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(4))

    assert len(list(DataLoader(Stream(), progress=True))) == 4
    assert tqdm.made[0].total is None
    assert tqdm.made[0].steps == 4


def test_without_tqdm_a_loader_says_one_line(no_tqdm, capsys):
    list(DataLoader(range(4), batch_size=2, progress=True))
    assert capsys.readouterr().err == "batches (2 it) ...\n"


def test_workers_and_resuming_go_on_behind_a_bar(tqdm):
    first, again = (
        DataLoader(range(6), batch_size=2, num_workers=1, progress=True) for _ in range(2)
    )
    assert [batch.tolist() for batch in first] == [[0, 1], [2, 3], [4, 5]]
    for _ in first:
        break
    state = first.state_dict()
    again.load_state_dict(state)
    assert [batch.tolist() for batch in again] == [[2, 3], [4, 5]]


def test_a_download_has_a_bar_of_bytes(tqdm, server, tmp_path):  # noqa: F811
    server.files["/a.bin"] = b"x" * 3000
    download_url(f"{server.url}/a.bin", tmp_path)
    (bar,) = (one for one in tqdm.made if one.steps)
    assert bar.options["unit"] == "B"
    assert (bar.total, bar.steps, bar.is_closed) == (3000, 3000, True)


def test_without_tqdm_a_download_says_how_much_it_fetches(no_tqdm, server, tmp_path, capsys):  # noqa: F811
    server.files["/b.bin"] = b"x" * 2_300_000
    download_url(f"{server.url}/b.bin", tmp_path)
    assert "fetching b.bin (2.3 MB) ...\n" in capsys.readouterr().err
    download_url(f"{server.url}/b.bin", tmp_path)  # it is there
    assert "fetching" not in capsys.readouterr().err


def test_a_program_can_be_kept_silent(no_tqdm, monkeypatch, capsys):
    monkeypatch.setenv("TENSORLAB_PROGRESS", "0")
    list(DataLoader(range(4), progress=True))
    _progress.say("anything")
    assert capsys.readouterr().err == ""


def test_a_line_that_took_long_says_when_it_is_over(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PATIENCE", 0.01)
    line = _progress.Line("waiting")
    line.update()
    time.sleep(0.02)
    line.close()
    assert capsys.readouterr().err.splitlines() == ["waiting ...", "waiting: done in 0 s"]


def test_patience_ends_once_over_several_waits(monkeypatch):
    told, wanted = threading.Event(), []
    monkeypatch.setattr(_progress, "PATIENCE", 0.05)
    monkeypatch.setattr(_progress, "say", lambda text: (wanted.append(text), told.set()))
    patience = _progress.Patience("at work")
    while not told.is_set():  # each wait is shorter than the patience
        with patience.waiting():
            told.wait(0.04)
    for _ in range(3):
        with patience.waiting():
            time.sleep(0.01)
    assert wanted == ["at work"]


def test_a_program_has_patience_with_the_c_compiler(monkeypatch):
    toolchain = pytest.importorskip("tensorlab.compiler.toolchain")
    monkeypatch.setattr(toolchain, "COMPILING", _progress.Patience("at work"))
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(toolchain, "run", lambda command: time.sleep(0.05) or (1, "no"))
    with pytest.raises(toolchain.CompilerFailed):
        toolchain.compile_text("int x;", toolchain.find_compiler(), [])
    assert sys.stderr.getvalue() == "at work\n"

"""Progress is kept outside of the exercises, is never half written, and never lost in silence."""

import json
import os
import sys
from pathlib import Path

import pytest

from tensorlab.learn import progress
from tensorlab.learn.judge import Verdict
from tensorlab.learn.progress import Progress


def test_tries_and_the_first_success_are_remembered(home):
    record = Progress()
    record.note_verdicts([Verdict("03.1", "", "not yet"), Verdict("03.2", "", "not begun")])
    assert record.save() == ""
    record = Progress()
    record.note_verdicts([Verdict("03.1", "")])
    first = record.of("03.1")["solved"]
    record.note_verdicts([Verdict("03.1", "")])
    record.save()
    entry = Progress().of("03.1")
    assert (entry["tries"], entry["solved"]) == (3, first)
    assert json.loads((home / "progress.json").read_text())["exercises"].keys() == {"03.1"}


def test_nothing_but_the_record_is_left_in_its_folder(home):
    record = Progress()
    record.of("03.1")["hints"] = 2
    record.save()
    record.save()
    assert [path.name for path in home.iterdir()] == ["progress.json"]


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 99}', '{"version": 1, "exercises": [1]}'])
def test_a_broken_record_is_set_aside_and_said_so(home, text):
    home.mkdir()
    (home / "progress.json").write_text(text)
    record = Progress()
    assert "progress.broken.json" in record.note
    assert (home / "progress.broken.json").read_text() == text
    assert record.save() == ""
    assert Progress().note == ""


def test_what_cannot_be_written_is_a_sentence(home, monkeypatch):
    home.write_text("a file where the folder should be")
    message = Progress().save()
    assert "Progress is not kept" in message
    assert "TENSORLAB_HOME" in message


def test_a_crash_while_writing_leaves_the_old_record(home, monkeypatch):
    record = Progress()
    record.of("03.1")["tries"] = 1
    record.save()
    record.of("03.1")["tries"] = 2

    def crash(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", crash)
    assert "No space left" in record.save()
    monkeypatch.undo()
    monkeypatch.setenv("TENSORLAB_HOME", str(home))
    assert Progress().of("03.1")["tries"] == 1
    assert [path.name for path in home.iterdir()] == ["progress.json"]


def test_the_folder_is_where_the_system_keeps_such_things(monkeypatch, tmp_path):
    monkeypatch.delenv("TENSORLAB_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert progress.home() == tmp_path / ".local/share/tensorlab"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert progress.home() == tmp_path / ".local/share/tensorlab"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert progress.home() == tmp_path / "data/tensorlab"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert progress.home() == tmp_path / "Library/Application Support/tensorlab"

"""A long piece of work says how far it is, and how long the rest will take if that is known."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))

from progress import Durations, Progress


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def durations(tmp_path):
    return Durations(tmp_path / "_build/durations.json")


def progress_of(durations, titles, at_once=1):
    said, clock = [], Clock()
    return Progress("chapter", titles, durations, at_once, clock, said.append), said, clock


def test_the_first_time_nothing_is_known_of_the_rest(durations):
    progress, said, _ = progress_of(durations, {"01": "First", "02": "Second"})
    assert progress.line() == "chapter 0 of 2 (none yet), 0:00"
    progress.begins("01")
    assert said == ["   chapter 1 of 2 (First), 0:00"]


def test_what_ended_tells_how_long_others_take(durations):
    progress, said, clock = progress_of(durations, {"01": "First", "02": "Second", "03": "Third"})
    progress.begins("01")
    clock.now += 40
    progress.ends("01")
    progress.begins("02")
    assert said[-1] == "   chapter 2 of 3 (Second), 0:40, about 1:20 left"
    clock.now += 100  # longer than the other: now it's only the third that counts
    assert progress.seconds_left() == 40


def test_durations_are_remembered_from_one_run_to_the_next(durations):
    titles = {"01": "First", "02": "Second"}
    progress, _, clock = progress_of(durations, titles)
    for name, seconds in (("01", 10), ("02", 200)):
        progress.begins(name)
        clock.now += seconds
        progress.ends(name)
    again, said, _ = progress_of(Durations(durations.path), titles, at_once=2)
    again.begins("01")
    assert said == ["   chapter 1 of 2 (First), 0:00, about 3:20 left"]  # the longer of two at once


def test_a_file_of_durations_that_is_broken_is_none(durations):
    durations.remember("check", 3)
    durations.path.write_text("{")
    assert Durations(durations.path).usual("check") is None

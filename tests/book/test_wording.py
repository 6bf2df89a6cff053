"""The turns of phrase that docs/wording.toml lists are found, and what is close to them is not."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
from check_wording import find_tics, load_tics, written_files


@pytest.mark.parametrize(
    "text",
    [
        "Nobody knows.",
        "It is done by whoever\nasks.",
        "it waits for\n    # ever",
        "An input that is no\ntensor is refused.",
        "It takes 3 nanoseconds an element.",
        "A picture in place of a number.",
        "The page tells how it is done.",
    ],
)
def test_a_tic_is_found_on_its_line(text):
    found = list(find_tics(f"first line\n{text}", load_tics()))
    assert [line for line, _, _ in found] == [2]
    assert all(instead for _, _, instead in found)


@pytest.mark.parametrize(
    "text",
    [
        "There is no tensor here; no one has seen one.",
        "forever",
        "per element",
        "an op in place",
        "It shows how.",
    ],
)
def test_plain_english_is_left_alone(text):
    assert not list(find_tics(text, load_tics()))


def test_texts_and_sources_are_read():
    names = {path.name for path in written_files()}
    assert {
        "index.md",
        "glossary.md",
        "README.md",
        "engine.pyx",
        "module.py",
        "tl_math.pxd",
    } <= names

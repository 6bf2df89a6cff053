"""What earlier versions wrote can be read, and is what it was."""

import pytest

import tensorlab

from . import old_files

FILES = sorted(p for p in old_files.FOLDER.glob("*/*") if p.suffix in (".pt", ".pickle"))


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.name}" for p in FILES])
def test_a_file_of_an_earlier_version_holds_what_it_held(path):
    expected = path.with_suffix(path.suffix + ".txt").read_text(encoding="utf-8")
    assert old_files.text_of(old_files.load(path)) == expected


def test_there_are_files_of_this_version():
    """Write them with `python -m tests.serialization.old_files` before a release."""
    here = old_files.FOLDER / tensorlab.__version__
    names = {f"{name}.pt" for name in old_files.saved()}
    names |= {f"{name}.pickle" for name in old_files.pickled()}
    assert {path.name for path in here.iterdir() if path.suffix != ".txt"} == names

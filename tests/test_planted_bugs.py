"""The bugs that tools/planted_bugs.py plants can still be planted: each finds its text, once."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
try:
    from bugs import BUGS
finally:
    sys.path.pop(0)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_text_to_replace_is_there_once(bug):
    text = (ROOT / bug.file).read_text(encoding="utf-8")
    assert text.count(bug.old) == 1
    assert bug.new != bug.old

"""The 300 names that public programs use most: each is there and behaves, or says which chapter brings it.

tests/names.txt lists them; the count of uses behind the order is of 24 repositories of courses, examples and small
models.
"""

import operator
import pathlib
import warnings

import numpy
import pytest

import tensorlab
from tests.ops.agreement import agree

LINES = pathlib.Path(__file__).with_name("names.txt").read_text(encoding="utf-8").splitlines()
NAMES = [tuple(line.split(" | ")) for line in LINES if line and not line.startswith("#")]
PLANNED = [(name, what.split()[1]) for name, what in NAMES if what.startswith("planned ")]
PRESENT = [(name, what) for name, what in NAMES if not what.startswith("planned ")]


def setting(T):
    """What calls can use besides the package."""
    T.manual_seed(0)
    x = T.arange(6.0).view(2, 3) * 0.75 + 0.5
    m = T.nn.Linear(3, 2)
    return {
        "T": T,
        "F": T.nn.functional,
        "numpy": numpy,
        "x": x,
        "y": T.tensor([[1.0, -0.5, 2.0], [0.25, 3.0, -1.0]]),
        "w": T.tensor([[1.0, -0.5, 2.0], [0.25, 3.0, -1.0]], requires_grad=True),
        "n": T.tensor([[0, 2, 1], [1, 0, 0]]),
        "image": T.arange(72.0).view(1, 2, 6, 6).cos(),
        "m": m,
        "o": T.optim.SGD(m.parameters(), lr=0.5),
    }


@pytest.mark.parametrize(("name", "call"), PRESENT, ids=[name for name, _ in PRESENT])
def test_a_name_gives_what_it_gives_in_pytorch(name, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(lambda T: eval(call, setting(T)), tolerance=2e-6)


@pytest.mark.parametrize(("name", "chapter"), PLANNED, ids=[name for name, _ in PLANNED])
def test_a_name_that_is_planned_says_with_which_chapter(name, chapter):
    with pytest.raises(AttributeError, match=f"planned with chapter {chapter}, "):
        operator.attrgetter(name)(tensorlab)()


def test_the_list_is_of_300_different_names():
    assert len(NAMES) == len(dict(NAMES)) == 300


def test_every_call_uses_its_name():
    for name, call in PRESENT:
        last = name.rpartition(".")[2]
        assert f"{last}" in call or name == "operator @", name


def test_little_is_still_planned():
    assert len(PLANNED) <= 10

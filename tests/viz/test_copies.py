"""The record of who reads which block of memory."""

import pytest

import tensorlab
from tensorlab import viz


def record():
    x = tensorlab.zeros(3)
    log = viz.Copies(x=x)
    y = x._lazy_clone()
    view = y[1:]
    log.note("y = x._lazy_clone()", y=y, view=view)
    z = y._lazy_clone()
    log.note("z = y._lazy_clone()", z=z)
    view.add_(1)
    log.note("view.add_(1)")
    return log


def test_text_shows_who_shares_and_who_moved():
    assert str(record()).splitlines() == [
        "step                 x  y    view  z",
        "start                A",
        "y = x._lazy_clone()  A  A    A",
        "z = y._lazy_clone()  A  A    A     A",
        "view.add_(1)         A  (B)  (B)   A",
    ]


def test_looking_ends_no_sharing():
    x = tensorlab.zeros(3)
    y = x._lazy_clone()
    log = viz.Copies(x=x, y=y)
    log.note("nothing")
    assert y._is_lazy_clone()


def test_the_picture_says_in_words_what_it_draws():
    picture = record().picture()
    assert picture.description.endswith(
        "view.add_(1): x reads block A, y reads block B, a copy of its own, view reads block B, "
        "a copy of its own, z reads block A."
    )
    svg = picture._repr_svg_()
    assert svg.count("<circle") == 2
    assert svg.count("<rect") == 1 + 1 + 1 + 3  # a block is one cell over the neighbours sharing it
    assert "currentColor" in svg


def test_names_are_needed():
    with pytest.raises(ValueError, match=r"viz\.Copies: no tensors are given"):
        viz.Copies()

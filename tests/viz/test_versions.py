"""The timeline of version counters."""

import xml.etree.ElementTree as ElementTree

import pytest

import tensorlab as T
from tensorlab import viz


def test_a_write_through_an_alias_is_seen_in_every_column_that_shares_the_counter():
    x = T.ones(3)
    alias, data = x.detach(), x.data
    log = viz.Versions(x=x, alias=alias, data=data)
    alias.mul_(2)
    log.note("alias.mul_(2)")
    data.mul_(2)
    log.note("data.mul_(2)")
    assert str(log).splitlines() == [
        "step           x    alias  data",
        "start          0    0      0",
        "alias.mul_(2)  (1)  (1)    0",
        "data.mul_(2)   1    1      (1)",
    ]


def test_a_saved_version_stays_and_becomes_stale():
    y = T.ones(2)
    log = viz.Versions(y=y)
    log.note("z = y * y", saves={"z's y": "y"})
    y.zero_()
    log.note("y.zero_()")
    assert str(log).splitlines() == [
        "step       y    z's y",
        "start      0",
        "z = y * y  0    [0]",
        "y.zero_()  (1)  [0] stale",
    ]
    assert "keeps 0, stale" in log._repr_html_()


def test_the_drawing_is_well_formed_and_described():
    log = viz.Versions(x=T.ones(1))
    tree = ElementTree.fromstring(log._repr_svg_())
    assert tree.get("role") == "img"
    assert tree.find("{http://www.w3.org/2000/svg}desc").text == "start: x is at 0."


def test_nothing_to_follow_is_refused():
    with pytest.raises(ValueError, match="no tensors"):
        viz.Versions()

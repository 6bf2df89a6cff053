"""Histories of tensors before and after in-place ops."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

import tensorlab as T
from tensorlab import viz
from tests.oracle import require_torch

SVG = "{http://www.w3.org/2000/svg}"


def write_to_a_view(library):
    x = library.ones(4, requires_grad=True)
    base = x * 1
    view, other = base[1:3], base[0:2]
    log = viz.Histories(x=x, base=base, view=view, other=other)
    view.mul_(10)
    log.note("view.mul_(10)")
    return log


EXPECTED = """\
before
base: (4,), version 0, made by #1
view: (2,), view of base, version 0, made by #2
other: (2,), view of base, version 0, made by #3
#3 SliceBackward0 -> #1
#2 SliceBackward0 -> #1
#1 MulBackward0 -> x
x: leaf (4,)

view.mul_(10)
base: (4,), version 1, made by #4
view: (2,), view of base, version 1, made by #5, before by #2
other: (2,), view of base, version 1, made by #6, before by #3
#6 AsStridedBackward0 -> #4
#5 AsStridedBackward0 -> #4
#4 CopySlices -> #1
#3 SliceBackward0 -> #1, stale
#2 SliceBackward0 -> #1, stale
#1 MulBackward0 -> x
x: leaf (4,)"""


def test_a_write_to_a_view_gives_base_and_views_new_nodes_and_old_ones_are_stale():
    assert str(write_to_a_view(T)) == EXPECTED


def test_pytorch_writes_the_same_history():
    text = str(write_to_a_view(require_torch()))
    assert text.replace("torch::autograd::", "") == EXPECTED


def test_an_in_place_op_on_a_whole_tensor_leaves_nothing_stale():
    y = T.ones(2, requires_grad=True) * 1
    log = viz.Histories(y=y)
    y.mul_(2)
    log.note("y.mul_(2)")
    after = str(log).partition("y.mul_(2)\n")[2]
    assert after.splitlines()[:2] == ["y: (2,), version 1, made by #2", "#2 MulBackward0 -> #1"]
    assert "stale" not in after


def test_a_view_that_gets_no_new_node_is_left_without_one():
    base = T.ones(2, 2, requires_grad=True) * 1
    row, _ = base.unbind(0)
    log = viz.Histories(base=base, row=row)
    base.mul_(2)
    log.note("base.mul_(2)")
    assert "row: (2,), view of base, version 1, without a node, before by #2" in str(log)
    log._repr_html_()


def test_stale_nodes_are_dashed_and_lie_below_the_new_ones():
    root = ElementTree.fromstring(write_to_a_view(T)._repr_html_())
    _, after = root.findall(SVG + "svg")
    dashed = [box for box in after.iter(SVG + "rect") if box.get("stroke-dasharray")]
    assert len(dashed) == 2
    heights = {text.text: float(text.get("y")) for text in after.iter(SVG + "text")}
    assert heights["#5 AsStrided"] < heights["#2 Slice"]
    assert next(iter(heights)) == "view.mul_(10)"


def test_the_strip_has_a_title_and_each_picture_its_text_alternative():
    log = write_to_a_view(T)
    root = ElementTree.fromstring(log._repr_html_())
    assert root.get("aria-label") == "Histories of x, base, view, other, step by step"
    before, after = root.findall(SVG + "svg")
    assert before.find(SVG + "title").text == "before"
    assert "#4 CopySlices -> #1; #3 SliceBackward0 -> #1, stale" in after.find(SVG + "desc").text
    whole = ElementTree.fromstring(log._repr_svg_())
    assert "before: Edges lead" in whole.find(SVG + "desc").text


def test_a_strip_breaks_its_lines_in_a_file(tmp_path):
    log = write_to_a_view(T)
    for _ in range(3):
        log.note("nothing")
    log.save(tmp_path / "log.svg")
    root = ElementTree.fromstring((tmp_path / "log.svg").read_text("utf-8"))
    _, _, width, height = map(float, root.get("viewBox").split())
    frames = log.picture().frames
    moves = [re.findall(r"[\d.]+", g.get("transform")) for g in root.findall(SVG + "g")]
    assert len(moves) == len(frames) == 5
    assert width <= 720
    places = [
        (float(x), float(y), f.width, f.height) for (x, y), f in zip(moves, frames, strict=True)
    ]
    for i, (x, y, w, h) in enumerate(places):
        assert x + w <= width
        assert y + h <= height
        for x2, y2, w2, h2 in places[:i]:
            assert x >= x2 + w2 or x2 >= x + w or y >= y2 + h2 or y2 >= y + h


def test_what_has_no_history_is_refused():
    with pytest.raises(ValueError, match="no tensors"):
        viz.Histories()
    with pytest.raises(ValueError, match="none of the tensors has a graph"):
        viz.Histories(x=T.ones(2))

"""Pictures: what they are in a notebook, a terminal and a file."""

import xml.etree.ElementTree as ElementTree

import pytest

import tensorlab as T
from tensorlab import viz

SVG = "{http://www.w3.org/2000/svg}"


def pictures():
    x = T.tensor([[1.0, 2.0]], requires_grad=True)
    log = viz.Versions(x=x.detach())
    log.note('after "<b>" & more')
    return [viz.strides(x), viz.storage(x), viz.graph(x * 2), log]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("form", ["_repr_svg_", "_repr_html_"])
def test_every_picture_is_well_formed_and_has_its_text_alternative(number, form):
    root = ElementTree.fromstring(getattr(pictures()[number], form)())
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert title.text
    assert len(description.text) > 10


@pytest.mark.parametrize("number", range(4))
def test_everything_drawn_lies_within_the_picture(number):
    root = ElementTree.fromstring(pictures()[number]._repr_svg_())
    _, _, width, height = map(float, root.get("viewBox").split())
    for text in root.iter(f"{SVG}text"):
        x, length = float(text.get("x")), len(text.text) * 0.62 * float(text.get("font-size", 12))
        left = x - {"start": 0, "middle": length / 2, "end": length}[text.get("text-anchor")]
        assert 0 <= left
        assert left + length <= width + 0.5
        assert 0 <= float(text.get("y")) <= height


@pytest.mark.parametrize("number", range(4))
def test_a_terminal_shows_the_text(number):
    picture = pictures()[number]
    assert repr(picture) == str(picture)
    assert "<svg" not in repr(picture)


def test_an_svg_file_brings_its_own_ink_for_both_modes(tmp_path):
    viz.strides(T.zeros(2)).save(tmp_path / "map.svg")
    written = (tmp_path / "map.svg").read_text("utf-8")
    assert ElementTree.fromstring(written).get("role") == "img"
    assert "prefers-color-scheme:dark" in written


def test_an_html_file_holds_the_picture_and_the_text(tmp_path):
    log = pictures()[3]
    log.save(tmp_path / "log.html")
    written = (tmp_path / "log.html").read_text("utf-8")
    assert "<svg" in written
    assert "after &quot;&lt;b&gt;&quot; &amp; more" in written
    assert "<b>" not in written
    assert "color-scheme: light dark" in written

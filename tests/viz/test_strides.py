"""viz.strides: the map says what the one equation says, in text, in words and as a drawing."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

import tensorlab as T
from tensorlab import viz
from tensorlab.viz.picture import FILLS
from tensorlab.viz.strides import read_memories
from tests.oracle import require_torch

SVG = "{http://www.w3.org/2000/svg}"


def matrix():
    return T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def texts(picture):
    return [
        element.text for element in ElementTree.fromstring(picture._repr_svg_()).iter(f"{SVG}text")
    ]


def test_a_transpose_reads_the_same_places_in_another_order():
    x = matrix()
    lines = str(viz.strides(x, x.as_strided((3, 2), (1, 3)), names=["x", "x.t()"])).split("\n")
    assert lines == [
        "storage of 6 elements, float32",
        "place      0    1    2    3    4    5",
        "value      1    2    3    4    5    6",
        "x        0,0  0,1  0,2  1,0  1,1  1,2",
        "x.t()    0,0  1,0  2,0  0,1  1,1  2,1",
        "x: shape (2, 3), strides (3, 1), offset 0",
        "x.t(): shape (3, 2), strides (1, 3), offset 0",
    ]


def test_places_that_nothing_reads_are_dots():
    column = matrix().as_strided((2,), (3,), 1)
    row = str(viz.strides(column)).split("\n")[3]
    assert row.split() == ["a", ".", "0", ".", ".", "1", "."]


def test_a_place_that_several_indices_read_lists_and_counts_the_rest():
    row = T.tensor([7, 8])
    twice = str(viz.strides(row.as_strided((2, 2), (0, 1)))).split("\n")
    assert [line.split() for line in twice[3:5]] == [["a", "0,0", "0,1"], ["1,0", "1,1"]]
    often = str(viz.strides(row.as_strided((9, 1), (0, 1))))
    assert "+7" in often


@pytest.mark.parametrize(
    ("size", "stride", "offset", "places"),
    [
        ((), (), 4, "4"),
        ((2,), (3,), 1, "1 4"),
        ((3, 2), (1, 3), 0, "0 3; 1 4; 2 5"),
        ((2, 2, 2), (2, 0, 1), 0, "0 1; 0 1; 2 3; 2 3"),
        ((0, 3), (3, 1), 0, "none"),
    ],
)
def test_the_description_names_the_place_of_every_element(size, stride, offset, places):
    picture = viz.strides(matrix().as_strided(size, stride, offset))
    assert picture.description.endswith(f"reads the places {places}.")


def test_the_drawing_shows_every_element_with_its_place():
    x = T.arange(8).as_strided((2, 2, 2), (4, 1, 2))
    found = texts(viz.strides(x))
    assert [t for t in found if t.startswith("@")] == [f"@{p}" for p in (0, 2, 1, 3, 4, 6, 5, 7)]
    assert "a[0]" in found
    assert "a[1]" in found


def test_the_equation_gives_what_the_tensor_gives():
    x = T.arange(24).as_strided((2, 3, 2), (12, 2, 5), 1)
    (memory,) = read_memories([x], ["x"])
    (reading,) = memory.readings
    values = [int(memory.values[reading.place(index)]) for index in reading.indices()]
    assert values == [v for block in x.tolist() for row in block for v in row]


def test_tensors_over_two_storages_are_two_strips():
    x = matrix()
    text = str(viz.strides(x, x.clone(), x.as_strided((1,), (1,)), names=["x", "copy", "view"]))
    first, second = text.split("\n\n")
    assert "view" in first
    assert "copy" in second


def test_a_long_storage_is_broken_into_lines():
    text = str(viz.strides(T.arange(20)))
    assert [line.split()[1] for line in text.split("\n") if line.startswith("place")] == [
        "0",
        "8",
        "16",
    ]


def test_the_svg_is_xml_with_a_title_a_description_and_the_colours_of_the_palette():
    picture = viz.strides(matrix(), names=["a<b"])
    root = ElementTree.fromstring(picture._repr_svg_())
    title, text = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title.text == "Strides of a<b"
    assert text.text == picture.description
    assert root.get("aria-labelledby").split() == [title.get("id"), text.get("id")]
    assert set(re.findall(r"#[0-9A-F]{6}", picture._repr_html_())) == {
        FILLS["storage"],
        FILLS["tensor"],
    }
    assert "prefers-color-scheme" not in picture._repr_html_()  # the page decides there


def test_two_pictures_on_a_page_have_names_of_their_own():
    one, two = viz.strides(T.arange(2)), viz.strides(T.arange(3))
    ids = [
        ElementTree.fromstring(p._repr_html_()).find(f"{SVG}title").get("id") for p in (one, two)
    ]
    assert ids[0] != ids[1]


def test_drawing_leaves_no_trace_in_the_graph():
    x = matrix().requires_grad_()
    y = x * 2
    version = y._version
    viz.strides(y)
    assert y._version == version
    assert y.grad_fn is not None


def test_save_writes_the_picture(tmp_path):
    picture = viz.strides(matrix())
    picture.save(tmp_path / "map.svg")
    assert ElementTree.parse(tmp_path / "map.svg").getroot().tag == f"{SVG}svg"
    with pytest.raises(ValueError, match=r"end it in \.svg or \.html"):
        picture.save(tmp_path / "map.png")


def test_bad_calls_say_how_to_mend_them():
    with pytest.raises(ValueError, match="give at least one tensor"):
        viz.strides()
    with pytest.raises(ValueError, match="one name for each"):
        viz.strides(matrix(), names=["x", "y"])
    with pytest.raises(ValueError, match="Draw a smaller example"):
        viz.strides(T.zeros(300))
    with pytest.raises(ValueError, match="Draw a smaller example"):
        viz.strides(T.zeros(1).as_strided((20, 20), (0, 0)))


def test_a_tensor_of_pytorch_has_the_same_map():
    torch = require_torch()
    ours, theirs = (
        T.arange(12).as_strided((3, 2), (2, 5), 1),
        torch.arange(12).as_strided((3, 2), (2, 5), 1),
    )
    assert str(viz.strides(ours)) == str(viz.strides(theirs))

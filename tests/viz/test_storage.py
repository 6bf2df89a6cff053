"""viz.storage: the bytes in the picture are the tensor's bytes, and what is shared is shared."""

import re
import struct
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorlab as T
from tensorlab import viz
from tensorlab.viz.picture import FILLS, WARNING
from tensorlab.viz.storage import MOST_PLACES, read_owners
from tests.oracle import require_torch

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture):
    tree = ElementTree.fromstring(picture._repr_svg_())
    return [element.text for element in tree.iter(f"{SVG}text")]


def user_of(tensor):
    ((user,),) = [owner.users for owner in read_owners([tensor], ["x"])]
    return user


# ---------------------------------------------------------------- byte by byte
def test_a_view_with_another_dtype_stands_under_the_same_bytes():
    x = T.tensor([1.0, -2.0])
    assert str(viz.storage(x, x.view(T.int16), names=["x", "short"])).split("\n") == [
        "storage of 8 bytes, shared by 2 tensors",
        "byte      0    1    2    3    4    5    6    7",
        "hex      00   00   80   3f   00   00   00   c0",
        "x     |0                  |1",
        "      |1.0                |-2.0",
        "short |0        |1        |2        |3",
        "      |0        |16256    |0        |-16384",
        "x: float32, shape (2,), strides (1,), offset 0: bytes 0 to 7",
        "short: int16, shape (4,), strides (1,), offset 0: bytes 0 to 7",
        "x and short share bytes 0 to 7",
    ]


@pytest.mark.parametrize(
    ("dtype", "code", "values"),
    [
        (T.float64, "d", [1.5, -0.0, float("inf")]),
        (T.float32, "f", [0.1, 3e38]),
        (T.int64, "q", [1, -2, 1 << 40]),
        (T.int32, "i", [7, -8]),
        (T.uint8, "B", [0, 255, 16]),
        (T.bool, "?", [True, False]),
    ],
)
def test_the_bytes_are_those_that_c_would_write(dtype, code, values):
    picture = viz.storage(T.tensor(values, dtype=dtype))
    written = [f"{byte:02x}" for byte in struct.pack(f"<{len(values)}{code}", *values)]
    hexes = [line.split()[1:] for line in str(picture).split("\n") if line.startswith("hex")]
    assert [text for line in hexes for text in line] == written
    assert f"in hexadecimal {' '.join(written)}." in picture.description
    shown = texts(picture)
    assert [text for text in shown if text in set(written)][: len(written)] == written


def test_every_element_is_described_with_its_value():
    picture = viz.storage(T.tensor([[5, 6], [7, 8]], dtype=T.uint8).t(), names=["x"])
    assert "x: [0,0] is 5, [0,1] is 7, [1,0] is 6, [1,1] is 8." in picture.description


def test_bytes_that_a_tensor_leaves_out_are_dots():
    x = T.tensor([1, 2, 3], dtype=T.uint8)
    tree = ElementTree.fromstring(viz.storage(x.as_strided((2,), (2,)))._repr_svg_())
    assert len(list(tree.iter(f"{SVG}circle"))) == 1


def test_several_indices_of_one_element_stand_in_one_box():
    x = T.tensor([9], dtype=T.int32)
    lines = str(viz.storage(x.expand(2), names=["x"])).split("\n")
    assert [line.split() for line in lines[3:6]] == [["x", "|0"], ["|1"], ["|9"]]


def test_a_tensor_without_elements_reads_no_byte():
    x = T.zeros(2)
    assert str(viz.storage(x[:0], names=["none"])).endswith("offset 0: no bytes")
    assert "storage of 0 bytes" in str(viz.storage(T.zeros(0)))


def test_two_empty_storages_are_two():
    assert str(viz.storage(T.zeros(0), T.zeros(0))).count("of one tensor") == 2


# ---------------------------------------------------------------- as bars
def test_a_large_storage_is_a_bar_and_a_view_with_gaps_is_dashed():
    x = T.zeros(480)
    picture = viz.storage(x, x[::2], x[120:240], names=["x", "even", "part"])
    lines = str(picture).split("\n")
    assert lines[0] == "storage of 1920 bytes, shared by 3 tensors"
    assert lines[2].split() == ["x", "=" * 48]
    assert lines[3].split() == ["even", "-" * 48]
    assert lines[4] == "part  " + " " * 12 + "=" * 12
    assert "x and even share 960 of the bytes 0 to 1915" in lines
    assert "x and part share bytes 480 to 959" in lines
    tree = ElementTree.fromstring(picture._repr_svg_())
    assert [bool(box.get("stroke-dasharray")) for box in tree.iter(f"{SVG}rect")] == [
        False, False, True, False,
    ]  # fmt: skip


def test_interleaved_views_share_no_byte_although_their_extents_overlap():
    x = T.zeros(200)
    assert "a and b share no byte" in str(viz.storage(x[::2], x[1::2]))


def test_what_no_one_could_list_is_not_counted():
    x = T.zeros(MOST_PLACES + 1)
    text = str(viz.storage(x, x[1:]))
    assert f"bytes 0 to {4 * MOST_PLACES + 3}" in text
    assert "share" not in text.split("\n", 1)[1]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=3),
    st.integers(0, 5),
)
def test_the_bytes_read_are_those_of_the_elements(steps, offset):
    numbers = T.arange(120, dtype=T.int32)
    view = numbers.as_strided(tuple(n for n, _ in steps), tuple(s for _, s in steps), offset)
    user = user_of(view)
    # Each number is its own place, so the elements say what was read.
    places = set(view.reshape(-1).tolist())
    assert user.places() == places
    first, end = user.extent()
    if places:
        assert (first, end) == (4 * min(places), 4 * max(places) + 4)
        assert user.has_gaps() == (4 * len(places) < end - first)


# ---------------------------------------------------------------- the form
def test_a_clone_has_a_strip_of_its_own():
    x = T.zeros(2)
    first, second = str(viz.storage(x, x.clone(), names=["x", "copy"])).split("\n\n")
    assert "copy" not in first
    assert "copy" in second


def test_names_are_escaped_and_the_ink_is_the_page_s():
    picture = viz.storage(T.zeros(1), names=["<x & y>"])
    root = ElementTree.fromstring(picture._repr_html_())
    assert root.find(f"{SVG}title").text == "Storages of <x & y>"
    assert root.get("role") == "img"
    assert set(re.findall(r"#[0-9A-F]{6}", picture._repr_html_())) <= {*FILLS.values(), WARNING}
    assert 'stroke="currentColor"' in picture._repr_html_()


def test_bad_calls_say_how_to_mend_them():
    with pytest.raises(ValueError, match="give at least one tensor"):
        viz.storage()
    with pytest.raises(ValueError, match="one name for each"):
        viz.storage(T.zeros(1), names=[])


def test_a_tensor_of_pytorch_has_the_same_map():
    torch = require_torch()
    ours, theirs = (m.arange(6, dtype=m.int32) for m in (T, torch))
    ours, theirs = ([x.reshape(2, 3).t(), x.view(x.dtype)[1:4]] for x in (ours, theirs))
    assert str(viz.storage(*ours)) == str(viz.storage(*theirs))

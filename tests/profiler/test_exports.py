"""Stacks, memory over time, and pictures."""

import gzip
import json
from xml.etree import ElementTree

import pytest

import tensorlab as torch
from tensorlab.profiler import profile, record_function
from tests.profiler.test_table import theirs


def program():
    with record_function("block"):
        x = torch.ones(1000)
        y = x + 1
        del x
        return y * y


@pytest.fixture
def prof():
    with profile(with_stack=True, profile_memory=True, record_shapes=True) as prof:
        program()
    return prof


def test_stacks_are_written_as_pytorch_writes_them(prof, tmp_path):
    prof.export_stacks(str(tmp_path / "ours"))
    theirs(prof.events()).export_stacks(str(tmp_path / "theirs"), "self_cpu_time_total")
    ours = (tmp_path / "ours").read_text()
    assert ours == (tmp_path / "theirs").read_text()
    for line in ours.splitlines():
        frames, _, number = line.rpartition(" ")
        assert int(number) > 0
        assert " " not in frames
        assert frames.split(";")[-1].endswith("program")


def test_stacks_need_lines_and_a_metric(tmp_path, prof):
    with profile() as without:
        torch.ones(2)
    with pytest.raises(RuntimeError, match="give with_stack=True"):
        without.export_stacks(tmp_path / "stacks")
    with pytest.raises(ValueError, match="metric is 'count'"):
        prof.export_stacks(tmp_path / "stacks", "count")
    prof.export_stacks(tmp_path / "stacks", "self_cuda_time_total")
    assert (tmp_path / "stacks").read_text() == ""


@pytest.mark.parametrize("name", ["memory.json", "memory.json.gz"])
def test_the_memory_timeline_has_times_and_bytes(prof, tmp_path, name):
    path = tmp_path / name
    prof.export_memory_timeline(str(path), device="cpu")
    content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    times, totals = json.loads(content)
    assert times == sorted(times)
    assert [sum(one) for one in totals] == [4032, 8064, 4032, 8064, 4032, 0]


def test_the_raw_memory_timeline_has_each_block(prof, tmp_path):
    path = tmp_path / "memory.raw.json.gz"
    prof.export_memory_timeline(str(path))
    content = json.loads(gzip.decompress(path.read_bytes()))
    assert [action for _, action, _, _ in content] == [1, 1, 3, 1, 3, 3]
    assert {nbytes for *_, nbytes in content} == {4032}
    assert content[0][2][0] == content[2][2][0]  # the same address


def test_the_memory_timeline_as_a_picture(prof, tmp_path):
    path = tmp_path / "memory.html"
    prof.export_memory_timeline(str(path))
    text = path.read_text()
    assert "at most 7.88 KB" in text
    assert "<svg" in text


def test_the_memory_timeline_needs_memory(tmp_path, prof):
    with profile() as without:
        torch.ones(2)
    with pytest.raises(ValueError, match="give profile_memory=True"):
        without.export_memory_timeline(str(tmp_path / "memory.json"))
    with pytest.raises(ValueError, match="device is 'cuda'"):
        prof.export_memory_timeline(str(tmp_path / "memory.json"), "cuda")


@pytest.mark.parametrize("picture", ["timeline", "flame"])
def test_pictures_are_svg_with_the_names(prof, picture, tmp_path):
    drawn = getattr(prof, picture)()
    root = ElementTree.fromstring(drawn._repr_svg_())
    assert root.tag.endswith("svg")
    assert "block" in str(drawn)
    tips = [one.text for one in root.iter() if one.tag.endswith("title")]
    assert any(tip.startswith("aten::add, ") for tip in tips)
    drawn.save(tmp_path / "picture.svg")
    assert drawn.width < 720


def test_boxes_of_the_timeline_lie_where_their_events_were(prof):
    drawn = prof.timeline()
    root = ElementTree.fromstring(drawn._repr_svg_())
    boxes = {}
    for one in root.iter():
        title = one.find("{http://www.w3.org/2000/svg}title")
        if one.tag.endswith("rect") and title is not None:
            boxes[title.text.partition(",")[0]] = one.attrib
    block, add = boxes["block"], boxes["aten::add"]
    assert float(block["x"]) <= float(add["x"])
    assert float(add["x"]) + float(add["width"]) <= float(block["x"]) + float(block["width"]) + 0.5
    assert float(block["y"]) < float(add["y"])


def test_a_flame_is_as_wide_as_its_calls_took():
    with profile() as prof, record_function("outer"):
        for _ in range(3):
            with record_function("inner"):
                torch.ones(10)
    outer = prof.events()[0]
    text = str(prof.flame()).splitlines()
    assert text[0].split()[1:] == ["1", "x", "outer"]
    assert text[1].split()[1:] == ["3", "x", "inner"]
    assert outer.cpu_time_str in text[0]


def test_a_notebook_shows_the_timeline(prof):
    assert "<svg" in prof._repr_html_()
    assert repr(prof).startswith("<profile: 4 events in ")


def test_pictures_of_nothing():
    with profile() as prof:
        pass
    assert "0 events" in prof.timeline().title
    assert prof.flame().title.startswith("What took")

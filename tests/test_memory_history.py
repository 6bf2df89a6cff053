"""The processor's memory: counted, with the lines that made it, drawn, and limited."""

import gc
import importlib
import linecache
import re
from xml.etree import ElementTree

import pytest

import tensorlab as torch
from tensorlab import viz
from tensorlab.cpu import memory
from tensorlab.cpu.memory import (
    MemoryHistory,
    memory_snapshot,
    memory_summary,
    set_per_process_memory_fraction,
)
from tensorlab.errors import AllocationError


def test_each_block_has_its_line_and_its_time():
    with MemoryHistory() as history:
        x = torch.ones(1000)
        y = x + 1
        del x
        live = history.live()
        assert [one["nbytes"] for one in memory_snapshot()] == [4032]
    first, second = history.blocks
    assert (first.freed is None, second.freed is None) == (False, True)
    assert first.made < second.made < first.freed
    assert live == [second]
    assert all(
        block.line.rpartition(":")[0].endswith("test_memory_history.py") for block in history.blocks
    )
    assert int(second.line.rpartition(":")[2]) == int(first.line.rpartition(":")[2]) + 1
    assert history.peak() == (8064, second.made)
    assert history.by_line() == {second.line: 4032}
    del y
    torch.ones(1000)
    assert len(history.blocks) == 2


def test_a_history_can_be_short_and_there_is_one_at_a_time():
    with MemoryHistory(max_entries=3) as history:
        for _ in range(10):
            torch.ones(100)
        with (
            pytest.raises(RuntimeError, match="another history is being recorded"),
            MemoryHistory(),
        ):
            pass
    assert len(history.blocks) == 3
    with pytest.raises(RuntimeError, match="no history is being recorded"):
        memory_snapshot()


def test_what_the_package_makes_is_the_programs_line():
    with MemoryHistory() as history:
        net = torch.nn.Linear(100, 100)
        empty = torch.empty(0)
    assert {block.line.partition(":")[0] for block in history.live()} == {__file__}
    assert all(block.nbytes > 0 for block in history.blocks)
    assert net.weight.nbytes + empty.nbytes <= sum(block.nbytes for block in history.live())


def test_the_summary_is_a_table_of_what_was_counted():
    gc.collect()
    x = torch.ones(2**20)
    text = memory_summary()
    assert {len(line) for line in text.splitlines()} == {48}
    torch.ones(2**18)  # its block is kept for the next who asks
    stats = memory.memory_stats()
    assert stats["cached_bytes"] >= 2**20
    assert memory.memory_reserved() == stats["allocated_bytes"] + stats["cached_bytes"]
    assert "in use by tensors" in text
    assert memory.spelled(memory.memory_allocated()) in text
    assert memory.max_memory_allocated() >= memory.memory_allocated() >= x.nbytes
    assert "limit" not in memory_summary(abbreviated=True)


@pytest.fixture
def no_limit():
    yield
    set_per_process_memory_fraction(1.0)


@pytest.mark.usefixtures("no_limit")
def test_a_limit_is_a_part_of_the_machines_memory_and_can_be_taken_away(monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 2**40)
    set_per_process_memory_fraction(0.25)
    assert memory.get_memory_limit() == 2**38
    set_per_process_memory_fraction(0.5)
    assert memory.get_memory_limit() == 2**39
    set_per_process_memory_fraction(0)
    assert memory.get_memory_limit() == 1  # 0 would be none
    set_per_process_memory_fraction(1.0)
    assert memory.get_memory_limit() == 0
    with MemoryHistory() as history:  # the limit's own is over
        x = torch.ones(1000)
    assert [block.nbytes for block in history.blocks] == [4032]
    assert x is not None


@pytest.mark.usefixtures("no_limit")
def test_a_limit_says_who_has_the_memory(monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: memory.memory_allocated() + 2**22)
    set_per_process_memory_fraction(0.999999)
    assert memory.get_per_process_memory_fraction() == 0.999999
    kept = []
    with pytest.raises(AllocationError, match="cannot allocate 1.0 MiB: tensors hold") as caught:
        kept.extend(torch.empty(2**18) for _ in range(10))
    assert "test_memory_history.py" in str(caught.value)
    assert len(kept) < 10
    set_per_process_memory_fraction(1.0)
    kept.append(torch.empty(2**20))
    for wrong in (1.5, -1, "half", True):
        with pytest.raises(ValueError, match="it must be from 0 to 1"):
            set_per_process_memory_fraction(wrong)


def test_a_line_of_a_notebook_is_told_by_its_code(monkeypatch):
    path = "/tmp/ipykernel_1/2345.py"
    code = ["x = 1\n", 'big = torch.ones(1000 if "<" < "&" else 1)\n', f"{'a' * 80} = big * 2\n"]
    monkeypatch.setitem(linecache.cache, path, (1, None, code, path))
    with MemoryHistory() as history:
        exec(compile("".join(code), path, "exec"), {"torch": torch})
    assert memory.readable("/home/me/train.py:3") == "/home/me/train.py:3"
    assert memory.readable(f"{path}:1") == "line 1 of a cell: x = 1"
    drawn = viz.memory(history)._repr_svg_()
    assert "line 2 of a cell: big = torch.ones(1000 if &quot;&lt;&quot; &lt; &quot;&amp;" in drawn
    assert f"line 3 of a cell: {'a' * 39}..." in drawn
    ElementTree.fromstring(drawn)


def test_pictures_of_memory_calls_and_work():
    with MemoryHistory() as history:
        x = torch.ones(1000)
        y = x * 2
        del x
        z = y + 1
    picture = viz.memory(history)
    assert picture.title == "3 blocks of memory, at most 7.9 KiB at once"
    assert picture._repr_svg_().count("<title>3.9 KiB, test_memory_history.py") == 3
    offsets = [offset for _, offset in viz.memory.__globals__["places"](history.blocks, 10)]
    assert offsets == [0, 4032, 0]  # z lies where x was
    assert z is not None
    with torch.overrides.trace_dispatch(file=False) as trace:
        y + 1
    drawn = viz.calls(trace)
    assert "aten::add.Tensor" in drawn._repr_svg_()
    assert str(drawn) == str(trace)
    lanes = viz.timeline([(1, "b", 1.0, 2.0), (0, "a", 0.0, 1.0)])
    assert str(lanes).splitlines()[0].split() == [
        "stream",
        "0",
        "0.000",
        "to",
        "1000.000",
        "ms",
        "a",
    ]


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (3 * 2**19, "1.5 MiB"),
        (2**30, "1.0 GiB"),
        (2**41, "2.0 TiB"),
    ],
)
def test_bytes_are_spelled_with_a_unit(nbytes, text):
    assert memory.spelled(nbytes) == text


def rectangles(picture):
    """(x, y, width, height) of each box."""
    pattern = r'<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"'
    return [tuple(map(float, one)) for one in re.findall(pattern, picture._repr_svg_())]


def test_blocks_are_drawn_where_and_as_large_as_they_are():
    with MemoryHistory() as history:
        x = torch.ones(2000)
        y = torch.ones(1000)
        del x
        z = torch.ones(1000)
    picture = viz.memory(history)
    (x1, y1, w1, h1), (x2, y2, w2, h2), (x3, y3, w3, h3), *_ = rectangles(picture)
    assert h1 == pytest.approx(2 * h2, rel=0.02)
    assert y1 > y2  # the second lies on the first,
    assert y2 + h2 == pytest.approx(y1, abs=0.3)
    assert y3 + h3 == pytest.approx(
        y1 + h1, abs=0.3
    )  # the third on the ground, where the first was
    assert x1 < x2 < x3
    assert x1 + w1 == pytest.approx(
        x3 - (x2 - x1), abs=0.3
    )  # it ends one event before the third begins
    assert x2 + w2 == pytest.approx(x3 + w3, abs=0.3)
    right = max(one + width for one, _, width, _ in rectangles(picture)[:3])
    assert right <= picture.width
    assert picture.height > y1 + h1
    live = sum(block.nbytes for block in history.live())
    assert f"{live} bytes still in use" in picture.description
    lines = str(picture).splitlines()
    assert len(lines) == 4
    assert lines[1].split()[:3] == ["1", "3", str(history.blocks[0].nbytes)]
    assert y is not None
    assert z is not None


def test_a_picture_of_memory_has_its_lines_below_it():
    with MemoryHistory() as history:
        x = torch.ones(1000)
        y = torch.ones(500)
    picture = viz.memory(history)
    boxes = rectangles(picture)
    assert len(boxes) == 4  # two blocks, and one for each line that made one
    assert [box[2:] for box in boxes[2:]] == [(10, 10), (10, 10)]
    assert boxes[2][1] < boxes[3][1]
    drawing, drawn = importlib.import_module("tensorlab.viz.memory"), picture._repr_svg_()
    right = drawing.LEFT + drawing.WIDTH
    assert re.search(rf'x="{right}[^>]*text-anchor="end"[^>]*>blocks made and given back', drawn)
    assert memory.spelled(sum(block.nbytes for block in history.blocks)) in drawn  # at the axis
    assert x is not None
    assert y is not None


def test_a_picture_of_memory_is_as_wide_as_its_history():
    drawing = importlib.import_module("tensorlab.viz.memory")
    with MemoryHistory() as history:
        x = torch.ones(1000)
    (left, _, width, _), *_ = rectangles(viz.memory(history))
    assert (left, width) == (drawing.LEFT + drawing.WIDTH / 2, drawing.WIDTH / 2)
    with MemoryHistory() as history:
        for _ in range(drawing.WIDTH):
            torch.ones(10)
    widths = [box[2] for box in rectangles(viz.memory(history))[:-1]]
    assert len(widths) > 100
    assert set(widths) == {1.0}  # each can be seen
    assert x is not None


def test_a_picture_of_no_memory_and_of_no_work():
    with MemoryHistory() as history:
        pass
    assert "1 B" in viz.memory(history)._repr_svg_()  # the height of the axis
    empty = viz.timeline([])
    assert "1e+03 ms in all" in empty._repr_svg_()
    assert empty.title == "What 0 workers did in 1e+03 ms"


def test_work_is_told_in_the_order_in_which_it_began():
    picture = viz.timeline([(0, "a", 2.0, 3.0), (1, "b", 1.0, 4.0)])
    assert [line.split()[-1] for line in str(picture).splitlines()] == ["b", "a"]
    one, two = viz.timeline([(0, "a", 0.0, 1.0)]), picture
    assert two.height - one.height == pytest.approx(boxes_apart(two))


def boxes_apart(picture):
    """The distance of the two lanes of a picture."""
    first, second = sorted({box[1] for box in rectangles(picture)})
    return second - first


@pytest.mark.parametrize(
    ("letters", "shown"), [(8, "abcdefgh"), (3, "ab…"), (2.9, ""), (1, ""), (9, "abcdefgh")]
)
def test_a_box_shows_as_much_of_a_text_as_fits(letters, shown):
    timeline = importlib.import_module("tensorlab.viz.timeline")
    parts = timeline.box(0, 0, 6.01 + letters * timeline.CHARACTER, "abcdefgh", "tensor")
    assert [re.sub("<[^>]*>", "", part) for part in parts[1:]] == [shown] * bool(shown)


def test_work_is_drawn_to_scale_in_its_lane():
    picture = viz.timeline([(0, "a", 1.0, 2.0), (1, "b", 2.0, 4.0), (0, "c", 3.0, 4.0)])
    (x1, y1, w1, _), (x2, y2, w2, _), (x3, y3, w3, _) = rectangles(picture)
    assert w2 == pytest.approx(2 * w1, abs=0.01)
    assert (y1, y3) == (y1, y1)
    assert y2 > y1
    assert x2 == pytest.approx(x1 + w1, abs=0.01)
    assert x3 == pytest.approx(x1 + 2 * w1, abs=0.01)
    assert x3 + w3 == pytest.approx(x2 + w2, abs=0.01)
    assert picture.width > x3 + w3
    assert picture.height > y2 + 24


def test_steps_of_a_call_are_drawn_below_each_other():
    with torch.overrides.trace_dispatch(file=False) as trace:
        torch.ones(2, requires_grad=True) * 2
    picture = viz.calls(trace)
    boxes = rectangles(picture)
    assert len(boxes) == 6  # two calls of three steps; autograd's is a label only
    heights = sorted({y for _, y, _, _ in boxes})
    assert len(heights) == 3
    public, op, kernel = boxes[:3]
    assert public[1] < op[1] < kernel[1]
    for outer, inner in ((public, op), (op, kernel)):
        assert outer[0] <= inner[0]
        assert inner[0] + inner[2] <= outer[0] + outer[2] + 1
    total = sum(event.seconds for event in trace.calls)
    assert public[2] == pytest.approx(640 * trace.calls[0].seconds / total, abs=1)

"""The processor's memory: counted, with the lines that made it, drawn, and limited."""

import gc

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


def test_the_summary_is_a_table_of_what_was_counted():
    gc.collect()
    x = torch.ones(2**20)
    text = memory_summary()
    assert "in use by tensors" in text
    assert memory.spelled(memory.memory_allocated()) in text
    assert memory.max_memory_allocated() >= memory.memory_allocated() >= x.nbytes
    assert "limit" not in memory_summary(abbreviated=True)


@pytest.fixture
def no_limit():
    yield
    set_per_process_memory_fraction(1.0)


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

"""PyTorch's older names: autograd.profiler and autograd.profiler_util."""

import pytest

import tensorlab as torch
from tensorlab.autograd import profiler, profiler_util


def test_profile_records_the_block():
    options = {"record_shapes": True, "profile_memory": True, "with_flops": True}
    with profiler.profile(**options) as prof, profiler.record_function("block"):
        torch.ones(2, 3) @ torch.ones(3, 4)
    assert [event.name for event in prof.function_events] == [
        "block",
        *["aten::ones"] * 2,
        "aten::mm",
    ]
    assert prof.key_averages(group_by_input_shape=True)[-1].input_shapes == [[2, 3], [3, 4]]
    assert prof.total_average().count == 4
    assert prof.self_cpu_time_total == pytest.approx(prof.function_events[0].cpu_time_total)
    assert str(prof) == prof.table() == prof.function_events.table()


def test_files_are_written(tmp_path):
    with profiler.profile(with_stack=True) as prof:
        torch.ones(100_000) + 1
    prof.export_chrome_trace(tmp_path / "trace.json")
    prof.export_stacks(tmp_path / "stacks")
    assert (tmp_path / "trace.json").stat().st_size > 0
    assert (tmp_path / "stacks").read_text().count("test_files_are_written") >= 1


def test_a_profile_that_is_not_enabled_records_nothing():
    with profiler.profile(enabled=False) as prof:
        torch.ones(2)
    assert prof is None


def test_a_profile_is_recorded_once():
    prof = profiler.profile()
    assert str(prof) == "<unfinished profile>"
    with prof:
        torch.ones(2)
    with pytest.raises(RuntimeError, match="make another one"):
        prof.__enter__()


@pytest.mark.parametrize("block", [profiler.emit_nvtx, profiler.emit_itt])
def test_ranges_for_other_tools_are_refused(block):
    with (
        pytest.raises(RuntimeError, match=f"{block.__name__}: .* tensorlab.profiler.profile"),
        block(),
    ):
        pass
    with block(enabled=False):
        pass


def test_events_have_their_second_home():
    with profiler.profile() as prof:
        torch.ones(2)
    assert isinstance(prof.function_events, profiler_util.EventList)
    assert isinstance(prof.function_events[0], profiler_util.FunctionEvent)
    assert isinstance(prof.key_averages()[0], profiler_util.FunctionEventAvg)
    assert isinstance(prof.function_events[0].time_range, profiler_util.Interval)

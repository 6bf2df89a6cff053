"""Schedules, steps and what is done when a trace is ready."""

import gzip
import json
import os
import socket
import warnings

import pytest

import tensorlab as torch
from tensorlab.profiler import ProfilerAction, profile, schedule, tensorboard_trace_handler
from tests.oracle import require_torch

ARGUMENTS = [
    {"wait": 1, "warmup": 1, "active": 2},
    {"wait": 0, "warmup": 1, "active": 1},
    {"wait": 2, "warmup": 1, "active": 3, "repeat": 2},
    {"wait": 1, "warmup": 2, "active": 1, "repeat": 1, "skip_first": 3},
    {"wait": 3, "warmup": 1, "active": 2, "skip_first": 1, "skip_first_wait": 1, "repeat": 2},
]


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_actions_are_pytorchs(arguments):
    ours, theirs = schedule(**arguments), require_torch().profiler.schedule(**arguments)
    assert [ours(step).name for step in range(40)] == [theirs(step).name for step in range(40)]


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_trace_has_the_steps_that_its_cycle_records(arguments):
    seen: list = []

    def ready(prof):
        seen.append([event.trace_name for event in prof.events() if event.key == "ProfilerStep*"])

    expected, steps = [], []
    action_of = schedule(**arguments)
    for step in range(12):
        if action_of(step) in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            steps.append(f"ProfilerStep#{step}")
        if action_of(step) is ProfilerAction.RECORD_AND_SAVE:
            expected.append(steps)
            steps = []
    with profile(schedule=action_of, on_trace_ready=ready) as prof:
        for step in range(12):
            torch.ones(2)
            if step < 11:
                prof.step()
    assert seen == expected + [steps] * bool(steps)


def test_members_have_pytorchs_numbers():
    theirs = require_torch()
    for ours, others in (
        (torch.profiler.ProfilerAction, theirs.profiler.ProfilerAction),
        (torch.profiler.ProfilerActivity, theirs.profiler.ProfilerActivity),
        (torch.profiler.DeviceType, theirs.autograd.DeviceType),
    ):
        for one in ours:
            other = getattr(others, one.name)
            assert one.value == int(getattr(other, "value", other)), one
    assert torch.profiler.supported_activities() == {torch.profiler.ProfilerActivity.CPU}
    assert torch.profiler.kineto_available() is True


def test_only_active_steps_are_kept():
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1)) as prof:
        for k in range(6):
            torch.ones(k + 1).sum()
            prof.step()
    events = prof.events()
    assert [event.trace_name for event in events] == [
        *("ProfilerStep#2", "aten::ones", "aten::sum"),
        *("ProfilerStep#3", "aten::ones", "aten::sum"),
    ]
    assert prof.key_averages()[0].key == "ProfilerStep*"
    assert prof.step_num == 6


def test_acc_events_keeps_all_cycles():
    with profile(schedule=schedule(wait=0, warmup=1, active=1), acc_events=True) as prof:
        for _ in range(6):
            torch.ones(2)
            prof.step()
    assert sum(event.name == "aten::ones" for event in prof.events()) == 3


def test_a_schedule_that_does_not_end_its_cycle_is_warned_of():
    actions = [
        ProfilerAction.RECORD,
        ProfilerAction.NONE,
        ProfilerAction.WARMUP,
        ProfilerAction.NONE,
    ]
    prof = profile(schedule=lambda step: actions[step])
    prof.start()
    with pytest.warns(UserWarning, match="from RECORD to NONE"):
        prof.step()
    prof.step()
    with pytest.warns(UserWarning, match="from WARMUP to NONE"):
        prof.step()
    prof.stop()


@pytest.mark.parametrize("name", ["wait", "warmup", "active", "repeat", "skip_first"])
def test_numbers_that_make_no_sense(name):
    arguments = {"wait": 1, "warmup": 1, "active": 1, name: -1}
    with pytest.raises(ValueError, match=f"schedule: {name} is -1"):
        schedule(**arguments)
    least = "1 or more" if name == "active" else "0 or more"
    with pytest.raises(AssertionError, match=f"it must be {least}"):
        schedule(**arguments)


def test_steps_are_numbered_from_0():
    with pytest.raises(ValueError, match="the step is -1"):
        schedule(wait=1, warmup=1, active=1)(-1)


def test_without_warmup_there_is_a_warning():
    with pytest.warns(UserWarning, match="without warmup") as caught:
        schedule(wait=1, warmup=0, active=1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule(wait=0, warmup=1, active=1)


@pytest.mark.parametrize("use_gzip", [False, True])
def test_traces_are_written_into_a_folder(tmp_path, use_gzip):
    folder = tmp_path / "new" / "folder"
    handler = tensorboard_trace_handler(str(folder), "worker", use_gzip)
    with profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as prof:
        for _ in range(4):
            torch.ones(2)
            prof.step()
    files = sorted(folder.iterdir())
    assert len(files) == 2
    assert all(one.name.startswith("worker.") for one in files)
    ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
    assert all(one.name.endswith(ending) for one in files)
    content = gzip.decompress(files[0].read_bytes()) if use_gzip else files[0].read_bytes()
    assert json.loads(content)["traceEvents"]


def test_the_names_of_files_begin_with_the_machine(tmp_path):
    with profile(on_trace_ready=tensorboard_trace_handler(tmp_path)):
        torch.ones(2)
    (file,) = tmp_path.iterdir()
    assert file.name.startswith(f"{socket.gethostname()}_{os.getpid()}.")
    assert file.name.endswith(".pt.trace.json")

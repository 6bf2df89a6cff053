"""Traces keep to the trace event format, as its public description has it.

"Trace Event Format" (Google, 2016): an event has ph, its phase; ts, microseconds; pid and tid,
where it happened. Complete events ("X") have a duration, and those of a thread nest. Flow events
("s", "f") with the same category and id are one arrow; its end binds to the enclosing slice
("bp": "e") and is not before its start. Metadata ("M") have names of processes and threads in
args. Instant events ("i") have a scope: g, p or t. Counters ("C") have numbers in args.
"""

import gzip
import json
import os
import threading

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.profiler import profile, record_function, schedule

PHASES = {"X", "M", "s", "f", "i", "C"}


@pytest.fixture
def prof():
    def other():
        with record_function('in "another"\nthread'):
            (torch.ones(3, requires_grad=True) * 2).sum().backward()

    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1))
    with profile(
        record_shapes=True, profile_memory=True, with_stack=True, with_flops=True, with_modules=True
    ) as prof:
        for _ in range(3):
            model(torch.ones(2, 4)).sum().backward()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    return prof


@pytest.fixture
def trace(prof, tmp_path):
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    return json.loads(path.read_text())


def of_phase(trace, *phases):
    return [one for one in trace["traceEvents"] if one["ph"] in phases]


def slices(trace):
    """{thread: its slices, by their start}"""
    found: dict = {}
    for one in of_phase(trace, "X"):
        found.setdefault((one["pid"], one["tid"]), []).append(one)
    return {
        thread: sorted(several, key=lambda one: (one["ts"], -one["dur"]))
        for thread, several in found.items()
    }


def test_each_event_has_what_its_phase_needs(trace):
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert trace["schemaVersion"] == 1
    for one in trace["traceEvents"]:
        assert one["ph"] in PHASES
        assert isinstance(one["name"], str)
        assert isinstance(one["ts"], (int, float))
        assert one["ts"] >= 0
        assert isinstance(one["pid"], (int, str))
        assert "tid" in one or one["ph"] == "C"
        if one["ph"] == "X":
            assert isinstance(one["dur"], (int, float))
            assert one["dur"] >= 0
            assert isinstance(one["args"], dict)
        if one["ph"] == "i":
            assert one["s"] in ("g", "p", "t")
        if one["ph"] in ("s", "f"):
            assert isinstance(one["id"], (int, str))
            assert one["cat"]
        if one["ph"] == "C":
            assert all(isinstance(value, (int, float)) for value in one["args"].values())


def test_slices_of_a_thread_nest(trace):
    assert len(slices(trace)) >= 3  # two threads, and the span
    for several in slices(trace).values():
        open_until: list = []
        for one in several:
            start, end = one["ts"], one["ts"] + one["dur"]
            while open_until and open_until[-1] <= start + 1e-6:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 1e-6, one["name"]
            open_until.append(end)


def test_slices_are_the_events(prof, trace):
    names = sorted(one["name"] for one in of_phase(trace, "X") if one["cat"] != "Trace")
    assert names == sorted(event.trace_name for event in prof.events())
    (span,) = [one for one in of_phase(trace, "X") if one["cat"] == "Trace"]
    last = max(one["ts"] + one["dur"] for one in of_phase(trace, "X") if one["cat"] != "Trace")
    assert span["dur"] >= last


def test_arrows_lead_from_forward_to_backward(trace):
    starts = {one["id"]: one for one in of_phase(trace, "s")}
    ends = {one["id"]: one for one in of_phase(trace, "f")}
    assert len(starts) == len(of_phase(trace, "s")) == len(of_phase(trace, "f"))
    assert starts.keys() == ends.keys()
    forward = {}
    for several in slices(trace).values():
        for one in several:
            forward.setdefault((one["tid"], one["ts"]), []).append(one)
    found = []
    for number, start in starts.items():
        end = ends[number]
        assert end["bp"] == "e"
        assert end["ts"] >= start["ts"]
        assert (start["cat"], start["name"]) == (end["cat"], end["name"])
        (source,) = [
            one
            for one in forward[start["tid"], start["ts"]]
            if one["args"].get("Sequence number") == number
        ]
        targets = forward[end["tid"], end["ts"]]
        found.append((source["name"], targets[0]["name"].rpartition(" ")[2]))
    assert found.count(("aten::linear", "AddmmBackward0")) == 6
    assert found.count(("aten::relu", "ReluBackward0")) == 3
    assert ("aten::mul", "MulBackward0") in found


def test_process_and_threads_have_names(trace):
    names = {(one["name"], one["tid"]): one["args"] for one in of_phase(trace, "M")}
    used = {one["tid"] for one in of_phase(trace, "X", "s", "f") if isinstance(one["tid"], int)}
    assert len(used) == 2
    for tid in used:
        assert names["thread_name", tid]["name"].startswith(f"thread {tid} (")
        assert isinstance(names["thread_sort_index", tid]["sort_index"], int)
    assert names["process_name", 0] == {"name": "python"}
    assert names["process_labels", 0] == {"labels": "CPU"}
    assert names["process_sort_index", 0] == {"sort_index": os.getpid()}


def test_blocks_of_memory_are_instants_and_a_counter(trace):
    blocks = [one for one in of_phase(trace, "i") if one["name"] == "[memory]"]
    assert {one["args"]["Bytes"] > 0 for one in blocks} == {True, False}
    total = 0
    for one in blocks:
        total += one["args"]["Bytes"]
        assert one["args"]["Total Allocated"] == total
    assert len(of_phase(trace, "C")) == len(blocks)


def test_arguments_say_what_was_recorded(trace):
    linear = next(one for one in of_phase(trace, "X") if one["name"] == "aten::linear")
    assert linear["args"]["Input Dims"] == [[2, 4], [5, 4], [5]]
    assert linear["args"]["Input type"] == ["float32"] * 3
    assert linear["args"]["Input Strides"] == [[4, 1], [4, 1], [1]]
    assert linear["args"]["Total FLOPs"] == 80
    assert __file__ in linear["args"]["Call stack"]
    categories = {one["name"]: one["cat"] for one in of_phase(trace, "X")}
    assert {categories[name] for name in ("aten::linear", "AddmmBackward0")} == {"cpu_op"}
    assert categories['in "another"\nthread'] == "user_annotation"
    module = next(one for one in of_phase(trace, "X") if one["name"] == "nn.Module: Linear")
    assert module["cat"] == "user_annotation"


def test_compiled_code_is_a_kernel(tmp_path):
    f, x = torch.compile(lambda x: (x + 1).sin()), torch.ones(3)
    f(x)
    with profile() as prof:
        f(x)
    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    found = [one["cat"] for one in of_phase(trace, "X")]
    assert found == ["cpu_op", "kernel", "Trace"]


def test_a_trace_can_be_compressed_and_have_a_text(tmp_path):
    with profile() as prof:
        torch.ones(2)
    prof.add_metadata("what", "a test")
    prof.add_metadata_json("numbers", "[1, 2]")
    path = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(path)
    trace = json.loads(gzip.decompress(path.read_bytes()))
    assert (trace["what"], trace["numbers"]) == ("a test", [1, 2])


def test_steps_have_their_numbers(tmp_path):
    with profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=1)) as prof:
        for _ in range(4):
            torch.ones(2)
            prof.step()
    prof.events().export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    names = [one["name"] for one in of_phase(trace, "X")]
    assert [name for name in names if name.startswith("Profiler")] == [
        "ProfilerStep#1",
        "ProfilerStep#2",
    ]

"""The trace event format, which Perfetto and chrome://tracing show.

    ph "X"       a slice: ts and dur in microseconds. Slices of a thread lie inside each other or apart
    ph "s", "f"  the two ends of an arrow with the same id, from a forward op to the node of backward that it made
    ph "M"       names of processes and threads
    ph "i", "C"  a block of memory that was taken or given back, and how much all of them are

The format is described in "Trace Event Format" (Google, 2016).
"""

import gzip
import json
import socket

from tensorlab.profiler.events import (
    BACKWARD,
    EVALUATION,
    FUNCTION,
    KERNEL,
    OP,
    forward_ops,
)

__all__ = ["write"]

CATEGORIES = {OP: "cpu_op", EVALUATION: "cpu_op", BACKWARD: "cpu_op", FUNCTION: "cpu_op"}


def write(events, recording, path, metadata=None):
    """Write the trace of a recording; compressed if the name ends in .gz."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        json.dump(trace_of(events, recording, metadata or {}), file, separators=(",", ":"))


def trace_of(events, recording, metadata):
    """The trace as a dict, which JSON can write."""
    threads = {
        number: {"pid": track.pid, "tid": track.native_id}
        for number, track in enumerate(recording.tracks, 1)
    }
    entries = [*names_of(recording), *slices(events, threads)]
    entries += arrows(events, threads)
    entries += blocks(recording)
    entries += marks(recording)
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        "host_name": socket.gethostname(),
        "record_shapes": int(recording.record_shapes),
        "profile_memory": int(recording.profile_memory),
        "with_stack": int(recording.with_stack),
        "with_flops": int(recording.with_flops),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": recording.began_at,
        **metadata,
        "traceEvents": entries,
    }


def names_of(recording):
    """What the process and its threads are called."""

    def name(what, pid, tid, **args):
        return {"ph": "M", "name": what, "ts": 0, "pid": pid, "tid": tid, "args": args}

    own = recording.pid
    yield name("process_name", own, 0, name="python")
    yield name("process_labels", own, 0, labels="CPU")
    yield name("process_sort_index", own, 0, sort_index=own)
    for order, track in enumerate(recording.tracks):
        pid, tid = track.pid, track.native_id
        if pid != own:
            yield name("process_name", pid, 0, name=track.name)
        yield name("thread_name", pid, tid, name=f"thread {tid} ({track.name})")
        yield name("thread_sort_index", pid, tid, sort_index=order)


def slices(events, threads):
    """An entry for each event."""
    for event in events:
        args = {"External id": event.id, "Ev Idx": event.id - 1}
        if event.sequence_nr >= 0:
            args["Sequence number"] = event.sequence_nr
            args["Fwd thread id"] = event.fwd_thread or 0
        if event.structured_input_shapes is not None:
            args["Input Dims"] = event.structured_input_shapes
            args["Input Strides"] = event.structured_input_strides
            args["Input type"] = event.input_dtypes
            args["Concrete Inputs"] = [spelled(one) for one in event.concrete_inputs]
        if event.stack:
            args["Call stack"] = ";".join(event.stack)
        if event.flops:
            args["Total FLOPs"] = event.flops
        category = "user_annotation" if event.is_user_annotation else None
        yield {
            "ph": "X",
            "cat": category
            or CATEGORIES.get(event.kind, "kernel" if event.kind == KERNEL else "cpu_op"),
            "name": event.trace_name,
            **threads[event.thread],
            "ts": event.time_range.start,
            "dur": event.cpu_time_total,
            "args": args,
        }


def arrows(events, threads):
    """Two entries for each node of backward whose forward op was recorded."""
    made = forward_ops(events)
    for event in events:
        forward = made.get(event.sequence_nr)
        if event.kind != EVALUATION or forward is None:
            continue
        both = {"cat": "fwdbwd", "name": "fwdbwd", "id": event.sequence_nr}
        yield {
            "ph": "s",
            **both,
            **threads[forward.thread],
            "ts": forward.time_range.start,
        }
        yield {
            "ph": "f",
            "bp": "e",
            **both,
            **threads[event.thread],
            "ts": event.time_range.start,
        }


def blocks(recording):
    """An instant for each block that was taken or given back, with how many bytes there are then."""
    changes = sorted(
        (when, address, nbytes, track.native_id)
        for track in recording.tracks
        for when, address, nbytes, _ in track.memory_events()
    )
    total = 0
    for when, address, nbytes, tid in changes:
        total += nbytes
        both = {"name": "[memory]", "pid": recording.pid, "ts": (when - recording.start) / 1e3}
        args = {"Total Allocated": total, "Bytes": nbytes, "Addr": address, "Device Type": 0}
        yield {"ph": "i", "s": "t", "cat": "cpu_instant_event", **both, "tid": tid, "args": args}
        yield {"ph": "C", **both, "name": "memory of tensors", "args": {"bytes": max(total, 0)}}


def marks(recording):
    """The span of the recording, and its end."""
    span = (recording.end - recording.start) / 1e3
    yield {
        "ph": "X",
        "cat": "Trace",
        "name": "tensorlab profiler",
        "pid": "Spans",
        "tid": "tensorlab profiler",
        "ts": 0,
        "dur": span,
        "args": {},
    }
    yield {
        "ph": "i",
        "s": "g",
        "name": "Record Window End",
        "pid": recording.pid,
        "tid": 0,
        "ts": span,
    }


def spelled(value):
    """An argument that is not a tensor, as text."""
    return "" if value is None else str(value)

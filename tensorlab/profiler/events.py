"""Events: what the records of a profile say, as a tree for each thread.

The recording (_core/profiling.pyx) has numbers and objects. Here they become names, shapes and
lines of source, and each event finds what happened inside it.
"""

import os
from math import prod
from typing import Any

from tensorlab._core import profiling
from tensorlab.profiler.row_names import argument_places, row_name
from tensorlab.profiler.schedule import DeviceType

__all__ = ["FunctionEvent", "Interval"]

OP, EVALUATION, BACKWARD, RANGE, KERNEL, FUNCTION, INTERNAL = range(7)
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
FORWARD_SCOPE, BACKWARD_SCOPE, USER_SCOPE = 0, 1, 7  # PyTorch's numbers


class Interval:
    """A span of time, in microseconds since the profile began."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """How long it is."""
        return self.end - self.start

    def __repr__(self):
        return f"<Interval {self.start:.3f} to {self.end:.3f} us>"


class FormattedTimes:
    """What FunctionEvent and FunctionEventAvg have in common: their times as text, and times of other devices."""

    device_time_total = self_device_time_total = 0
    device_memory_usage = self_device_memory_usage = 0
    use_device = None
    is_async = is_remote = is_legacy = False
    node_id = -1
    device_type = DeviceType.CPU

    @property
    def cpu_time(self):
        """Microseconds for one call, with what it calls."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self):
        return 0.0

    cpu_time_str = property(lambda self: spelled_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: spelled_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: spelled_time(self.self_cpu_time_total))
    device_time_str = device_time_total_str = self_device_time_total_str = "0.000us"


def spelled_time(microseconds):
    """A time with its unit, as tables write it.

    >>> spelled_time(1234.5)
    '1.234ms'
    """
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


class FunctionEvent(FormattedTimes):
    """A call of an op, a node of backward, or a block that was named.

    Attributes
    ----------
    id : int, by the time at which they began
    name, key : str; steps have the same, ProfilerStep*, and their numbers in `trace_name`
    overload_name : str, of an op
    time_range : Interval
    thread : int, from 1; `fwd_thread`: the thread of the forward op, if this is backward
    cpu_parent, cpu_children : FunctionEvent or None, list of FunctionEvent: what it is in, and
        what is in it
    input_shapes : list, with a list of int for each tensor; with `record_shapes`
    stack : list of str, lines of source, the innermost first; with `with_stack`
    sequence_nr : int, of the node that a forward op made, or that backward ran; -1: none
    cpu_memory_usage : int, bytes that were taken and not given back; with `profile_memory`
    flops : int; with `with_flops`
    """

    count = 1
    fwd_thread: int | None = None
    concrete_inputs: Any = None
    structured_input_shapes: Any = None
    structured_input_strides: Any = None
    input_dtypes: Any = None
    stack: Any = None
    result: Any = None  # (dtype, sizes, strides)
    overload_name: str = ""
    flops = 0
    cpu_memory_usage = 0
    device_index = 0

    def __init__(self, id, name, thread, start_us, end_us, *, kind=RANGE, sequence_nr=-1, scope=0):
        self.id, self.trace_name, self.thread, self.kind = id, name, thread, kind
        self.name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.time_range = Interval(start_us, end_us)
        self.sequence_nr, self.scope = sequence_nr, scope
        self.is_user_annotation = kind in (RANGE, INTERNAL)
        self.input_shapes: list = []
        self.cpu_children: list = []
        self.cpu_parent: FunctionEvent | None = None
        self.kernels: list = []

    @property
    def key(self):
        """What it is grouped by."""
        return self.name

    @property
    def cpu_time_total(self):
        """Microseconds, with what is in it."""
        return self.time_range.end - self.time_range.start

    @property
    def self_cpu_time_total(self):
        """Microseconds, without what is in it."""
        return self.cpu_time_total - sum(one.cpu_time_total for one in self.cpu_children)

    @property
    def self_cpu_memory_usage(self):
        """Bytes, without what is in it."""
        return self.cpu_memory_usage - sum(one.cpu_memory_usage for one in self.cpu_children)

    def __repr__(self):
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} "
            f"end_us={self.time_range.end:.3f} cpu_children={[one.id for one in self.cpu_children]} "
            f"thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


# ---------------------------------------------------------------- from records
def events_of(recording):
    """Return the events of a recording, in the order in which they began."""
    events: list = []
    lines: dict = {}
    for number, track in enumerate(recording.tracks, 1):
        of_track: list = []
        for row in track.rows():
            of_track.append(event_of(row, number, recording, lines))
            outer = row[2]
            if outer >= 0:
                of_track[-1].cpu_parent = of_track[outer]
                of_track[outer].cpu_children.append(of_track[-1])
        events += of_track
    events.sort(key=lambda event: event.time_range.start)
    for number, event in enumerate(events, 1):
        event.id = number
    link_backward(events)
    return events


def event_of(row, thread, recording, lines):
    """Make the event of one record."""
    kind, what, _, start, end, sequence, memory, inputs, values, result, stack = row
    name, overload = name_of(kind, what)
    event = FunctionEvent(
        None,  # `events_of` numbers them
        name,
        thread,
        (start - recording.start) / 1e3,
        (end - recording.start) / 1e3,
        kind=kind,
        sequence_nr=sequence if sequence > 0 else -1,
        scope={EVALUATION: BACKWARD_SCOPE, BACKWARD: BACKWARD_SCOPE, RANGE: USER_SCOPE}.get(
            kind, FORWARD_SCOPE
        ),
    )
    event.cpu_memory_usage = memory
    if kind == OP:
        event.overload_name = overload
    if inputs is not None and recording.record_shapes:
        places = argument_places(what) if kind == OP else range(len(inputs))
        ordered = [None if place is None else inputs[place] for place in places]
        event.input_shapes = [shape_of(one) for one in ordered]
        event.structured_input_shapes = [part_of(one, 1) for one in ordered]
        event.structured_input_strides = [part_of(one, 2) for one in ordered]
        event.input_dtypes = ["" if one is None else dtype_of(one) for one in ordered]
        event.concrete_inputs = [None if place is None else values[place] for place in places]
        event.result = result if isinstance(result, tuple) else None
    if kind == OP and recording.with_flops:
        event.flops = flops_of(what, inputs, values, result)
    if stack is not None:
        event.stack = stack_of(stack, lines)
    return event


def name_of(kind, what):
    """What a record is called: PyTorch's name, where there is one; and the overload of an op."""
    if kind == OP:
        return row_name(what)
    if what == "AccumulateGrad":
        what = "torch::autograd::AccumulateGrad"
    prefix = "autograd::engine::evaluate_function: " if kind == EVALUATION else ""
    return prefix + what, ""


def shape_of(one):
    """The sizes of an argument; an empty list if it is not a tensor, or several."""
    return one[1] if isinstance(one, tuple) else []


def part_of(one, part):
    """The sizes, or strides, of a tensor or of each tensor in a list."""
    if isinstance(one, list):
        return [each[part] for each in one]
    return [] if one is None else one[part]


def dtype_of(one):
    """The name of the type of a tensor, or of those in a list."""
    if isinstance(one, list):
        return "TensorList"
    return str(one[0]).rpartition(".")[2]


def stack_of(stack, lines):
    """Frames as text, without those of the profiler itself."""
    pairs = [(stack[i], stack[i + 1]) for i in range(0, len(stack), 2)]
    while len(pairs) > 1 and pairs[0][0].co_filename.startswith(HERE):
        pairs.pop(0)
    return [spelled_frame(code, instruction, lines) for code, instruction in pairs]


def spelled_frame(code, instruction, lines):
    """A line of source as PyTorch writes it: file(line): function."""
    key = (code, instruction)
    if key not in lines:
        line = profiling.line_of(code, instruction)
        lines[key] = f"{code.co_filename}({line}): {code.co_name}"
    return lines[key]


def flops_of(op, inputs, values, result):
    """How many floating-point operations a call took, if the op has a formula; additions and products of
    elements count, too.
    """
    formula = op.facets.get("flops")
    arguments = [
        (tuple(part_of(one, 1)) if isinstance(one, tuple) else [tuple(each[1]) for each in one])
        if one is not None
        else value
        for one, value in zip(inputs, values, strict=True)
    ]
    if formula is not None and not getattr(formula, "get_raw", False):
        return formula(*arguments, out_shape=None if result is None else part_of(result, 1))
    if (op.aten or "").partition(".")[0] in ("add", "mul") and isinstance(result, tuple):
        return prod(result[1])
    return 0


def link_backward(events):
    """Say of each event in backward in which thread its forward op ran."""
    made = forward_ops(events)
    for event in events:
        if event.kind in (EVALUATION, BACKWARD):
            found = made.get(event.sequence_nr)
            event.fwd_thread = found.thread if found is not None else None


def forward_ops(events):
    """{sequence number: the op that made this node, the innermost one}."""
    return {
        event.sequence_nr: event
        for event in events
        if event.kind in (OP, FUNCTION) and event.sequence_nr >= 0
    }

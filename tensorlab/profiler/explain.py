"""explain: what a profile says, in sentences.

Each sentence answers a question that a person would ask of the table, and says what to do about it.
"""

from typing import NamedTuple

from tensorlab._core import profiling
from tensorlab.cpu.memory import PACKAGE, readable
from tensorlab.profiler.events import OP, RANGE, dtype_of, spelled_time
from tensorlab.profiler.table import spelled_bytes

__all__ = ["Explanation", "explanation_of"]

MOST_OPS = 5
SMALL = 10.0  # microseconds; a call that takes less is mostly what any call costs
NOTABLE = 0.05  # a share of the time that is worth a word
PYTHON = ("nn.Module", "Optimizer.")  # rows whose own time is Python's
LOADER = "enumerate(DataLoader)#"
FLOATING = ("float16", "bfloat16", "float32", "float64")


class Copies(NamedTuple):
    """Copies that may not have been needed: their kind, how many, how long they took, and a line that makes them."""

    kind: str
    number: int
    time: float
    line: str | None


class Explanation(NamedTuple):
    """What a profile says. `str` gives it as sentences; times are in microseconds.

    Attributes
    ----------
    wall_time : float, from the start to the end
    top_ops : list of (name, time by itself, calls), those that take most
    small_calls, small_time : int, float: calls of ops that took less than 10 us, and their time
    outside_time : float, time of the main thread that is in no row: Python between the ops
    loader_time, loader_batches : float, int: how long the program waited for batches
    copies : list of Copies
    peak_bytes, peak_line : int, str: the most memory that was taken, and the line that took the
        last of it
    """

    wall_time: float
    top_ops: list
    small_calls: int
    small_time: float
    outside_time: float
    loader_time: float
    loader_batches: int
    copies: list
    peak_bytes: int
    peak_line: str | None
    has_shapes: bool
    has_memory: bool

    def __str__(self):
        return "\n".join(self.sentences())

    def _repr_html_(self):
        from html import escape

        return "<ul>" + "".join(f"<li>{escape(one)}</li>" for one in self.sentences()) + "</ul>"

    def share(self, time):
        """A part of the wall time, as text."""
        return f"{time / max(self.wall_time, 1e-9):.0%}"

    def sentences(self):
        """The sentences, one after the other."""
        yield f"The profile took {spelled_time(self.wall_time)}."
        yield from self.about_ops()
        yield from self.about_calls()
        yield from self.about_loading()
        yield from self.about_copies()
        yield from self.about_memory()

    def about_ops(self):
        if not self.top_ops:
            yield "No op ran."
            return
        named = ", ".join(
            f"{name} ({self.share(time)}, {count} call{'s' * (count != 1)})"
            for name, time, count in self.top_ops
        )
        yield f"Most of the time in ops was spent in {named}."

    def about_calls(self):
        time = self.small_time + self.outside_time
        yield (
            f"{self.small_calls} calls took less than {SMALL:.0f} us each; these calls, and the Python between "
            f"all rows, were {self.share(time)} of the time."
        )
        if self.wall_time and time > self.wall_time / 2:
            yield "That is overhead of small ops: larger batches, fewer ops or tensorlab.compile would save most of it."

    def about_loading(self):
        if not self.loader_batches:
            yield "No DataLoader was used."
            return
        yield (
            f"The program waited {spelled_time(self.loader_time)} for {self.loader_batches} batches, "
            f"{self.share(self.loader_time)} of the time."
        )
        if self.loader_time > self.wall_time / 4:
            yield "The loader is a bottleneck: num_workers, a cheaper transform, or data kept in memory would help."

    def about_copies(self):
        for one in self.copies:
            where = f", most of them at {one.line}" if one.line else ""
            yield f"{one.number} {one.kind} took {spelled_time(one.time)} ({self.share(one.time)}){where}."
        if not self.copies and self.has_shapes:
            yield "No copy was found that could have been left out."
        if not self.has_shapes:
            yield "With record_shapes=True, conversions to a dtype and back are found, too."

    def about_memory(self):
        if not self.has_memory:
            yield "With profile_memory=True, the line that needs most memory is found, too."
            return
        line = f"; the line that reached it was {self.peak_line}" if self.peak_line else ""
        yield f"At most {spelled_bytes(self.peak_bytes)} more than at the start were in use at once{line}."


def explanation_of(events, recording):
    """Read the events of a recording."""
    ops = [event for event in events if event.kind == OP]
    small = [event for event in ops if event.self_cpu_time_total < SMALL]
    loaded = [event for event in events if event.name.startswith(LOADER)]
    wall, outside = events._wall_times()
    blocks = [event for event in events if event.kind == RANGE or event.name.startswith(PYTHON)]
    peak_bytes, _, frames = recording.peak
    return Explanation(
        wall_time=wall,
        top_ops=largest(ops),
        small_calls=len(small),
        small_time=sum(event.self_cpu_time_total for event in small),
        outside_time=outside + sum(event.self_cpu_time_total for event in blocks),
        loader_time=sum(event.cpu_time_total for event in loaded),
        loader_batches=len(loaded),
        copies=[one for one in (layout_copies(ops), round_trips(ops)) if one.number],
        peak_bytes=peak_bytes,
        peak_line=None if frames is None else line_of_program(frames),
        has_shapes=recording.record_shapes,
        has_memory=recording.profile_memory,
    )


def largest(ops):
    """The ops that take most time by themselves: (name, time, calls)."""
    sums: dict = {}
    for event in ops:
        time, count = sums.get(event.name, (0.0, 0))
        sums[event.name] = (time + event.self_cpu_time_total, count + 1)
    found = sorted(sums.items(), key=lambda item: -item[1][0])[:MOST_OPS]
    return [(name, time, count) for name, (time, count) in found]


# ---------------------------------------------------------------- copies
def layout_copies(ops):
    """Copies that only change how elements lie in memory: contiguous() of a tensor that isn't, and reshape."""
    found = [
        event for event in ops if event.name == "aten::_reshape_copy" or is_contiguous_copy(event)
    ]
    return Copies("copies into row-major order (contiguous, or reshape)", *summed(found))


def is_contiguous_copy(event):
    """Is it a clone with memory_format=contiguous_format of a tensor that lies otherwise?"""
    return (
        event.name == "aten::clone"
        and event.result is not None
        and event.structured_input_strides[0] != event.result[2]
    )


def round_trips(ops):
    """Conversions to another floating-point type and back, where nothing used the tensor in between."""
    found: list = []
    waiting: dict = {}  # (thread, type, sizes) of a tensor that a conversion has made: the conversion
    for event in ops:
        if event.result is None:
            continue
        taken = [
            waiting.pop((event.thread, dtype, str(sizes)), None)
            for dtype, sizes in zip(event.input_dtypes, event.structured_input_shapes, strict=True)
        ]
        if event.name != "aten::_to_copy":
            continue
        before, after = event.input_dtypes[0], dtype_of(event.result)
        if taken[0] is not None and taken[0].input_dtypes[0] == after:
            found += [taken[0], event]
        elif before in FLOATING and after in FLOATING:
            waiting[event.thread, after, str(event.result[1])] = event
    return Copies("conversions to another dtype and back", *summed(found))


def summed(events):
    """(how many, their time, the line that most of it is of)."""
    lines: dict = {}
    for event in events:
        line = next((one for one in event.stack or () if not one.startswith(PACKAGE)), None)
        lines[line] = lines.get(line, 0.0) + event.cpu_time_total
    most = max(lines, key=lambda line: lines[line]) if lines else None
    return len(events), sum(event.cpu_time_total for event in events), most


def line_of_program(frames):
    """The innermost line outside of tensorlab, "file:line"."""
    for i in range(0, len(frames), 2):
        if not frames[i].co_filename.startswith(PACKAGE):
            line = profiling.line_of(frames[i], frames[i + 1])
            return readable(f"{frames[i].co_filename}:{line}")
    return None

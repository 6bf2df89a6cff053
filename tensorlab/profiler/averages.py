"""EventList: the events of a profile, and their sums by name."""

from tensorlab.profiler import chrome_trace, stacks
from tensorlab.profiler.events import FormattedTimes, FunctionEvent
from tensorlab.profiler.table import table_of

__all__ = ["EventList", "FunctionEventAvg"]

SUMMED = [
    "cpu_time_total",
    "self_cpu_time_total",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "count",
    "flops",
]
KEPT = [
    "input_shapes",
    "stack",
    "overload_name",
    "scope",
    "cpu_parent",
    "cpu_children",
    "is_user_annotation",
]


class FunctionEventAvg(FormattedTimes):
    """The sum of events with the same key.

    Attributes
    ----------
    key : str, what they have in common: the name
    count : int, how many there are
    cpu_time_total, self_cpu_time_total : float, microseconds with and without what is in them
    cpu_time : float, microseconds for one of them
    cpu_memory_usage, self_cpu_memory_usage : int, bytes
    input_shapes, stack, overload_name : of the group, if events were grouped by them
    flops : int
    """

    def __init__(self):
        self.key = None
        for name in SUMMED:
            setattr(self, name, 0)
        for name in KEPT:
            setattr(self, name, None)

    def add(self, other):
        """Add an event, or another sum, with the same key."""
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise TypeError(f"FunctionEventAvg.add: an event is needed, not {type(other).__name__}")
        if self.key is None:
            self.key = other.key
            for name in KEPT:
                setattr(self, name, getattr(other, name))
        elif other.key != self.key:
            raise ValueError(f"FunctionEventAvg.add: the key is {other.key!r}, not {self.key!r}")
        for name in SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self):
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_cuda_time=0.000us cuda_time=0.000us "
            f"input_shapes={self.input_shapes or ''} cpu_memory_usage={self.cpu_memory_usage} "
            f"cuda_memory_usage=0>"
        )


class EventList(list):
    """Events, or their sums, with tables and exports."""

    def __init__(self, events=(), *, profile_memory=False, with_flops=False, recording=None):
        super().__init__(events)
        self._profile_memory, self._with_flops = profile_memory, with_flops
        self._recording = recording
        self._times: tuple | None = None  # of sums: the wall time, and what of it is in no row

    @property
    def self_cpu_time_total(self):
        """The sum of the times that events took by themselves, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self,
        group_by_input_shapes=False,
        group_by_stack_n=0,
        group_by_overload_name=False,
    ):
        """Return the sums of events by name, and by what else is asked for.

        Parameters
        ----------
        group_by_input_shapes : bool, whether calls with other shapes are other rows
        group_by_stack_n : int, whether calls by other lines are: so many, the innermost ones
        group_by_overload_name : bool, whether overloads of an op are

        Returns
        -------
        EventList of FunctionEventAvg, in the order in which they first occurred
        """
        sums: dict = {}
        for event in self:
            key = (
                event.key,
                event.is_user_annotation,
                str(event.input_shapes) if group_by_input_shapes else "",
                tuple((event.stack or [])[:group_by_stack_n]),
                event.overload_name if group_by_overload_name else "",
            )
            sums.setdefault(key, FunctionEventAvg()).add(event)
        for one in sums.values():
            one.stack = (one.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                one.input_shapes = ""
            if not group_by_overload_name:
                one.overload_name = ""
        found = EventList(
            sums.values(), profile_memory=self._profile_memory, with_flops=self._with_flops
        )
        found._times = None if self._recording is None else self._wall_times()
        return found

    def _wall_times(self):
        """The wall time of the profile, and what of it is in no row of the thread that recorded; microseconds."""
        wall, own = self._recording.seconds * 1e6, self._recording.own_thread
        rows = sum(
            event.cpu_time_total
            for event in self
            if event.cpu_parent is None and event.thread == own
        )
        return wall, max(wall - rows, 0.0)

    def total_average(self):
        """Return the sum of all events, whose key is "Total"."""
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = None
        total.key = "Total"
        return total

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ):
        """Return the events as a table.

        Parameters
        ----------
        sort_by : str, an attribute, the largest first: "self_cpu_time_total", "cpu_time_total",
            "cpu_time", "cpu_memory_usage", "self_cpu_memory_usage" or "count"
        row_limit : int, how many rows; -1 for all
        max_src_column_width, max_name_column_width, max_shapes_column_width : int, characters,
            or None
        header : str, a line above the table
        top_level_events_only : bool, whether rows of what is inside others are left out
        time_unit : "s", "ms" or "us", for all times; each its own unless given
        """
        return table_of(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
            times=self._times,
        )

    def __str__(self):
        return self.table()

    def export_chrome_trace(self, path):
        """Write a trace for Perfetto and chrome://tracing; see `profile.export_chrome_trace`."""
        chrome_trace.write(self, self._recording, path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write lines of `frame;frame;frame microseconds`; see `profile.export_stacks`."""
        stacks.write(self, path, metric)

"""profile: a block in which each op is recorded, and what can be asked about it."""

import json
import os
import warnings

from tensorlab import _planned
from tensorlab._core import profiling
from tensorlab.profiler import chrome_trace, explain, memory_timeline, pictures, stacks
from tensorlab.profiler.averages import EventList
from tensorlab.profiler.events import events_of
from tensorlab.profiler.modules import ModuleRanges
from tensorlab.profiler.ranges import record_function
from tensorlab.profiler.recording import Recording
from tensorlab.profiler.schedule import (
    DeviceType,
    ProfilerAction,
    ProfilerActivity,
    always,
    kineto_available,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

ExecutionTraceObserver = _planned.PlannedName(
    "tensorlab.profiler.ExecutionTraceObserver",
    "use profile, whose trace has the ops with their arguments.",
)

NONE, WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
RECORD, RECORD_AND_SAVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
KEPT = (RECORD, RECORD_AND_SAVE)
# One step after the other, in the same recording.
CONTINUED = ((WARMUP, WARMUP), (RECORD, RECORD), (RECORD, RECORD_AND_SAVE))


class profile:
    """A block in which each op, node of backward, step and batch is recorded, with the time that it took.

    Parameters
    ----------
    activities : iterable of ProfilerActivity; only the CPU has something to record
    schedule : function of the number of a step, such as `schedule(...)` makes; all steps are
        recorded unless given
    on_trace_ready : function of the profile, called at the end of each cycle, or of the block
    record_shapes : bool, whether shapes of arguments are kept
    profile_memory : bool, whether blocks of memory are
    with_stack : bool, whether lines of source are
    with_flops : bool, whether floating-point operations are counted
    with_modules : bool, whether each call of a module is a row
    acc_events : bool, whether the events of all cycles are kept
    experimental_config, execution_trace_observer, use_cuda : taken for PyTorch's sake
    custom_trace_id_callback, post_processing_timeout_s : the same

    Attributes
    ----------
    step_num : int, how often `step` has been called
    current_action : ProfilerAction

    Raises
    ------
    RuntimeError
        If another profile is being recorded.

    Examples
    --------
    >>> import tensorlab
    >>> with profile() as prof:
    ...     y = tensorlab.ones(3, 3) @ tensorlab.ones(3, 3)
    >>> [(row.key, row.count) for row in prof.key_averages()]
    [('aten::ones', 2), ('aten::mm', 1)]
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        self.activities = activities_of(activities)
        self.schedule = schedule or always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.acc_events = acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._metadata: dict = {}
        self._recording = self._finished = None
        self._step = None  # the record of the step that runs
        self._events, self._earlier = None, EventList()
        self._modules = ModuleRanges() if with_modules else None

    # ------------------------------------------------------------ start, step, stop
    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    def start(self):
        """Begin, with the first step."""
        others = [one.name for one in self.activities if one is not ProfilerActivity.CPU]
        if len(others) == len(self.activities):
            raise AssertionError(
                f"profile: there is no {' or '.join(others)} here, and nothing else is to be recorded; add "
                "ProfilerActivity.CPU"
            )
        for name in others:
            warnings.warn(f"{name} is not available, disabling {name} profiling", stacklevel=3)
        if self.current_action is not NONE:
            self._begin()
        self._begin_step()

    def step(self):
        """Say that a step is over and the next one begins; the schedule says what happens in it."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = after = self.schedule(self.step_num)
        goes_on = (before, after) in CONTINUED
        if self._recording is not None and not goes_on:
            self._finish(is_kept=before in KEPT)
            if before is RECORD_AND_SAVE:
                self._tell()
            elif before is RECORD or after is NONE:
                warnings.warn(
                    f"profile: the schedule goes from {before.name} to {after.name}; RECORD_AND_SAVE is to end a cycle",
                    stacklevel=2,
                )
        if after is not NONE and self._recording is None:
            self._begin()
        self._begin_step()

    def stop(self):
        """End it."""
        self._end_step()
        if self._recording is None:
            return
        is_kept = self.current_action in KEPT
        self._finish(is_kept=is_kept)
        if is_kept:
            self._tell()

    def _begin(self):
        self._recording = Recording(
            record_shapes=self.record_shapes,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_flops=self.with_flops,
        )
        if self._modules is not None:
            self._modules.begin()
        try:
            self._recording.begin()
        except BaseException:
            self._recording = None
            if self._modules is not None:
                self._modules.finish()
            raise

    def _finish(self, *, is_kept):
        self._recording.finish()
        if self._modules is not None:
            self._modules.finish()
        if is_kept:
            if self.acc_events and self._finished is not None:
                self._earlier = self.events()
            self._finished, self._events = self._recording, None
        self._recording = None

    def _tell(self):
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _begin_step(self):
        if self.record_steps:
            self._step = profiling.begin_range(f"ProfilerStep#{self.step_num}")

    def _end_step(self):
        if self._step is not None:
            profiling.end_range(self._step)
            self._step = None

    def _ended(self, what):
        """The recording that is over."""
        if self._finished is None:
            raise RuntimeError(
                f"{what}: nothing has been recorded yet; ask after the block, or when a cycle of the schedule is over"
            )
        return self._finished

    # ------------------------------------------------------------ what it has recorded
    def events(self):
        """Return what was recorded, as an EventList of FunctionEvent in the order in which they began."""
        recording = self._ended("events")
        if self._events is None:
            self._events = EventList(
                [*self._earlier, *events_of(recording)],
                profile_memory=self.profile_memory,
                with_flops=self.with_flops,
                recording=recording,
            )
        return self._events

    def key_averages(
        self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False
    ):
        """Return the sums of the events by name; see `EventList.key_averages`."""
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self):
        """Return the sum of all events."""
        return self.events().total_average()

    def explain(self):
        """Return sentences about what took the time, and what could be saved.

        They name the ops that took most, what calls of small ops cost beside their work, how
        long the program waited for a DataLoader, copies that weren't needed, and, with
        `profile_memory`, the line that needed most memory.

        Returns
        -------
        Explanation: its text is `str(...)`, its facts are attributes
        """
        return explain.explanation_of(self.events(), self._ended("explain"))

    @property
    def wall_time_total(self):
        """Microseconds from the start of the recording to its end."""
        return self._ended("wall_time_total").seconds * 1e6

    # ------------------------------------------------------------ files
    def export_chrome_trace(self, path, use_python_export=False):
        """Write a trace that Perfetto (ui.perfetto.dev) and chrome://tracing show; compressed if `path` ends in .gz.

        Each event is a slice of its thread, and an arrow leads from a forward op to its node of backward.
        """
        events = self.events()
        chrome_trace.write(events, self._ended("export_chrome_trace"), path, self._metadata)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write a line for each event, `outermost frame;...;innermost frame microseconds`, which flame graphs are
        made of.

        Raises
        ------
        RuntimeError
            Without `with_stack`.
        """
        if not self.with_stack:
            raise RuntimeError("export_stacks: lines of source are needed; give with_stack=True")
        stacks.write(self.events(), path, metric)

    def export_memory_timeline(self, path, device=None):
        """Write how much memory was in use at each time.

        Parameters
        ----------
        path : str
            `.html`: a picture; `.json` or `.json.gz`: `[times, [bytes of each category]]`,
            nanoseconds; `.raw.json.gz`: a list of (time, action, [address, category], bytes)
        device : str, "cpu" unless given

        Raises
        ------
        ValueError
            Without `profile_memory`.
        """
        recording = self._ended("export_memory_timeline")
        if not self.profile_memory:
            raise ValueError("export_memory_timeline: blocks are needed; give profile_memory=True")
        memory_timeline.write(recording, os.fspath(path), device)

    def add_metadata(self, key, value):
        """Add a text to the trace that `export_chrome_trace` writes."""
        self._metadata[key] = value

    def add_metadata_json(self, key, value):
        """Add what a text in JSON means."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    # ------------------------------------------------------------ pictures
    def timeline(self):
        """Return a picture of the events over time, with the threads below each other."""
        return pictures.timeline(self.events(), self._ended("timeline"))

    def flame(self):
        """Return a picture of what took the time: calls inside each other, those of the same name side by side."""
        return pictures.flame(self.events(), self._ended("flame"))

    def _repr_html_(self):
        if self._finished is None:
            return f"<pre>{self!r}</pre>"
        return self.timeline()._repr_html_()

    def __repr__(self):
        state = "recording" if self._recording is not None else "nothing recorded"
        if self._finished is not None and self._recording is None:
            state = f"{len(self.events())} events in {self._finished.seconds * 1e3:.3f} ms"
        return f"<profile: {state}>"


def activities_of(activities):
    """The set of activities that are asked for."""
    if activities is None:
        return supported_activities()
    found: set = set()
    for one in activities:
        found.update(one if isinstance(one, dict) else [one])
    for one in found:
        if not isinstance(one, ProfilerActivity):
            raise TypeError(
                f"profile: activities has a {type(one).__name__}; it must have members of "
                "ProfilerActivity"
            )
    if not found:
        raise AssertionError(
            "profile: activities is empty; leave it out, or give [ProfilerActivity.CPU]"
        )
    return found

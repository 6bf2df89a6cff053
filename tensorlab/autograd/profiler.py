"""PyTorch's older names of the profiler: `autograd.profiler.profile` and what belongs to it."""

import warnings

from tensorlab import _missing
from tensorlab.profiler import profiler as newer
from tensorlab.profiler.averages import EventList, FunctionEventAvg
from tensorlab.profiler.events import FunctionEvent, Interval
from tensorlab.profiler.ranges import record_function
from tensorlab.profiler.schedule import ProfilerActivity, kineto_available

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "ProfilerActivity",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "profile",
    "record_function",
]


class profile:
    """A block in which each op is recorded; `tensorlab.profiler.profile` is the same with a schedule.

    Parameters
    ----------
    enabled : bool; whether anything is recorded
    record_shapes, with_flops, profile_memory, with_stack, with_modules : bool, as of `tensorlab.profiler.profile`
    use_cuda, use_device, use_kineto, use_cpu, experimental_config : taken for PyTorch's sake
    acc_events, custom_trace_id_callback, post_processing_timeout_s, activity_filters : the same

    Examples
    --------
    >>> import tensorlab
    >>> with profile() as prof:
    ...     y = tensorlab.ones(2) + 1
    >>> [event.name for event in prof.function_events]
    ['aten::ones', 'aten::add']
    """

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
        activity_filters=None,
    ):
        self.enabled = enabled
        if use_cuda and enabled:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        self._profile = newer.profile(
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
            acc_events=acc_events,
        )
        self._has_run = False

    def __enter__(self):
        if not self.enabled:
            return None
        if self._has_run:
            raise RuntimeError("profile: this profile has been recorded; make another one")
        self._has_run = True
        self._profile.start()
        return self

    def __exit__(self, *exception):
        if self.enabled:
            self._profile.stop()

    @property
    def function_events(self):
        """What was recorded, as an EventList of FunctionEvent."""
        return self._profile.events()

    @property
    def self_cpu_time_total(self):
        """The sum of the times that events took by themselves, in microseconds."""
        return self.function_events.self_cpu_time_total

    def key_averages(
        self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False
    ):
        """Return the sums of the events by name; see `EventList.key_averages`."""
        return self._profile.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self):
        """Return the sum of all events."""
        return self._profile.total_average()

    def table(self, *args, **kwargs):
        """Return the events as a table; see `EventList.table`."""
        return self.function_events.table(*args, **kwargs)

    def export_chrome_trace(self, path, metadata=None, use_python_export=False):
        """Write a trace for Perfetto and chrome://tracing."""
        self._profile.export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write the lines that flame graphs are made of."""
        self._profile.export_stacks(path, metric)

    def __str__(self):
        return self.table() if self._has_run else "<unfinished profile>"

    __repr__ = __str__


class _Refused:
    """A block that marks ranges for a tool that can't be here."""

    _tool = ""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled

    def __enter__(self):
        if not self.enabled:
            return self
        raise RuntimeError(
            f"{type(self).__name__}: {self._tool}, which tensorlab doesn't use; record the block with "
            "tensorlab.profiler.profile and look at the trace in ui.perfetto.dev"
        )

    def __exit__(self, *exception):
        pass


class emit_nvtx(_Refused):
    """Refused: ranges of NVTX are for NVIDIA's profilers of its devices, and there is none here."""

    _tool = "the ranges of NVTX are read by NVIDIA's tools from its own library"


class emit_itt(_Refused):
    """Refused: ranges of ITT are for Intel's VTune."""

    _tool = "the ranges of ITT are read by Intel's VTune from a library"


__getattr__ = _missing.refusing(__name__)

"""The profiler: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """DeviceType ExecutionTraceObserver ProfilerAction ProfilerActivity kineto_available
        profile record_function schedule supported_activities tensorboard_trace_handler""",
        until="use cProfile, which sees ops as the functions that they are, or time.perf_counter.",
        chapter="43-profiling",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)

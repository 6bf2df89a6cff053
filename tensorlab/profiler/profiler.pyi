"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.profiler import DeviceType as DeviceType
from tensorlab.profiler import ProfilerAction as ProfilerAction
from tensorlab.profiler import ProfilerActivity as ProfilerActivity
from tensorlab.profiler import profile as profile
from tensorlab.profiler import record_function as record_function
from collections.abc import Callable
from os import PathLike
from typing import Any

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

def ExecutionTraceObserver(*args: Any, **kwargs: Any) -> Any: ...
def kineto_available() -> builtins.bool: ...
def schedule(*, wait: builtins.int, warmup: builtins.int, active: builtins.int, repeat: builtins.int=0, skip_first: builtins.int=0, skip_first_wait: builtins.int=0) -> Callable[[builtins.int], ProfilerAction]: ...
def supported_activities() -> set[ProfilerActivity]: ...
def tensorboard_trace_handler(dir_name: str | PathLike[str], worker_name: str | None=None, use_gzip: builtins.bool=False, use_python_export: builtins.bool=False) -> Callable[[profile], None]: ...

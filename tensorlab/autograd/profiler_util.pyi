"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from os import PathLike
from typing import Any
from tensorlab.profiler import DeviceType

__all__ = [
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
]


class EventList(list):
    def __init__(self, events: Any=..., *, profile_memory: builtins.bool=False, with_flops: builtins.bool=False, recording: Any=None) -> None: ...
    def __str__(self) -> str: ...
    def export_chrome_trace(self, path: str | PathLike[str]) -> Any: ...
    def export_stacks(self, path: str | PathLike[str], metric: str='self_cpu_time_total') -> Any: ...
    def key_averages(self, group_by_input_shapes: builtins.bool=False, group_by_stack_n: builtins.int=0, group_by_overload_name: builtins.bool=False) -> EventList: ...
    @property
    def self_cpu_time_total(self) -> Any: ...
    def table(self, sort_by: Any=None, row_limit: builtins.float=100, max_src_column_width: builtins.float=75, max_name_column_width: builtins.float=55, max_shapes_column_width: builtins.float=80, header: Any=None, top_level_events_only: builtins.bool=False, time_unit: Any=None) -> str: ...
    def total_average(self) -> Any: ...

class FormattedTimesMixin:
    @property
    def cpu_time(self) -> Any: ...
    @property
    def cpu_time_str(self) -> Any: ...
    @property
    def cpu_time_total_str(self) -> Any: ...
    device_memory_usage: builtins.int
    @property
    def device_time(self) -> Any: ...
    device_time_str: str
    device_time_total: builtins.int
    device_time_total_str: str
    device_type: DeviceType
    is_async: builtins.bool
    is_legacy: builtins.bool
    is_remote: builtins.bool
    node_id: builtins.int
    @property
    def self_cpu_time_total_str(self) -> Any: ...
    self_device_memory_usage: builtins.int
    self_device_time_total: builtins.int
    self_device_time_total_str: str
    use_device: Any

class FunctionEvent:
    name: Any
    def __init__(self, id: Any, name: Any, thread: Any, start_us: Any, end_us: Any, *, kind: builtins.float=3, sequence_nr: Any=-1, scope: builtins.float=0) -> None: ...
    def __repr__(self) -> str: ...
    concrete_inputs: Any
    count: builtins.int
    cpu_memory_usage: builtins.int
    @property
    def cpu_time_total(self) -> Any: ...
    device_index: builtins.int
    flops: builtins.int
    fwd_thread: Any
    input_dtypes: Any
    @property
    def key(self) -> Any: ...
    overload_name: str
    result: Any
    @property
    def self_cpu_memory_usage(self) -> Any: ...
    @property
    def self_cpu_time_total(self) -> Any: ...
    stack: Any
    structured_input_shapes: Any
    structured_input_strides: Any
    @property
    def cpu_time(self) -> Any: ...
    @property
    def cpu_time_str(self) -> Any: ...
    @property
    def cpu_time_total_str(self) -> Any: ...
    device_memory_usage: builtins.int
    @property
    def device_time(self) -> Any: ...
    device_time_str: str
    device_time_total: builtins.int
    device_time_total_str: str
    device_type: DeviceType
    is_async: builtins.bool
    is_legacy: builtins.bool
    is_remote: builtins.bool
    node_id: builtins.int
    @property
    def self_cpu_time_total_str(self) -> Any: ...
    self_device_memory_usage: builtins.int
    self_device_time_total: builtins.int
    self_device_time_total_str: str
    use_device: Any

class FunctionEventAvg:
    def __iadd__(self, other: Any) -> Any: ...
    def __init__(self) -> None: ...
    def __repr__(self) -> str: ...
    def add(self, other: Any) -> Any: ...
    @property
    def cpu_time(self) -> Any: ...
    @property
    def cpu_time_str(self) -> Any: ...
    @property
    def cpu_time_total_str(self) -> Any: ...
    device_memory_usage: builtins.int
    @property
    def device_time(self) -> Any: ...
    device_time_str: str
    device_time_total: builtins.int
    device_time_total_str: str
    device_type: DeviceType
    is_async: builtins.bool
    is_legacy: builtins.bool
    is_remote: builtins.bool
    node_id: builtins.int
    @property
    def self_cpu_time_total_str(self) -> Any: ...
    self_device_memory_usage: builtins.int
    self_device_time_total: builtins.int
    self_device_time_total_str: str
    use_device: Any

class Interval:
    def __init__(self, start: Any, end: Any) -> None: ...
    def __repr__(self) -> str: ...
    def elapsed_us(self) -> Any: ...

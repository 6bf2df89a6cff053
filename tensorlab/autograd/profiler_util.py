"""PyTorch's home of the events of a profile."""

from tensorlab import _missing
from tensorlab.profiler.averages import EventList, FunctionEventAvg
from tensorlab.profiler.events import FormattedTimes as FormattedTimesMixin
from tensorlab.profiler.events import FunctionEvent, Interval

__all__ = ["EventList", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval"]


__getattr__ = _missing.refusing(__name__)

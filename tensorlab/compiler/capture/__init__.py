"""Capture: record a call of a function as a graph, with guards that tell when the graph may stand for another call."""

from .control import allow_in_graph, assume_constant_result, disable, is_compiling
from .guards import Guards
from .recording import record
from .sources import Source
from .trace import Refusal, Trace

__all__ = [
    "Guards",
    "Refusal",
    "Source",
    "Trace",
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "is_compiling",
    "record",
]

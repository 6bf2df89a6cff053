"""Capture: record a call of a function as a graph, with guards that tell when the graph may stand for another call."""

from .guards import Guards
from .recording import record
from .sources import Source
from .trace import Refusal, Trace

__all__ = ["Guards", "Refusal", "Source", "Trace", "record"]
from .recording import current
def is_compiling(): return current() is not None
def disable(fn, reason=None): return fn
def allow_in_graph(f): return f
def assume_constant_result(f): return f

"""Passes: functions and interpreters that read, annotate and change graphs."""

from tensorlab import _missing
from tensorlab.fx.passes import (
    common_subexpressions,
    dead_code,
    graph_drawer,
    shape_prop,
    split_module,
)

__all__ = ["common_subexpressions", "dead_code", "graph_drawer", "shape_prop", "split_module"]

__getattr__ = _missing.refusing(__name__)

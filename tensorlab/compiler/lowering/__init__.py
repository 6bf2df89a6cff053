"""Fusion, the loop IR and C: from a functional graph to kernels (schedule.py).

Read them in this order: expressions.py (what an op computes), index_maps.py (which elements),
values.py (both together), loop_ir.py, pointwise.py, fusion.py, schedule.py.
"""

from tensorlab.compiler.lowering.schedule import Call, Kernel, schedule

__all__ = ["Call", "Kernel", "schedule"]

"""Fusion, the loop IR and C: from a functional graph to kernels (schedule.py).

What an op computes, its declaration says (_core/loops/scalar.py). Read these in this order:
index_maps.py (which elements), values.py (both together), loop_ir.py, pointwise.py, fusion.py,
schedule.py. Then blocks.py, which is for machines without a C compiler.
"""

from tensorlab.compiler.lowering.schedule import Blocks, Call, Kernel, block_schedule, schedule

__all__ = ["Blocks", "Call", "Kernel", "block_schedule", "schedule"]

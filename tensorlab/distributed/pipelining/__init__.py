"""Pipelines: stages of a model on several ranks, and microbatches that follow each other."""

from tensorlab import _missing
from tensorlab.distributed.pipelining import microbatch, orders, timelines
from tensorlab.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
)
from tensorlab.distributed.pipelining.splitting import (
    Pipe,
    SplitPoint,
    build_stage,
    pipe_split,
    pipeline,
)
from tensorlab.distributed.pipelining.stage import PipelineStage

__all__ = [
    "Pipe",
    "PipelineStage",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
    "SplitPoint",
    "build_stage",
    "microbatch",
    "orders",
    "pipe_split",
    "pipeline",
    "timelines",
]
__getattr__ = _missing.refusing(__name__)

"""Tensor parallel: the layers of a network, cut over the ranks.

`parallelize_module` gives the parts of a module a style each: `ColwiseParallel` and
`RowwiseParallel` cut Linear and Embedding, `SequenceParallel` runs a norm on parts of the
sequence, and `PrepareModuleInput` and `PrepareModuleOutput` say what comes in and goes out.
"""

from tensorlab import _missing
from tensorlab.distributed.tensor.parallel.api import parallelize_module
from tensorlab.distributed.tensor.parallel.loss import loss_parallel
from tensorlab.distributed.tensor.parallel.style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]

__getattr__ = _missing.refusing(__name__)

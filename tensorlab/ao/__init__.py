"""Quantization and pruning after training: still to come. Pruning in training is
`nn.utils.prune`."""

from tensorlab import _missing, _planned
from tensorlab.ao import quantization

__all__ = ["quantization"]

globals().update(
    _planned.names(
        __name__,
        "nn ns pruning",
        until="use float32, or float16 and bfloat16 for storage.",
        chapter="45-quantization",
        pruning="prune with nn.utils.prune.",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)

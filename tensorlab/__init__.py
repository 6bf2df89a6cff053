"""tensorlab: the PyTorch that one person can read."""

from tensorlab._core.dtypes import DTYPES as _DTYPES
from tensorlab._core.engine import backward, grad
from tensorlab._core.exchange import from_numpy, tensor
from tensorlab._core.device import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from tensorlab.ops.copying import clone, fill, fill_, zero_
from tensorlab.ops.creation import (
    empty,
    empty_like,
    empty_strided,
    full,
    full_like,
    ones,
    ones_like,
    scalar_tensor,
    zeros,
    zeros_like,
)
from tensorlab.ops.pointwise.arithmetic import mul
from tensorlab.ops.pointwise.elementary import tanh
from tensorlab.ops.reductions import sum
from tensorlab.ops.strided import as_strided
from tensorlab._tensor import Tensor

bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 = _DTYPES

"""tensorlab: the PyTorch that one person can read."""

from tensorlab._core.dtypes import DTYPES as _DTYPES
from tensorlab._core.engine import backward, grad
from tensorlab._core.exchange import from_numpy, tensor
from tensorlab.ops.pointwise.arithmetic import mul
from tensorlab.ops.pointwise.elementary import tanh
from tensorlab.ops.reductions import sum
from tensorlab._tensor import Tensor

bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 = _DTYPES

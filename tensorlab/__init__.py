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
from tensorlab.ops.extrema import amax, amin, aminmax, argmax, argmin, max, min
from tensorlab.ops.pointwise.arithmetic import (
    abs,
    abs_,
    absolute,
    add,
    addcdiv,
    addcmul,
    lerp,
    mul,
    multiply,
    neg,
    neg_,
    negative,
    negative_,
    positive,
    rsub,
    sgn,
    sign,
    sub,
    subtract,
)
from tensorlab.ops.pointwise.division import (
    div,
    divide,
    floor_divide,
    fmod,
    reciprocal,
    reciprocal_,
    remainder,
    true_divide,
)
from tensorlab.ops.pointwise.elementary import tanh
from tensorlab.ops.pointwise.powers import (
    float_power,
    pow,
    rsqrt,
    rsqrt_,
    sqrt,
    sqrt_,
    square,
    square_,
)
from tensorlab.ops.products import all, any, prod
from tensorlab.ops.reductions import count_nonzero, mean, nanmean, nansum, sum
from tensorlab.ops.strided import as_strided
from tensorlab._tensor import Tensor

bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 = _DTYPES

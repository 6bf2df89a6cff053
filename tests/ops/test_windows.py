"""Writes to windows that overlap, as unfold makes them: the order shows in the values, and is PyTorch's."""

import itertools

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

torch = require_torch()

# Each writes to x; y is of the same shape and dtype.
CALLS = {
    "cumsum_": lambda T, x, y: x.cumsum_(0),
    "cumsum_ of the last": lambda T, x, y: x.cumsum_(-1),
    "cumprod_": lambda T, x, y: x.cumprod_(0),
    "cumprod_ of the last": lambda T, x, y: x.cumprod_(-1),
    "copy_": lambda T, x, y: x.copy_(y),
    "copy_ of a column-major matrix": lambda T, x, y: x.copy_(
        y.mT.contiguous().mT if y.dim() == 2 else y
    ),
    "copy_ of a row": lambda T, x, y: x.copy_(y[-1]),
    "assignment": lambda T, x, y: x.__setitem__(slice(None), y),
    "add_": lambda T, x, y: x.add_(y),
    "add_ of another type": lambda T, x, y: x.add_(y.int()),
    "mul_ of a higher type": lambda T, x, y: x.mul_(y.double() if x.is_floating_point() else y),
    "sub_ of column-major": lambda T, x, y: x.sub_(y.mT.contiguous().mT),
    "addcmul_": lambda T, x, y: x.addcmul_(y, y, value=2),
    "clamp_": lambda T, x, y: x.clamp_(min=y),
    "neg_": lambda T, x, y: x.neg_(),
    "eq_": lambda T, x, y: x.eq_(y),
    "ge_ of another type": lambda T, x, y: x.ge_(y.float() + 0.5),
    "logical_not_": lambda T, x, y: x.logical_not_(),
    "logical_xor_": lambda T, x, y: x.logical_xor_(y),
}
SHAPES = [(2, 3), (3, 2), (2, 2), (9, 2), (3, 9), (2, 1, 3), (2, 3, 2), (3, 2, 4)]


def layouts():
    """Shapes with strides under which at least two indices share an element."""
    for shape in SHAPES:
        for strides in itertools.product((1, 2, 4), repeat=len(shape)):
            places = sum(
                np.arange(n).reshape([-1] + [1] * (len(shape) - d - 1)) * step
                for d, (n, step) in enumerate(zip(shape, strides, strict=True))
            )
            if len(np.unique(places)) < places.size:
                yield shape, strides


def written(T, call, dtype, shape, strides):
    """The memory after the call."""
    memory = (T.arange(120) * 7 % 5 - 2).to(getattr(T, dtype))
    y = (T.arange(120) * 11 % 7 - 3).to(getattr(T, dtype))[: int(np.prod(shape))].reshape(shape)
    call(T, memory.as_strided(shape, strides, 1), y)
    return memory.tolist()


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "int64"])
@pytest.mark.parametrize("name", CALLS)
def test_elements_are_written_in_the_order_of_pytorch(name, dtype):
    for shape, strides in layouts():
        ours, theirs = (written(T, CALLS[name], dtype, shape, strides) for T in (tensorlab, torch))
        assert ours == theirs, (shape, strides)


def test_a_running_sum_of_many_windows_goes_one_by_one_however_many_threads():
    before = tensorlab.get_num_threads()
    tensorlab.set_num_threads(3)
    try:
        x = tensorlab.ones(700, dtype=tensorlab.int64)
        x.as_strided((400, 300), (1, 1)).cumsum_(0)
    finally:
        tensorlab.set_num_threads(before)
    expected = np.ones(700, np.int64)
    for i in range(300):
        expected[i : i + 400] = np.cumsum(expected[i : i + 400])
    assert x.tolist() == expected.tolist()

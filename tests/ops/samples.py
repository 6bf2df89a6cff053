"""Samples: what the shared tests need to know of an op; every_sample.py collects them.

Each family lists its samples in tests/ops/samples_<family>.py, in a list called SAMPLES:

    Sample("clamp", lambda T, x: T.clamp(x, -1, 1), normal(3, 4))
    Sample("add", lambda T, x, y: T.add(x, y), normal(3, 4), normal(3, 4), pointwise=True, inplace=True, out=True)
    Sample("sum", lambda T, x: T.sum(x, 1), normal(3, 4), more=[[normal(0, 4)], [normal(2, 3, 4)]])

`call` gets the module under test, tensorlab or torch, and the tensors made from the inputs. An input is a function
from a NumPy generator to an array: floating inputs are float64 and differentiable, and the tests cast them to each
dtype; integer and bool inputs (indices, masks) are passed as they are. Use inputs away from kinks and ties, where
derivatives are not defined; a family's own test file holds those corner points.
"""

import dataclasses
import zlib
from collections.abc import Callable, Sequence

import numpy as np

ALL_DTYPES = (
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)
FLOATING_DTYPES = ALL_DTYPES[:3]


# ------------------------------------------------------------------------------------------------ inputs
def normal(*shape):
    """Standard normal numbers."""
    return lambda rng: rng.standard_normal(shape)


def uniform(low, high, *shape):
    """Numbers between two bounds, such as those of an op's domain."""
    return lambda rng: rng.uniform(low, high, shape)


def positive(*shape):
    """Numbers between 0.2 and 3."""
    return uniform(0.2, 3.0, *shape)


def away_from_zero(*shape):
    """Numbers of both signs, at least 0.2 from 0."""
    return lambda rng: rng.uniform(0.2, 3.0, shape) * rng.choice([-1.0, 1.0], shape)


def integers(low, high, *shape):
    """int64 numbers, `high` excluded: indices, labels."""
    return lambda rng: rng.integers(low, high, shape)


def booleans(*shape):
    """True and False: masks."""
    return lambda rng: rng.random(shape) < 0.5


def values(*numbers):
    """Exactly these numbers, in one dimension (floating if one of them is)."""
    return lambda rng: np.array(numbers)


# ------------------------------------------------------------------------------------------------ Sample
class Sample:
    """One way to call one op.

    Parameters
    ----------
    name : str, the op, and after a space what is special about this sample ("add alpha")
    call : function (T, *tensors) -> tensor or tuple of tensors, where T is tensorlab or torch
    inputs : functions from a NumPy generator to an array
    derivatives : int, how many derivatives are compared with PyTorch's: 2, 1, or 0 for ops without
    dtypes : names of the dtypes whose values are compared; where PyTorch raises, tensorlab must raise
    pointwise : bool, also call it on broadcast, 0-d and empty inputs
    inplace : True if `x.name_(*rest)` exists, or a function (T, *tensors) that calls it
    out : True if `T.name(*tensors, out=out)` exists, or a function (T, *tensors, out)
    more : lists of other inputs for the same call: empty, 0-d, other shapes; value and first derivative are compared
    bad : functions (T, *tensors) that must raise what PyTorch raises, with a message that begins with the op's name
    tolerance : float, multiplies the allowed error
    same_strides : bool, results must have PyTorch's strides too
    in_pytorch : bool, whether PyTorch has the op; else no test compares with it, and the record is of tensorlab itself
    """

    def __init__(
        self,
        name: str,
        call: Callable,
        *inputs: Callable,
        derivatives: int = 2,
        dtypes: Sequence[str] = ALL_DTYPES,
        pointwise: bool = False,
        inplace: bool | Callable = False,
        out: bool | Callable = False,
        more: Sequence[Sequence[Callable]] = (),
        bad: Sequence[Callable] = (),
        tolerance: float = 1.0,
        same_strides: bool = True,
        in_pytorch: bool = True,
    ):
        op = name.split()[0]
        if inplace is True:
            inplace = lambda T, x, *rest: getattr(x, op + "_")(*rest)
        if out is True:
            out = lambda T, *tensors, out: getattr(T, op)(*tensors, out=out)
        self.name, self.op, self.call, self.inputs = name, op, call, inputs
        self.derivatives, self.dtypes, self.pointwise = derivatives, tuple(dtypes), pointwise
        self.inplace, self.out, self.more, self.bad = inplace, out, list(more), list(bad)
        self.tolerance, self.same_strides = tolerance, same_strides
        self.in_pytorch = in_pytorch

    def __repr__(self):
        return self.name

    def arrays(self, inputs=None):
        """The inputs as arrays, the same at every call."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [np.asarray(make(rng)) for make in (self.inputs if inputs is None else inputs)]


# ------------------------------------------------------------------------------------------------ arrays to tensors
def is_floating(array):
    """Is this an input that is cast and differentiated, not an index or a mask?"""
    return array.dtype.kind == "f"


def to_dtype(array, dtype):
    """The array as `dtype` holds it, spread so that integers differ; bfloat16 stays float32."""
    if not is_floating(array) or dtype.startswith(("float", "bfloat")):
        numpy_dtype = "float32" if dtype == "bfloat16" else dtype
        return array.astype(numpy_dtype) if is_floating(array) else array
    if dtype == "bool":
        return array > 0
    rounded = np.where(array < 0, np.floor(3 * array), np.ceil(3 * array))
    return np.abs(rounded).astype(dtype) if dtype == "uint8" else rounded.astype(dtype)


def make_tensor(T, array, dtype=None, requires_grad=False):
    """A contiguous tensor of module T."""
    kind = dtype if dtype and is_floating(array) else str(array.dtype)
    data = to_dtype(array, dtype) if dtype else array
    return make_empty_or(T, data, getattr(T, kind), requires_grad and "float" in kind)


def make_empty_or(T, data, dtype, requires_grad):
    """Nested lists lose the trailing sizes of an empty shape."""
    if data.size == 0:
        return T.zeros(data.shape, dtype=dtype, requires_grad=requires_grad)
    return T.tensor(data.tolist(), dtype=dtype, requires_grad=requires_grad)


def transposed(array):
    """The same values with the dimensions reversed in memory."""
    return np.ascontiguousarray(array.T).T.reshape(array.shape, order="A")


def stepped(array):
    """The same values, two elements apart in every dimension."""
    wide = np.zeros([2 * size for size in array.shape], array.dtype)
    view = wide[(slice(None, None, 2),) * array.ndim + (...,)]
    view[...] = array
    return view


# ------------------------------------------------------------------------------------------------ shapes
@dataclasses.dataclass
class Shapes:
    """Variants of a pointwise op's inputs."""

    empty: list
    zero_d: list
    broadcast: list


def pointwise_shapes(arrays):
    """Empty, 0-d and, for two inputs and more, broadcast variants of the same values."""
    empty = [array.reshape(-1)[:0].reshape(0, 3) for array in arrays]
    zero_d = [array.reshape(-1)[0].reshape(()) for array in arrays]
    broadcast = list(arrays)
    if len(arrays) > 1 and all(array.ndim == 2 for array in arrays):
        for k in range(1, len(arrays)):
            broadcast[k] = arrays[k][:1] if k % 2 else arrays[k][0, :1]
        broadcast[0] = np.stack([arrays[0], arrays[0][::-1]])
    return Shapes(empty, zero_d, broadcast)

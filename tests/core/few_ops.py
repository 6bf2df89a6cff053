"""Types that few ops compute in, and how a call on them is compared with PyTorch's."""

import itertools
import math

import tensorlab as T
from tests.core.test_dtypes import NAMES
from tests.oracle import require_torch

torch = require_torch()

UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
NEW = (*UNSIGNED, *FLOAT8, "complex32")
ALL = (*NAMES, *NEW, "complex64", "complex128")


def to_torch(x):
    """The same bytes as a tensor of PyTorch's."""
    name = str(x.dtype).rpartition(".")[2]
    data = x.contiguous().reshape(-1).view(T.uint8).numpy()
    return torch.from_numpy(data.copy()).view(getattr(torch, name)).reshape(tuple(x.shape))


def bytes_of(x):
    """Dtype, shape and bytes of a tensor of either package; nan has many bytes, and counts as one."""
    if x.is_floating_point() or x.is_complex():
        wide = x.to((T if isinstance(x, T.Tensor) else torch).complex128)
        parts = [(one.real, one.imag) for one in flat(wide.tolist())]
        values = [tuple("nan" if math.isnan(p) else p.hex() for p in pair) for pair in parts]
    else:
        values = flat(x.tolist())
    return str(x.dtype).rpartition(".")[2], tuple(x.shape), values


def flat(nested):
    return list(itertools.chain(*map(flat, nested))) if isinstance(nested, list) else [nested]


def outcome(module, call):
    """What a call gives, as text and numbers that are equal for both packages; "refused" if it raises."""
    try:
        found = call(module)
    except (RuntimeError, TypeError, ValueError, OverflowError, IndexError):
        return "refused"
    return described(found)


def described(found):
    if isinstance(found, T.Tensor | torch.Tensor):
        return bytes_of(found)
    if isinstance(found, tuple | list):
        return [described(one) for one in found]
    return str(found).replace("torch.", "").replace("tensorlab.", "")


def same(call):
    ours, theirs = outcome(T, call), outcome(torch, call)
    assert theirs != "refused", "PyTorch refuses this; leave it out"
    assert ours == theirs

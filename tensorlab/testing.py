"""assert_close: compare results with what they should be, and say where and by how much they
differ. make_tensor: inputs for that.
"""

import math
import warnings
from collections.abc import Mapping, Sequence

from tensorlab import _missing
from tensorlab._core.device import strided
from tensorlab._core.dtypes import BY_NAME
from tensorlab._core.interop.exchange import as_tensor
from tensorlab._tensor import Tensor
from tensorlab.ops.made_tensors import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# (relative, absolute): what rounding in a few operations explains. All other types must be equal.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}
OLDER_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Parameters
    ----------
    actual, expected : Tensor, number, array; or sequences or mappings of these, of one structure
    allow_subclasses : bool, whether a subclass of Tensor may be compared with another
    rtol, atol : float, both or none; chosen by dtype unless given
    equal_nan : bool, whether nan equals nan
    check_dtype, check_layout, check_stride : bool, whether these must be the same too
    check_device : bool, without effect: there is one
    msg : str, or a function from the message to another, optional

    Raises
    ------
    AssertionError
        Naming the first difference in shape or type, or how many elements differ and which most.
    ValueError
        If only one of `rtol` and `atol` is given.

    >>> import tensorlab
    >>> tensorlab.testing.assert_close(tensorlab.tensor(0.1) + 0.2, tensorlab.tensor(0.3))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"assert_close: rtol is {rtol} and atol is {atol}; give both or neither")
    options = {
        "allow_subclasses": allow_subclasses,
        "tolerance": None if rtol is None else (rtol, atol),
        "equal_nan": equal_nan,
        "check_dtype": check_dtype,
        "check_layout": check_layout,
        "check_stride": check_stride,
    }
    for place, one, other in pairs(actual, expected, ()):
        problem = difference(one, other, **options)
        if problem:
            if place:
                problem += f"\n\nThe failure occurred for item {''.join(f'[{p!r}]' for p in place)}"
            raise AssertionError(problem if msg is None else msg(problem) if callable(msg) else msg)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """`assert_close` as older programs know it: types may differ, nan equals nan, and more is allowed. Deprecated."""
    warnings.warn("assert_allclose is deprecated; use assert_close", FutureWarning, stacklevel=2)
    actual = as_tensor(actual)
    if not isinstance(expected, Tensor):
        expected = as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        allowed = [OLDER_TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = (max(several) for several in zip(*allowed, strict=True))
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )


def pairs(actual, expected, place):
    """Yield (place, actual, expected) for the leaves of two nested structures."""
    if is_sequence(actual) and is_sequence(expected):
        if len(actual) != len(expected):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            )
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from pairs(one, other, (*place, i))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            raise AssertionError(
                f"The keys of the mappings do not match: {sorted(map(repr, actual))} and "
                f"{sorted(map(repr, expected))}"
            )
        for key in actual:
            yield from pairs(actual[key], expected[key], (*place, key))
    else:
        yield place, actual, expected


def is_sequence(x):
    return isinstance(x, Sequence) and not isinstance(x, str)


def difference(actual, expected, *, allow_subclasses, tolerance, equal_nan, **checks):
    """Return what differs between two tensors or numbers, or None."""
    if actual is expected is None:
        return None
    if not allow_subclasses and type(actual) is not type(expected):
        raise TypeError(
            f"assert_close: the types {type(actual).__name__} and {type(expected).__name__} differ, "
            f"and allow_subclasses is False"
        )
    both_numbers = all(isinstance(x, (bool, int, float)) for x in (actual, expected))
    if both_numbers and type(actual) is not type(expected) and checks["check_dtype"]:
        return f"The types differ: {type(actual).__name__} != {type(expected).__name__}"
    if isinstance(actual, Tensor) != isinstance(expected, Tensor) and not both_numbers:
        raise TypeError(
            f"assert_close: no way to compare {type(actual).__name__} with "
            f"{type(expected).__name__}; give two tensors, or two numbers"
        )
    x, y = (as_tensor(number(given)).detach() for given in (actual, expected))
    if x.shape != y.shape:
        return f"The values for attribute 'shape' do not match: {x.shape} != {y.shape}."
    if checks["check_dtype"] and x.dtype is not y.dtype:
        return f"The values for attribute 'dtype' do not match: {x.dtype} != {y.dtype}."
    if x.layout != strided or y.layout != strided:
        if checks["check_layout"] and x.layout != y.layout:
            return f"The values for attribute 'layout' do not match: {x.layout} != {y.layout}."
        x, y = x.to_dense(), y.to_dense()
    if checks["check_stride"] and x.stride() != y.stride():
        return f"The values for attribute 'stride()' do not match: {x.stride()} != {y.stride()}."
    if tolerance is None:
        found = [TOLERANCES.get(one.dtype.name, (0.0, 0.0)) for one in (x, y)]
        tolerance = (max(r for r, a in found), max(a for r, a in found))
    return describe(x, y, *tolerance, equal_nan)


def number(x):
    """Python's floats have the precision of float64."""
    return as_tensor(x, dtype=BY_NAME["float64"]) if isinstance(x, float) else x


def describe(x, y, rtol, atol, equal_nan):
    """Return how many elements differ by more than allowed, and by how much, or None."""
    common = x.dtype if x.dtype is y.dtype else (x[:0].flatten() + y[:0].flatten()).dtype
    if common.is_floating_point and common.itemsize == 1:  # float32 holds them, and can compute
        common = BY_NAME["float32"]
    x, y = x.to(common), y.to(common)
    same = x.isclose(y, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if same.all():
        return None
    is_single = x.dim() == 0
    kind = "Scalars" if is_single else "Tensor-likes"
    exact = rtol == atol == 0
    lines = [f"{kind} are not {'equal' if exact else 'close'}!", ""]
    wide, other = x.double().flatten(), y.double().flatten()
    absolute = (wide - other).abs()
    absolute[same.flatten()] = 0.0
    relative = absolute / other.abs()
    relative[same.flatten()] = 0.0
    count, total = int((~same).sum()), same.numel()
    if not is_single:
        lines.append(f"Mismatched elements: {count} / {total} ({100 * count / total:.1f}%)")
    for name, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        worst = int(values.nan_to_num(math.inf).argmax())
        where = "" if is_single else f" at index {position(worst, x.shape)}"
        allowed = "" if exact else f" (up to {allowed} allowed)"
        lines.append(f"Greatest {name} difference: {values[worst].item()}{where}{allowed}")
    return "\n".join(lines)


def position(flat, shape):
    """Return the index, one number for each dimension, of an element's place in row-major order."""
    index = []
    for size in reversed(shape):
        flat, last = divmod(flat, size)
        index.append(last)
    return tuple(reversed(index))

"""One call on both packages: results agree in all that can be seen, or both raise the same class.

    agree(lambda T: T.zeros(2, 3).t().flatten())

What is compared of a tensor: shape, strides, storage offset, dtype, values, requires_grad, version,
and whether it is a view.
"""

import math
import warnings

import tensorlab
from tests.oracle import require_torch


def visible(result):
    """All that can be seen of a result, in plain Python."""
    if isinstance(result, (tuple, list)) and type(result).__name__ != "Size":
        return [visible(one) for one in result]
    if type(result).__name__ == "Size":
        return tuple(result)
    if hasattr(result, "storage_offset"):
        return {
            "shape": tuple(result.shape),
            "strides": tuple(result.stride()),
            "offset": result.storage_offset(),
            "dtype": str(result.dtype).rpartition(".")[2],
            "values": result.tolist(),
            "requires_grad": result.requires_grad,
            "version": result._version,
            "is view": result._is_view(),
        }
    if type(result).__name__ == "dtype":
        return str(result).rpartition(".")[2]
    return result


def outcome(T, call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return visible(call(T))
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins"), error


def is_close(ours, theirs, tolerance):
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return all(is_close(ours[key], theirs[key], tolerance) for key in theirs)
    if isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)):
        return len(ours) == len(theirs) and all(
            map(lambda a, b: is_close(a, b, tolerance), ours, theirs)
        )
    if isinstance(theirs, float) and isinstance(ours, float):
        return (
            ours == theirs
            or (math.isnan(ours) and math.isnan(theirs))
            or (abs(ours - theirs) <= tolerance * max(1.0, abs(theirs)))
        )
    return ours == theirs


def agree(call, tolerance=0.0):
    """Assert that a function of the package gives the same on tensorlab and on PyTorch."""
    torch = require_torch()
    theirs, ours = outcome(torch, call), outcome(tensorlab, call)
    if isinstance(theirs, tuple) and len(theirs) == 2 and isinstance(theirs[1], Exception):
        raised = isinstance(ours, tuple) and isinstance(ours[-1], Exception)
        assert raised, f"PyTorch raises {theirs[1]!r}; ours gives {ours}"
        assert isinstance(ours[1], theirs[0]), f"PyTorch raises {theirs[1]!r}; ours {ours[1]!r}"
        return
    assert is_close(ours, theirs, tolerance), f"\n  PyTorch {theirs}\n  ours    {ours}"

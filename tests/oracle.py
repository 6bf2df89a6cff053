"""PyTorch as the oracle of tests: where it is installed, tensorlab must agree with it.

The package never imports PyTorch; tests get it here and nowhere else:

    from tests.oracle import require_torch

    torch = require_torch()
"""

import math
import os
import warnings

import numpy as np
import pytest


def require_torch():
    """Return the module torch, or skip the test or file that asks.

    With TENSORLAB_REQUIRE_ORACLE=1 in the environment a missing PyTorch fails instead, so that
    continuous integration cannot pass by comparing with nothing.
    """
    if os.environ.get("TENSORLAB_REQUIRE_ORACLE") == "1":
        try:
            import torch
        except ImportError as error:
            pytest.fail(f"TENSORLAB_REQUIRE_ORACLE=1, but torch cannot be imported: {error}")
        return torch
    return pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")


def assert_same_values(ours, theirs, tolerance=1e-6):
    """Assert that two tensors, one of each package, have equal shapes, dtypes and values."""
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance
    )


# ---------------------------------------------------------------- whole programs on both
def outcome(program, module):
    """What `program(module)` returns, or the name of the built-in class of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return as_plain(program(module))
    except (
        RuntimeError,
        TypeError,
        ValueError,
        NotImplementedError,
        AttributeError,
        AssertionError,
    ) as error:
        return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")


def as_plain(value):
    """Tensors as (dtype, nested list), the rest of a structure as it is."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return str(value.dtype).split(".")[1], value.detach().tolist()
    if isinstance(value, dict):
        return {key: as_plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [as_plain(each) for each in value]
    return value


def assert_same_outcome(program):
    """Run a program, a function of the package, with PyTorch and with tensorlab: results or error classes are equal."""
    import tensorlab

    expected, ours = outcome(program, require_torch()), outcome(program, tensorlab)
    assert is_close(ours, expected), f"PyTorch: {expected}\ntensorlab: {ours}"


def is_close(one, other):
    """Equal, where numbers inside may differ by 1e-9 of their size."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_close(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(is_close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and one == other

"""PyTorch as the oracle of tests: where it is installed, tensorlab must agree with it.

The package never imports PyTorch; tests get it here and nowhere else:

    from tests.oracle import require_torch

    torch = require_torch()
"""

import contextlib
import functools
import os

import numpy as np
import pytest


def require_torch():
    """Return the module torch, or skip the test or file that asks.

    With TENSORLAB_REQUIRE_ORACLE=1 in the environment a missing PyTorch fails instead, so that
    continuous integration cannot pass by comparing with nothing. With TENSORLAB_WITHOUT_ORACLE=1
    PyTorch counts as missing even where it is installed.
    """
    if os.environ.get("TENSORLAB_WITHOUT_ORACLE") == "1":
        pytest.skip(
            "TENSORLAB_WITHOUT_ORACLE=1: runs as if PyTorch were missing", allow_module_level=True
        )
    if os.environ.get("TENSORLAB_REQUIRE_ORACLE") == "1":
        try:
            import torch
        except ImportError as error:
            pytest.fail(f"TENSORLAB_REQUIRE_ORACLE=1, but torch cannot be imported: {error}")
        return on_the_cpu_alone(torch)
    return on_the_cpu_alone(
        pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
    )


@functools.cache
def on_the_cpu_alone(torch):
    """Keep `manual_seed` from noting each seed, and the caller's stack, for devices not here.

    That took two milliseconds of each test, and a gigabyte of memory in the end. A second thread makes PyTorch slower
    at the small tensors of tests: its convolutions take five times as much of the processors that other tests need.
    """
    torch.set_num_threads(1)
    for device in (torch.cuda, torch.xpu, torch.mtia):
        device.manual_seed_all = lambda seed: None
    return torch


@contextlib.contextmanager
def two_threads():
    """Let PyTorch have two threads: there is code of its own for one alone, which a test may not mean."""
    torch = require_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        yield torch
    finally:
        torch.set_num_threads(before)


def assert_same_values(ours, theirs, tolerance=1e-6):
    """Assert that two tensors, one of each package, have equal shapes, dtypes and values."""
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance
    )
